"""What is behind a finding, of the one list of causes, where the evidence names one. Pure.

interface.md: `filtered` is on the source and absent on the target, with newer ones there, the same topic ids,
a log start that is not past it and no failure reported. All of that but the last is so for whatever a plan
compares: its ranges end at a pair that both sides hold, of topics with these ids. The last is not known here,
so that a lost record is `unexplained`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from checksum.findings import Proof, RecordVerdict
from fleet.vocabulary import Cause

if TYPE_CHECKING:
    from checksum.findings import Finding


def cause_of(finding: Finding) -> Cause:
    """Return what a finding proves to be its cause; `unexplained` where it proves none."""
    match finding.verdict:
        case RecordVerdict.ALTERED:
            return _of_altered(finding)
        case RecordVerdict.MISROUTED:
            return Cause.MISROUTED
        case RecordVerdict.DUPLICATED:
            return Cause.DUPLICATING
        case RecordVerdict.EXTRA:
            return Cause.ABORTED_TRANSACTION if finding.aborted else Cause.UNEXPLAINED
        case RecordVerdict.LOST | RecordVerdict.REORDERED | RecordVerdict.UNVERIFIABLE | RecordVerdict.MATCH:
            return Cause.UNEXPLAINED
        case _:
            assert_never(finding.verdict)


def _of_altered(finding: Finding) -> Cause:
    """Return `retimed` where the time alone is known to differ, after the record itself was looked at."""
    if not finding.what:
        # By digests: with the same time, it is another part.
        return Cause.TRANSFORMED
    if set(finding.what) - {"time"}:
        return Cause.TRANSFORMED
    return Cause.RETIMED if finding.proof is Proof.READING else Cause.UNEXPLAINED
