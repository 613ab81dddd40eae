"""Sentences for verdicts on groups whose offsets come from the Admin API, where no commit has a time. Pure.

What is known is where a group stood at each question, so its sentences speak of that, and never of commits.
A group that does not move and has members is STALL, one without members STOP: the state of the group says
which, as it cannot be seen whether commits of the same offset still come. It has stood up to the last
question that was answered: where more than is usual has gone by only since then, the sentence says so.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import duration_text
from lagmon.groups.rules.sentences import instant_text, longer, new_log_text, reads_on, usual
from lagmon.groups.rules.words import Reason
from lagmon.groups.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lagmon.groups.rules.sentences import Facts


class AdminSweep(Sweep):
    """Verdicts on many rows that say what was asked for and seen."""

    def sentence(self, row: int) -> str:
        """Return why one row's verdict was given."""
        reason = Reason(int(self.reason[row]))
        said, facts = _SENTENCES.get(reason), self.facts(row)
        sentence = said(facts) if said is not None else super().sentence(row)
        if reason in _MAY_STAND and facts.now_ms - facts.since_ms > facts.limit_ms:
            return f"{sentence} It has not been asked since that went by, so it may have moved."
        return sentence


def seen_by_asking(rows: Sweep, members: NDArray[np.integer]) -> AdminSweep:
    """Return the verdicts with the group's state in them: what stands and has members is STALL."""
    stands_with_members = (rows.reason == Reason.STOPPED) & (members > 0)
    reason = np.where(stands_with_members, np.int8(Reason.STALLED), rows.reason)
    values = {field.name: getattr(rows, field.name) for field in fields(Sweep)}
    return AdminSweep(**(values | {"reason": reason}))


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _lasting(milliseconds: int) -> str:
    return duration_text(milliseconds / 1000)


def _standing(facts: Facts) -> str:
    return (
        f"{_records(facts.lag)} to read at offset {facts.offset}, where the group has stood for at least "
        f"{_lasting(facts.now_ms - facts.since_ms)}"
    )


def _unmoved(facts: Facts) -> str:
    return (
        f"{_standing(facts)}: whenever the Admin API was asked since {instant_text(facts.before)}, its "
        f"offset was the same. {usual(facts).capitalize()}.{reads_on(facts)}"
    )


_MAY_STAND = {Reason.PAUSING, Reason.RESTING, Reason.ONE_COMMIT, Reason.HISTORY_SHORT}
_SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    Reason.COMMITS_STALE: lambda facts: (
        "The group's offsets have not been told by the Admin API yet."
        if facts.since_ms < 0
        else f"The group's offsets were last asked for at {instant_text(facts.since_ms)}, "
        f"{_lasting(facts.now_ms - facts.since_ms)} ago{longer(facts)}, so "
        "the group may be elsewhere by now."
    ),
    Reason.STALLED: lambda facts: (
        f"{_unmoved(facts)} The group has members; whether they commit the same offset is not to be seen."
    ),
    Reason.STOPPED: lambda facts: f"{_unmoved(facts)} How many members the group has is not known.",
    Reason.STOPPED_EMPTY: lambda facts: f"{_unmoved(facts)} The group has no active member.",
    Reason.REWOUND: lambda facts: (
        f"The group went back from offset {facts.before} to {facts.after}, as was seen at "
        f"{instant_text(facts.since_ms)}, and stands at {facts.offset}: "
        f"{_records(facts.before - facts.offset)} are still to be read again."
    ),
    Reason.ONE_COMMIT: lambda facts: (
        f"{_standing(facts)}. It has not been seen to move, which tells no pace: after "
        f"{_lasting(facts.limit_ms)} the group counts as stopped."
    ),
    Reason.HISTORY_SHORT: lambda facts: (
        f"{_records(facts.lag)} to read at offset {facts.offset}, where the group was seen to come by "
        f"{instant_text(facts.before)}. How long the next record has been there is known only for the last "
        f"{_lasting(facts.now_ms - facts.since_ms)}: {usual(facts)}."
    ),
    Reason.GROWING: lambda facts: (
        f"The group reads, but falls behind: from {_records(facts.before)} at {instant_text(facts.since_ms)} "
        f"to {facts.after:,} when it was last seen to move, never less in between; {facts.lag:,} now."
    ),
    Reason.RECREATED: lambda facts: (
        f"The topic was seen to be made anew at {instant_text(facts.since_ms)}, and the group's offset "
        f"{facts.offset} has been the same since before that: it belongs to the old one. "
        f"{new_log_text(facts)}"
    ),
    Reason.BEYOND_END: lambda facts: (
        f"The group was at offset {facts.after}, and the log ended at {facts.before} when it was read "
        "afterwards: it lost its end, or the topic was made anew."
    ),
}
