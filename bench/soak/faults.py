"""The faults of a soak, and the verdicts that each flow may have meanwhile.

A window starts with the order to start a fault. It ends `settle_s` after the fault was ended and its
component was ready again. Within the window a flow may be healthy or have one of the `accepted` verdicts.
Outside of all windows it must be healthy.

The limits are twice the times of docs/reference/drills.md: a test run may share the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FLOWS = ("A->B", "B->A")
NONE = "none"  # how the log writes that there is no cause

Pair = tuple[str, str]  # verdict and cause
Pairs = frozenset[Pair]


class Signal(StrEnum):
    """What shows a fault that changes no verdict."""

    NONE = ""
    LEADER = "leader"  # the other replica leads
    STORE = "store"  # the leader reports the store as a problem
    RELOAD = "reload"  # the leader has loaded the configuration again


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault; `expected` has what must be reported by flow, one of each set."""

    name: str
    sentence: str
    hold_s: tuple[float, float]  # shortest and longest
    restore_s: float  # until its component is ready again, as planned; the real time counts
    settle_s: float
    limit_s: float = 0.0  # until it must be detected
    expected: Mapping[str, Pairs] = field(default_factory=dict)
    accepted: Mapping[str, Pairs] = field(default_factory=dict)  # in addition to `expected`
    signal: Signal = Signal.NONE
    moves_lead: bool = False
    restarts: bool = False  # a process of the service: only in the first third and the last sixth

    def may_be(self, flow: str) -> Pairs:
        """Return the verdicts that the flow may have in the window, except healthy."""
        return self.expected.get(flow, frozenset()) | self.accepted.get(flow, frozenset())


def _pairs(verdict: Verdict, *causes: Cause | None) -> Pairs:
    return frozenset((verdict.value, NONE if cause is None else cause.value) for cause in causes)


def _each(pairs: Pairs, flows: Iterable[str] = FLOWS) -> dict[str, Pairs]:
    return dict.fromkeys(flows, pairs)


# Records that waited arrive late, and tasks of MirrorMaker start one after the other.
_RECOVERY = _pairs(Verdict.STALLED, Cause.UNEXPLAINED, Cause.MIRROR_DOWN, Cause.TASK_STUCK) | _pairs(
    Verdict.LATE, None, Cause.UNEXPLAINED, Cause.MIRROR_DOWN, Cause.TASK_STUCK
)
# A new leader knows nothing of a flow for a moment.
_TAKEOVER = _pairs(Verdict.UNKNOWN, None)


def _down(alias: str) -> dict[str, Pairs]:
    """Return what both flows must report while this cluster is down."""
    source, target = Cause.SOURCE_DOWN, Cause.TARGET_DOWN
    causes = {"A": (source, target), "B": (target, source)}[alias]
    return {flow: _pairs(Verdict.STALLED, cause) for flow, cause in zip(FLOWS, causes, strict=True)}


def _down_later(alias: str) -> dict[str, Pairs]:
    """Return what both flows may report before and after that."""
    causes = {flow: next(iter(pairs))[1] for flow, pairs in _down(alias).items()}
    return {
        flow: _RECOVERY | _pairs(Verdict.LATE, Cause(cause)) | _pairs(Verdict.UNKNOWN, Cause(cause))
        for flow, cause in causes.items()
    }


def _cluster_faults(alias: str) -> tuple[Fault, ...]:
    return (
        Fault(
            name=f"kill-{alias}",
            sentence=f"The broker of {alias} is killed (SIGKILL) and started again.",
            hold_s=(25.0, 35.0),
            restore_s=10.0,
            settle_s=45.0,
            limit_s=20.0,
            expected=_down(alias),
            accepted=_down_later(alias),
        ),
        Fault(
            name=f"freeze-{alias}",
            sentence=f"The broker of {alias} is frozen (SIGSTOP) and continued.",
            hold_s=(25.0, 35.0),
            restore_s=1.0,
            settle_s=45.0,
            limit_s=20.0,
            expected=_down(alias),
            accepted=_down_later(alias),
        ),
    )


_MIRROR_DOWN = _each(_pairs(Verdict.STALLED, Cause.MIRROR_DOWN))

FAULTS: tuple[Fault, ...] = (
    *_cluster_faults("A"),
    *_cluster_faults("B"),
    Fault(
        name="kill-mirror",
        sentence="MirrorMaker is killed (SIGKILL) and started again.",
        hold_s=(25.0, 35.0),
        restore_s=20.0,
        settle_s=60.0,
        limit_s=20.0,
        expected=_MIRROR_DOWN,
        accepted=_each(_RECOVERY),
    ),
    Fault(
        name="freeze-mirror",
        sentence="MirrorMaker is frozen (SIGSTOP) and continued.",
        hold_s=(25.0, 35.0),
        restore_s=1.0,
        settle_s=30.0,
        limit_s=20.0,
        expected=_MIRROR_DOWN,
        accepted=_each(_RECOVERY),
    ),
    Fault(
        name="kill-store",
        sentence="PostgreSQL is killed (SIGKILL) and started again.",
        hold_s=(15.0, 25.0),
        restore_s=5.0,
        settle_s=20.0,
        limit_s=20.0,
        signal=Signal.STORE,
    ),
    Fault(
        name="reload",
        sentence="Both replicas reload a changed file (SIGHUP): series of each partition, on or off.",
        hold_s=(5.0, 5.0),
        restore_s=0.0,
        settle_s=10.0,
        limit_s=10.0,
        signal=Signal.RELOAD,
    ),
    Fault(
        name="reload-lag",
        sentence="Both replicas reload a changed file (SIGHUP), and the lag monitor restarts.",
        hold_s=(5.0, 5.0),
        restore_s=0.0,
        settle_s=25.0,
        limit_s=10.0,
        signal=Signal.RELOAD,
        restarts=True,
    ),
    Fault(
        name="kill-leader",
        sentence="The replica that leads is killed (SIGKILL of its main process), and started again.",
        hold_s=(12.0, 20.0),
        restore_s=10.0,
        settle_s=20.0,
        limit_s=12.0,
        accepted=_each(_TAKEOVER),
        signal=Signal.LEADER,
        moves_lead=True,
        restarts=True,
    ),
    Fault(
        name="stop-leader",
        sentence="The replica that leads is stopped (SIGTERM), and started again.",
        hold_s=(12.0, 20.0),
        restore_s=10.0,
        settle_s=20.0,
        limit_s=12.0,
        accepted=_each(_TAKEOVER),
        signal=Signal.LEADER,
        moves_lead=True,
        restarts=True,
    ),
    Fault(
        name="freeze-leader",
        sentence="The replica that leads is frozen (SIGSTOP) and continued; it ends and is started again.",
        hold_s=(15.0, 25.0),
        restore_s=15.0,
        settle_s=20.0,
        limit_s=12.0,
        accepted=_each(_TAKEOVER),
        signal=Signal.LEADER,
        moves_lead=True,
        restarts=True,
    ),
    Fault(
        name="kill-standby",
        sentence="The replica on standby is killed (SIGKILL) and started again.",
        hold_s=(5.0, 10.0),
        restore_s=10.0,
        settle_s=10.0,
        restarts=True,
    ),
    Fault(
        name="cut-leader",
        sentence="The replica that leads does not reach the store; packets are dropped in silence.",
        hold_s=(15.0, 25.0),
        restore_s=20.0,
        settle_s=20.0,
        limit_s=12.0,
        accepted=_each(_TAKEOVER),
        signal=Signal.LEADER,
        moves_lead=True,
        restarts=True,
    ),
    Fault(
        name="cut-store",
        sentence="No replica reaches the store; packets are dropped in silence.",
        hold_s=(15.0, 25.0),
        restore_s=20.0,
        settle_s=25.0,
        limit_s=20.0,
        accepted=_each(_TAKEOVER),
        signal=Signal.STORE,
        # Who reaches the store first may lead: both have waited for longer than a lease lasts.
        moves_lead=True,
        restarts=True,
    ),
)

BY_NAME = {fault.name: fault for fault in FAULTS}
