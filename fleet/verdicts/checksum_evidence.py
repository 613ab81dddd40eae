"""The evidence of the checksum about a flow; instants in epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.verdicts.vocabulary import Cause, Evidence, Verdict


@dataclass(frozen=True, slots=True)
class ChecksumFound:
    """The findings of one run for one verdict: losing, altered or repeating.

    `cause` is the most frequent known cause. `at` is when the run ended, `known_at` when Mirrorwatch learned
    of it, None if it ended here. `by_topic` has the number of records of the topics with most,
    and `more_topics` counts the other topics.
    """

    verdict: Verdict
    cause: Cause
    at: float
    records: int
    by_topic: tuple[tuple[str, int], ...]
    rows: tuple[Evidence, ...]  # at least one
    more_topics: int = 0
    least: bool = False  # there may be more: the run did not identify or list all
    known_at: float | None = None


@dataclass(frozen=True, slots=True)
class ChecksumEvidence:
    """The result of the newest run of a flow, and the findings of all known runs, oldest first.

    `coverage` is the share of verified offsets, 0 to 1; `records` of the source were compared. `untold`
    counts compared records that the run could not decide.
    """

    ended_at: float
    coverage: float
    records: int
    findings: int
    found: tuple[ChecksumFound, ...] = ()
    untold: int = 0
