"""Time that counts in no objective. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Time of a flow that counts in no objective: from a minute to the one before `until`."""

    number: int
    flow: str
    first: int
    until: int
    author: str
    reason: str
