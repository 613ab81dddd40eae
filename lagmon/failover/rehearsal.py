"""The steps of a planned failover, in their order, and which of them are reached. Pure.

Each step holds from what is seen, and counts only if every earlier one holds too. If an earlier one holds no
longer, because a producer writes again, the later ones are to be reached again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from fleet.quantity import Bounds, between_text, count_text, duration_text
from lagmon.failover.readiness import sum_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.failover.readiness import GroupReadiness

QUIET_S = 10.0  # without a new record the writers have stopped
_MOST_NAMED = 3


class Step(StrEnum):
    """A step of a planned failover."""

    READY = "groups ready"
    WRITERS_STOPPED = "writers stopped"
    GROUPS_STOPPED = "groups stopped"
    REPLICATED = "replicated"
    OFFSETS_FINAL = "offsets final"


STEPS = tuple(Step)
_REPLICATED = STEPS.index(Step.REPLICATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen of a flow at one time (monotonic s).

    `ends` is the sum of the log end offsets on the source of what the groups read, None if one is unknown.
    `unreplicated` is how many offsets before them the mirror has not passed, None if unknown. `running` are
    groups with members on the source.
    """

    at_s: float
    ends: int | None
    unreplicated: int | None
    running: tuple[str, ...]
    groups: Sequence[GroupReadiness]
    not_ready: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """A step that is reached: since when (monotonic s), and what was measured."""

    step: Step
    at_s: float
    sentence: str


class Rehearsed:
    """The steps that are reached, in order; `waits_for` says what the next one needs.

    `settle_s` is how long MirrorMaker takes at most for the last checkpoint and for its commit on the target.
    """

    def __init__(self, source: str, target: str, *, settle_s: float) -> None:
        self._source, self._target = source, target
        self._settle_s = settle_s + QUIET_S
        self._ends: tuple[int, float] | None = None  # the last sum, and since when it stands
        self._starts: tuple[tuple[object, ...], float] | None = None  # where groups would start, since when
        self.reached: list[Reached] = []
        self.waits_for = ""

    @property
    def is_complete(self) -> bool:
        """Return whether every step is reached."""
        return len(self.reached) == len(STEPS)

    def see(self, look: Look) -> None:
        """Take what was seen into account."""
        if look.ends is None:
            self._ends = None
        elif self._ends is None or self._ends[0] != look.ends:
            self._ends = look.ends, look.at_s
        starts = tuple((one.group, one.read_again_records) for one in look.groups)
        if self._starts is None or self._starts[0] != starts:
            self._starts = starts, look.at_s
        missing = self._missing(look)
        count = next((number for number, needs in enumerate(missing) if needs), len(STEPS))
        del self.reached[count:]
        for step in STEPS[len(self.reached) : count]:
            self.reached.append(Reached(step, look.at_s, self._measured(step, look)))
        self.waits_for = missing[count] if count < len(STEPS) else ""

    def _missing(self, look: Look) -> list[str]:
        """Return what each step still needs; "" if it holds."""
        written = f"stop everything that writes to {self._source}"
        if look.ends is None:
            written = f"the log end offsets of {self._source}, which are not all known"
        is_quiet = self._ends is not None and look.at_s - self._ends[1] >= QUIET_S
        left = "the mirror does not show how far it is"
        if look.unreplicated is not None:
            left = f"the mirror: {count_text(look.unreplicated, 'offset')} left, transaction markers too"
        needs = {
            Step.READY: (look.not_ready, f"make these groups ready: {_names(look.not_ready)}"),
            Step.WRITERS_STOPPED: (not is_quiet, written),
            Step.GROUPS_STOPPED: (look.running, f"stop the groups on {self._source}: {_names(look.running)}"),
            Step.REPLICATED: (look.unreplicated != 0, left),
        }
        return [*(needs[step][1] if needs[step][0] else "" for step in STEPS[:-1]), self._not_final(look)]

    def _not_final(self, look: Look) -> str:
        """Return what the groups' offsets on the target still need; "" if they are final."""
        unapplied = [one.group for one in look.groups if any(part.at_checkpoint for part in one.partitions)]
        if unapplied:
            return (
                f"commit the offsets of these groups on {self._target}, with 'mirrorwatch offsets export' and"
                f" 'apply': {_names(unapplied)}"
            )
        if all(one.read_again_records == Bounds(0, 0) for one in look.groups):
            return ""
        since_s = max(
            self._starts[1] if self._starts else look.at_s,
            self.reached[_REPLICATED].at_s if len(self.reached) > _REPLICATED else look.at_s,
        )
        if look.at_s - since_s >= self._settle_s:
            return ""
        return f"the last checkpoints and synced offsets, {duration_text(self._settle_s)} without a change"

    def _measured(self, step: Step, look: Look) -> str:
        began_s = self.reached[0].at_s if self.reached else look.at_s
        after = f"after {duration_text(round(look.at_s - began_s))}"
        match step:
            case Step.READY:
                return f"{count_text(len(look.groups), 'group')} ready to fail over to {self._target}"
            case Step.WRITERS_STOPPED:
                quiet = duration_text(QUIET_S)
                return f"no record was written to their topics on {self._source} for {quiet}, {after}"
            case Step.GROUPS_STOPPED:
                return f"none of them has members on {self._source}, {after}"
            case Step.REPLICATED:
                took = duration_text(round(look.at_s - self.reached[1].at_s))
                return f"all records of their topics are on {self._target}, {took} after the writers stopped"
            case Step.OFFSETS_FINAL:
                again = sum_bounds(one.read_again_records for one in look.groups) or Bounds(0, None)
                return f"the groups read {between_text(*again, 'record')} again and miss none, {after}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
