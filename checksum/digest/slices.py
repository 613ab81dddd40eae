"""Slices of a side, each read when its rate allows; for digests and for counts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol

from checksum.plan.pacing import (
    OVERHEAD_BYTES,
    UNPACED,
    RatePacer,
    Stretch,
    ahead_bytes,
    corrected,
    estimate,
    expected_bytes,
    next_slice,
    slice_limits,
)
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import SparkSession

    from checksum.digest.cell_rows import Side
    from checksum.digest.kafka_options import Cluster
    from checksum.plan.places import Place
    from checksum.plan.shape import Plan
    from runtime.process.clock import Clock


class Pause(Protocol):
    """Waits for so many seconds, or less if reading is to stop."""

    def __call__(self, seconds: float, /) -> object:
        """Wait."""
        ...


class PacedSlices:
    """The slices of what is left of some places; `left` is what none of them took yet."""

    def __init__(
        self,
        places: Sequence[Place],
        left: Sequence[Stretch],
        *,
        max_rate: float | None,
        clock: Clock,
        pause: Pause,
        slice_offsets: int = UNPACED.offsets,
        whole: Collection[int] = (),
    ) -> None:
        self.left = list(left)
        self._sizes = {place.number: estimate(place.record_bytes) for place in places}
        self._most = slice_limits(max_rate, offsets=slice_offsets)
        self._whole = whole
        self._clock = clock
        self._pause = pause
        self._pacer = RatePacer(max_rate, now_s=self._now_s())
        if max_rate is not None:
            self._pacer.pay(ahead_bytes(max_rate, places=len({one.place for one in left})))

    def next(self) -> list[Stretch]:
        """Take the next slice from what is left, and wait until it may be read; empty at the end."""
        taken, self.left = next_slice(self.left, self._sizes, self._most, whole=self._whole)
        self._wait(expected_bytes(taken, self._sizes))
        return taken

    def wait_for(self, pieces: Sequence[Stretch]) -> None:
        """Wait until these may be read in addition to slices, without counting what they read."""
        expected = expected_bytes(pieces, self._sizes)
        self._wait(expected)
        self._pacer.pay(expected)

    def read(self, counts: Mapping[int, tuple[int, int]]) -> None:
        """Record the records and bytes that a slice read of each place."""
        for number, (records, size_bytes) in counts.items():
            size = size_bytes + OVERHEAD_BYTES * records
            self._sizes[number] = corrected(self._sizes[number], records=records, size_bytes=size)
            self._pacer.pay(size)

    def _wait(self, bytes_ahead: float) -> None:
        self._pause(self._pacer.wait_s(bytes_ahead, now_s=self._now_s()))

    def _now_s(self) -> float:
        return self._clock.monotonic_ns() / 1e9


@dataclass(frozen=True, slots=True)
class SideReading:
    """One side of a plan, and what it is read with; `places` are all of the side, by number."""

    spark: SparkSession
    plan: Plan
    side: Side
    _: KW_ONLY
    places: Sequence[Place]
    cluster: Cluster
    clock: Clock
    pause: Pause

    def paced(
        self,
        left: Sequence[Stretch],
        *,
        max_rate: float | None,
        slice_offsets: int,
        whole: Collection[int] = (),
    ) -> PacedSlices:
        """Return the slices of what is left to read; places in `whole` are never divided."""
        return PacedSlices(
            self.places,
            left,
            max_rate=max_rate,
            clock=self.clock,
            pause=self.pause,
            slice_offsets=slice_offsets,
            whole=whole,
        )


def check_returned_offsets(
    first_offset: int, last_offset: int, asked: Stretch, *, cluster: str, place: Place
) -> None:
    """Raise UnavailableError if Spark returned other offsets than requested."""
    if not asked.first <= first_offset <= last_offset < asked.until:
        raise UnavailableError(
            f"cluster {cluster}: Spark returned offsets {first_offset} to {last_offset} of {place.read_as}-"
            f"{place.partition} instead of {asked.first} to {asked.until - 1}; run again"
        )
