"""Create Admin clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from runtime.kafka.failures import explain, listening_logger
from runtime.kafka.properties.msk_tokens import with_tokens

if TYPE_CHECKING:
    from runtime.kafka.failures import Symptoms
    from runtime.kafka.properties.client_settings import ClientSettings

# What was told of topics is let go soon: it is asked for seldom, and 50,000 partitions take 5 MiB.
_KEPT_MS = 10_000


def make_admin_client(settings: ClientSettings, *, cluster: str, name: str, symptoms: Symptoms) -> Any:
    """Return a client that connects at the first request; its errors go to `symptoms`.

    Raises ConfigurationError if it does not accept its settings, and RefusedError or UnavailableError if it
    gets no token to log in with.
    """
    config: dict[str, Any] = {
        "client.id": f"mirrorwatch-{name}",
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 1000,
        "metadata.max.age.ms": _KEPT_MS,
        "error_cb": symptoms.hear_error,
    }
    try:
        config = with_tokens(settings.librdkafka, symptoms) | config
        return AdminClient(config, logger=listening_logger(symptoms))
    except KafkaException as error:
        raise explain(error.args[0], cluster=cluster, doing="making a client", symptoms=symptoms) from error
