"""What holds of a flow right now, apart from what happened a while ago and is still its verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from fleet.verdicts.vocabulary import Cause, FlowVerdict

_AUDIT = "checksum"


@dataclass(frozen=True, slots=True)
class Told:
    """One thing to say of a flow; `since_at` (epoch s) is None where nobody has kept it."""

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float | None

    @property
    def is_bad(self) -> bool:
        """Tell whether somebody has to know of it at night."""
        return self.verdict.is_bad


@dataclass(frozen=True, slots=True)
class Standing:
    """A flow as people read it: what holds now, and what was found before and no longer holds.

    `by_audit`: what was found before is the finding of a checksum, which stays until a later run clears it.
    """

    now: Told
    past: Told | None = None
    by_audit: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        """Return the place in a list, worst first: bad now, then bad a while ago, then the rest."""
        if self.now.is_bad:
            return 0, self.now.verdict.severity
        if self.past is not None:
            return 1, self.past.verdict.severity
        return 2, self.now.verdict.severity

    @property
    def look(self) -> Verdict:
        """Return the verdict whose colour it has: a loss of ten minutes ago is not green."""
        return self.past.verdict if self.past is not None and not self.now.is_bad else self.now.verdict


def standing_of(flow: FlowVerdict) -> Standing:
    """Return a verdict apart in what holds now and what is past."""
    told = Told(flow.verdict, flow.cause, flow.sentence, flow.since_at)
    if not flow.verdict.is_bad or flow.verdict in flow.conditions:
        return Standing(told)
    by_audit = bool(flow.evidence) and flow.evidence[0].part == _AUDIT
    also = flow.also
    if also is not None:
        return Standing(Told(also.verdict, also.cause, also.sentence, also.since_at), told, by_audit)
    if flow.conditions:
        worst = min(flow.conditions, key=lambda one: one.severity)
        return Standing(Told(worst, None, "", None), told, by_audit)
    return Standing(Told(Verdict.HEALTHY, None, dict(flow.parts).get("canary", ""), None), told, by_audit)
