"""A Kafka Connect worker on a broker of the local stack, with its REST address and a mirror's connector."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING, Any

from deploy.local.jars import StackError, kafka_version
from deploy.local.java import java_command
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.properties import write_properties
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deploy.local.broker import Mirrored

WORKER = "org.apache.kafka.connect.cli.ConnectDistributed"
SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_ASK_S = 10.0


class ConnectWorker(Process):
    """One distributed worker whose own topics are on `home`; `url` is where it is asked."""

    def __init__(self, home: Mirrored, folder: Path, *, name: str = "connect", heap_mb: int = 384) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.offsets_topic = f"{name}-offsets"
        self.status_topic = f"{name}-status"
        self.config_topic = f"{name}-configs"
        settings = {
            **home.java_properties(),
            "group.id": name,
            "listeners": self.url,
            "plugin.discovery": "service_load",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "offset.flush.interval.ms": "1000",
            "scheduled.rebalance.max.delay.ms": "0",
            "offset.storage.topic": self.offsets_topic,
            "config.storage.topic": self.config_topic,
            "status.storage.topic": self.status_topic,
            **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "config", "status")},
        }
        properties = folder / f"{name}.properties"
        write_properties(properties, settings)
        command = java_command(kafka_version(), folder, WORKER, str(properties), heap_mb=heap_mb)
        super().__init__(name, command, folder=folder)

    def ask(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Any:
        """Return what it answers to this, None where that is nothing; raises OSError where it refuses."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)  # noqa: S310 - our own loopback
        with urllib.request.urlopen(request, timeout=_ASK_S) as answer:  # noqa: S310 - our own loopback
            told = answer.read()
        return json.loads(told) if told else None

    def wait_ready(self, *, deadline_s: float = 90.0) -> None:
        """Wait until it answers; raises StackError when it ended instead, TimeoutError after the deadline."""
        wait_until(self._answers, deadline_s=deadline_s, what=f"Connect's REST (see {self.log})")

    def mirror(
        self,
        source: Mirrored,
        target: Mirrored,
        *,
        name: str,
        topics: str,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Have it run a source connector of MirrorMaker, or run it with other settings."""
        clients = {
            f"{side}.cluster.{key}": value
            for side, broker in (("source", source), ("target", target))
            for key, value in broker.java_properties().items()
        }
        config = {
            "connector.class": SOURCE,
            "source.cluster.alias": source.alias,
            "target.cluster.alias": target.alias,
            **clients,
            "topics": topics,
            "tasks.max": "1",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "refresh.topics.interval.seconds": "2",
            **(settings or {}),
        }
        self.ask("PUT", f"/connectors/{name}/config", config)

    def _answers(self) -> bool:
        if not self.running:
            tail = "\n".join(self.logged().splitlines()[-15:])
            raise StackError(f"{self.name} ended with status {self.exit_status}; its log ends:\n{tail}")
        try:
            self.ask("GET", "/connectors")
        except OSError:
            return False
        return True
