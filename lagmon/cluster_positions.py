"""Where each group of one cluster stands in its logs, of all slots at once, as the rules look at it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.cluster_marks import by_place
from lagmon.readable import MOST_OFFSETS
from lagmon.rules_window import Positions
from lagmon.turns import others_moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lagmon.cluster_absence import Absence
    from lagmon.cluster_marks import TopicMarks
    from lagmon.heads import Heads
    from lagmon.intake import Intake
    from lagmon.readable import Readable
    from lagmon.rules_groups import Grouping
    from lagmon.rules_window import Flags, Longs


def positions_of(
    intake: Intake,
    heads: Heads,
    readable: Readable,
    marks: TopicMarks,
    absence: Absence,
    *,
    at: NDArray[np.int32],
    commits_read_to_ms: Longs,
    members: Longs,
    grouping: Grouping,
    now_ms: int,
    hangs_since_ms: Callable[[NDArray[np.int32], int], Longs],
) -> Positions:
    """Return where each slot stands; `at` is its place, the first where it has none.

    `hangs_since_ms` tells since when a transaction that seems to hang is seen at a place, -1 where none is.
    """
    if not len(at):
        return _no_positions()
    end, stable = heads.end[at], heads.stable[at]
    seen_ms, offset = intake.seen_ms[: len(at)], intake.rings.offset[: len(at), -1]
    readable_from = readable.readable_from(at, offset)
    next_record = np.maximum(offset, readable_from)
    passed_ms, exact = heads.passed_ms(at, next_record)
    head = np.where(stable >= 0, np.minimum(stable, end), end)
    hangs_ms = np.full(len(at), -1, np.int64)
    waits = np.flatnonzero((head < end) & (next_record >= head))
    if len(waits):
        hangs_ms[waits] = hangs_since_ms(at[waits], now_ms)
    # Behind a transaction that hangs stands only who reads uncommitted records, too. Whether the last few
    # before the end hold any for it is not looked at.
    uncommitted = (hangs_ms >= 0) & (offset > head)
    far = uncommitted & (end - next_record > MOST_OFFSETS)
    head[far], hangs_ms[uncommitted] = end[far], -1
    if marks.held:
        # Until then there was nothing to read for one who waits for transactions to be decided.
        known_ms = marks.held_ms(at, next_record, len(heads.end))
        held_ms = np.maximum(intake.rings.held_ms[: len(at)], known_ms)
        late = (passed_ms >= 0) & (passed_ms < held_ms) & ~far
        passed_ms[late] = held_ms[late]
    return Positions(
        head=head,
        end=end,
        head_at_ms=marks.head_at_ms(heads)[at],
        start=heads.starts.as_of(at, heads.start[at], commits_read_to_ms),
        passed_ms=passed_ms,
        passed_exact=exact,
        seen_ms=seen_ms,
        commits_read_to_ms=commits_read_to_ms,
        remade_ms=by_place(marks.remade_ms, len(heads.end))[at],
        members=members,
        readable_from=readable_from,
        others_moved_ms=others_moved(intake, grouping, members, has_more=head > next_record, now_ms=now_ms),
        moved_ms=intake.rings.moved_ms[: len(at)],
        known_before=intake.rings.known_before[: len(at)],
        left_ms=np.full(len(at), absence.left_ms, np.int64),
        back_ms=np.full(len(at), absence.back_ms, np.int64),
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
    """Take note of who stood, at an instant, where transactions held up all readers of these places.

    By slot: a next transaction may hold up others, further on, before who was held up here has read on.
    """
    count = len(intake.slots)
    at, offset = np.maximum(intake.slots.place[:count], 0), intake.rings.offset[:count, -1]
    held_from = np.full(len(heads.end), np.iinfo(np.int64).max)
    held_from[places] = stables
    intake.rings.note_held(
        np.flatnonzero(np.maximum(offset, readable.readable_from(at, offset)) >= held_from[at]), at_ms
    )


def leave_former_logs(
    intake: Intake, heads: Heads, marks: TopicMarks, *, at: NDArray[np.int32], used: Flags
) -> None:
    """Forget what was committed to a topic before it was made anew, but for a newest commit.

    It is of another log: beside it, the next commit would be a step back, or of the same offset no move.
    """
    if not marks.remade_ms or not len(at):
        return
    remade_ms = by_place(marks.remade_ms, len(heads.end))[at]
    seen_ms, trail, moved_ms = intake.seen_ms, intake.trail, intake.rings.moved_ms
    anew = np.flatnonzero(used & (remade_ms >= 0))
    moved_before = (moved_ms[anew] >= 0) & (moved_ms[anew] < remade_ms[anew])
    same = anew[moved_before & (seen_ms[anew] >= remade_ms[anew])]
    moved_ms[same] = seen_ms[same]
    rows = anew[trail.settled[anew] > 0]
    times_ms = trail.committed_ms[rows, :-1]
    made_ms = seen_ms[rows, None] - (intake.rings.committed_ms[rows, -1:] - times_ms)  # by our clock
    former = (times_ms >= 0) & (made_ms < remade_ms[rows, None])
    trail.clear(rows[former.any(axis=1)].astype(np.int32))


def _no_positions() -> Positions:
    none = np.zeros(0, np.int64)
    no = np.zeros(0, np.bool_)
    return Positions(none, none, none, none, none, no, *[none] * 11)
