"""Sentences of verdicts on groups whose offsets come from the Admin API, which has no times of commits. Pure.

They say where a group was at each poll. A group that has not moved is STALL if it has members and STOP if it
has none: polling does not show whether the same offset is committed again. Time without progress is counted
up to the last answered poll; the sentence says if more than is usual has passed only since then.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.sentences import (
    instant_text,
    milliseconds_text,
    new_log_text,
    over_limit,
    progress_elsewhere,
    records_text,
    usual,
)
from lagmon.groups.rules.words import Reason
from lagmon.groups.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lagmon.groups.rules.sentences import Facts


class AdminSweep(Sweep):
    """Verdicts on many rows, with the sentences of this module."""

    def sentence(self, row: int) -> str:
        """Return the sentence of one row's verdict."""
        reason = Reason(int(self.reason[row]))
        write, facts = _SENTENCES.get(reason), self.facts(row)
        sentence = write(facts) if write is not None else super().sentence(row)
        if reason in _MAY_HAVE_MOVED and facts.now_ms - facts.since_ms > facts.limit_ms:
            return f"{sentence} The group may have moved since: its offsets were not polled again."
        return sentence


def with_members(rows: Sweep, members: NDArray[np.integer]) -> AdminSweep:
    """Return the verdicts with STALLED instead of STOPPED for rows whose group has members."""
    stopped_with_members = (rows.reason == Reason.STOPPED) & (members > 0)
    reason = np.where(stopped_with_members, np.int8(Reason.STALLED), rows.reason)
    values = {field.name: getattr(rows, field.name) for field in fields(Sweep)}
    return AdminSweep(**(values | {"reason": reason}))


def _no_progress(lag: str, facts: Facts) -> str:
    return (
        f"{lag} {facts.lag:,} at offset {facts.offset}. No progress for at least "
        f"{milliseconds_text(facts.now_ms - facts.since_ms)}"
    )


def _unmoved(state: str, facts: Facts) -> str:
    return (
        f"Group {state}: {_no_progress('lag', facts)} ({usual(facts)}): the Admin API has returned the same "
        f"offset since {instant_text(facts.before)}.{progress_elsewhere(facts)}"
    )


_MAY_HAVE_MOVED = {Reason.PAUSING, Reason.RESTING, Reason.ONE_COMMIT, Reason.HISTORY_SHORT}
_SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    Reason.COMMITS_STALE: lambda facts: (
        "Lag unknown: the Admin API has not returned the group's offsets yet."
        if facts.since_ms < 0
        else f"Lag unknown: the group's offsets were last polled "
        f"{milliseconds_text(facts.now_ms - facts.since_ms)} ago{over_limit(facts)}, at "
        f"{instant_text(facts.since_ms)}."
    ),
    Reason.STALLED: lambda facts: (
        f"{_unmoved('stalled', facts)} It has members; whether they commit is not visible."
    ),
    Reason.STOPPED: lambda facts: f"{_unmoved('stopped', facts)} The number of its members is unknown.",
    Reason.STOPPED_EMPTY: lambda facts: f"{_unmoved('stopped', facts)} The group has no active member.",
    Reason.REWOUND: lambda facts: (
        f"Group went back from offset {facts.before} to {facts.after}, seen at "
        f"{instant_text(facts.since_ms)}. It is at offset {facts.offset} now: "
        f"up to {records_text(facts.before - facts.offset)} to read again."
    ),
    Reason.ONE_COMMIT: lambda facts: (
        f"{_no_progress('Lag', facts)}. The group's pace is unknown before it moves: it counts as "
        f"stopped after {milliseconds_text(facts.limit_ms)}."
    ),
    Reason.HISTORY_SHORT: lambda facts: (
        f"Lag {facts.lag:,} at offset {facts.offset}. Time without progress unknown: at least "
        f"{milliseconds_text(facts.now_ms - facts.since_ms)}, at most since {instant_text(facts.before)} "
        f"({usual(facts)})."
    ),
    Reason.GROWING: lambda facts: (
        f"Group falls behind: lag rose from {facts.before:,} at {instant_text(facts.since_ms)} to "
        f"{facts.after:,} at its last move and never fell; {facts.lag:,} now."
    ),
    Reason.RECREATED: lambda facts: (
        f"Lag unknown: the topic was re-created (seen at {instant_text(facts.since_ms)}). The group's offset "
        f"{facts.offset} has not changed since: it belongs to the old topic. {new_log_text(facts)}"
    ),
    Reason.BEYOND_END: lambda facts: (
        f"Lag unknown: offset {facts.after} of the group is beyond the log end offset {facts.before}, read "
        "later. The log was truncated or the topic was re-created."
    ),
}
