"""What audits (the checksum) hand in about a flow before it is judged; instants in epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.verdicts.vocabulary import Cause, Evidence, Verdict


@dataclass(frozen=True, slots=True)
class ChecksumFound:
    """What one run found that makes a flow have one verdict: losing, altered or repeating.

    `cause` is that of most of the records whose cause is known. `at` is when the run ended, and
    `known_at` when it was told here, None where it ended here. `by_topic` has how many records there are in
    those topics where they are most, and `more_topics` counts the others.
    """

    verdict: Verdict
    cause: Cause
    at: float
    records: int
    by_topic: tuple[tuple[str, int], ...]
    rows: tuple[Evidence, ...]  # one at least
    more_topics: int = 0
    least: bool = False  # there may be more: not everything was told apart, or listed
    known_at: float | None = None


@dataclass(frozen=True, slots=True)
class ChecksumEvidence:
    """What the newest run said of a flow, and what the runs that are still known found, oldest first.

    `coverage` is the share of offsets whose fate is known, 0 to 1; `records` of the source were compared.
    `untold` counts records that were compared and of which nobody could say whether anything is wrong.
    """

    ended_at: float
    coverage: float
    records: int
    findings: int
    found: tuple[ChecksumFound, ...] = ()
    untold: int = 0
