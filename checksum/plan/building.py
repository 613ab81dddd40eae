"""Select topics, and put a plan together. Pure.

Topics are named by patterns, as in MirrorMaker's filters. A pattern without a replicated topic is an error,
never an empty result: comparing nothing would look like success.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from checksum.plan.shape import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    LeftOut,
    PartitionPlan,
    Plan,
    TopicPlan,
)
from fleet.errors import ConfigurationError, Problem
from fleet.mm2.filters import PatternList
from fleet.quantity import bytes_text, count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fleet.verdicts.flow import Flow

_NAMED = 5  # names in a message


class NamedIn(NamedTuple):
    """Where topics were named: the file or the command line, and the key or option."""

    file: str
    key: str


COMMAND_LINE: Final = NamedIn("the command line", "--topic")


@dataclass(frozen=True, slots=True)
class PlanRules:
    """Settings for every topic of a plan; `cells` is K, `bucket_ms` the width of a time bucket."""

    cells: int = 16
    bucket_ms: int = 900_000
    excluded_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicFound:
    """What is known of one topic; `record_bytes` is the mean of a sample, 0 without one.

    `target_stamps`: the target sets record timestamps itself. `compacted`: either side may delete records
    that a later record of the same key replaces.
    """

    topic: str
    target_topic: str
    source_topic_id: str | None
    target_topic_id: str | None
    headers: bool
    target_stamps: bool
    compacted: bool
    record_bytes: int
    partitions: tuple[PartitionPlan, ...]


def chosen_topics(
    flow: Flow, names: Iterable[str], patterns: Sequence[str] | None, *, named_in: NamedIn = COMMAND_LINE
) -> dict[str, str]:
    """Return the topics to compare, the target's name by the source's; all without `patterns`.

    `names` are the source's topics; `named_in` is where the patterns come from. Raises ConfigurationError for
    an invalid pattern, for one that matches no replicated topic, and if no pattern is given.
    """
    known = sorted(names)
    mirrored = {
        name: found.remote_topic
        for name in known
        if (found := flow.decide(name)).replicated and found.remote_topic is not None
    }
    if patterns is None:
        return mirrored
    if not patterns:
        sentence = "no topics named; use checksum.topics, --topic, or --all for every replicated topic"
        raise ConfigurationError([Problem(*named_in, sentence)])
    chosen: set[str] = set()
    for pattern in patterns:
        try:
            wanted = PatternList(pattern)
        except ValueError as error:
            raise ConfigurationError([Problem(*named_in, str(error))]) from error
        matching = {name for name in mirrored if wanted.matches(name)}
        if not matching:
            raise ConfigurationError([Problem(*named_in, _why_none(flow, wanted, known))])
        chosen |= matching
    return {name: mirrored[name] for name in sorted(chosen)}


def build_plan(
    flow: Flow,
    found: Iterable[TopicFound],
    left_out: Iterable[LeftOut],
    *,
    rules: PlanRules,
    made_at_ms: int,
) -> Plan:
    """Return the plan; topics of which nothing is compared are left out of it.

    The source is read with MirrorMaker's isolation level, otherwise replicated records of aborted
    transactions would look foreign. The target is read with read_committed only if MirrorMaker writes
    transactions.
    """
    return Plan(
        flow=flow.name,
        source=flow.source,
        target=flow.target,
        made_at_ms=made_at_ms,
        cells=rules.cells,
        bucket_ms=rules.bucket_ms,
        isolation_source=isolations(flow)[0],
        isolation_target=isolations(flow)[1],
        excluded_headers=tuple(sorted(set(rules.excluded_headers))),
        topics=tuple(_topic(one) for one in sorted(found, key=lambda one: one.topic) if one.partitions),
        left_out=tuple(sorted(left_out, key=_place)),
    )


def isolations(flow: Flow) -> tuple[str, str]:
    """Return the isolation levels with which source and target of a flow are read."""
    return flow.isolation_level, READ_COMMITTED if flow.exactly_once else READ_UNCOMMITTED


def missing_on_one_side(
    topic: str,
    target_topic: str,
    *,
    flow: Flow,
    records: Mapping[int, int],
    partitions: int | None,
    beyond: Mapping[int, int],
) -> list[LeftOut]:
    """Return what is left out because one side lacks the topic or the partition.

    `records` is how many offsets the source has by partition; `partitions` how many partitions the target
    has, or None if it lacks the topic. `beyond` is how many offsets the target has in partitions that the
    source lacks.
    """
    if partitions is None:
        why = f"topic {target_topic} does not exist on {flow.target}: nothing was replicated"
        return [LeftOut(topic, None, sum(records.values()), why)]
    missing = [number for number in sorted(records) if number >= partitions]
    found = [
        LeftOut(topic, number, records[number], f"partition missing in {target_topic} on {flow.target}")
        for number in missing
    ]
    why = (
        f"only in {target_topic} on {flow.target}: {topic} on {flow.source} has"
        f" {count_text(len(records), 'partition')}"
    )
    return found + [LeftOut(topic, number, held, why) for number, held in sorted(beyond.items()) if held]


def bytes_to_read(plan: Plan) -> tuple[int, int]:
    """Return about how many bytes are read of source and target: offsets times the record size."""
    source = sum(topic.record_bytes * one.source.span for topic in plan.topics for one in topic.partitions)
    target = sum(topic.record_bytes * one.target.span for topic in plan.topics for one in topic.partitions)
    return source, target


def limit_excess(plan: Plan, *, max_bytes: int) -> str | None:
    """Return why a plan exceeds `max_bytes`, or None."""
    most = max(bytes_to_read(plan))
    if most <= max_bytes:
        return None
    return (
        f"the plan of {plan.flow} reads about {bytes_text(most)} of one side, more than max_bytes"
        f" ({bytes_text(max_bytes)}); name fewer topics, or raise checksum.max_bytes"
    )


def check_max_bytes(plan: Plan, *, max_bytes: int, file: str) -> None:
    """Raise ConfigurationError if a side would read more than `max_bytes`; `file` sets that limit."""
    sentence = limit_excess(plan, max_bytes=max_bytes)
    if sentence is not None:
        raise ConfigurationError([Problem(file, "checksum.max_bytes", sentence)])


def _topic(found: TopicFound) -> TopicPlan:
    return TopicPlan(
        topic=found.topic,
        target_topic=found.target_topic,
        source_topic_id=found.source_topic_id,
        target_topic_id=found.target_topic_id,
        headers=found.headers,
        timestamps=not found.target_stamps,
        compacted=found.compacted,
        partitions=tuple(sorted(found.partitions, key=lambda one: one.partition)),
        record_bytes=found.record_bytes,
    )


def _place(one: LeftOut) -> tuple[str, int]:
    return one.topic, -1 if one.partition is None else one.partition


def _why_none(flow: Flow, wanted: PatternList, known: Sequence[str]) -> str:
    there = [name for name in known if wanted.matches(name)]
    if len(there) == 1:
        return flow.decide(there[0]).sentence
    if there:
        some = ", ".join(there[:_NAMED]) + (", ..." if len(there) > _NAMED else "")
        several = count_text(len(there), "topic")
        return f"'{wanted.text}' matches {several} on {flow.source}, but {flow.name} replicates none: {some}"
    return (
        f"no topic on {flow.source} matches '{wanted.text}'; a pattern must match the whole name,"
        " and Mirrorwatch needs the permission to describe the topic"
    )
