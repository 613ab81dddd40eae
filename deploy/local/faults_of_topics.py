"""Faults of the topics themselves: re-created, deleted, grown, limited, written into by others."""

from __future__ import annotations

from deploy.local import acts, acts_topics
from deploy.local.fault import Fault

_TOO_SMALL: dict[str, str | None] = {"max.message.bytes": "200"}
_USUAL: dict[str, str | None] = {"max.message.bytes": None}
_BRIEF: dict[str, str | None] = {"retention.ms": "1000", "segment.ms": "1000"}
_LONG: dict[str, str | None] = {"retention.ms": None, "segment.ms": None}

TOPIC_FAULTS: tuple[Fault, ...] = (
    Fault(
        name="drop-partition",
        sentence="The mirror silently drops every record of one partition.",
        begin=acts.switch("drop", partition=1),
        end=acts.switch_off,
    ),
    Fault(
        name="misroute-partition",
        sentence="The mirror writes every third record of a topic into the next partition.",
        begin=acts.repartition,
        end=acts.switch_off,
    ),
    Fault(
        name="drop-keys",
        sentence="The mirror drops the keys of every third record of a topic.",
        begin=acts.switch("unkey", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="drop-values",
        sentence="The mirror drops the values of every third record of a topic.",
        begin=acts.switch("unvalue", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="reject-large",
        sentence="The target's topic refuses large records: the task fails on the first one.",
        begin=acts_topics.alter("B", _TOO_SMALL, "A."),
        end=acts_topics.in_turn(acts_topics.alter("B", _USUAL, "A."), acts.restart("mirror")),
    ),
    Fault(
        name="reject-large-quietly",
        sentence="The target's topic refuses large records; errors.tolerance=all drops them.",
        begin=acts_topics.alter("B", _TOO_SMALL, "A."),
        end=acts_topics.alter("B", _USUAL, "A."),
    ),
    Fault(
        name="stamp-anew",
        sentence="The target's topic sets timestamps itself (LogAppendTime).",
        begin=acts_topics.alter("B", {"message.timestamp.type": "LogAppendTime"}, "A."),
        end=acts_topics.alter("B", {"message.timestamp.type": None}, "A."),
    ),
    Fault(
        name="too-few-in-sync",
        sentence="The target's topic requires two replicas in sync and has one: Kafka 4 accepts that.",
        begin=acts_topics.alter("B", {"min.insync.replicas": "2"}, "A."),
        end=acts_topics.alter("B", {"min.insync.replicas": None}, "A."),
    ),
    Fault(
        name="source-refuses",
        sentence="The source's topic refuses large records, including canary records.",
        begin=acts_topics.alter("A", _TOO_SMALL),
        # The mirror copies settings to its own topic, and its task fails on what was written before.
        end=acts_topics.in_turn(
            acts_topics.alter("A", _USUAL), acts_topics.alter("B", _USUAL, "A."), acts.restart("mirror")
        ),
    ),
    Fault(
        name="expire-quickly",
        sentence="Source and target keep a topic's records for a second or two; mirror and canary keep up.",
        begin=acts_topics.in_turn(acts_topics.alter("A", _BRIEF), acts_topics.alter("B", _BRIEF, "A.")),
        end=acts_topics.in_turn(acts_topics.alter("A", _LONG), acts_topics.alter("B", _LONG, "A.")),
    ),
    Fault(
        name="delete-source-topic",
        sentence="A topic is deleted on the source.",
        begin=acts_topics.delete("A"),
        end=acts.nothing,
    ),
    Fault(
        name="delete-target-topic",
        sentence="A mirrored topic is deleted on the target.",
        begin=acts_topics.delete("B", "A."),
        end=acts.restart("mirror"),
    ),
    Fault(
        name="recreate-stopped",
        sentence="While the mirror is stopped a source topic is re-created and grows longer than it was.",
        begin=acts_topics.recreate_while_stopped,
        end=acts.nothing,
    ),
    Fault(
        name="strangers-at-source",
        sentence="Another program writes 20,000 random and hostile records into the source's topic.",
        begin=acts_topics.write_strange("A"),
        end=acts.nothing,
    ),
    Fault(
        name="strangers-at-target",
        sentence="Another program writes 20,000 random and hostile records into the target's topic.",
        begin=acts_topics.write_strange("B", "A."),
        end=acts.nothing,
    ),
)
