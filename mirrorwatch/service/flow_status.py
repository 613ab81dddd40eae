"""A flow's present state, apart from a past one that is still its verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from fleet.verdicts.vocabulary import Cause, FlowVerdict

_AUDIT = "checksum"


@dataclass(frozen=True, slots=True)
class FlowState:
    """A verdict with cause and reason; `since_at` (epoch s) is None if unknown."""

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float | None

    @property
    def is_bad(self) -> bool:
        """Return whether this state needs attention at night."""
        return self.verdict.is_bad


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """A flow as users read it: its present state, and a past one that still is its verdict.

    `by_audit`: the past state is the finding of a checksum, which stays until a later run clears it.
    """

    now: FlowState
    past: FlowState | None = None
    by_audit: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        """Return the sort key, worst first: bad now, then recently bad, then the rest."""
        if self.now.is_bad:
            return 0, self.now.verdict.severity
        if self.past is not None:
            return 1, self.past.verdict.severity
        return 2, self.now.verdict.severity

    @property
    def worst(self) -> Verdict:
        """Return the verdict that sets the colour: a loss ten minutes ago is not green."""
        return self.past.verdict if self.past is not None and not self.now.is_bad else self.now.verdict


def flow_status(flow: FlowVerdict, *, by: str = "canary") -> FlowStatus:
    """Split a verdict into the present state and the past one; part `by` describes a healthy flow."""
    told = FlowState(flow.verdict, flow.cause, flow.sentence, flow.since_at)
    if not flow.verdict.is_bad or flow.verdict in flow.conditions:
        return FlowStatus(told)
    by_audit = bool(flow.evidence) and flow.evidence[0].part == _AUDIT
    also = flow.also
    if also is not None:
        return FlowStatus(FlowState(also.verdict, also.cause, also.sentence, also.since_at), told, by_audit)
    if flow.conditions:
        worst = min(flow.conditions, key=lambda one: one.severity)
        return FlowStatus(FlowState(worst, None, "", None), told, by_audit)
    return FlowStatus(FlowState(Verdict.HEALTHY, None, dict(flow.parts).get(by, ""), None), told, by_audit)
