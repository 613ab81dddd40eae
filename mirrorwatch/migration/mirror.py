"""What one mirror has committed, and whether it runs: from its worker's topic, Kafka Connect or its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fleet.connect.json import answered_offsets, expanded
from fleet.errors import ConfigurationError, MalformedError, Problem
from fleet.quantity import count_text
from lagmon.ingest.admin_plan import WITHOUT_MEMBERS
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, GROUP
from mirrorwatch.configuration.connect_rest import answer_of
from mirrorwatch.failover.mirror_topics import MirrorTopics
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.mirrors.answers.orders import MirrorOrder
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.sections import ConnectSection
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.trace.clusters import Clusters

_STATES = {"expand": ["info", "status"]}
STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class MirrorState:
    """A mirror of one flow.

    `committed` is by source partition the last offset that it has committed as replicated, None if that
    cannot be read, with the reason in `problem`. `runs` is whether it runs, None if that is not visible;
    `evidence` says how it is known.
    """

    topics: MirrorTopics
    committed: Mapping[Place, int] | None
    runs: bool | None
    evidence: str
    problem: str = ""


def worker_group(order: MirrorOrder) -> str | None:
    """Return the group of a dedicated MirrorMaker's workers, on the cluster of its offsets; None for others.

    MirrorMakerConfig of Kafka 4.3 names it after the source of the flow.
    """
    dedicated = order.lag_from == CONNECT_OFFSETS and not order.flow.on_connect
    return f"{order.flow.source}-mm2" if dedicated else None


def read_mirror(config: Configuration, order: MirrorOrder, clusters: Clusters, *, now_ms: int) -> MirrorState:
    """Return the state of the mirror of a flow; blocks.

    Raises ConfigurationError for a mirror that does not continue at committed offsets, MirrorwatchError if a
    cluster or Kafka Connect does not answer.
    """
    if not order.progress.resumes:
        sentence = (
            f"{order.name}: its mirror does not continue at offsets that Mirrorwatch can read "
            f"(lag_from: {order.lag_from})"
        )
        raise ConfigurationError([Problem(str(config.path), f"flows.{order.name}", sentence)])
    topics = MirrorTopics(order)
    readers = {alias: clusters[alias].reader for alias in order.clusters if alias in clusters}
    listed = {alias: clusters[alias].topics for alias in readers}
    topics.read_progress(readers, listed, now_ms=now_ms)
    if order.lag_from == GROUP:
        return _of_groups(topics, clusters)
    if order.flow.on_connect and config.connect is not None:
        return run_to_end(_on_connect(topics, config.connect))
    held = {place: offset - 1 for place, offset in topics.committed.items()}
    group = worker_group(order)
    if group is None:
        runs, evidence = None, "whether its connector runs is not visible without `connect.url`"
    else:
        members = clusters[order.offsets_cluster].reader.members(group)
        count = count_text(members, "member") if members else "no members"
        runs, evidence = members > 0, f"group {group} on {order.offsets_cluster} has {count}"
    if not order.offsets_topic:
        key = f"set flows.{order.name}.offsets.topic, or connect.url"
        return MirrorState(
            topics, None, runs, evidence, f"the topic of its worker's offsets is unknown; {key}"
        )
    return MirrorState(topics, held, runs, evidence)


def _of_groups(topics: MirrorTopics, clusters: Clusters) -> MirrorState:
    order = topics.order
    source = clusters[order.flow.source].reader
    states = {name: state for name, state in source.groups().items() if order.follows(name)}
    committed: dict[Place, int] = {}
    for offsets in source.committed(sorted(states)).values():
        for place, offset in offsets.items():
            if offset > 0:
                committed[place] = max(offset - 1, committed.get(place, 0))
    running = sorted(name for name, state in states.items() if state not in WITHOUT_MEMBERS)
    which = f"group {', '.join(running or sorted(states))}" if states else f"no group matches {order.group}"
    has = "has members" if running else "has no members" if states else "there"
    return MirrorState(topics, committed, bool(running), f"{which} {has} on {order.flow.source}")


async def _on_connect(topics: MirrorTopics, section: ConnectSection) -> MirrorState:
    name, at = topics.order.flow.connector, section.url
    found = expanded(await answer_of(section, "/connectors", _STATES))
    one = next((each for each in found if each.name == name), None)
    if one is None:
        return MirrorState(topics, {}, False, f"connector {name} does not exist at {at}")
    runs, evidence = one.state != STOPPED, f"connector {name} is {one.state or 'in no known state'}"
    try:
        path = f"/connectors/{quote(name, safe='')}/offsets"
        offsets = answered_offsets(await answer_of(section, path), name)
    except MalformedError:
        held = {place: offset - 1 for place, offset in topics.committed.items()}
        if topics.order.offsets_topic:
            return MirrorState(topics, held, runs, evidence)
        sentence = (
            f"{at} does not return offsets, as Kafka Connect before 3.6; "
            f"set flows.{topics.order.name}.offsets.topic"
        )
        return MirrorState(topics, None, runs, evidence, sentence)
    source = topics.order.flow.named_source
    held = {
        (each.key.topic, each.key.partition): each.offset for each in offsets if each.key.cluster == source
    }
    return MirrorState(topics, held, runs, evidence)
