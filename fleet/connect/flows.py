"""Flows from connectors: the rules of fleet.mm2.flows, for connectors on Connect."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.connect.kinds import CHECKPOINT, HEARTBEAT, SOURCE, Connector, Worker
from fleet.mm2.config_providers import Lookup
from fleet.mm2.flows import FlowOverrides, FlowReader
from fleet.mm2.names import connector_names
from fleet.mm2.replication import major_version
from fleet.mm2.resolution import Mm2Properties
from fleet.mm2.values import Values

if TYPE_CHECKING:
    from fleet.errors import Problem
    from fleet.verdicts.flow import Flow

_VARIABLE = re.compile(r"\$\{[^}]*:[^}]*\}")
_BY_OVERRIDE = (
    "write the value itself there, or set the flow's topics and policy under flows: "
    "in Mirrorwatch's configuration"
)
# Used for a missing connector: it emits nothing.
_ABSENT = {"emit.heartbeats.enabled": "false", "emit.checkpoints.enabled": "false"}


class ConnectorFlows:
    """Reads the flows of some connectors; adds problems to the list."""

    def __init__(
        self,
        file: str,
        mirror_version: str | None,
        problems: list[Problem],
        *,
        connectors: tuple[Connector, ...],
        worker: Worker,
    ) -> None:
        major = None if mirror_version is None else major_version(mirror_version)
        nothing = Mm2Properties({}, major, Lookup({}, _no_file))
        self._reader = _Reader(file, nothing, mirror_version, problems, connectors, worker)
        self._worker = worker

    def flow(self, source: str, target: str, flow_overrides: FlowOverrides) -> Flow:
        """Return the flow; a wrong value becomes a problem, and its default is used."""
        flow = self._reader.flow(source, target, flow_overrides)
        connector = self._reader.connector(source, target, SOURCE)
        config = {} if connector is None else connector.config
        own = config.get("offsets.storage.topic", "").strip()  # KIP-618: replaces the worker's, on the target
        home = self._worker.cluster or target
        same_cluster = not own or home == target  # else the worker's other topics are elsewhere
        return replace(
            flow,
            connector=connector.name if connector is not None and connector.named else "",
            on_connect=True,
            topics_key="" if connector is None else connector.key("topics"),
            exclude_key="" if connector is None else connector.key("topics.exclude"),
            exactly_once=flow.exactly_once or config.get("exactly.once.support", "").lower() == "required",
            offset_storage_topic=own or flow.offset_storage_topic or None,
            offset_storage_cluster=target if own else home,
            config_storage_topic=(flow.config_storage_topic or None) if same_cluster else None,
            status_storage_topic=(flow.status_storage_topic or None) if same_cluster else None,
        )


@dataclass(frozen=True, slots=True)
class _Reader(FlowReader):
    """The reader of an mm2.properties, for connectors and their worker."""

    connectors: tuple[Connector, ...]
    worker: Worker

    def connector(self, source: str, target: str, kind: str) -> Connector | None:
        """Return the first connector of this kind that serves the flow."""
        name = f"{source}->{target}"
        served = (each for each in self.connectors if each.kind == kind and each.flow == name)
        return next((each for each in served if each.enabled), None)

    def _connector(self, source: str, target: str, connector: str) -> Values:
        found = self.connector(source, target, connector)
        if found is None:
            return Values(
                self.file, _ABSENT if connector in (CHECKPOINT, HEARTBEAT) else {}, self.problems, {}
            )
        written = {key: found.key(key) for key in {*found.config, *connector_names(None)}}
        troubles = {key: (unresolved(value),) for key, value in found.config.items() if has_variable(value)}
        return Values(self.file, found.config, self.problems, written, troubles)

    @property
    def _worker_known(self) -> bool:
        return bool(self.worker.config)

    def _worker(self, source: str, target: str) -> Values:
        del source, target
        return Values(self.file, self.worker.config, self.problems, {})


def unresolved(value: str) -> str:
    """Return a clause about a value that only the worker can resolve."""
    found = _VARIABLE.search(value)
    what = found[0] if found else "a variable"
    return f"holds {what}, which only the Connect worker can resolve; {_BY_OVERRIDE}"


def has_variable(value: str) -> bool:
    """Return whether a value contains a variable that only the worker can resolve."""
    return _VARIABLE.search(value) is not None


def _no_file(name: str) -> str:
    raise FileNotFoundError(name)
