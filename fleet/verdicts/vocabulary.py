"""Verdicts and causes: one list for page, API, series, alert and log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class Verdict(StrEnum):
    """The state of a flow, worst first."""

    LOSING = "losing"
    ALTERED = "altered"
    STALLED = "stalled"
    REPEATING = "repeating"
    LATE = "late"
    UNKNOWN = "unknown"
    HEALTHY = "healthy"

    @property
    def severity(self) -> int:
        """Return 0 for the worst verdict and 6 for healthy."""
        return _SEVERITY[self]

    @property
    def is_bad(self) -> bool:
        """Return whether this is a known problem."""
        return self not in (Verdict.HEALTHY, Verdict.UNKNOWN)


CONDITIONS = tuple(verdict for verdict in Verdict if verdict is not Verdict.HEALTHY)
"""The conditions that a flow can have at one instant, several at once; none means healthy."""

BAD = frozenset(verdict for verdict in Verdict if verdict.is_bad)

_SEVERITY = {verdict: number for number, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class Ticket:
    """The alert that opens a ticket while a cause holds for `for_s` seconds."""

    alert: str
    for_s: int
    summary: str  # with Prometheus' labels of a flow


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The declaration of a cause; see the attributes of `Cause`."""

    meaning: str
    to_do: str
    lost: str = ""
    exact: bool = False
    of_part: bool = False
    ticket: Ticket | None = None


_UNDECLARED = _Facts(meaning="", to_do="")


class Cause(StrEnum):
    """Why a flow has its verdict: a closed list.

    `meaning` and `to_do` are a sentence each, with A for the source cluster and B for the target. The runbook
    of a cause is alerts/runbooks/CODE.md. `lost` is the reason of a loss by offsets, with {source} and
    {target}. `exact`: offsets show it better than the canary, so it replaces the canary's cause of a stall.
    `of_part`: a part of the mirror hangs, so it holds only after all parts had the time to recover.
    """

    meaning: str
    to_do: str
    lost: str
    exact: bool
    of_part: bool
    ticket: Ticket | None

    def __new__(cls, code: str, facts: _Facts = _UNDECLARED) -> Self:
        """Make a member. A call with a code alone, `Cause("paused")`, finds the member instead."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.meaning, made.to_do, made.lost = facts.meaning, facts.to_do, facts.lost
        made.exact, made.of_part, made.ticket = facts.exact, facts.of_part, facts.ticket
        return made

    SOURCE_DOWN = (
        "source_down",
        _Facts(
            meaning="Cluster A does not take or return control probes.",
            to_do="Restore the brokers of A that the evidence names.",
        ),
    )
    TARGET_DOWN = (
        "target_down",
        _Facts(
            meaning="Cluster B does not take or return control probes.",
            to_do="Restore the brokers of B that the evidence names.",
        ),
    )
    MIRROR_DOWN = (
        "mirror_down",
        _Facts(
            meaning="Both clusters are up and no partition is replicated: the mirror is down or hangs.",
            to_do="Check the MirrorMaker process, its log and its connectors; restart it.",
        ),
    )
    TASK_FAILED = (
        "task_failed",
        _Facts(
            meaning="A task of the mirror has failed, and records wait for it.",
            to_do="Read the task's error, fix what it names, and restart the task.",
            exact=True,
            ticket=Ticket("MirrorwatchTaskFailed", 60, "A mirror task of {{ $labels.flow }} has failed"),
        ),
    )
    TASK_STUCK = (
        "task_stuck",
        _Facts(
            meaning="Some partitions hang while others are replicated: a task hangs or is throttled.",
            to_do="Restart the task of the partitions in the evidence, or raise the quota of its clients.",
            of_part=True,
        ),
    )
    NOT_MIRRORED = (
        "not_mirrored",
        _Facts(
            meaning="The mirror runs and does not replicate the topic or partition.",
            to_do="Check the mirror's `topics`, its transforms, and its permission to read the topic.",
        ),
    )
    OVERTAKEN = (
        "overtaken",
        _Facts(
            meaning="Retention on A deleted records before the mirror read them.",
            to_do="Lengthen the retention on A, or speed up the mirror.",
            lost="the log on {source} starts after them, so they were deleted before they were read",
        ),
    )
    TOPIC_RECREATED = (
        "topic_recreated",
        _Facts(
            meaning="The topic was re-created on A or on B.",
            to_do="Find out who deletes topics; restart the mirror if it does not recover.",
            lost="a topic was re-created",
        ),
    )
    TOPIC_MISSING = (
        "topic_missing",
        _Facts(
            meaning="The target topic was deleted.",
            to_do="Create it again, or wait for the mirror's next refresh of topics.",
            exact=True,
            ticket=Ticket("MirrorwatchTopicMissing", 300, "A target topic of {{ $labels.flow }} is missing"),
        ),
    )
    PARTITION_MISSING = (
        "partition_missing",
        _Facts(
            meaning="The topic has fewer partitions on B than on A.",
            to_do="Add the partitions, or wait for the mirror's next refresh of topics.",
            exact=True,
            ticket=Ticket(
                "MirrorwatchPartitionMissing", 300, "A target topic of {{ $labels.flow }} lacks partitions"
            ),
        ),
    )
    FILTERED = (
        "filtered",
        _Facts(
            meaning="Something on the way drops records while newer ones arrive.",
            to_do="Check the mirror's transforms and predicates, and `errors.tolerance`.",
            lost="the mirror drops them",
            of_part=True,
        ),
    )
    RECORD_REJECTED = (
        "record_rejected",
        _Facts(
            meaning="A setting of the target topic rejects records, such as `max.message.bytes`.",
            to_do="Set what the sentence names, then restart the task that has failed.",
        ),
    )
    MISROUTED = (
        "misrouted",
        _Facts(
            meaning="Records are in another partition or topic of B than they belong to.",
            to_do="Look for a transform that routes records.",
        ),
    )
    TRANSFORMED = (
        "transformed",
        _Facts(
            meaning="Key, value or headers of records differ on B.",
            to_do="Look for a transform, or for a converter other than ByteArrayConverter.",
        ),
    )
    RETIMED = (
        "retimed",
        _Facts(
            meaning="Records have another timestamp on B.",
            to_do="Set `message.timestamp.type` of the target topic to CreateTime, or remove the transform.",
        ),
    )
    ABORTED_TRANSACTION = (
        "aborted_transaction",
        _Facts(
            meaning="Records of an aborted transaction on A are on B.",
            to_do="Set `isolation.level` of the mirror's consumer to read_committed.",
        ),
    )
    DUPLICATING = (
        "duplicating",
        _Facts(
            meaning="Records keep arriving on B more than once.",
            to_do="Look for a second mirror of the flow, or for a mirror that went back.",
        ),
    )
    LOOPING = (
        "looping",
        _Facts(
            meaning="Records return to A, where they came from.",
            to_do="Mirror each topic in one direction, or use a policy that renames topics.",
        ),
    )
    THROTTLED = (
        "throttled",
        _Facts(
            meaning="A quota throttles the mirror's clients. Reserved: this version does not report it.",
            to_do="Raise the quota of the mirror's clients.",
        ),
    )
    PAUSED = (
        "paused",
        _Facts(
            meaning="The connector or a task is paused or stopped, and records wait for it.",
            to_do="Find out why it was paused, then resume it.",
            exact=True,
            ticket=Ticket("MirrorwatchMirrorPaused", 900, "The mirror of {{ $labels.flow }} is paused"),
        ),
    )
    OFFSETS_NOT_COMMITTING = (
        "offsets_not_committing",
        _Facts(
            meaning="The mirror's offsets are idle while records arrive; a restart would repeat them.",
            to_do="Check the offsets topic of the mirror's worker, and its permission to write there.",
            ticket=Ticket(
                "MirrorwatchOffsetsNotCommitting", 300, "The mirror of {{ $labels.flow }} commits no offsets"
            ),
        ),
    )
    TRANSACTION_HANGS = (
        "transaction_hangs",
        _Facts(
            meaning="A transaction on A hangs, and the mirror reads committed records only.",
            to_do="Find the transaction and abort it with `kafka-transactions.sh`.",
            of_part=True,
        ),
    )
    PROBER = (
        "prober",
        _Facts(
            meaning="Mirrorwatch cannot measure the flow reliably.",
            to_do="Check the load, the disk and the permissions of Mirrorwatch itself.",
        ),
    )
    UNEXPLAINED = (
        "unexplained",
        _Facts(
            meaning="Something is wrong, and the evidence does not show what, or not yet.",
            to_do="Wait for the next control probes; run `mirrorwatch check` for missing permissions.",
            of_part=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact that the user can check: its place, and what was seen there at epoch second `at`."""

    part: str  # canary | lag | checksum | failover
    sentence: str
    at: float
    topic: str | None = None
    partition: int | None = None
    source_offset: int | None = None
    target_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Also:
    """A current problem in addition to a verdict that rests on earlier findings, or is worse than a loop.

    The fields are those of the verdict.
    """

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float
    shown_at: float = 0.0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowVerdict:
    """A verdict with its reason: `cause` is None for healthy, and for unknown if only data is missing.

    `parts` has the sentence of each part about the flow, by the part's name. `shown_at` is when the evidence
    last showed the cause; during a stall it may be a moment ago. `evidence` has the rows of the verdict, then
    those of `also`. `conditions` are all verdicts that hold now, except healthy: a loss of ten minutes ago is
    not a condition, although it may still be the verdict.
    """

    flow: str
    verdict: Verdict
    cause: Cause | None
    sentence: str
    evidence: tuple[Evidence, ...]
    parts: tuple[tuple[str, str], ...]
    since_at: float
    shown_at: float = 0.0
    also: Also | None = None
    conditions: frozenset[Verdict] = frozenset()

    def moved(self, by_s: float) -> FlowVerdict:
        """Return it with every instant moved by this many seconds, after the clock was set."""
        also = self.also
        if also is not None:
            also = replace(also, since_at=also.since_at + by_s, shown_at=also.shown_at + by_s)
        return replace(self, since_at=self.since_at + by_s, shown_at=self.shown_at + by_s, also=also)
