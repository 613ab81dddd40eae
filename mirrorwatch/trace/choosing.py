"""The record on its source cluster, by offset, key or time. Blocks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fleet.dialect import moment_ms_text, unknown_name
from fleet.errors import ConfigurationError, MirrorwatchError, Problem
from fleet.quantity import count_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.verdicts.flow import Flow
    from mirrorwatch.trace.clusters import Clusters, TraceCluster
    from runtime.kafka.picking import PickedRecord, Place

MOST_SEARCHED_OFFSETS = 10_000  # for a key, over all partitions
_READ_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The record that is asked for: by `offset` with `partition`, by `key`, or by `at_ms`.

    `cluster` is None for the source of the flows that replicate the topic.
    """

    topic: str
    cluster: str | None = None
    partition: int | None = None
    offset: int | None = None
    key: str | None = None
    at_ms: int | None = None


class Chosen(NamedTuple):
    """The record, None if the offset holds none; `remark` is how it was searched, or why it holds none."""

    cluster: str
    place: Place
    offset: int
    record: PickedRecord | None
    remark: str = ""


def choose_cluster(wanted: Wanted, flows: Sequence[Flow], clusters: Clusters) -> str:
    """Return the alias of the source cluster: that of the flows that replicate the topic, which has it.

    Raises ConfigurationError if there is none or if there are several.
    """
    if wanted.cluster is not None:
        if wanted.cluster not in clusters:
            known = {alias for flow in flows for alias in (flow.source, flow.target)}
            raise _refused("--cluster", unknown_name("cluster", wanted.cluster, known))
        return wanted.cluster
    sources = list(dict.fromkeys(flow.source for flow in flows if flow.decide(wanted.topic).replicated))
    topics = {alias: clusters[alias].topics for alias in sources}
    if not any(wanted.topic in one for one in topics.values()):
        for alias in dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)):
            with suppress(MirrorwatchError):  # one that is down must not hide that the name is wrong
                topics[alias] = clusters[alias].topics
    found = [alias for alias, names in topics.items() if wanted.topic in names]
    if len(found) == 1:
        return found[0]
    if found:
        sentence = f"ambiguous: {', '.join(found)} have topic {wanted.topic}; choose one with --cluster"
        raise _refused("--cluster", sentence)
    known = {name for names in topics.values() for name in names}
    raise _refused("--topic", _unknown_topic(wanted.topic, known))


def choose_record(wanted: Wanted, cluster: TraceCluster) -> Chosen:
    """Return the record; raises ConfigurationError for a topic, partition or offset that is not there."""
    count = cluster.topics.get(wanted.topic)
    if count is None:
        raise _refused("--topic", _unknown_topic(wanted.topic, cluster.topics))
    if wanted.partition is not None and not 0 <= wanted.partition < count:
        there = f"{wanted.topic} on {cluster.alias} has 0 to {count - 1}"
        raise _refused("--partition", f"partition {wanted.partition} is out of range; {there}")
    numbers = range(count) if wanted.partition is None else [wanted.partition]
    places = [(wanted.topic, number) for number in numbers]
    starts, ends = cluster.logs(places)
    if wanted.offset is not None:
        return _at_offset(cluster, places[0], wanted.offset, starts[places[0]], ends[places[0]])
    if wanted.key is not None:
        return _with_key(cluster, wanted.key, {place: (starts[place], ends[place]) for place in places})
    assert wanted.at_ms is not None
    return _at_time(cluster, places, wanted.at_ms)


def _at_offset(cluster: TraceCluster, place: Place, offset: int, start: int, end: int) -> Chosen:
    name = f"{place[0]}-{place[1]} on {cluster.alias}"
    if start == end:
        raise _refused("--offset", f"{name} holds no records; its log start and log end offsets are {end}")
    if not start <= offset < end:
        raise _refused("--offset", f"offset {offset} is out of range; {name} has {start} to {end - 1}")
    records = cluster.read(place, offset, offset + 1).records
    if records:
        return Chosen(cluster.alias, place, offset, records[0])
    why = "it is the marker of a transaction, or compaction removed it"
    return Chosen(cluster.alias, place, offset, None, f"Offset {offset} of {name} holds no record: {why}.")


def _with_key(cluster: TraceCluster, key: str, logs: Mapping[Place, tuple[int, int]]) -> Chosen:
    """Return the newest record with a key: of several partitions, that with the latest timestamp."""
    share = max(1, MOST_SEARCHED_OFFSETS // len(logs))
    wanted = key.encode(errors="surrogateescape")
    found: list[tuple[int, Place, PickedRecord]] = []
    for place, (start, end) in logs.items():
        newest = _newest(cluster, place, wanted, (max(start, end - share), end))
        if newest is not None:
            found.append((newest.timestamp_ms, place, newest))
    each = "the partition" if len(logs) == 1 else f"each of {len(logs)} partitions"
    bound = f"the last {share:,} offsets of {each}"
    if not found:
        sentence = f"no record with this key in {bound} on {cluster.alias}; write its partition and offset"
        raise _refused("--key", sentence)
    _, place, record = max(found, key=lambda one: one[:2])
    return Chosen(cluster.alias, place, record.offset, record, f"Newest record with this key in {bound}.")


def _newest(cluster: TraceCluster, place: Place, key: bytes, offsets: tuple[int, int]) -> PickedRecord | None:
    """Return the newest record with a key between two offsets, the last not included."""
    low, end = offsets
    while end > low:
        first = max(low, end - _READ_AT_ONCE)
        at, newest = first, None
        while at < end:
            stretch = cluster.read(place, at, end)
            newest = next((one for one in reversed(stretch.records) if one.key == key), newest)
            if stretch.last <= at:
                break  # the log no longer has it
            at = stretch.last
        if newest is not None:
            return newest
        end = first
    return None


def _at_time(cluster: TraceCluster, places: Sequence[Place], at_ms: int) -> Chosen:
    """Return the first record at or after a moment: of several partitions, that with the least timestamp."""
    found: list[tuple[int, Place, PickedRecord]] = []
    offsets = cluster.since(places, at_ms)
    for place, offset in offsets.items():
        records = cluster.read(place, offset, offset + 1).records
        found += [(one.timestamp_ms, place, one) for one in records]
    if not found:
        there = f"{count_text(len(places), 'partition')} of {places[0][0]} on {cluster.alias}"
        raise _refused("--time", f"no record at or after {moment_ms_text(at_ms)} in {there}")
    _, place, record = min(found, key=lambda one: one[:2])
    where = "the partition" if len(places) == 1 else f"{len(places)} partitions"
    remark = f"First record at or after {moment_ms_text(at_ms)} in {where}."
    return Chosen(cluster.alias, place, record.offset, record, remark)


def _unknown_topic(topic: str, known: Mapping[str, int] | set[str]) -> str:
    return f"{unknown_name('topic', topic, known)} (or the permission to describe it is missing)"


def _refused(option: str, sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem(option, "", sentence)])
