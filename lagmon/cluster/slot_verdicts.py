"""Verdicts on all slots of one cluster, block by block, to need little memory. Pure.

Values that need all rows are computed first: log positions (`OfPlaces`), moves of groups (`Moves`), known
commits, members, and carried groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.packed import Packed
from lagmon.arrays.place_rows import parts
from lagmon.cluster.positions import OfPlaces, positions_of
from lagmon.cluster.unlisted_partitions import mark_unlisted
from lagmon.cluster.unreadable_commits import mark_unreadable
from lagmon.groups.carried import mark_carried
from lagmon.groups.moves import Moves
from lagmon.groups.rules.admin_sentences import AdminSweep, with_members
from lagmon.groups.sweep import Sweep, sweep
from lagmon.groups.verdicts import Verdicts
from lagmon.logs.time_lag import NO_ANSWER_S, LagKind, lag_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from lagmon.cluster.absence import Absence
    from lagmon.cluster.commits import CommitsKnown
    from lagmon.cluster.marks import TopicMarks
    from lagmon.groups.carried import Carried
    from lagmon.groups.rules.policy import Policy
    from lagmon.groups.rules.window import Longs, Windows
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads
    from lagmon.logs.readable import Readable

BLOCK = 4_096  # slots; judging a block takes 3 MiB


@dataclass(frozen=True, slots=True)
class Known:
    """The inputs of verdicts on one cluster's groups; `windows` returns those of a part of the slots."""

    intake: Intake
    heads: Heads
    readable: Readable
    marks: TopicMarks
    absence: Absence
    commits: CommitsKnown
    topics: Mapping[str, int]
    policy: Policy
    windows: Callable[[slice], Windows]
    hangs_since_ms: Callable[[NDArray[np.int32], int], Longs]


@dataclass(frozen=True, slots=True)
class _Whole:
    """Values computed from all slots, places and groups before the blocks."""

    places: OfPlaces
    moves: Moves
    members: NDArray[np.int64]  # by number of a group
    read_to_ms: Longs  # the same; the last is for slots without a group
    carried: Carried

    @classmethod
    def of(cls, known: Known, carried: Carried, now_ms: int) -> _Whole:
        hangs_since_ms = known.hangs_since_ms
        return cls(
            OfPlaces.of(known.heads, known.marks, now_ms=now_ms, hangs_since_ms=hangs_since_ms),
            Moves(known.intake, now_ms),
            _members(known.intake),
            known.commits.by_group(known.intake.slots),
            carried,
        )


class SlotVerdicts:
    """Verdicts on every slot, with values for single rows packed."""

    def __init__(self, known: Known, carried: Carried, *, now_ms: int, block: int = BLOCK) -> None:
        """Judge every slot."""
        count, asking = len(known.intake.slots), known.commits.asking
        self.rows = Verdicts(now_ms, count, block, kind=AdminSweep if asking else Sweep)
        self.lag_s, self.lag_kind = np.empty(count, np.float64), np.empty(count, np.uint8)
        self.end, self.start, self.readable_from = Packed(block), Packed(block), Packed(block)
        if not count:
            return
        whole = _Whole.of(known, carried, now_ms)
        for part in parts(count, block):
            self._judge(part, known, whole, now_ms)

    def _judge(self, part: slice, known: Known, whole: _Whole, now_ms: int) -> None:
        intake, heads = known.intake, known.heads
        group, place = intake.slots.group[part], intake.slots.place[part]
        at = np.maximum(place, 0)
        windows = known.windows(part)
        offset = windows.offset[:, -1]
        readable_from = known.readable.readable_from(at, offset)
        next_record = np.maximum(offset, readable_from)
        passed = heads.passed_ms(at, next_record)
        positions = positions_of(
            intake,
            heads,
            whole.places,
            known.absence,
            part=part,
            at=at,
            readable_from=readable_from,
            passed=passed,
            commits_read_to_ms=whole.read_to_ms[group],
            members=whole.members[np.maximum(group, 0)],
            moves=whole.moves,
        )
        rows = sweep(windows, positions, now_ms=now_ms, policy=known.policy)
        rows = mark_unlisted(rows, place, intake.places, known.topics)
        rows = mark_unreadable(rows, intake.unreadable[part])
        if known.commits.asking:
            rows = with_members(rows, positions.members)
        rows = mark_carried(rows, group, whole.carried)
        seconds, kinds = lag_s(heads, at, next_record, now_ms, passed=passed)
        # Both lags count up to the same offset: not beyond the last stable one, nor in an emptied log.
        seconds[rows.lag == 0], kinds[rows.lag == 0] = 0.0, LagKind.EXACT
        seconds[rows.lag < 0], kinds[rows.lag < 0] = NO_ANSWER_S, LagKind.NONE
        self.rows.put(part, rows)
        self.lag_s[part], self.lag_kind[part] = seconds, kinds
        self.end.add(positions.end)
        self.start.add(positions.start)
        self.readable_from.add(readable_from)


def _members(intake: Intake) -> NDArray[np.int64]:
    """Return how many members each group has, by number."""
    found = np.full(max(1, intake.slots.group_numbers), -1, np.int64)
    for number, name in intake.slots.groups():
        found[number] = intake.membership.members(name)
    return found
