"""Sentences for the reasons of verdicts, made from the numbers that a person checks them with. Pure.

One function for all verdicts, those of a single row and those of a sweep over many. What `since_ms`,
`limit_ms`, `before` and `after` of the facts mean depends on the reason: its sentence below tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

_LAST_WRITABLE_MS = 253_402_300_799_999  # the end of year 9999, which is as far as calendars here go


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers behind one verdict, -1 where there is none. Times are epoch milliseconds."""

    now_ms: int = -1
    lag: int = -1  # records to read: -1 where it is not known well enough to be told
    offset: int = -1  # the newest committed one
    head: int = -1  # the log's end that the lag is counted to
    since_ms: int = -1
    limit_ms: int = -1
    before: int = -1
    after: int = -1


def sentence(reason: Reason, facts: Facts) -> str:
    """Return why a verdict with this reason was given."""
    return _SENTENCES[reason](facts)


def instant_text(at_ms: int) -> str:
    """Write an epoch millisecond for people, and one that is on no calendar as the number it is."""
    if not 0 <= at_ms <= _LAST_WRITABLE_MS:
        return f"epoch millisecond {at_ms}"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _lasting(milliseconds: int) -> str:
    return duration_text(milliseconds / 1000)


def hangs_text(where: str, since_ms: int, now_ms: int) -> str:
    """Say of a transaction, its subject, where it is open, since when, and that it seems to hang."""
    return (
        f"is open at {where}, seen since {instant_text(since_ms)}, for {_lasting(now_ms - since_ms)}: longer "
        "than brokers are to let one be, so that it seems to hang."
    )


def _age(facts: Facts) -> str:
    return _lasting(facts.now_ms - facts.since_ms)


def longer(facts: Facts) -> str:
    """Return that an age is longer than it may be, where it does not come to the same words."""
    limit = _lasting(facts.limit_ms)
    return "" if limit == _age(facts) else f": that is longer than {limit}"


def _commits_stale(facts: Facts) -> str:
    if facts.since_ms < 0:
        return "The group's commits have not been read up to the present yet."
    return (
        f"Commits are known only up to {instant_text(facts.since_ms)}, {_age(facts)} ago{longer(facts)}, "
        "so the group may be elsewhere by now."
    )


def _head_stale(facts: Facts) -> str:
    return (
        f"The log's end was last read {_age(facts)} ago, at {instant_text(facts.since_ms)}{longer(facts)}, "
        "so there may be more to read."
    )


def _recreated(facts: Facts) -> str:
    return (
        f"The topic was seen to be made anew at {instant_text(facts.since_ms)}, after the commit of offset "
        f"{facts.offset}, and perhaps that belongs to the old one: the next commit tells. "
        f"{new_log_text(facts)}"
    )


def new_log_text(facts: Facts) -> str:
    """Return how much a topic that was made anew holds."""
    return f"The new one holds {_records(facts.before)} now."


def _no_partition(facts: Facts) -> str:
    count = "1 partition" if facts.before == 1 else f"{facts.before:,} partitions"
    return (
        f"The topic has only {count}, or had when topics were last listed: there is no log that offset "
        f"{facts.offset} belongs to."
    )


def _beyond_end(facts: Facts) -> str:
    return (
        f"The group committed offset {facts.after}, and the log ended at {facts.before} when it was read "
        "afterwards: it lost its end, or the topic was made anew."
    )


def _deleted_unread(facts: Facts) -> str:
    verb = "was" if facts.after - facts.before == 1 else "were"
    return (
        f"{_records(facts.after - facts.before)} before offset {facts.after} {verb} deleted before the group "
        f"got there: the log now starts there, and the group stands at {facts.offset}. "
        f"Left to read: {facts.lag:,}."
    )


def _caught_up(facts: Facts) -> str:
    if facts.lag == 0:
        return f"The group has read all there is: it stands at offset {facts.offset}."
    return f"{_records(facts.lag)} to read, which is within the allowed {facts.after:,}."


def _held(facts: Facts) -> str:
    waits = "waits" if facts.before == 1 else "wait"
    hangs = hangs_text(f"offset {facts.head}", facts.since_ms, facts.now_ms)
    return (
        f"A transaction {hangs} The group stands at offset {facts.offset}: who reads committed records only "
        f"gets no further, and {_records(facts.before)} behind it {waits}. kafka-transactions.sh finds it "
        "and aborts it."
    )


def _nothing_readable(facts: Facts) -> str:
    skipped = min(facts.before, facts.head) - facts.offset
    where = "the offset behind it holds" if skipped == 1 else f"the {skipped:,} offsets behind it hold"
    return (
        f"{_caught_up(facts)} Up to {min(facts.before, facts.head)} {where} no record that a consumer sees: "
        "markers of transactions, aborted or compacted records."
    )


def _standing(facts: Facts) -> str:
    return (
        f"{_records(facts.lag)} to read at offset {facts.offset}, where the group has stood for {_age(facts)}"
    )


def usual(facts: Facts) -> str:
    """Return for how long it may stand: by its own pace, or as one of several that are read in turns."""
    how = "at its pace" if facts.after < 0 else "read in turns,"
    return f"{how} up to {_lasting(facts.limit_ms)} is usual"


def reads_on(facts: Facts) -> str:
    """Return that whose partition stands moves in others, where that is so: ` Its reader ...`."""
    return (
        f" Its reader moves in other partitions, last at {instant_text(facts.after)}."
        if facts.after >= 0
        else ""
    )


def _stalled(facts: Facts) -> str:
    again = f"commits of the same offset still come, the last at {instant_text(facts.before)}"
    return f"{_standing(facts)}, while {again}: {usual(facts)}.{reads_on(facts)}"


def _stopped(facts: Facts) -> str:
    last = f"with the last commit at {instant_text(facts.before)}"
    return f"{_standing(facts)}, {last}: {usual(facts)}.{reads_on(facts)}"


def _stopped_empty(facts: Facts) -> str:
    return f"{_stopped(facts)} The group has no active member."


def _rewound(facts: Facts) -> str:
    return (
        f"The group went back from offset {facts.before} to {facts.after} at {instant_text(facts.since_ms)} "
        f"and stands at {facts.offset}: {_records(facts.before - facts.offset)} are still to be read again."
    )


def _one_commit(facts: Facts) -> str:
    return (
        f"{_standing(facts)}. One commit tells no pace: after {_lasting(facts.limit_ms)} the group counts as "
        "stopped."
    )


def _history_short(facts: Facts) -> str:
    return (
        f"{_records(facts.lag)} to read at offset {facts.offset}, committed at {instant_text(facts.before)}. "
        f"How long the next record has been there is known only for the last {_age(facts)}: {usual(facts)}."
    )


def _unread(facts: Facts) -> str:
    return (
        f"Lag unknown: up to {_records(facts.lag)} from offset {facts.offset} on. Mirrorwatch has not read "
        "the log there: it may hold only transaction markers, aborted or compacted records."
    )


def _growing(facts: Facts) -> str:
    return (
        f"The group reads, but falls behind: from {_records(facts.before)} at {instant_text(facts.since_ms)} "
        f"to {facts.after:,}, never less in between; {facts.lag:,} now."
    )


def carried_text(who: str, facts: Facts) -> str:
    """Say that a mirror keeps the group's offset; `who` does, with its verb: `A->B carries`."""
    here = f"{who} the group's offsets here, and nobody of the group reads here"
    if not facts.lag:
        return f"{here}: at offset {facts.offset} nothing would be left to read."
    return f"{here}: {_records(facts.lag)} would be left to read from offset {facts.offset}."


def silent_text(who: str, facts: Facts) -> str:
    """Say that a group has committed nothing where a member, `who` by now, has a partition; "" for any."""
    was, first = ("was", "") if facts.before == 1 else ("were", "the first ")
    reader = f"It is {who} that has it, and what it has read" if who else "What it has read"
    return (
        f"The group has committed nothing here, although {_records(facts.before)} {was} written since a "
        f"member was seen to have this partition at {instant_text(facts.since_ms)}, "
        f"{first}{_lasting(facts.now_ms - facts.after)} ago. {reader} is not known."
    )


def _burrow_stopped(facts: Facts) -> str:
    return (
        f"The last commit was at {instant_text(facts.since_ms)}, longer ago than the "
        f"{_lasting(facts.limit_ms)} between the oldest and the newest stored one, "
        f"with {_records(facts.lag)} to read."
    )


def _burrow_rewound(facts: Facts) -> str:
    return (
        f"Commits went back from offset {facts.before} to {facts.after} at {instant_text(facts.since_ms)} "
        f"and have not been at {facts.before} again."
    )


def _burrow_some(facts: Facts) -> str:
    return f"{facts.after} of {facts.before} partitions are not well."


_SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    Reason.NO_COMMIT: lambda _: "No commit of the group to this partition has been seen.",
    Reason.NO_HEAD: lambda _: "The log's end has not been read yet.",
    Reason.NO_PARTITION: _no_partition,
    Reason.HEAD_STALE: _head_stale,
    Reason.COMMITS_STALE: _commits_stale,
    Reason.RECREATED: _recreated,
    Reason.NEGATIVE_OFFSET: lambda facts: f"The group committed offset {facts.before}, which no record has.",
    Reason.BEYOND_END: _beyond_end,
    Reason.DELETED_UNREAD: _deleted_unread,
    Reason.HELD: _held,
    Reason.CAUGHT_UP: _caught_up,
    Reason.NOTHING_READABLE: _nothing_readable,
    Reason.TIME_ABSURD: lambda facts: (
        f"{_records(facts.lag)} to read, but a time needed to judge that is {instant_text(facts.since_ms)}: "
        "see to the clocks of brokers and of this host."
    ),
    Reason.STALLED: _stalled,
    Reason.STOPPED_EMPTY: _stopped_empty,
    Reason.STOPPED: _stopped,
    Reason.REWOUND: _rewound,
    Reason.ONE_COMMIT: _one_commit,
    Reason.HISTORY_SHORT: _history_short,
    Reason.GROWING: _growing,
    Reason.UNREAD: _unread,
    Reason.PAUSING: lambda facts: (
        f"{_standing(facts)}: within its usual pause of up to {_lasting(facts.limit_ms)}."
    ),
    Reason.RESTING: lambda facts: (
        f"{_standing(facts)}, while its reader moves in other partitions, last at "
        f"{instant_text(facts.after)}: who reads partitions in turns may leave one for up to "
        f"{_lasting(facts.limit_ms)}."
    ),
    Reason.CLUSTER_BACK: lambda facts: (
        f"{_standing(facts)}, but the cluster did not answer until {instant_text(facts.before)}: from then "
        f"on it may take up to {_lasting(facts.limit_ms)} to move."
    ),
    Reason.ANEW_EMPTY: lambda facts: (
        f"The topic was made anew after the commit of offset {facts.offset} and holds nothing: "
        "there is nothing to read."
    ),
    Reason.MOVING: lambda facts: f"The group moves: {_records(facts.lag)} to read at offset {facts.offset}.",
    Reason.CARRIED: lambda facts: carried_text("A mirror carries", facts),
    Reason.BURROW_NO_RING: lambda _: "Nobody ever committed to this partition.",
    Reason.BURROW_NO_COMMIT: lambda _: "The partition has an owner, and no commit is stored.",
    Reason.BURROW_INCOMPLETE: lambda _: "Fewer commits are stored than minimum-complete asks for.",
    Reason.BURROW_LAG_ALLOWED: lambda facts: f"{_records(facts.lag)} to read, {facts.after} are allowed.",
    Reason.BURROW_STOPPED: _burrow_stopped,
    Reason.BURROW_REWOUND: _burrow_rewound,
    Reason.BURROW_LAG_WAS_ALLOWED: lambda facts: (
        f"At some stored commit the lag was {facts.before}, and {facts.after} is allowed."
    ),
    Reason.BURROW_STALLED: lambda facts: (
        f"Every stored commit is of offset {facts.offset}, with {_records(facts.lag)} to read."
    ),
    Reason.BURROW_NOT_DECREASING: lambda facts: (
        f"The lag went from {facts.before} to {facts.after} over the stored commits and never fell."
    ),
    Reason.BURROW_DECREASING: lambda facts: f"The group reads: {_records(facts.lag)} to read.",
    Reason.BURROW_GROUP_NOT_FOUND: lambda _: "No group of this name is known.",
    Reason.BURROW_GROUP_EXPIRED: lambda facts: f"The last commit was {_age(facts)} ago.",
    Reason.BURROW_GROUP_NO_PARTITION: lambda _: "The topics of the group are deleted.",
    Reason.BURROW_GROUP_ERR: _burrow_some,
    Reason.BURROW_GROUP_WARN: _burrow_some,
    Reason.BURROW_GROUP_OK: lambda facts: f"All {facts.before} partitions are well.",
}
