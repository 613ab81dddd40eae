"""Put a plan together: which topics, and what was found out about each. Pure.

Topics are named by patterns, as MirrorMaker's filters are. Naming one that the flow does not mirror is an
error of whoever named it, never an empty result: an audit of nothing would look like a good one.
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

_NAMED = 5  # names in a sentence


class NamedIn(NamedTuple):
    """Where topics were named: the file, or the command line, and the key or option there."""

    file: str
    key: str


TYPED: Final = NamedIn("the command line", "--topic")


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What is the same for every topic of a plan; `cells` is K, `bucket_ms` the width of a bucket of time."""

    cells: int = 16
    bucket_ms: int = 900_000
    excluded_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicFound:
    """What was found out of one topic; `record_bytes` is the mean of a sample, 0 where none was read.

    `target_stamps`: the target gives records its own time. `compacted`: either side may drop what a later
    record of the same key replaces.
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
    flow: Flow, names: Iterable[str], patterns: Sequence[str] | None, *, named_in: NamedIn = TYPED
) -> dict[str, str]:
    """Return the topics to compare, the target's name by the source's; without `patterns` all mirrored ones.

    `names` are the source's topics; `named_in` is where the patterns stand. Raises ConfigurationError for a
    pattern that is none, for one that no mirrored topic matches, and where nothing is named at all.
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
        sentence = "name what to compare: checksum.topics, --topic, or --all for every mirrored topic"
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
    """Return the plan of what was found; topics of which nothing is compared are not among its topics.

    The source is read as the mirror reads it, else what it passes on of aborted transactions looks as if
    nobody had written it; the target by what is committed only where the mirror writes transactions.
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
    """Return the isolation level with which source and target of a flow are read."""
    return flow.isolation_level, READ_COMMITTED if flow.exactly_once else READ_UNCOMMITTED


def without_partners(
    topic: str,
    target_topic: str,
    *,
    flow: Flow,
    records: Mapping[int, int],
    partitions: int | None,
    beyond: Mapping[int, int],
) -> list[LeftOut]:
    """Return what is left out of a topic because one side has no such topic, or not these partitions of it.

    `records` is how many offsets the source holds by partition, `partitions` how many the target has, None
    where it lacks the topic. `beyond` is how many offsets the target holds in those that the source lacks;
    an empty one leaves nothing out.
    """
    if partitions is None:
        why = f"there is no topic {target_topic} on {flow.target}: nothing of it has been mirrored"
        return [LeftOut(topic, None, sum(records.values()), why)]
    missing = [number for number in sorted(records) if number >= partitions]
    found = [
        LeftOut(topic, number, records[number], f"{target_topic} on {flow.target} has no such partition")
        for number in missing
    ]
    why = (
        f"they stand in {target_topic} on {flow.target}, and {topic} on {flow.source} has"
        f" {count_text(len(records), 'partition')}: nothing is there to compare them with"
    )
    return found + [LeftOut(topic, number, held, why) for number, held in sorted(beyond.items()) if held]


def bytes_to_read(plan: Plan) -> tuple[int, int]:
    """Return about how many bytes are read of the source and of the target: offsets times a record's size."""
    source = sum(topic.record_bytes * one.source.span for topic in plan.topics for one in topic.partitions)
    target = sum(topic.record_bytes * one.target.span for topic in plan.topics for one in topic.partitions)
    return source, target


def beyond(plan: Plan, *, max_bytes: int) -> str | None:
    """Return in words that a side would read more than `max_bytes`, None where neither would."""
    most = max(bytes_to_read(plan))
    if most <= max_bytes:
        return None
    return (
        f"the plan of {plan.flow} reads about {bytes_text(most)} of a side, and max_bytes is"
        f" {bytes_text(max_bytes)}: name fewer topics, or raise checksum.max_bytes"
    )


def refuse_beyond(plan: Plan, *, max_bytes: int, file: str) -> None:
    """Raise ConfigurationError where a side would read more than `max_bytes`, as `file` has it."""
    sentence = beyond(plan, max_bytes=max_bytes)
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
        return f"'{wanted.text}' matches {several} on {flow.source}, and {flow.name} mirrors none: {some}"
    return (
        f"no topic on {flow.source} matches '{wanted.text}'; a name is matched as a whole, and only topics"
        " that our principal may describe are seen"
    )
