"""The server.properties of a small node that answers quickly, alone or as one of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.local.security import Certificates, Security, listener_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The place of a node in a cluster: its number, and the controller port of every node by number."""

    node_id: int
    cluster_id: str
    controller_ports: Mapping[int, int]

    def properties(self) -> dict[str, str]:
        """Return what makes a node one of three: all of them vote, every topic is on all of them.

        Two replicas have to be in sync, so that one broker may be away and no record that was acknowledged
        can be lost with it.
        """
        replicas, in_sync = "3", "2"
        voters = (f"{node}@127.0.0.1:{port}" for node, port in self.controller_ports.items())
        return {
            "node.id": str(self.node_id),
            "controller.quorum.voters": ",".join(voters),
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            # Several nodes on few cores: one that is only slow is not to be taken for dead.
            "broker.session.timeout.ms": "6000",
            # Leaders go home when they are told to, so that what moves them is known.
            "auto.leader.rebalance.enable": "false",
        }


def server_properties(
    *,
    data: Path,
    port: int,
    controller_port: int,
    internal_port: int,
    security: Security | None,
    certificates: Certificates | None,
    seat: Seat | None = None,
) -> dict[str, str]:
    """Return the settings of a node with one client listener, PLAINTEXT or SASL_SSL, on loopback.

    Without a `seat` it is a cluster by itself.
    """
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
        # A consumer that reads a deleted topic must not bring it back to life.
        "auto.create.topics.enable": "false",
    }
    if seat is not None:
        del properties["controller.quorum.bootstrap.servers"]  # this one would be for voters that may change
        properties |= seat.properties()
    if security is not None and certificates is not None:
        properties |= listener_properties(security, certificates, "SASL_SSL")
    return properties
