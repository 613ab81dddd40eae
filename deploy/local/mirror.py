"""A dedicated MirrorMaker between brokers of the local stack."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deploy.local.jars import StackError, kafka_version
from deploy.local.java import MIRROR, java_command
from deploy.local.process import Process
from deploy.local.properties import write_properties
from deploy.local.transform import CLASS_NAME, Switch
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deploy.local.broker import Mirrored

_TASK = "Starting task MirrorSourceConnector-"
_TASK_RUNS = re.compile(
    r"WorkerSourceTask\{id=MirrorSourceConnector-\d+\} Source task finished initialization"
)

# Everything that a mirror does only every minute or every ten is done every second or two here.
QUICK_SETTINGS: Mapping[str, str] = {
    "plugin.discovery": "service_load",  # here and for each worker: to scan all classes takes 4 s each time
    "replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "emit.heartbeats.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.topics.interval.seconds": "2",
    "refresh.groups.interval.seconds": "2",
    "sync.topic.configs.interval.seconds": "2",
    "tasks.max": "2",
}


def mirror_settings(
    brokers: Sequence[Mirrored], flows: Sequence[str], extra: Mapping[str, str], switch: Switch | None
) -> dict[str, str]:
    """Return the mm2.properties of a quick mirror for `flows` such as `A->B`; `extra` goes over all of it.

    With `switch`, each flow has the transformation that obeys it.
    """
    settings = {"clusters": ", ".join(broker.alias for broker in brokers)}
    for broker in brokers:
        settings |= {f"{broker.alias}.{key}": value for key, value in broker.java_properties().items()}
        # Workers read these with the target's alias in front; the first is ignored without it.
        settings[f"{broker.alias}.offset.flush.interval.ms"] = "1000"
        settings[f"{broker.alias}.plugin.discovery"] = "service_load"
    settings |= QUICK_SETTINGS
    for flow in flows:
        settings[f"{flow}.enabled"] = "true"
        if switch is not None:
            settings |= {
                f"{flow}.transforms": "fault",
                f"{flow}.transforms.fault.type": CLASS_NAME,
                f"{flow}.transforms.fault.switch": str(switch.path),
            }
    return settings | dict(extra)


class MirrorMaker(Process):
    """One MirrorMaker process with its mm2.properties, log and switch in `folder`."""

    def __init__(
        self,
        brokers: Sequence[Mirrored],
        folder: Path,
        *,
        name: str = "mirror",
        flows: Sequence[str] = ("A->B",),
        settings: Mapping[str, str] | None = None,
        switchable: bool = True,
        version: str | None = None,
        heap_mb: int = 384,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.flows = tuple(flows)
        self.properties_file = folder / f"{name}.properties"
        self.switch = Switch(folder / f"{name}.switch")
        self.settings = mirror_settings(brokers, flows, settings or {}, self.switch if switchable else None)
        write_properties(self.properties_file, self.settings)
        command = java_command(
            version or kafka_version(), folder, MIRROR, str(self.properties_file), heap_mb=heap_mb
        )
        super().__init__(name, command, folder=folder)

    def restart(self) -> None:
        """Stop the mirror gracefully and start it again."""
        self.stop()
        self.start()

    def wait_ready(self, *, deadline_s: float = 60.0) -> None:
        """Wait until the log tells that every flow copies: that it has started a task with topics in it.

        A flow that finds no topic on its source never gets there; heartbeats of the way back count as one.
        Raises StackError when the process ended instead, and TimeoutError after the deadline.
        """
        wait_until(self._copies, deadline_s=deadline_s, what=f"A task for every flow (see {self.log})")

    def _copies(self) -> bool:
        said = self.logged()
        if not self.running:
            tail = "\n".join(said.splitlines()[-15:])
            raise StackError(f"{self.name} ended with status {self.exit_status}; its log ends:\n{tail}")
        begun = (
            f"clientId={flow}, groupId={flow.split('->')[0]}-mm2] {_TASK}" in said for flow in self.flows
        )
        return all(begun) and len(_TASK_RUNS.findall(said)) >= len(self.flows)
