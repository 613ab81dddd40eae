"""Keep one piece of work alive: start it again after a fault outside, and let a fault of our own end it.

A cluster that cannot be reached is tried again after a pause that grows from 1 s to 60 s; one that
refuses us begins at 30 s, because a person has to act first and every try fills its security log. The
pause is drawn evenly between nothing and its bound (full jitter), so that many services that lost the same
cluster do not come back in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, assert_never

from fleet.errors import RefusedError, UnavailableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from runtime.process.clock import WaitingClock


class Jitter(Protocol):
    """The part of random.Random that is needed here."""

    def random(self) -> float:
        """Return a number from 0 up to, but not including, 1."""
        ...


class Phase(StrEnum):
    """Phase of supervised work."""

    RUNNING = "running"
    DOWN = "down"
    REFUSED = "refused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class State:
    """State that `supervise` reports at each change; `sentence` is why, if down or refused."""

    name: str
    phase: Phase
    sentence: str = ""
    failures: int = 0  # in a row
    retry_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait between tries, and how long work must have run for its failures to be forgotten."""

    first_s: float = 1.0
    refused_first_s: float = 30.0
    bound_s: float = 60.0
    well_after_s: float = 60.0


def pause_s(*, failures: int, refused: bool, random: Jitter, policy: BackOff) -> float:
    """Return the pause before the next try, in seconds, after `failures` failures in a row (1 or more).

    Never below a tenth of the smallest bound: full jitter alone may draw almost nothing and knock twice.
    """
    first_s = policy.refused_first_s if refused else policy.first_s
    # The exponent is bounded so that a fault of many days does not compute with enormous numbers.
    bound_s = min(policy.bound_s, first_s * 2.0 ** min(failures - 1, 32))
    return max(first_s / 10, bound_s * random.random())


async def supervise(
    name: str,
    work: Callable[[], Awaitable[None]],
    *,
    clock: WaitingClock,
    random: Jitter,
    on_state: Callable[[State], None],
    stopping: asyncio.Event,
    policy: BackOff | None = None,
) -> None:
    """Run `work` until it ends, `stopping` is set or it raises what is not a fault outside.

    UnavailableError and RefusedError are told through `on_state` and followed by another try; any other
    exception, cancellation included, passes through. Work watches `stopping` itself while it runs.
    """
    policy = policy or BackOff()
    failures = 0
    while not stopping.is_set():
        on_state(State(name, Phase.RUNNING, failures=failures))
        began_ns = clock.monotonic_ns()
        try:
            await work()
        except (UnavailableError, RefusedError) as error:
            ran_s = (clock.monotonic_ns() - began_ns) / 1e9
            failures = 1 if ran_s >= policy.well_after_s else failures + 1
            state = _failed(name, error, failures=failures, random=random, policy=policy)
        else:
            break
        if stopping.is_set():
            break
        on_state(state)
        assert state.retry_in_s is not None
        await clock.wait(stopping, timeout_s=state.retry_in_s)
    on_state(State(name, Phase.ENDED))


def _failed(
    name: str,
    error: UnavailableError | RefusedError,
    *,
    failures: int,
    random: Jitter,
    policy: BackOff,
) -> State:
    match error:
        case RefusedError():
            phase = Phase.REFUSED
        case UnavailableError():
            phase = Phase.DOWN
        case _ as unreachable:
            assert_never(unreachable)
    pause = pause_s(failures=failures, refused=phase is Phase.REFUSED, random=random, policy=policy)
    return State(name, phase, str(error), failures, pause)
