"""Slices that keep a rate. Pure.

Spark reads a slice at full speed, but not before its bytes are due. Over any period, the bytes read stay
below `max_rate` times the period plus one slice. A slice's size is estimated before and counted after
reading: an excess makes the next wait longer. Slices are checkpoints too: an interrupted digest keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

LEAST_SHARE_BYTES: Final = 512_000  # of a partition in a slice: Kafka returns whole batches, by default 1 MB
UNKNOWN_RECORD_BYTES: Final = 10_000  # a safe value until the first slice is counted
OVERHEAD_BYTES: Final = 12  # of a record in Kafka's format, without key, value and headers, about
MOST_FETCH_BYTES: Final = 2_000_000  # Spark caches 64 consumers with their data: more is wasted
LEAST_FETCH_BYTES: Final = 64_000
SLICE_S: Final = 10.0  # duration of a slice with a rate
_FETCHES_AHEAD: Final = 2  # of a consumer: one that was not taken yet, and one in flight
_FETCHES_IN_A_SHARE: Final = 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets [first, until) of one place of the plan."""

    place: int
    first: int
    until: int

    @property
    def span(self) -> int:
        """Return the number of offsets."""
        return self.until - self.first


@dataclass(frozen=True, slots=True)
class SliceLimits:
    """The limits of a slice: estimated bytes, offsets, and places that are read in parallel."""

    size_bytes: float
    offsets: int
    places: int


UNPACED: Final = SliceLimits(size_bytes=16e9, offsets=30_000_000, places=256)
"""Without a rate: about a minute of reading, and as many consumers as fit into memory."""


def slice_limits(max_rate: float | None, *, offsets: int = UNPACED.offsets) -> SliceLimits:
    """Return the limits of slices that keep `max_rate` bytes per second, each read in ten seconds."""
    if max_rate is None:
        return SliceLimits(UNPACED.size_bytes, offsets, UNPACED.places)
    size = min(max_rate * SLICE_S, UNPACED.size_bytes)
    return SliceLimits(size, offsets, max(1, min(UNPACED.places, int(size // LEAST_SHARE_BYTES))))


def fetch_bytes(max_rate: float | None, *, places: int) -> int:
    """Return the fetch size of a consumer if `places` places are read in all.

    A consumer fetches ahead of the slice; with a rate, that must be a small part of it.
    """
    if max_rate is None:
        return MOST_FETCH_BYTES
    most = slice_limits(max_rate)
    share = most.size_bytes / max(1, min(places, most.places))
    return int(max(LEAST_FETCH_BYTES, min(share / _FETCHES_IN_A_SHARE, MOST_FETCH_BYTES)))


def ahead_bytes(max_rate: float, *, places: int) -> int:
    """Return the most bytes that consumers have fetched beyond what slices took, at any time."""
    parallel = min(places, slice_limits(max_rate).places)
    return parallel * _FETCHES_AHEAD * fetch_bytes(max_rate, places=places)


def next_slice(
    left: Sequence[Stretch],
    record_bytes: Mapping[int, float],
    most: SliceLimits,
    *,
    whole: Collection[int] = (),
) -> tuple[list[Stretch], list[Stretch]]:
    """Return what the next slice reads and what is left, both in the order of `left`.

    `record_bytes` is the estimate for each place. The first places share the slice evenly; what one does not
    need goes to the others. Each gets at least one offset, so that every slice makes progress. Places in
    `whole` are never divided: a slice that starts with one holds as many of them as fit, and at least that
    one.
    """
    if not left:
        return [], []
    if left[0].place in whole:
        return _undivided(left, record_bytes, most, whole)
    reading = list(takewhile(lambda one: one.place not in whole, left[: most.places]))
    share = _offsets_each(reading, record_bytes, most)
    taken = [Stretch(one.place, one.first, one.first + share[one.place]) for one in reading]
    rest = [
        Stretch(one.place, one.first + share[one.place], one.until)
        for one in reading
        if share[one.place] < one.span
    ]
    return taken, [*rest, *left[len(reading) :]]


def _undivided(
    left: Sequence[Stretch], record_bytes: Mapping[int, float], most: SliceLimits, whole: Collection[int]
) -> tuple[list[Stretch], list[Stretch]]:
    taken = [left[0]]
    for one in left[1 : most.places]:
        held = [*taken, one]
        size = sum(piece.span * record_bytes[piece.place] for piece in held)
        offsets = sum(piece.span for piece in held)
        if one.place not in whole or size > most.size_bytes or offsets > most.offsets:
            break
        taken = held
    return taken, [*left[len(taken) :]]


def _offsets_each(
    reading: Sequence[Stretch], record_bytes: Mapping[int, float], most: SliceLimits
) -> dict[int, int]:
    """Return how many offsets each place gets; the smallest are served first, so that the rest is shared."""
    bytes_left, offsets_left, waiting = most.size_bytes, most.offsets, len(reading)
    share = {}
    for one in sorted(reading, key=lambda one: one.span * record_bytes[one.place]):
        fitting = min(bytes_left / waiting / record_bytes[one.place], offsets_left / waiting)
        share[one.place] = max(1, min(one.span, int(fitting)))
        bytes_left = max(0.0, bytes_left - share[one.place] * record_bytes[one.place])
        offsets_left = max(0, offsets_left - share[one.place])
        waiting -= 1
    return share


class RatePacer:
    """When slices may be read to keep `max_rate` bytes per second: none before its bytes are due.

    So at no time more was read than the rate allows, as far as the estimates are right; an excess makes the
    next wait longer. A slow digest does not accumulate a credit of more than one slice.
    """

    def __init__(self, max_rate: float | None, *, now_s: float) -> None:
        self._max_rate = max_rate
        self._paid_until_s = now_s

    def wait_s(self, expected_bytes: float, *, now_s: float) -> float:
        """Return how long to wait before a slice of so many bytes is read, in seconds."""
        if self._max_rate is None:
            return 0.0
        span_s = expected_bytes / self._max_rate
        self._paid_until_s = max(self._paid_until_s, now_s - span_s)
        return max(0.0, self._paid_until_s + span_s - now_s)

    def pay(self, read_bytes: float) -> None:
        """Record what a slice has read."""
        if self._max_rate is not None:
            self._paid_until_s += read_bytes / self._max_rate


def expected_bytes(taken: Sequence[Stretch], record_bytes: Mapping[int, float]) -> float:
    """Return the estimated bytes of these stretches."""
    return sum(piece.span * record_bytes[piece.place] for piece in taken)


def estimate(planned_bytes: int) -> float:
    """Return the bytes per record, from the plan's sample (0: none)."""
    return float(planned_bytes + OVERHEAD_BYTES if planned_bytes else UNKNOWN_RECORD_BYTES)


def corrected(known: float, *, records: int, size_bytes: int) -> float:
    """Return the new estimate after a slice with so many records and bytes.

    It rises at once and falls by half at most, so that growing records are not underestimated by much.
    """
    return known if records == 0 else max(known / 2, size_bytes / records, 1.0)
