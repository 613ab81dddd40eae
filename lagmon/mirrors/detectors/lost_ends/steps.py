"""What comes again over a source's log that has lost its end: what was there before, not what is new. Pure.

Where a log ends before the offset that a mirror asks for, some mirrors begin at its start and copy all of it
again, others go on where it was cut. What is written behind the cut is new under numbers that were there
before, so steps and distances tell nothing: but the copy can not grow by more than is new there, unless what
was there before comes again. Where the log was cut is known by looks only; so much as comes between two, at
the pace of before, is taken for new as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.quantity import count_text
from lagmon.mirrors.detectors.rewinds.steps import Rewound

if TYPE_CHECKING:
    from lagmon.mirrors.detectors.lost_ends.cut import Cut
    from lagmon.mirrors.detectors.rewinds.steps import Ends, Step


@dataclass(frozen=True, slots=True)
class Again:
    """How many records came again at least; the copy grew by `grew`, and `new` at most could be new."""

    records: int
    grew: int
    new: int

    @property
    def proof(self) -> str:
        """Return it as a clause."""
        could = count_text(self.new, "record")
        return f"the target has grown by {self.grew:,} since, while no more than {could} could be new"


def came_again(cut: Cut, *, start: int, end: int, copy_end: int) -> Again | None:
    """Return what came again by a look at the copy, and by the most that the source had then; or None."""
    new = max(0, end - cut.lowest) + cut.between_looks
    grew = copy_end - cut.copy_end
    one = Again(grew - new, grew, new)
    # More than there was is none of this.
    return one if 0 < one.records <= cut.lowest - max(0, start) else None


def judge_cut(step: Step, cut: Cut, ends: Ends) -> Step:
    """Judge a step back from where the mirror was when its source's log was cut."""
    if min(cut.copy_end, ends.source, ends.copy) < 0:
        return step.unproved(Rewound.LATE)
    if ends.source_ms < ends.copy_ms:
        return step.unproved(Rewound.OPEN)  # what was written since the look at the source may be new
    again = came_again(cut, start=ends.start, end=ends.source, copy_end=ends.copy)
    if again is None:
        return step.unproved(Rewound.LATE)
    proof = f"the source's log ended at {cut.lowest} before that; {again.proof}"
    return replace(step, means=Rewound.REPEATED, records=again.records, proof=proof, cut=cut.lowest)
