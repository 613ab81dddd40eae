"""Several brokers that are one cluster: each is a controller too, and any one of them may be away.

Three processes for three brokers, which is as few as can be: a controller apart would be a fourth, and with
one controller among them the cluster would hang while that one is restarted.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from deploy.local.broker import Broker, cluster_id, start_together
from deploy.local.ports import free_port
from deploy.local.replicas import behind, brokers_there
from deploy.local.server_properties import Seat
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

_HELD_LOOKS = 4  # a full set of replicas counts once it was seen so often in a row


class Cluster:
    """Three brokers numbered from 1 on 127.0.0.1, with replication factor 3 and two replicas to be in sync.

    To a mirror and to a client it is what a `Broker` is; `brokers` are the processes.
    """

    def __init__(self, alias: str, folder: Path) -> None:
        self.alias = alias
        ports = {node: free_port() for node in (1, 2, 3)}
        identity = cluster_id()
        self.brokers = tuple(
            Broker(
                f"{alias}-{node}",
                folder / str(node),
                seat=Seat(node_id=node, cluster_id=identity, controller_ports=ports),
            )
            for node in ports
        )
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers)

    def begin_format(self) -> None:
        """Begin to format every data folder for which that was never done, and return at once."""
        for broker in self.brokers:
            broker.begin_format()

    def start(self) -> None:
        """Start every broker and return before they are ready."""
        start_together(self.brokers)

    def wait_ready(self, *, deadline_s: float = 60.0) -> None:
        """Wait until every broker serves clients and every replica is in sync."""
        for broker in self.brokers:
            broker.wait_ready(deadline_s=deadline_s)
        self.wait_in_sync(deadline_s=deadline_s)

    def wait_in_sync(self, *, deadline_s: float = 120.0) -> float:
        """Wait until every broker is there and every replica in sync, and return the seconds that it took.

        Raises TimeoutError that names the partitions which are not.
        """
        looks = 0

        def whole() -> bool:
            nonlocal looks
            looks = looks + 1 if self._missing() == "" else 0
            return looks >= _HELD_LOOKS

        try:
            return wait_until(whole, deadline_s=deadline_s, what="It", every_s=0.25)
        except TimeoutError:
            what = f"All replicas of cluster {self.alias} were not in sync within {deadline_s:g} s"
            raise TimeoutError(f"{what}: {self._missing()}") from None

    def restart(self, broker: Broker, *, kill: bool = False) -> None:
        """End one broker, orderly or at once, and start it again on its data; returns when it serves."""
        if kill:
            broker.kill()
        else:
            broker.stop()
        broker.start()
        broker.wait_ready(deadline_s=90.0)

    def replace(self, broker: Broker) -> None:
        """Put an empty machine in the place of one broker: the same number and address, but no data.

        Every replica that it held is then copied to it again; `wait_in_sync` tells when that is done.
        """
        broker.stop()
        shutil.rmtree(broker.folder / "data")
        broker.start()
        broker.wait_ready(deadline_s=90.0)

    def client_properties(self) -> dict[str, str]:
        """Return what a librdkafka client needs."""
        return {"bootstrap.servers": self.bootstrap}

    def java_properties(self, user: str | None = None) -> dict[str, str]:
        """Return what a Java client needs; there are no users, since nothing here is secured."""
        assert user is None
        return {"bootstrap.servers": self.bootstrap}

    def kill(self) -> None:
        """End all at once."""
        for broker in self.brokers:
            broker.kill()

    def _missing(self) -> str:
        """Return what is missing to a whole cluster, empty when nothing is."""
        try:
            there = brokers_there(self.client_properties())
            if len(there) < len(self.brokers):
                return f"only the brokers {there} are there"
            return ", ".join(behind(self.client_properties())[:10])
        except KafkaException as error:
            return str(error)
