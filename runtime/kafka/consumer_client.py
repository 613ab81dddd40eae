"""Create consumers that read by assignment, never as a member of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException

from runtime.kafka.failures import explain, listening_logger
from runtime.kafka.properties.msk_tokens import with_tokens

if TYPE_CHECKING:
    from runtime.kafka.failures import Symptoms
    from runtime.kafka.properties.client_settings import ClientSettings


def make_consumer(
    settings: ClientSettings, *, cluster: str, client_id: str, symptoms: Symptoms, **settings_of_its_own: Any
) -> Any:
    """Return a consumer without an assignment; its errors go to `symptoms`.

    Settings of its own have underscores for dots. Raises Mirrorwatch's own error if some are not accepted.
    """
    own = {name.replace("_", "."): value for name, value in settings_of_its_own.items()}
    try:
        config = consumer_config(settings, client_id=client_id, symptoms=symptoms)
        config |= {"error_cb": symptoms.hear_error, **own}
        return Consumer(config, logger=listening_logger(symptoms))
    except KafkaException as error:
        raise explain(error.args[0], cluster=cluster, doing="making a client", symptoms=symptoms) from error


def consumer_config(settings: ClientSettings, *, client_id: str, symptoms: Symptoms) -> dict[str, Any]:
    """Return the settings of a consumer that reads what it is told to, soon, and remembers nothing.

    Raises KafkaException if it gets no token to log in with.
    """
    return {
        **with_tokens(settings.librdkafka, symptoms),
        "client.id": client_id,
        "group.id": "mirrorwatch-not-a-group",  # the client wants one; it is never joined nor committed to
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 500,  # a record ends it at once; without one, both sides are spared the asking
        "fetch.error.backoff.ms": 100,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 1000,
        "queued.max.messages.kbytes": 16384,
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": False,
    }
