"""The source of each flow's progress: `lag_from`, `group` and `offsets` of the flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.mm2.filters import PatternList
from mirrorwatch.configuration.configuration import LagSource
from mirrorwatch.configuration.problems import unknown_cluster
from mirrorwatch.configuration.sections import FlowSection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.errors import Problem
    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow

_CONNECT = "connect-offsets"
_SYNCS = "offset-syncs"
_UNKNOWN = (
    "unknown offsets topic: a connector's configuration does not name it; set the Connect worker's"
    " offset.storage.topic, for example offsets: {topic: connect-offsets}"
)
_NAMELESS = (
    "unknown connector name, so Mirrorwatch reads the tasks of MirrorSourceConnector; if yours has another"
    " name, set connect, or add name to its JSON"
)
_UNWRITTEN = (
    "the mirror writes no offset syncs (emit.offset-syncs.enabled is false), so its progress stays unknown;"
    " set connect-offsets, or enable offset syncs"
)


def problems_of_sources(
    sections: Mapping[str, FlowSection],
    aliases: frozenset[str] | None,
    *,
    where: Callable[[tuple[str, ...], str], Problem],
) -> list[Problem]:
    """Return a problem for each invalid pattern of groups, and for each unknown cluster.

    `aliases` is None if not all clusters are known; then clusters are not checked.
    """
    problems = []
    for name, section in sections.items():
        try:
            PatternList(section.group or "")
        except ValueError as error:
            problems.append(where(("flows", name, "group"), f"{error}; fix it"))
        home = section.offsets.kafka_cluster if section.offsets is not None else None
        if aliases is not None and home is not None and home not in aliases:
            key = ("flows", name, "offsets", "kafka_cluster")
            problems.append(where(key, unknown_cluster(home, aliases)))
    return problems


def sources_of_lag(
    topology: Topology,
    sections: Mapping[str, FlowSection],
    *,
    where: Callable[[tuple[str, ...], str], Problem],
    written: str = "",
) -> tuple[dict[str, LagSource], list[Problem]]:
    """Return the source of each flow's progress by its name, and a warning for each unknown one.

    Topics of a worker's tasks get a warning if the connector's name is unknown. `written` says where such
    keys are written if not in the file itself.
    """
    found: dict[str, LagSource] = {}
    warnings = []
    for flow in topology.flows:
        section = sections.get(flow.name, FlowSection())
        lag_from = section.lag_from or _CONNECT
        if lag_from == _SYNCS and not flow.emit_offset_syncs:
            warnings.append(where(("flows", flow.name, "lag_from"), _UNWRITTEN))
        if lag_from != _CONNECT:
            found[flow.name] = LagSource(lag_from, section.group)
            continue
        topic, home = flow.offset_storage_topic, flow.offset_storage_cluster or flow.target
        topics = {} if section.offsets is None else section.offsets.worker_topics
        read = flow.on_connect or flow.status_storage_topic is not None
        found[flow.name] = LagSource(
            _CONNECT, None, home, topic, topics, topics_read=read and section.topics is None
        )
        if flow.on_connect and topic is None:
            warnings.append(where(("flows", flow.name, "offsets"), f"{_UNKNOWN} {written}".rstrip()))
        if not _is_named(flow):
            warnings += [where(("flows", flow.name, "offsets", key), _NAMELESS) for key in topics]
    return found, warnings


def _is_named(flow: Flow) -> bool:
    """Return whether the name of the flow's source connector is known, for a dedicated mirror by its file."""
    return bool(flow.connector) if flow.on_connect else flow.status_storage_topic is not None


def flows_kept_at(sources: Mapping[str, LagSource], kafka_cluster: str) -> tuple[str, ...]:
    """Return the flows whose mirrors store their offsets in a known topic of this cluster."""
    return tuple(name for name, one in sources.items() if one.kafka_cluster == kafka_cluster and one.topic)
