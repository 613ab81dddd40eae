"""Bars of a flow over 24 hours and 30 days. Pure.

A minute has the worst state that any process saw. It is healthy only if a process saw it healthy; unwatched
time is a state of its own. A column with bad time is bad, however short, so that no fault is hidden. Other
columns show the state of most of their minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alerts.incidents.recorder import Span

DAY_MINUTES, MONTH_MINUTES = 24 * 60, 30 * 24 * 60
DAY_COLUMNS, MONTH_COLUMNS = 288, 360  # of five minutes, of two hours

# From least to worst: of two processes the greater number counts.
_RANKS: tuple[Verdict | None, ...] = (
    None,
    Verdict.UNKNOWN,
    Verdict.HEALTHY,
    Verdict.LATE,
    Verdict.REPEATING,
    Verdict.STALLED,
    Verdict.ALTERED,
    Verdict.LOSING,
)
_RANK = {state: number for number, state in enumerate(_RANKS)}
_BAD_FROM = _RANK[Verdict.LATE]
_RAISED = [bytes(max(number, rank) for number in range(256)) for rank in range(len(_RANKS))]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive columns in one state; None: not watched."""

    state: Verdict | None
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A period up to now: its columns, and the number of minutes in each state."""

    columns: int
    runs: tuple[Run, ...]
    minutes: tuple[tuple[Verdict | None, int], ...]  # those that occurred, the worst first, None last

    @property
    def watched_minutes(self) -> int:
        """Return the number of watched minutes."""
        return sum(count for state, count in self.minutes if state is not None)


def bar_of(spans: Iterable[Span], *, until_minute: int, minutes: int, columns: int) -> Bar:
    """Return the bar of the last `minutes` before `until_minute`; `columns` divides them evenly."""
    from_minute = until_minute - minutes
    ranks = bytearray(minutes)
    for span in spans:
        first = max(0, span.first_minute - from_minute)
        last = min(minutes, span.last_minute + 1 - from_minute)
        if first < last:
            ranks[first:last] = ranks[first:last].translate(_RAISED[_RANK[span.state]])
    width = minutes // columns
    states = [_column(ranks[at : at + width]) for at in range(0, minutes, width)]
    runs, first = [], 0
    for state, alike in groupby(states):
        count = len(list(alike))
        runs.append(Run(state, first, count))
        first += count
    counted = [(state, ranks.count(_RANK[state])) for state in (*Verdict, None)]
    return Bar(columns, tuple(runs), tuple((state, count) for state, count in counted if count))


def _column(ranks: bytearray) -> Verdict | None:
    worst = max(ranks)
    if worst < _BAD_FROM:
        worst = max(range(_BAD_FROM), key=lambda rank: (ranks.count(rank), -rank))
    return _RANKS[worst]
