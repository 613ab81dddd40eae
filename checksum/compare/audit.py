"""What one audit of a flow comes to: the plan, and what became of the records by it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checksum.compare.verdicts import Result
    from checksum.plan.shape import Plan


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of one flow's records, by which plan."""

    plan: Plan
    result: Result
