"""Records that are replicated again after a source log lost its end: old ones, not new ones. Pure.

If a log ends before the offset that a mirror reads next, some mirrors start at its start and replicate all of
it again; others continue at the cut. Records written after the cut are new under old numbers, so steps and
distances prove nothing. But the target cannot grow by more than the new records, unless old ones are
repeated. Where the log was cut is known from polls only: as many records as arrive between two polls, at the
earlier pace, count as new as well.
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
    """How many records were repeated at least; the target grew by `grew`, at most `new` could be new."""

    records: int
    grew: int
    new: int

    @property
    def proof(self) -> str:
        """Return the proof as a clause."""
        could = count_text(self.new, "record")
        return f"the target has grown by {self.grew:,} since, while no more than {could} could be new"


def repeated_records(cut: Cut, *, start: int, end: int, target_end: int) -> Again | None:
    """Return what was repeated by a poll of the target, given the highest possible source end; or None."""
    new = max(0, end - cut.lowest) + cut.between_polls
    grew = target_end - cut.target_end
    one = Again(grew - new, grew, new)
    # More than existed has another cause.
    return one if 0 < one.records <= cut.lowest - max(0, start) else None


def judge_cut(step: Step, cut: Cut, ends: Ends) -> Step:
    """Judge a step back from where the mirror was when its source's log was cut."""
    if min(cut.target_end, ends.source, ends.target) < 0:
        return step.unproved(Rewound.LATE)
    if ends.source_ms < ends.target_ms:
        return step.unproved(Rewound.OPEN)  # records written since the poll of the source may be new
    again = repeated_records(cut, start=ends.start, end=ends.source, target_end=ends.target)
    if again is None:
        return step.unproved(Rewound.LATE)
    proof = f"the source's log ended at {cut.lowest} before that; {again.proof}"
    return replace(step, means=Rewound.REPEATED, records=again.records, proof=proof, cut=cut.lowest)
