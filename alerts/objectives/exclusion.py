"""Time that counts for no objective. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Excluded time of a flow: from a minute to the one before `until`."""

    number: int
    flow: str
    first: int
    until: int
    author: str
    reason: str
