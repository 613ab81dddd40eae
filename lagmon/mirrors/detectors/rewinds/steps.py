"""A step back in one partition's window: whether the mirror copied records again, by how its copy grew. Pure.

Records come again where a mirror goes back and copies on from there (a crash before its offsets were written,
a second writer, offsets that were set back). One old offset written late, by a task that a rebalance took the
partition from, looks alike for a moment, and nothing comes again. What tells is the copy, from when the
highest offset was written (`mirror_growth`); in the window, the first of these that is known:

1. The mirror has gone back several times: the distance from offset to the copy's end has grown by what came
   again, or has not.
2. It has come past the highest offset again: the same, from before the step to after it.
3. It has written more offsets since, all below: it is there, and what its copy grew by came again.
4. It has written none since, and the copy has grown by more than the source's log has from that offset.

Less than half of the step, or what is within the spread of the distances, is no proof. Nor is more than the
step and that spread: of records that come in bursts, where the copy ended is known no better.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.target_ends import growth as mirror_growth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.mirrors.target_ends.growth import Distance

    Floats = NDArray[np.float64]

SEVERAL = 3  # steps back in one window: no task that has just lost a partition


class Rewound(Enum):
    """What an offset that went back means."""

    OPEN = "not known yet"
    REPEATED = "records came again"
    RESTARTED = "records came again, no more than a restart of the mirror copies again"
    LATE = "nothing came again: an old offset was written late, or the source lost what was behind it"


@dataclass(frozen=True, slots=True)
class Step:
    """The newest step back of a window, and what the copy shows of it."""

    peak: int  # the highest offset before it
    back: int
    at_ms: int
    means: Rewound
    records: int = 0  # that came again, as far as known
    proof: str = ""
    cut: int = -1  # where the source's log lost its end, -1 where it did not or that proves nothing

    def unproved(self, means: Rewound) -> Step:
        """Return the same step where nothing is known to have come again."""
        return Step(self.peak, self.back, self.at_ms, means)


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a partition's log and its copy end, as looked at last, and when; -1 where that is not known."""

    source: int
    source_ms: int
    copy: int
    copy_ms: int
    has_copy: bool = True
    start: int = 0  # of the source's log: nothing before it comes again


def judge_step(offsets: Sequence[int], times: Sequence[int], distances: Floats, ends: Ends) -> Step:
    """Judge a window with at least one step back, oldest offset first.

    `distances` are from each offset to the copy's end when it was written, not a number where not known.
    """
    several = _several(offsets, times, distances)
    if several is not None:
        return several
    fall = max(at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1])
    peak, back = max(offsets[:fall]), offsets[fall]
    step = Step(peak, max(back, ends.start) if ends.start < peak else back, times[fall], Rewound.OPEN)
    before = mirror_growth.usual(distances[:fall])
    past = [at for at in range(fall, len(offsets)) if offsets[at] >= step.peak]
    if past:
        return _past(step, before, mirror_growth.usual(distances[past]), offsets[past[-1]])
    if offsets[-1] > step.back:
        return _going_on(step, offsets[fall:], distances[fall:], has_copy=ends.has_copy)
    return _silent(step, before, ends)


def _several(offsets: Sequence[int], times: Sequence[int], distances: Floats) -> Step | None:
    """Judge offsets that go back time and again: of two mirrors that write them in turn."""
    falls = [at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1]]
    if len(falls) < SEVERAL:
        return None
    highest = np.maximum.accumulate(offsets)
    tops = [at for at in range(len(offsets)) if offsets[at] == highest[at] and not np.isnan(distances[at])]
    went = sum(offsets[at - 1] - offsets[at] for at in falls)
    more = int(distances[tops[-1]] - distances[tops[0]]) if tops else 0
    if 2 * more < went:
        return None
    came = offsets[tops[-1]] - offsets[tops[0]]
    proof = (
        f"{len(falls) - 1} times before that since {instant_text(times[0])}; while it came from"
        f" {offsets[tops[0]]} to {offsets[tops[-1]]}, by {came:,}, the target grew by {came + more:,}"
    )
    return _repeated(
        Step(offsets[falls[-1] - 1], offsets[falls[-1]], times[falls[-1]], Rewound.OPEN), more, proof
    )


def _past(step: Step, before: Distance | None, after: Distance | None, newest: int) -> Step:
    """Judge a mirror that has come past the highest offset again, up to `newest`."""
    if before is None or after is None or not before.sure:
        return step
    more, went = after.records - before.records, step.peak - step.back
    spread = before.spread + after.spread
    if more > went + spread:
        return step  # it did not copy so many again: where its copy ended is not known well enough
    if 2 * more < went or more <= spread:
        return step.unproved(Rewound.LATE)
    proof = (
        f"by the time it was at {newest}, the target had grown by {newest - step.peak + more}, which is "
        f"{more}"
        " more than the offsets"
    )
    return _repeated(step, min(more, went), proof)


def _going_on(step: Step, offsets: Sequence[int], distances: Floats, *, has_copy: bool) -> Step:
    """Judge a mirror that writes offsets below the highest: it copies there."""
    if not has_copy:
        return _repeated(step, offsets[-1] - step.back, f"it continued from there to {offsets[-1]}")
    known = np.flatnonzero(~np.isnan(distances))
    if len(known) < 2:
        return step
    first, last = int(known[0]), int(known[-1])
    grew = offsets[last] - offsets[first] + int(distances[last] - distances[first])
    began = max(offsets[first], step.back)
    came = offsets[last] - began
    if came <= 0 or 2 * grew < came:
        return step
    proof = f"while it continued from {began} to {offsets[last]}, the target grew by {grew:,}"
    return _repeated(step, min(came, grew), proof)


def _silent(step: Step, before: Distance | None, ends: Ends) -> Step:
    """Judge a mirror that has not written since: by what the copy has got that can not be new."""
    if before is None or not before.sure or min(ends.source, ends.copy) < 0:
        return step
    if ends.source_ms < ends.copy_ms:
        return step  # what was written since the look at the source may be new
    grew = ends.copy - before.records - step.peak
    new = max(0, ends.source - step.peak)
    again = grew - new
    went = step.peak - step.back
    if not before.spread < again <= went + before.spread or 2 * again < min(went, grew):
        return step
    proof = (
        f"the target has grown by {grew} since, while no more than {count_text(new, 'record')} could be new"
    )
    return _repeated(step, min(again, went), proof)


def _repeated(step: Step, records: int, proof: str) -> Step:
    return Step(step.peak, step.back, step.at_ms, Rewound.REPEATED, records, proof)
