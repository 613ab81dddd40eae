"""KafkaConnector resources of Strimzi as connectors, and the KafkaConnect that runs them as their worker.

Source: the API reference of Strimzi 0.45 to 0.49, and its operator's KafkaConnectConfiguration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.connect.kinds import Connector, Worker, hosts_in, version_of_worker
from fleet.strimzi.clusters import text_of
from fleet.strimzi.mirror import state_of, worker_defaults, worker_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.strimzi.kubernetes import Resource

CONNECTOR_KIND = "KafkaConnector"
WORKER_KIND = "KafkaConnect"
WORKER_LABEL = "strimzi.io/cluster"
"""The label of a KafkaConnector that names its KafkaConnect."""


def connector_of(resource: Resource) -> Connector:
    """Return the connector that the operator creates from a KafkaConnector."""
    spec = resource.spec
    config = {"connector.class": text_of(spec.get("class"))}
    written = {"connector.class": "spec.class"}
    own = spec.get("config")
    for key, value in own.items() if isinstance(own, dict) else ():
        config[key], written[key] = text_of(value), f"spec.config.{key}"
    if "tasksMax" in spec:
        config["tasks.max"], written["tasks.max"] = text_of(spec["tasksMax"]), "spec.tasksMax"
    return Connector(resource.name, config, written, state_of(spec))


def worker_of(resource: Resource, connectors: Sequence[Connector]) -> Worker:
    """Return the worker that the operator creates from a KafkaConnect with these connectors.

    Its topics are on the cluster of its own bootstrapServers: a connector's source if the addresses
    match, else the target.
    """
    spec = resource.spec
    own = spec.get("config")
    config = worker_defaults("connect-cluster")
    config |= {key: text_of(value) for key, value in own.items()} if isinstance(own, dict) else {}
    config |= worker_fields(spec)
    hosts = hosts_in(text_of(spec.get("bootstrapServers")))
    sources = (each for each in connectors if hosts & hosts_in(each.address("source")))
    home = next((each.source for each in sources), "")
    return Worker(config, version_of_worker(text_of(spec.get("version"))), home)
