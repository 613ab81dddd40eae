"""What came of a drill: what was said when, what the counters gained, and whether that is right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from deploy.drills import alerts
from deploy.drills.drill import ALARMS
from deploy.drills.truth import Statement, Truth, disagreement
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deploy.drills.drill import Drill


@dataclass(slots=True)
class Result:
    """What was said: every (seconds, verdict, cause) when it was new, in order."""

    label: str
    said: list[tuple[float, str, str | None]] = field(default_factory=list)
    sentence: str = ""  # of what was expected, when it was first said or suspected
    mended_s: float | None = None  # when the order to end the fault was given
    healed_s: float | None = None  # after that
    books: dict[str, int] = field(default_factory=dict)  # what was added to them
    day: str = ""
    took_s: float | None = None  # of a checksum: how long its command ran
    status: int | None = None  # of a checksum, as `coverage` is; lines of before have neither
    coverage: float | None = None
    changed: list[int | str] = field(default_factory=list)  # what shows the fault: before it and after it
    suspected: list[tuple[float, str, str]] = field(default_factory=list)  # (seconds, cause, topic)
    stated: list[Statement] = field(default_factory=list)  # numbers of lost records, each when it was new
    truth: dict[int, Truth] = field(default_factory=dict)  # by partition, from a full read of both sides

    happened: list[tuple[float, str, str]] = field(default_factory=list)  # (seconds, event, sentence)
    fired: list[tuple[float, str, str]] | None = None  # (seconds, alert, severity); None: nobody watched
    paged: list[tuple[float, str]] = field(default_factory=list)  # (seconds, alert)

    def hit(self, drill: Drill) -> tuple[float, str, str | None] | None:
        """Return the first saying that is as expected, none of those that came too late to count."""
        for said in self.said:
            if said[1] == drill.verdict and (not drill.causes or said[2] in drill.causes):
                return said if drill.shows_mended or self._before_mended(said[0]) else None
        return None

    def suspicion(self, drill: Drill) -> tuple[float, str, str] | None:
        """Return the first suspicion that is as expected."""
        return next((one for one in self.suspected if one[1] == drill.suspected), None)

    def wrong(self, drill: Drill) -> str:
        """Return what is wrong with what was said, empty where nothing is."""
        counted = disagreement(self.stated, self.truth) if self.truth else ""
        alerted = "" if self.fired is None else alerts.wrong(drill, self.fired, self.paged)
        return self._wrongly_said(drill) or counted or alerted

    def _wrongly_said(self, drill: Drill) -> str:
        if drill.verdict is not None and self.hit(drill) is None:
            return "the expected was not said"
        alarms = {drill.verdict, drill.then}
        causes = {drill.cause, Cause.UNEXPLAINED, None, *drill.accepted}
        if drill.by_offsets and drill.verdict is None:
            causes -= {Cause.UNEXPLAINED}  # nothing is wrong, so there is nothing to explain
        for at, verdict, cause in self.said:
            if verdict in ALARMS and Verdict(verdict) not in alarms:
                return f"{verdict} was said"
            # While the fault ends other things are true, such as a restart; that we see nothing never is.
            minds = cause == Cause.PROBER or self._before_mended(at)
            if verdict != Verdict.HEALTHY and minds and cause not in causes:
                return f"{cause} was said"
        if drill.verdict is None and (self.books.get("lost", 0) or self.books.get("confirmed", 0)):
            return "probes were called lost"
        if drill.counted and not self.books.get(drill.counted, 0):
            return f"nothing was counted as {drill.counted}"
        return "the flow did not come back" if self.healed_s is None else self._wrongly_suspected(drill)

    def _wrongly_suspected(self, drill: Drill) -> str:
        """Return what is wrong with what was suspected; beside an alarm anything may be."""
        if drill.happened and not any(one[1] == drill.happened for one in self.happened):
            return f"{drill.happened} was not listed as an event"
        if drill.suspected is not None and self.suspicion(drill) is None:
            return f"{drill.suspected} was not suspected"
        right = {drill.suspected, *drill.accepted}
        others = [one for one in self.suspected if drill.verdict is None and one[1] not in right]
        return f"{others[0][1]} of {others[0][2]} was suspected" if others else ""

    def _before_mended(self, at: float) -> bool:
        return self.mended_s is None or at < self.mended_s


def as_line(result: Result) -> str:
    """Return a result as one line of JSON."""
    return json.dumps(asdict(result))


def from_line(line: str) -> Result:
    """Return the result of a line that `as_line` made."""
    fields = json.loads(line)
    for name in ("said", "suspected", "happened", "fired", "paged"):
        if fields.get(name) is not None:
            fields[name] = [tuple(one) for one in fields[name]]
    fields["stated"] = [Statement(*one) for one in fields.get("stated", [])]
    fields["truth"] = {int(number): Truth(*one) for number, one in fields.get("truth", {}).items()}
    return Result(**fields)


def first_seconds(results: Iterable[Result]) -> dict[str, dict[str, float | str]]:
    """Return by alert after how many seconds it fired, in the drill where that took longest."""
    found: dict[str, dict[str, float | str]] = {}
    times = ((at, name, severity, one.label) for one in results for at, name, severity in one.fired or ())
    for at, name, severity, label in sorted(times):
        found[f"{alerts.PREFIX}{name}"] = {"seconds": at, "severity": severity, "drill": label}
    return dict(sorted(found.items()))
