"""One sentence for each reason of a verdict, made from the verdict's numbers. Pure.

Numbers are differences of offsets, of which transaction markers and compacted records have some too: "up to".
Verdicts on one row and on many rows use the same sentences. What `since_ms`, `limit_ms`, `before` and `after`
of the facts mean depends on the reason: see its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

_LAST_WRITABLE_MS = 253_402_300_799_999  # end of year 9999, the last that datetime can write


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers behind one verdict, -1 if there is none. Times are epoch milliseconds."""

    now_ms: int = -1
    lag: int = -1  # in records, -1 if it is not known
    offset: int = -1  # the newest committed offset
    head: int = -1  # the offset up to which the lag is counted
    since_ms: int = -1
    limit_ms: int = -1
    before: int = -1
    after: int = -1


def sentence(reason: Reason, facts: Facts) -> str:
    """Return the sentence of a verdict with this reason."""
    return _SENTENCES[reason](facts)


def instant_text(at_ms: int) -> str:
    """Return an epoch millisecond as UTC; as a number if no calendar has it."""
    if not 0 <= at_ms <= _LAST_WRITABLE_MS:
        return f"epoch millisecond {at_ms}"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def records_text(count: int) -> str:
    """Return a number of records with its noun."""
    return "1 record" if count == 1 else f"{count:,} records"


def milliseconds_text(milliseconds: int) -> str:
    """Return a duration."""
    return duration_text(milliseconds / 1000)


def hangs_text(where: str, since_ms: int, now_ms: int) -> str:
    """Return how long a transaction, the subject of the sentence, has been open at a place."""
    return (
        f"has been open at {where} for {milliseconds_text(now_ms - since_ms)} (seen since "
        f"{instant_text(since_ms)}), longer than brokers allow: it hangs."
    )


def _age(facts: Facts) -> str:
    return milliseconds_text(facts.now_ms - facts.since_ms)


def over_limit(facts: Facts) -> str:
    """Return the limit of an age in parentheses; "" if both are written alike."""
    limit = milliseconds_text(facts.limit_ms)
    return "" if limit == _age(facts) else f" (limit: {limit})"


def _commits_stale(facts: Facts) -> str:
    if facts.since_ms < 0:
        return "Lag unknown: the group's commits are not read up to the present yet."
    return (
        f"Lag unknown: commits are read only up to {_age(facts)} ago{over_limit(facts)}, "
        f"{instant_text(facts.since_ms)}."
    )


def _head_stale(facts: Facts) -> str:
    return (
        f"Lag unknown: log end offset last read {_age(facts)} ago{over_limit(facts)}, "
        f"at {instant_text(facts.since_ms)}."
    )


def _recreated(facts: Facts) -> str:
    return (
        f"Lag unknown: the topic was re-created after the commit of offset {facts.offset} (seen at "
        f"{instant_text(facts.since_ms)}). The offset may belong to the old topic; the next commit settles "
        f"it. {new_log_text(facts)}"
    )


def new_log_text(facts: Facts) -> str:
    """Return how many records a re-created topic holds."""
    return f"The new topic holds {records_text(facts.before)} now."


def _no_partition(facts: Facts) -> str:
    count = "1 partition" if facts.before == 1 else f"{facts.before:,} partitions"
    return (
        f"Lag unknown: the topic has only {count}, as last listed. No log belongs to the committed offset "
        f"{facts.offset}."
    )


def _beyond_end(facts: Facts) -> str:
    return (
        f"Lag unknown: committed offset {facts.after} is beyond the log end offset {facts.before}, read "
        "later. The log was truncated or the topic was re-created."
    )


def _deleted_unread(facts: Facts) -> str:
    count = facts.after - facts.before
    return (
        f"Up to {records_text(count)} deleted before the group read {'it' if count == 1 else 'them'}. Log "
        f"start offset {facts.after}, committed offset {facts.offset}, lag {facts.lag:,}."
    )


def _deleted_or_empty(facts: Facts) -> str:
    return (
        f"Unknown whether the group missed records: retention emptied the log up to offset {facts.after}. It "
        f"deleted up to {records_text(facts.after - facts.before)}, or only transaction markers, after the "
        f"committed offset {facts.offset}."
    )


def _unreadable_commit(facts: Facts) -> str:
    last = f"; the last readable offset is {facts.offset}" if facts.offset >= 0 else ""
    return (
        f"Lag unknown: the group's newest commit cannot be parsed{last}. Its format may be newer than "
        "Mirrorwatch: the log has a sample."
    )


def _caught_up(facts: Facts) -> str:
    if facts.lag == 0:
        has_read = f"Lag 0 at offset {facts.offset}: the group has read everything"
        if facts.after <= 0:
            return f"{has_read}."
        wait = "1 more offset waits" if facts.after == 1 else f"{facts.after:,} more offsets wait"
        return f"{has_read} up to the last stable offset {facts.head}. {wait} for an open transaction to end."
    return f"Lag {facts.lag:,}, within the allowed lag of {facts.after:,}."


def _held(facts: Facts) -> str:
    waits = "waits" if facts.before == 1 else "wait"
    hangs = hangs_text(f"offset {facts.head}", facts.since_ms, facts.now_ms)
    return (
        f"A transaction {hangs} Consumers of committed records cannot pass it: the group is at offset "
        f"{facts.offset}, up to {records_text(facts.before)} {waits} behind it. Find and abort the "
        "transaction with kafka-transactions.sh."
    )


def _nothing_readable(facts: Facts) -> str:
    end = min(facts.before, facts.head)
    skipped = end - facts.offset
    where = "1 offset holds" if skipped == 1 else f"{skipped:,} offsets hold"
    return (
        f"{_caught_up(facts)} The next {where} no readable record: transaction markers, aborted or compacted "
        f"records up to offset {end}."
    )


def _lag_at(facts: Facts) -> str:
    return f"Lag {facts.lag:,} at offset {facts.offset}."


def _standing(facts: Facts) -> str:
    return f"{_lag_at(facts)} No progress for {_age(facts)}"


def usual(facts: Facts) -> str:
    """Return how long the group may go without progress: by its own pace, or by partitions in batches."""
    limit = milliseconds_text(facts.limit_ms)
    if facts.after < 0:
        return f"usual for this group: up to {limit}"
    return f"usual if partitions are processed in batches: up to {limit}"


def progress_elsewhere(facts: Facts) -> str:
    """Return that the partition's consumer progresses on others, as one more sentence; "" if it does not."""
    if facts.after < 0:
        return ""
    return f" The partition's consumer progresses on others, last at {instant_text(facts.after)}."


def _stalled(facts: Facts) -> str:
    return (
        f"Group stalled: lag {facts.lag:,} at offset {facts.offset}. No progress for {_age(facts)} "
        f"({usual(facts)}), although the group still commits, last at {instant_text(facts.before)}."
        f"{progress_elsewhere(facts)}"
    )


def _stopped(facts: Facts) -> str:
    return (
        f"Group stopped: lag {facts.lag:,} at offset {facts.offset}. No progress for {_age(facts)} "
        f"({usual(facts)}), last commit at {instant_text(facts.before)}.{progress_elsewhere(facts)}"
    )


def _stopped_empty(facts: Facts) -> str:
    return f"{_stopped(facts)} The group has no active member."


def _rewound(facts: Facts) -> str:
    again = records_text(facts.before - facts.offset)
    return (
        f"Group went back from offset {facts.before} to {facts.after} at {instant_text(facts.since_ms)}. "
        f"It is at offset {facts.offset} now: up to {again} to read again."
    )


def _one_commit(facts: Facts) -> str:
    return (
        f"{_standing(facts)}. The group's pace is unknown after one commit: it counts as stopped after "
        f"{milliseconds_text(facts.limit_ms)}."
    )


def _history_short(facts: Facts) -> str:
    return (
        f"{_lag_at(facts)} Time without progress unknown: at least {_age(facts)}, at most since the commit "
        f"at {instant_text(facts.before)} ({usual(facts)})."
    )


def _unread(facts: Facts) -> str:
    return (
        f"Lag unknown: up to {records_text(facts.lag)} from offset {facts.offset} on. Mirrorwatch has not "
        "read the log there: it may hold only transaction markers, aborted or compacted records."
    )


def _growing(facts: Facts) -> str:
    return (
        f"Group falls behind: lag rose from {facts.before:,} at {instant_text(facts.since_ms)} to "
        f"{facts.after:,} and never fell; {facts.lag:,} now."
    )


def carried_text(who: str, facts: Facts) -> str:
    """Return that mirrors, `who`, sync the group's offset to this cluster, and the lag after a failover."""
    return (
        f"Offset synced by {who}; no member of the group reads here. Lag after a failover: "
        f"{facts.lag:,}, at offset {facts.offset}."
    )


def silent_text(who: str, facts: Facts) -> str:
    """Return that the group never committed here; `who` has the partition now, "" if unknown."""
    was, first = ("was", "") if facts.before == 1 else ("were", "the first ")
    member = f" The partition is assigned to {who} now." if who else ""
    return (
        f"Lag unknown: the group has never committed here, although {records_text(facts.before)} {was} "
        f"written, {first}{milliseconds_text(facts.now_ms - facts.after)} ago. A member has had the "
        f"partition since {instant_text(facts.since_ms)} at the latest.{member}"
    )


def _burrow_stopped(facts: Facts) -> str:
    return (
        f"{_lag_at(facts)} Last commit at {instant_text(facts.since_ms)}, longer ago than the "
        f"{milliseconds_text(facts.limit_ms)} between the oldest and the newest stored commit."
    )


def _burrow_rewound(facts: Facts) -> str:
    return (
        f"Group went back from offset {facts.before} to {facts.after} at {instant_text(facts.since_ms)} "
        f"and has not reached {facts.before} again."
    )


def _burrow_some(facts: Facts) -> str:
    return f"{facts.after} of {facts.before} partitions are not OK."


_SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    Reason.NO_COMMIT: lambda _: "Lag unknown: the group has not committed on this partition.",
    Reason.NO_HEAD: lambda _: "Lag unknown: the log end offset is not read yet.",
    Reason.NO_PARTITION: _no_partition,
    Reason.HEAD_STALE: _head_stale,
    Reason.COMMITS_STALE: _commits_stale,
    Reason.RECREATED: _recreated,
    Reason.NEGATIVE_OFFSET: lambda facts: f"Lag unknown: the committed offset {facts.before} is invalid.",
    Reason.BEYOND_END: _beyond_end,
    Reason.DELETED_UNREAD: _deleted_unread,
    Reason.DELETED_OR_EMPTY: _deleted_or_empty,
    Reason.UNREADABLE_COMMIT: _unreadable_commit,
    Reason.HELD: _held,
    Reason.CAUGHT_UP: _caught_up,
    Reason.NOTHING_READABLE: _nothing_readable,
    Reason.TIME_ABSURD: lambda facts: (
        f"Lag {facts.lag:,}, progress unknown: the clocks disagree. One timestamp is "
        f"{instant_text(facts.since_ms)}; check the clocks of the brokers and of this host."
    ),
    Reason.STALLED: _stalled,
    Reason.STOPPED_EMPTY: _stopped_empty,
    Reason.STOPPED: _stopped,
    Reason.REWOUND: _rewound,
    Reason.ONE_COMMIT: _one_commit,
    Reason.HISTORY_SHORT: _history_short,
    Reason.GROWING: _growing,
    Reason.UNREAD: _unread,
    Reason.PAUSING: lambda facts: f"{_standing(facts)} ({usual(facts)}).",
    Reason.RESTING: lambda facts: f"{_standing(facts)} ({usual(facts)}).{progress_elsewhere(facts)}",
    Reason.CLUSTER_BACK: lambda facts: (
        f"{_standing(facts)}, but the cluster was unreachable until {instant_text(facts.before)} (allowed "
        f"after that: up to {milliseconds_text(facts.limit_ms)})."
    ),
    Reason.RECREATED_EMPTY: lambda facts: (
        f"Nothing to read: the topic was re-created after the commit of offset {facts.offset} and is empty."
    ),
    Reason.MOVING: lambda facts: f"{_lag_at(facts)} The group makes progress.",
    Reason.CARRIED: lambda facts: carried_text("a mirror", facts),
    Reason.BURROW_NO_RING: lambda _: "No commit on this partition.",
    Reason.BURROW_NO_COMMIT: lambda _: "The partition has an owner, but no commit is stored.",
    Reason.BURROW_INCOMPLETE: lambda _: "Fewer commits are stored than minimum-complete requires.",
    Reason.BURROW_LAG_ALLOWED: lambda facts: f"Lag {facts.lag:,}, within the allowed lag of {facts.after:,}.",
    Reason.BURROW_STOPPED: _burrow_stopped,
    Reason.BURROW_REWOUND: _burrow_rewound,
    Reason.BURROW_LAG_WAS_ALLOWED: lambda facts: (
        f"One stored commit had lag {facts.before:,}, within the allowed lag of {facts.after:,}."
    ),
    Reason.BURROW_STALLED: lambda facts: f"{_lag_at(facts)} All stored commits have this offset.",
    Reason.BURROW_NOT_DECREASING: lambda facts: (
        f"Lag rose from {facts.before:,} to {facts.after:,} over the stored commits and never fell."
    ),
    Reason.BURROW_DECREASING: lambda facts: f"Lag {facts.lag:,}. The group makes progress.",
    Reason.BURROW_GROUP_NOT_FOUND: lambda _: "No group of this name is known.",
    Reason.BURROW_GROUP_EXPIRED: lambda facts: f"The last commit was {_age(facts)} ago.",
    Reason.BURROW_GROUP_NO_PARTITION: lambda _: "All topics of the group are deleted.",
    Reason.BURROW_GROUP_ERR: _burrow_some,
    Reason.BURROW_GROUP_WARN: _burrow_some,
    Reason.BURROW_GROUP_OK: lambda facts: f"All {facts.before} partitions are OK.",
}
