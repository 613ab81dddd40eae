"""The cause of a finding, if the evidence shows one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from checksum.compare.findings import Proof, RecordVerdict
from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from checksum.compare.findings import Finding


def cause_of(finding: Finding) -> Cause:
    """Return the cause that a finding proves, or `unexplained`."""
    match finding.verdict:
        case RecordVerdict.ALTERED:
            return _of_altered(finding)
        case RecordVerdict.MISROUTED:
            return Cause.MISROUTED
        case RecordVerdict.DUPLICATED:
            return Cause.DUPLICATING
        case RecordVerdict.EXTRA:
            return Cause.ABORTED_TRANSACTION if finding.aborted else Cause.UNEXPLAINED
        case RecordVerdict.LOST:
            return finding.cause or Cause.UNEXPLAINED
        case RecordVerdict.REORDERED | RecordVerdict.UNVERIFIABLE | RecordVerdict.MATCH:
            return Cause.UNEXPLAINED
        case _:
            assert_never(finding.verdict)


def _of_altered(finding: Finding) -> Cause:
    """Return `retimed` if only the timestamp differs and the record itself was read."""
    if not finding.what:
        # From digests: the timestamp is the same, so another part differs.
        return Cause.TRANSFORMED
    if set(finding.what) - {"time"}:
        return Cause.TRANSFORMED
    return Cause.RETIMED if finding.proof is Proof.READING else Cause.UNEXPLAINED
