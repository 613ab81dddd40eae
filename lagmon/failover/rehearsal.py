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


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen of a flow at one time (monotonic s).

    `ends` is the sum of the source's log end offsets. `unreplicated` is how many offsets before them the
    mirror has not passed, None if unknown. `running` are groups with members on the source.
    """

    at_s: float
    ends: int
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
    """The steps that are reached, in order; `waits_for` says what the next one needs."""

    def __init__(self, source: str, target: str) -> None:
        self._source, self._target = source, target
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
        if self._ends is None or self._ends[0] != look.ends:
            self._ends = look.ends, look.at_s
        starts = tuple((one.group, one.read_again_records) for one in look.groups)
        if self._starts is None or self._starts[0] != starts:
            self._starts = starts, look.at_s
        missing = self._missing(look, quiet_s=look.at_s - self._ends[1], stable_s=look.at_s - self._starts[1])
        count = next((number for number, needs in enumerate(missing) if needs), len(STEPS))
        del self.reached[count:]
        for step in STEPS[len(self.reached) : count]:
            self.reached.append(Reached(step, look.at_s, self._measured(step, look)))
        self.waits_for = missing[count] if count < len(STEPS) else ""

    def _missing(self, look: Look, *, quiet_s: float, stable_s: float) -> list[str]:
        """Return what each step still needs; "" if it holds."""
        left = "the mirror does not show how far it is"
        if look.unreplicated is not None:
            left = f"the mirror: {count_text(look.unreplicated, 'offset')} left, transaction markers too"
        needs = {
            Step.READY: (look.not_ready, f"make these groups ready: {_names(look.not_ready)}"),
            Step.WRITERS_STOPPED: (quiet_s < QUIET_S, f"stop everything that writes to {self._source}"),
            Step.GROUPS_STOPPED: (look.running, f"stop the groups on {self._source}: {_names(look.running)}"),
            Step.REPLICATED: (look.unreplicated != 0, left),
            Step.OFFSETS_FINAL: (stable_s < QUIET_S, "the last checkpoints and synced offsets"),
        }
        return [needs[step][1] if needs[step][0] else "" for step in STEPS]

    def _measured(self, step: Step, look: Look) -> str:
        began_s = self.reached[0].at_s if self.reached else look.at_s
        after = f"after {duration_text(round(look.at_s - began_s))}"
        match step:
            case Step.READY:
                return f"{count_text(len(look.groups), 'group')} ready to fail over to {self._target}"
            case Step.WRITERS_STOPPED:
                return f"no record was written to {self._source} for {duration_text(QUIET_S)}, {after}"
            case Step.GROUPS_STOPPED:
                return f"no group has members on {self._source}, {after}"
            case Step.REPLICATED:
                took = duration_text(round(look.at_s - self.reached[1].at_s))
                return f"everything is on {self._target}, {took} after the writers stopped"
            case Step.OFFSETS_FINAL:
                again = sum_bounds(one.read_again_records for one in look.groups) or Bounds(0, None)
                return f"the groups read {between_text(*again, 'record')} again and miss none, {after}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
