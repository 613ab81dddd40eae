"""A plan and its result. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checksum.compare.verdicts import Result
    from checksum.plan.shape import Plan


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of one flow's comparison, and its plan."""

    plan: Plan
    result: Result
