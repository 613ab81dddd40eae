"""A step back: an offset of a mirror, or an offset sync, before the previous one. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MOST_STEPS = 10_000  # kept until the next call of `take_steps_back`


@dataclass(frozen=True, slots=True)
class StepBack:
    """One step back, in next offsets (N + 1): `back` is the first record that is replicated again."""

    topic: str
    partition: int
    peak: int  # before
    back: int  # after
    at_ms: int  # -1 for a sync, which has no time
    distance: int | None = None  # from the offset to the target's end before it, if a sync shows it
