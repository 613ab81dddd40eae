"""A step back: an offset of a mirror, or an offset sync, that lies before the last one. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MOST_STEPS = 10_000  # that are kept until they are asked for


@dataclass(frozen=True, slots=True)
class StepBack:
    """Offsets are next offsets (N + 1): `back` is the first record that is copied again."""

    topic: str
    partition: int
    peak: int  # before
    back: int  # after
    at_ms: int  # -1 of a sync, which tells no time
    distance: int | None = None  # from the offset to the copy's end before it, where a sync tells
