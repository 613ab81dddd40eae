"""The server.properties of a small single node that answers quickly and needs no second one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.local.security import Certificates, Security, listener_properties

if TYPE_CHECKING:
    from pathlib import Path


def server_properties(
    *,
    data: Path,
    port: int,
    controller_port: int,
    internal_port: int,
    security: Security | None,
    certificates: Certificates | None,
) -> dict[str, str]:
    """Return the settings of a node with one client listener, PLAINTEXT or SASL_SSL, on loopback."""
    client = "PLAINTEXT" if security is None else "SASL_SSL"
    listeners = [f"{client}://127.0.0.1:{port}"]
    protocols = [f"{client}:{client}", "CONTROLLER:PLAINTEXT"]
    if security is not None:
        listeners.append(f"INTERNAL://127.0.0.1:{internal_port}")
        protocols.append("INTERNAL:PLAINTEXT")
    controller = f"CONTROLLER://127.0.0.1:{controller_port}"
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join([*listeners, controller]),
        "advertised.listeners": ",".join([*listeners, controller]),
        "listener.security.protocol.map": ",".join(protocols),
        "inter.broker.listener.name": client if security is None else "INTERNAL",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker is taken back once its last session has run out: after 9 s by default.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "log.cleaner.dedupe.buffer.size": "4194304",
        # A consumer that looks at a deleted topic must not bring it back to life.
        "auto.create.topics.enable": "false",
    }
    if security is not None and certificates is not None:
        properties |= listener_properties(security, certificates, "SASL_SSL")
    return properties
