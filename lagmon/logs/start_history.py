"""Where logs began a while ago: who is known as of then is judged by no later start. Pure.

A group may have read what was deleted, and committed so since we asked it or read its commits last: that the
log starts behind the newest offset that we know of says nothing until that is known as of a later instant.
Instants are epoch milliseconds by our clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int64s
    from lagmon.arrays.place_rows import Int32s

_UNCHANGED = -1
MOST_MOVES = 64  # readings at which any start had moved: of more the two oldest become one


@dataclass(slots=True)
class _Moves:
    """Places whose start had moved when it was read, and where it had been before."""

    read_ms: int
    places: Int32s
    before: Int64s


class StartHistory:
    """The moves of log starts by place, the oldest first."""

    def __init__(self) -> None:
        self._moves: list[_Moves] = []

    def note(self, places: Int32s, before: Int64s, starts: Int64s, read_ms: int) -> None:
        """Take starts that had been read at an instant, and what each was before, -1 not known."""
        moved = (before >= 0) & (starts > before)
        if not moved.any():
            return
        self._moves.append(_Moves(read_ms, places[moved], before[moved]))
        if len(self._moves) > MOST_MOVES:
            oldest, next_one = self._moves[:2]
            both = np.concatenate((oldest.places, next_one.places))
            joined, first = np.unique(both, return_index=True)
            # What was before the older move is below what was before the next.
            before = np.concatenate((oldest.before, next_one.before))[first]
            self._moves[:2] = [_Moves(next_one.read_ms, joined, before)]

    def forget(self, places: Int32s) -> None:
        """Forget these places."""
        for one in self._moves:
            stays = ~np.isin(one.places, places)
            one.places, one.before = one.places[stays], one.before[stays]

    def let_go(self, before_ms: int) -> None:
        """Forget what was read up to an instant: nobody is judged as of an earlier one."""
        self._moves = [one for one in self._moves if one.read_ms > before_ms]

    def as_of(self, at: Int32s, starts: Int64s, known_ms: Int64s) -> Int64s:
        """Return where the logs at these places began at these instants; `starts` are those known now."""
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
