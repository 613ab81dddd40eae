"""One Kafka node, broker and controller in one process, in a folder of its own."""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING, Protocol

from confluent_kafka import KafkaException

from deploy.local.jars import StackError, kafka_version
from deploy.local.java import BROKER, FORMATTER, java_command
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.properties import write_properties
from deploy.local.security import jaas_line, make_certificates
from deploy.local.server_properties import server_properties
from deploy.local.topics import admin_client
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from deploy.local.security import Security
    from deploy.local.server_properties import Seat


class Mirrored(Protocol):
    """What a mirror has to know of a cluster, be it one broker or several."""

    alias: str

    def java_properties(self, user: str | None = None) -> dict[str, str]:
        """Return what a Java client needs."""
        ...


class Formatted(Protocol):
    """What has to be formatted before its first start, which takes a while."""

    def begin_format(self) -> None:
        """Begin with it and return at once."""
        ...

    def start(self) -> None:
        """Start it as soon as it is formatted."""
        ...


class Broker(Process):
    """A broker on 127.0.0.1 that keeps its ports and its data from one start to the next.

    Extra `properties` go over the quick settings. With `security`, clients come in over TLS as SCRAM users.
    With a `seat` it is one node of a cluster.
    """

    def __init__(
        self,
        alias: str,
        folder: Path,
        *,
        properties: Mapping[str, str] | None = None,
        security: Security | None = None,
        seat: Seat | None = None,
        version: str | None = None,
    ) -> None:
        self.alias = alias
        self.folder = folder
        self.security = security
        self.seat = seat
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        self.certificates = make_certificates(folder) if security else None
        settings = server_properties(
            data=folder / "data",
            port=self.port,
            controller_port=seat.controller_ports[seat.node_id] if seat is not None else free_port(),
            internal_port=free_port(),
            security=security,
            certificates=self.certificates,
            seat=seat,
        )
        write_properties(folder / "server.properties", settings | dict(properties or {}))
        self._version = version or kafka_version()
        self._format: Process | None = None
        command = java_command(self._version, folder, BROKER, str(folder / "server.properties"), heap_mb=256)
        super().__init__(f"broker-{alias}", command, folder=folder)

    def begin_format(self) -> None:
        """Begin to format the data folder, if that was never done, and return at once."""
        if self._format is not None or (self.folder / "data").exists():
            return
        arguments = ["format", "-c", str(self.folder / "server.properties"), "-t"]
        arguments += [cluster_id(), "--standalone"] if self.seat is None else [self.seat.cluster_id]
        if self.security is not None:
            for name, password in self.security.users.items():
                arguments += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
        command = java_command(self._version, self.folder, FORMATTER, *arguments, heap_mb=128)
        self._format = Process(f"format-{self.alias}", command, folder=self.folder)
        self._format.start()

    def start(self) -> None:
        """Start the broker, formatting its data folder the first time. Raises StackError when that fails."""
        self.begin_format()
        if self._format is not None:
            status = self._format.wait(deadline_s=60.0)
            said, self._format = self._format.logged(), None
            if status != 0:
                raise StackError(
                    f"Formatting the folder of broker {self.alias} failed: {said.strip()[-500:]}"
                )
        super().start()

    def kill(self) -> None:
        """End the broker at once, and what formats its folder."""
        if self._format is not None:
            self._format.kill()
            self._format = None
        super().kill()

    def wait_ready(self, *, deadline_s: float = 90.0) -> None:
        """Wait until the broker serves clients.

        Raises StackError when it ended instead, and TimeoutError after the deadline.
        """
        what = f"The start of broker {self.alias} (see {self.log})"
        took_s = wait_until(self._started, deadline_s=deadline_s, what=what)
        wait_until(self._answers, deadline_s=max(1.0, deadline_s - took_s), what=what)

    def restart(self, *, deadline_s: float = 90.0) -> None:
        """Stop the broker gracefully and start it on the same ports and data."""
        self.stop()
        self.start()
        self.wait_ready(deadline_s=deadline_s)

    def client_properties(self, user: str | None = None) -> dict[str, str]:
        """Return what a librdkafka client needs; as `user`, or the first super user, where secured."""
        properties = {"bootstrap.servers": self.bootstrap}
        if self.security is not None and self.certificates is not None:
            name = user or self.security.super_users[0]
            properties |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": name,
                "sasl.password": self.security.users[name],
                "ssl.ca.location": str(self.certificates.authority),
            }
        return properties

    def java_properties(self, user: str | None = None) -> dict[str, str]:
        """Return what a Java client needs; as `user`, or the first super user, where secured."""
        properties = {"bootstrap.servers": self.bootstrap}
        if self.security is not None and self.certificates is not None:
            name = user or self.security.super_users[0]
            properties |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": jaas_line(name, self.security.users[name]),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.certificates.authority),
            }
        return properties

    def _started(self) -> bool:
        if not self.running:
            tail = "\n".join(self.logged().splitlines()[-15:])
            raise StackError(
                f"Broker {self.alias} ended with status {self.exit_status}; its log ends:\n{tail}"
            )
        return "Kafka Server started" in self.logged()

    def _answers(self) -> bool:
        try:
            return bool(admin_client(self.client_properties()).list_topics(timeout=1.0).brokers)
        except KafkaException:
            return False


def start_together(processes: Iterable[Formatted]) -> None:
    """Format and start all of these in parallel; return before they are ready."""
    several = list(processes)
    for one in several:
        one.begin_format()
    for one in several:
        one.start()


def cluster_id() -> str:
    """Return a random cluster id; one that begins with a hyphen would read as an option to StorageTool."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not text.startswith("-"):
            return text
