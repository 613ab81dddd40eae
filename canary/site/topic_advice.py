"""What is wrong with a topic's settings, and what to do. Pure.

Rules in order: partitions, max.message.bytes, min.insync.replicas, cleanup.policy, retention.ms,
retention.bytes, and settings that keep records for ever. An unknown setting is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fleet.quantity import bytes_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

YEAR_S = 365 * 86_400.0
DEFAULT_SEGMENT_BYTES = 2**30


class Use(StrEnum):
    """What a topic is for."""

    PROBES = "probes"
    COPIES = "copies"
    CONTROL = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryTopic:
    """A topic, and what it must hold.

    `replicas` are those of the partition that has the fewest, None where that is not known; `planned` is None
    where the plan is not known or not the topic's to keep. `record_bytes` is the largest batch that a record
    of ours comes in; one is written into each partition every `interval_s`, and is to be kept for `kept_s`.
    `wished` are the settings with which such a topic is made.
    """

    name: str
    kafka_cluster: str
    use: Use
    settings: Mapping[str, str]
    wished: Mapping[str, str]
    partitions: int
    replicas: int | None
    planned: int | None
    record_bytes: int
    interval_s: float
    kept_s: float

    @property
    def place(self) -> str:
        """Return the topic and its cluster."""
        return f"{self.name} on {self.kafka_cluster}"

    def number(self, key: str) -> int | None:
        """Return a setting as a number, or None."""
        try:
            return int(self.settings[key])
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Advice:
    """What is wrong and what to do; `breaks` if probes fail or are misjudged because of it."""

    sentence: str
    breaks: bool
    refuses: bool = False  # the topic refuses its records


def advise(topic: CanaryTopic) -> tuple[Advice, ...]:
    """Return what is wrong with the topic, in the order of the rules."""
    rules = (_partitions, _message_bytes, _replicas, _cleanup, _retention, _retained_bytes, _for_ever)
    return tuple(advice for rule in rules for advice in rule(topic))


def _partitions(topic: CanaryTopic) -> Iterator[Advice]:
    if topic.planned is not None and topic.partitions < topic.planned:
        has = "1 partition" if topic.partitions == 1 else f"{topic.partitions} partitions"
        yield Advice(
            f"{topic.place} has {has}; {topic.planned} would cover more tasks of the mirror and more brokers."
            f" Add them with kafka-topics.sh --alter --topic {topic.name} --partitions {topic.planned}, or"
            " set canary.grow: true (in mode create). MirrorMaker then restarts its tasks.",
            breaks=False,
        )


def _message_bytes(topic: CanaryTopic) -> Iterator[Advice]:
    most = topic.number("max.message.bytes")
    if most is not None and most < topic.record_bytes:
        yield Advice(
            f"{topic.place} refuses {_writers(topic)}: max.message.bytes is {most}, and {_one(topic)} has"
            f" up to {topic.record_bytes} bytes. {_set(topic, _roomier(topic))}",
            breaks=True,
            refuses=True,
        )


def _replicas(topic: CanaryTopic) -> Iterator[Advice]:
    least = topic.number("min.insync.replicas")
    if least is not None and topic.replicas is not None and least > topic.replicas:
        has = "1 replica" if topic.replicas == 1 else f"{topic.replicas} replicas"
        yield Advice(
            f"{topic.place} requires {least} replicas in sync (min.insync.replicas) and has {has} of each"
            f" partition. Kafka then requires all of them, so {_then(topic)}. Add replicas, or set"
            f" min.insync.replicas={max(1, topic.replicas - 1)}.",
            breaks=False,
        )


def _cleanup(topic: CanaryTopic) -> Iterator[Advice]:
    policies = _policies(topic)
    if "compact" not in policies:
        return
    compacted = f"{topic.place} is compacted (cleanup.policy={topic.settings['cleanup.policy']})"
    instead = _set(topic, "cleanup.policy=delete")
    if topic.use is Use.CONTROL:
        yield Advice(f"{compacted}: control probes have no key and are refused. {instead}", breaks=True)
    elif "delete" in policies:
        yield Advice(
            f"{compacted}: Kafka may remove a duplicate of a probe before the canary reads it. {instead}",
            breaks=False,
        )
    else:
        yield Advice(
            f"{compacted}: each probe has its own key, so Kafka removes only duplicates, perhaps before the"
            f" canary reads them. It grows by {_growth(topic)}. {instead}",
            breaks=False,
        )


def _retention(topic: CanaryTopic) -> Iterator[Advice]:
    kept_ms = topic.number("retention.ms")
    if "delete" in _policies(topic) and kept_ms is not None and 0 <= kept_ms < topic.kept_s * 1000:
        yield Advice(
            f"{topic.place} keeps records for only {duration_text(kept_ms / 1000)} (retention.ms={kept_ms}),"
            f" and {_waited(topic)}. {_set(topic, 'retention.ms=' + topic.wished['retention.ms'])}",
            breaks=True,
        )


def _retained_bytes(topic: CanaryTopic) -> Iterator[Advice]:
    most = topic.number("retention.bytes")
    needed = int(topic.record_bytes * (topic.kept_s / topic.interval_s + 1))
    if "delete" in _policies(topic) and most is not None and 0 <= most < needed:
        yield Advice(
            f"{topic.place} keeps {bytes_text(most)} of a partition (retention.bytes={most}), less than"
            f" {duration_text(topic.kept_s)} of probes ({bytes_text(needed)}), and {_waited(topic)}."
            f" {_set(topic, 'retention.bytes=-1')}",
            breaks=True,
        )


def _for_ever(topic: CanaryTopic) -> Iterator[Advice]:
    """Find records that nothing removes: no limit at all, or a segment that is never closed."""
    kept_ms, most = topic.number("retention.ms"), topic.number("retention.bytes")
    if "delete" not in _policies(topic) or kept_ms is None:
        return
    if kept_ms < 0 and (most is None or most < 0):
        yield Advice(
            f"{topic.place} keeps every record for ever (retention.ms=-1) and grows by {_growth(topic)}."
            f" {_set(topic, 'retention.ms=' + topic.wished['retention.ms'])}",
            breaks=False,
        )
        return
    segment_ms = topic.number("segment.ms")
    full_s = (topic.number("segment.bytes") or DEFAULT_SEGMENT_BYTES) / topic.record_bytes * topic.interval_s
    if segment_ms is not None and min(segment_ms / 1000, full_s) > YEAR_S:
        yield Advice(
            f"{topic.place} rolls a segment only after years (segment.ms={segment_ms}). Kafka never"
            " deletes from the active segment, so retention has no effect."
            f" {_set(topic, 'segment.ms=' + topic.wished['segment.ms'])}",
            breaks=False,
        )


def _policies(topic: CanaryTopic) -> set[str]:
    told = topic.settings.get("cleanup.policy", "delete")
    return {policy.strip() for policy in told.split(",")}


def _growth(topic: CanaryTopic) -> str:
    per_day = topic.record_bytes * topic.partitions * 86_400 / topic.interval_s
    return f"{bytes_text(per_day)} a day on each replica"


def _one(topic: CanaryTopic) -> str:
    return "a control probe" if topic.use is Use.CONTROL else "a probe"


def _writers(topic: CanaryTopic) -> str:
    """Return what is written to the topic, in the plural."""
    return {
        Use.PROBES: "probes",
        Use.COPIES: "the records that MirrorMaker writes",
        Use.CONTROL: "control probes",
    }[topic.use]


def _then(topic: CanaryTopic) -> str:
    """Return the consequence of requiring every replica."""
    if topic.replicas == 1:
        return "each record is stored on one broker only"
    return f"it refuses {_writers(topic)} as soon as one replica is not in sync"


def _waited(topic: CanaryTopic) -> str:
    if topic.use is Use.CONTROL:
        return "Kafka may delete a control probe before the canary reads it"
    if topic.use is Use.COPIES:
        return (
            f"the canary waits up to {duration_text(topic.kept_s)} for a record: it reports one that was"
            " deleted unread as lost"
        )
    return (
        f"the canary waits up to {duration_text(topic.kept_s)} for a probe: one that is deleted before the"
        " mirror reads it is lost"
    )


def _roomier(topic: CanaryTopic) -> str:
    return f"max.message.bytes={max(1024, 2 ** (topic.record_bytes * 2).bit_length())}"


def _set(topic: CanaryTopic, setting: str) -> str:
    also = ", here and on its source, whose settings MirrorMaker copies" if topic.use is Use.COPIES else ""
    return f"Set {setting}{also}."
