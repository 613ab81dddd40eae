"""Wait until MirrorMaker has replicated what the source holds, or until all of that is due.

Both log ends are read, then MirrorMaker's progress, again and again. A healthy MirrorMaker writes an offset
sync of each partition with its next offset flush (since 3.7, KAFKA-15906), so the wait ends there. It takes
the full time only if no sync passes a partition. Partitions that are empty or already verified are not waited
for.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from checksum.plan.due import Due
from fleet.quantity import count_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from checksum.anchors.reading import Place, Side
    from runtime.process.clock import Clock

_STEPS: Final = 20  # polls in the longest wait
_LEAST_STEP_S, _MOST_STEP_S = 0.5, 5.0


def _ignore(_sentence: str) -> None:
    """Ignore the message."""


@dataclass(frozen=True, slots=True)
class WaitPolicy:
    """How long a plan waits for MirrorMaker: at most `longest_s`; `say` is called once if it waits."""

    longest_s: float
    clock: Clock
    say: Callable[[str], None] = field(default=_ignore)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Progress(Protocol):
    """MirrorMaker's progress; places are the source's."""

    def reached(self, place: Place) -> int:
        """Return the offset after the last replicated record, or 0 if unknown."""
        ...

    async def poll(self) -> frozenset[Place]:
        """Read MirrorMaker's progress; return the partitions in which it replicated something."""
        ...


class TargetEnds:
    """Progress of a MirrorMaker that writes no offset syncs, by the target's log end offsets.

    `equal`: it keeps offsets, so these are source offsets too. Otherwise they only show that it replicates.
    """

    def __init__(self, places: Sequence[Place], target: Side, *, equal: bool) -> None:
        self._places = places
        self._target = target
        self._equal = equal
        self._ends: dict[Place, int] = {}

    def reached(self, place: Place) -> int:
        """Return the target's log end offset if MirrorMaker keeps offsets, else 0."""
        return self._ends.get(place, 0) if self._equal else 0

    async def poll(self) -> frozenset[Place]:
        """Read the log ends; return the partitions that grew."""
        before, self._ends = self._ends, await asyncio.to_thread(self._target.ends, self._places)
        return frozenset(place for place, end in self._ends.items() if end > before.get(place, end))


async def wait_for_mirror(
    places: Sequence[Place],
    source: Side,
    target: Side,
    *,
    progress: Progress,
    verified: Mapping[Place, int],
    wait_policy: WaitPolicy,
) -> dict[Place, Due]:
    """Return what was seen of each partition; `verified` is up to where an earlier run verified it.

    Raises UnavailableError and RefusedError if a cluster does not answer or a permission is missing.
    """
    target_ends = await asyncio.to_thread(
        target.ends, places
    )  # first: what it holds, the source held by then
    source_ends = await asyncio.to_thread(source.ends, places)
    starts = await asyncio.to_thread(source.starts, places)
    begun_ns = wait_policy.clock.monotonic_ns()
    waiting = {
        place: starts[place]
        for place, end in source_ends.items()
        if max(starts[place], verified.get(place, 0)) < end
    }  # by place: the offset up to which everything is replicated
    step_s = min(max(wait_policy.longest_s / _STEPS, _LEAST_STEP_S), _MOST_STEP_S)
    moved = await progress.poll()
    asked: set[Place] = set()
    said = False
    while True:
        further = {place: at for place, since in waiting.items() if (at := progress.reached(place)) > since}
        waiting |= further
        # Only transaction markers may follow, or gaps that compaction left.
        to_check = {
            place: at
            for place, at in waiting.items()
            if at < source_ends[place] and (place in further or place not in asked)
        }
        asked |= to_check.keys()
        waiting |= await _first_due(source, to_check, source_ends)
        waiting = {place: at for place, at in waiting.items() if at < source_ends[place]}
        waited_s = (wait_policy.clock.monotonic_ns() - begun_ns) / 1e9
        left_s = wait_policy.longest_s - waited_s
        if not waiting or left_s <= 0:
            break
        if not said:
            said = True
            several = count_text(len(waiting), "partition")
            wait_policy.say(f"Waiting up to {duration_text(left_s)} for MirrorMaker to replicate {several}.")
        await wait_policy.sleep(min(step_s, left_s))
        moved |= await progress.poll()
    return {
        place: Due(
            source_ends[place],
            target_ends[place],
            progress.reached(place) >= source_ends[place],
            bool(moved - {place}),
            waited_s,
        )
        for place in places
    }


async def _first_due(source: Side, since: Mapping[Place, int], ends: Mapping[Place, int]) -> dict[Place, int]:
    """Return the offset of the first record at or after these offsets, or the log end offset."""
    found = await asyncio.to_thread(source.first_from, since)
    return {place: ends[place] if offset is None else offset for place, offset in found.items()}
