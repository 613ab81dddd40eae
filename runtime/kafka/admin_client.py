"""The one way to make a client that asks a cluster about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from runtime.kafka.failures import explain, listening_logger

if TYPE_CHECKING:
    from runtime.kafka.client_settings import ClientSettings
    from runtime.kafka.failures import Symptoms


def make_admin_client(settings: ClientSettings, *, cluster: str, name: str, symptoms: Symptoms) -> Any:
    """Return a client that connects when the first question is asked; what it hears goes to `symptoms`.

    Raises ConfigurationError where it does not accept its settings.
    """
    config: dict[str, Any] = {
        **settings.librdkafka,
        "client.id": f"mirrorwatch-{name}",
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 1000,
        "error_cb": symptoms.hear_error,
    }
    try:
        return AdminClient(config, logger=listening_logger(symptoms))
    except KafkaException as error:
        raise explain(error.args[0], cluster=cluster, doing="making a client") from error
