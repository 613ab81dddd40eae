"""Earlier log start offsets: a group known as of an instant is not judged by a later log start. Pure.

A group may have read the deleted records and committed since its commits were last read. So a log start
beyond its newest known offset proves nothing until its commits are known as of a later instant. Instants are
epoch milliseconds by our clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int64s
    from lagmon.arrays.place_rows import Int32s

_UNCHANGED = -1
MOST_MOVES = 64  # polls with a moved log start; with more, the two oldest are joined


@dataclass(slots=True)
class _Moves:
    """Places with a moved log start at one poll, and their starts before."""

    read_ms: int
    places: Int32s
    before: Int64s


class StartHistory:
    """Moves of log starts by place, the oldest first."""

    def __init__(self) -> None:
        self._moves: list[_Moves] = []

    def note(self, places: Int32s, before: Int64s, starts: Int64s, read_ms: int) -> None:
        """Record log starts read at an instant, and those before, -1 not known."""
        moved = (before >= 0) & (starts > before)
        if not moved.any():
            return
        self._moves.append(_Moves(read_ms, places[moved], before[moved]))
        if len(self._moves) > MOST_MOVES:
            oldest, next_one = self._moves[:2]
            both = np.concatenate((oldest.places, next_one.places))
            joined, first = np.unique(both, return_index=True)
            # The start before the older move is lower than that before the next.
            before = np.concatenate((oldest.before, next_one.before))[first]
            self._moves[:2] = [_Moves(next_one.read_ms, joined, before)]

    def forget(self, places: Int32s) -> None:
        """Forget these places."""
        for one in self._moves:
            stays = ~np.isin(one.places, places)
            one.places, one.before = one.places[stays], one.before[stays]

    def let_go(self, before_ms: int) -> None:
        """Forget moves up to an instant: no verdict is as of an earlier one."""
        self._moves = [one for one in self._moves if one.read_ms > before_ms]

    def as_of(self, at: Int32s, starts: Int64s, known_ms: Int64s) -> Int64s:
        """Return the log starts of these places at these instants; `starts` are the current ones."""
        found = starts
        for one in reversed(self._moves):
            if not len(one.places):
                continue
            before = np.full(max(int(one.places.max()), int(at.max(initial=0))) + 1, _UNCHANGED, np.int64)
            before[one.places] = one.before
            earlier = before[at]
            later = (earlier != _UNCHANGED) & (one.read_ms > known_ms)
            found = np.where(later, np.minimum(found, earlier), found)
        return found
