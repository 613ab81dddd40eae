"""Where each group of one cluster stands in its logs, many slots at once, as the rules look at it. Pure."""

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
    from lagmon.groups.rules.window import Flags, Longs
    from lagmon.groups.turns import Turns
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads
    from lagmon.logs.readable import Readable


@dataclass(frozen=True, slots=True)
class OfPlaces:
    """What the rules ask of the logs of one cluster at one instant, by place, not by reader."""

    head_at_ms: Longs
    remade_ms: Longs
    hangs_ms: Longs  # since when a transaction that seems to hang is open there, -1 if none is
    held: Longs | None  # as `TopicMarks.held_by_place` gives it, None if no reader was ever held up

    @classmethod
    def of(
        cls,
        heads: Heads,
        marks: TopicMarks,
        *,
        now_ms: int,
        hangs_since_ms: Callable[[NDArray[np.int32], int], Longs],
    ) -> OfPlaces:
        """Return it; `hangs_since_ms` tells it of places where a transaction is open."""
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
    turns: Turns,
) -> Positions:
    """Return where each slot of a part stands; `at` is its place, the first where it has none.

    `passed` is what the heads say of when the next record to be read was passed; `members` how many its group
    has.
    """
    end, head = heads.end[at], heads.head(at)
    offset = intake.rings.offset[part, -1]
    next_record = np.maximum(offset, readable_from)
    passed_ms, exact = passed
    hangs_ms = np.where((head < end) & (next_record >= head), of_places.hangs_ms[at], -1)
    # Behind a transaction that hangs stands only who reads uncommitted records, too. Whether the last few
    # before the end hold any for it is not looked at.
    uncommitted = (hangs_ms >= 0) & (offset > head)
    far = uncommitted & (end - next_record > MOST_OFFSETS)
    head[far], hangs_ms[uncommitted] = end[far], -1
    if of_places.held is not None:
        # Until then there was nothing to read for one who waits for transactions to be decided.
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
        others_moved_ms=turns.others_moved(part, members, has_more=head > next_record),
        moved_ms=intake.rings.moved_ms[part],
        known_before=intake.rings.known_before[part],
        left_ms=np.broadcast_to(np.int64(absence.left_ms), len(at)),
        back_ms=np.broadcast_to(np.int64(absence.back_ms), len(at)),
        hangs_ms=hangs_ms,
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
    """Record who stood, at an instant, where transactions held up all readers of these places.

    By slot: a next transaction may hold up others, further on, before who was held up here has read on.
    """
    count = len(intake.slots)
    at, offset = np.maximum(intake.slots.place[:count], 0), intake.rings.offset[:count, -1]
    held_from = np.full(len(heads.end), np.iinfo(np.int64).max)
    held_from[places] = stables
    intake.rings.note_held(
        np.flatnonzero(np.maximum(offset, readable.readable_from(at, offset)) >= held_from[at]), at_ms
    )


def leave_former_logs(intake: Intake, heads: Heads, marks: TopicMarks) -> None:
    """Forget what was committed to a topic before it was re-created, but for a newest commit.

    It is of another log: beside it, the next commit would be a step back, or of the same offset no move.
    """
    if not marks.remade_ms:
        return
    place = intake.slots.place[: len(intake.slots)]
    made_anew = np.zeros(len(heads.end) + 1, np.bool_)  # with one for slots without a place
    made_anew[list(marks.remade_ms)] = True
    anew = np.flatnonzero(made_anew[place])
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
    trail.clear(rows[former.any(axis=1)].astype(np.int32))
