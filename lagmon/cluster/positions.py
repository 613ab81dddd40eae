"""The position of each group of one cluster in its logs, for many slots at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.cluster.marks import by_place, held_ms
from lagmon.groups.rules.window import Positions
from lagmon.logs.readable import MOST_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lagmon.cluster.absence import Absence
    from lagmon.cluster.marks import TopicMarks
    from lagmon.groups.moves import Moves
    from lagmon.groups.rules.window import Flags, Longs
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads
    from lagmon.logs.readable import Readable


@dataclass(frozen=True, slots=True)
class OfPlaces:
    """Values of the rules that depend only on the log, by place."""

    head_at_ms: Longs
    remade_ms: Longs
    hangs_ms: Longs  # since when a hanging transaction is open there, -1 if none is
    held: Longs | None  # from `TopicMarks.held_by_place`, None if no consumer was ever blocked

    @classmethod
    def of(
        cls,
        heads: Heads,
        marks: TopicMarks,
        *,
        now_ms: int,
        hangs_since_ms: Callable[[NDArray[np.int32], int], Longs],
    ) -> OfPlaces:
        """Compute the values; `hangs_since_ms` returns `hangs_ms` of places with an open transaction."""
        end, count = heads.end, len(heads.end)
        hangs_ms: Longs = np.broadcast_to(np.int64(-1), count)
        is_open = np.flatnonzero((heads.stable >= 0) & (heads.stable < end)).astype(np.int32)
        if len(is_open):
            hangs_ms = np.full(count, -1, np.int64)
            hangs_ms[is_open] = hangs_since_ms(is_open, now_ms)
        held = marks.held_by_place(count) if marks.held else None
        return cls(marks.head_at_ms(heads), by_place(marks.remade_ms, count), hangs_ms, held)


def positions_of(
    intake: Intake,
    heads: Heads,
    of_places: OfPlaces,
    absence: Absence,
    *,
    part: slice,
    at: NDArray[np.int32],
    readable_from: Longs,
    passed: tuple[Longs, Flags],
    commits_read_to_ms: Longs,
    members: Longs,
    moves: Moves,
) -> Positions:
    """Return the position of each slot of a part; `at` is its place, 0 if it has none.

    `passed` is the result of `Heads.passed_ms` for the next record; `members` the number of members of its
    group.
    """
    end, head = heads.end[at], heads.head(at)
    offset = intake.rings.offset[part, -1]
    next_record = np.maximum(offset, readable_from)
    passed_ms, exact = passed
    hangs_ms = np.where((head < end) & (next_record >= head), of_places.hangs_ms[at], -1)
    # Only consumers of uncommitted records get past a hanging transaction. Whether the last offsets before
    # the end hold records for them is not checked.
    uncommitted = (hangs_ms >= 0) & (offset > head)
    far = uncommitted & (end - next_record > MOST_OFFSETS)
    head[far], hangs_ms[uncommitted] = end[far], -1
    if of_places.held is not None:
        # Until then a consumer of committed records had nothing to read.
        known_ms = held_ms(of_places.held, at, next_record)
        waited_ms = np.maximum(intake.rings.held_ms(part), known_ms)
        late = (passed_ms >= 0) & (passed_ms < waited_ms) & ~far
        passed_ms = np.where(late, waited_ms, passed_ms)
    return Positions(
        head=head,
        end=end,
        head_at_ms=of_places.head_at_ms[at],
        start=heads.starts.as_of(at, heads.start[at], commits_read_to_ms),
        passed_ms=passed_ms,
        passed_exact=exact,
        seen_ms=intake.seen_ms[part],
        commits_read_to_ms=commits_read_to_ms,
        remade_ms=of_places.remade_ms[at],
        members=members,
        readable_from=readable_from,
        others_moved_ms=moves.others_moved(part, members, has_more=head > next_record),
        moved_ms=intake.rings.moved_ms[part],
        known_before=intake.rings.known_before[part],
        left_ms=np.broadcast_to(np.int64(absence.left_ms), len(at)),
        back_ms=np.broadcast_to(np.int64(absence.back_ms), len(at)),
        hangs_ms=hangs_ms,
        usual_pause_ms=intake.rings.usual_pause_ms(part),
    )


def note_held(
    intake: Intake,
    heads: Heads,
    readable: Readable,
    *,
    places: NDArray[np.int32],
    stables: NDArray[np.int64],
    at_ms: int,
) -> None:
    """Record which groups a transaction blocked at an instant, at these places.

    By slot: a next transaction may block others further on before the blocked groups have read on.
    """
    count = len(intake.slots)
    at, offset = np.maximum(intake.slots.place[:count], 0), intake.rings.offset[:count, -1]
    held_from = np.full(len(heads.end), np.iinfo(np.int64).max)
    held_from[places] = stables
    intake.rings.note_held(
        np.flatnonzero(np.maximum(offset, readable.readable_from(at, offset)) >= held_from[at]), at_ms
    )


def leave_former_logs(intake: Intake, heads: Heads, marks: TopicMarks) -> None:
    """Forget commits from before a topic was re-created, except the newest of each slot.

    They belong to another log: after them the next commit would look like a step back, or like no move.
    """
    if not marks.remade_ms:
        return
    place = intake.slots.place[: len(intake.slots)]
    recreated = np.zeros(len(heads.end) + 1, np.bool_)  # with one for slots without a place
    recreated[list(marks.remade_ms)] = True
    anew = np.flatnonzero(recreated[place])
    remade_ms = by_place(marks.remade_ms, len(heads.end))[place[anew]]
    seen_ms, trail, moved_ms = intake.seen_ms, intake.trail, intake.rings.moved_ms
    moved_before = (moved_ms[anew] >= 0) & (moved_ms[anew] < remade_ms)
    same = anew[moved_before & (seen_ms[anew] >= remade_ms)]
    moved_ms[same] = seen_ms[same]
    settled = trail.settled[anew] > 0
    rows, remade_ms = anew[settled], remade_ms[settled]
    times_ms = trail.committed_ms[rows]
    made_ms = seen_ms[rows, None] - (intake.rings.committed_ms[rows, -1:] - times_ms)  # by our clock
    former = (times_ms >= 0) & (made_ms < remade_ms[:, None])
    left = rows[former.any(axis=1)].astype(np.int32)
    trail.clear(left)
    intake.rings.forget_steps_back(left)
