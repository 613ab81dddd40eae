"""Whether a step back in one partition's window repeated records, by the growth of the target. Pure.

Records are repeated if a mirror goes back and continues from there (a crash before its offsets were written,
a second writer, offsets that were reset). A single old offset that was written late, by a task that lost the
partition in a rebalance, looks the same for a moment, and nothing is repeated. The target shows which, from
when the highest offset was written (target_ends/growth.py). The first of these that is known decides:

1. The mirror has gone back several times: the distance from offset to target end has grown by the repeated
   records, or has not.
2. It has passed the highest offset again: the same, from before the step to after it.
3. It has written more offsets since, all below: it is there, and the target's growth is repeated records.
4. It has written none since, and the target has grown by more than the source's log has from that offset.

Less than half of the step, or a difference within the spread of the distances, is no proof. Nor is more than
the step plus that spread: with bursts of records, the target's end is not known better.
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

SEVERAL = 3  # steps back in one window: more than a task that lost a partition makes


class Rewound(Enum):
    """What an offset that went back means."""

    OPEN = "not known yet"
    REPEATED = "records were repeated"
    RESTARTED = "records were repeated, no more than a restart of the mirror explains"
    LATE = "nothing was repeated: an old offset was written late, or the source lost its log end"


@dataclass(frozen=True, slots=True)
class Step:
    """The newest step back of a window, and what the target shows of it."""

    peak: int  # the highest offset before it
    back: int
    at_ms: int
    means: Rewound
    records: int = 0  # repeated records, as far as known
    proof: str = ""
    cut: int = -1  # where the source's log lost its end; -1: it did not, or that proves nothing

    def unproved(self, means: Rewound) -> Step:
        """Return the same step without repeated records."""
        return Step(self.peak, self.back, self.at_ms, means)


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a partition's log and its target ended at the last poll, and when; -1 if unknown."""

    source: int
    source_ms: int
    target: int
    target_ms: int
    has_target: bool = True
    start: int = 0  # of the source's log: nothing before it can be repeated


def judge_step(offsets: Sequence[int], times: Sequence[int], distances: Floats, ends: Ends) -> Step:
    """Judge a window with at least one step back, oldest offset first.

    `distances` are from each offset to the target's end when it was written; NaN if unknown.
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
        return _continuing(step, offsets[fall:], distances[fall:], has_target=ends.has_target)
    return _silent(step, before, ends)


def _several(offsets: Sequence[int], times: Sequence[int], distances: Floats) -> Step | None:
    """Judge offsets that go back again and again: two mirrors write them in turn."""
    falls = [at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1]]
    if len(falls) < SEVERAL:
        return None
    highest = np.maximum.accumulate(offsets)
    tops = [at for at in range(len(offsets)) if offsets[at] == highest[at] and not np.isnan(distances[at])]
    went = sum(offsets[at - 1] - offsets[at] for at in falls)
    more = int(distances[tops[-1]] - distances[tops[0]]) if tops else 0
    if 2 * more < went:
        return None
    passed = offsets[tops[-1]] - offsets[tops[0]]
    proof = (
        f"{len(falls) - 1} times before that since {instant_text(times[0])}; while it came from"
        f" {offsets[tops[0]]} to {offsets[tops[-1]]}, by {passed:,}, the target grew by {passed + more:,}"
    )
    return _repeated(
        Step(offsets[falls[-1] - 1], offsets[falls[-1]], times[falls[-1]], Rewound.OPEN), more, proof
    )


def _past(step: Step, before: Distance | None, after: Distance | None, newest: int) -> Step:
    """Judge a mirror that has passed the highest offset again, up to `newest`."""
    if before is None or after is None or not before.sure:
        return step
    more, went = after.records - before.records, step.peak - step.back
    spread = before.spread + after.spread
    if more > went + spread:
        return step  # too many to be repeated: the target's end is not known well enough
    if 2 * more < went or more <= spread:
        return step.unproved(Rewound.LATE)
    proof = (
        f"by the time it was at {newest}, the target had grown by {newest - step.peak + more}, which is "
        f"{more}"
        " more than the offsets"
    )
    return _repeated(step, min(more, went), proof)


def _continuing(step: Step, offsets: Sequence[int], distances: Floats, *, has_target: bool) -> Step:
    """Judge a mirror that writes offsets below the highest: it replicates there."""
    if not has_target:
        return _repeated(step, offsets[-1] - step.back, f"it continued from there to {offsets[-1]}")
    known = np.flatnonzero(~np.isnan(distances))
    if len(known) < 2:
        return step
    first, last = int(known[0]), int(known[-1])
    grew = offsets[last] - offsets[first] + int(distances[last] - distances[first])
    began = max(offsets[first], step.back)
    passed = offsets[last] - began
    if passed <= 0 or 2 * grew < passed:
        return step
    proof = f"while it continued from {began} to {offsets[last]}, the target grew by {grew:,}"
    return _repeated(step, min(passed, grew), proof)


def _silent(step: Step, before: Distance | None, ends: Ends) -> Step:
    """Judge a mirror that has not written since, by records in the target that cannot be new."""
    if before is None or not before.sure or min(ends.source, ends.target) < 0:
        return step
    if ends.source_ms < ends.target_ms:
        return step  # records written since the poll of the source may be new
    grew = ends.target - before.records - step.peak
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
