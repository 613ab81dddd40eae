"""What came of a drill: what was said when, what the books gained, and whether that is right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from deploy.drill_list import ALARMS
from fleet.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from deploy.drill_list import Drill


@dataclass(slots=True)
class Result:
    """What was said: every (seconds, verdict, cause) when it was new, in order."""

    label: str
    said: list[tuple[float, str, str | None]] = field(default_factory=list)
    sentence: str = ""  # of what was expected, when it was first said
    mended_s: float | None = None  # when the order to mend it was given
    healed_s: float | None = None  # after that
    books: dict[str, int] = field(default_factory=dict)  # what was added to them
    day: str = ""
    note: str = ""  # what a reader of the row has to know

    def hit(self, drill: Drill) -> tuple[float, str, str | None] | None:
        """Return the first saying that is as expected."""
        for said in self.said:
            if said[1] == drill.verdict and (not drill.causes or said[2] in drill.causes):
                return said
        return None

    def wrong(self, drill: Drill) -> str:
        """Return what is wrong with what was said, empty where nothing is."""
        if drill.verdict is not None and self.hit(drill) is None:
            return "the expected was not said"
        alarms = {drill.verdict, drill.then, *drill.also}
        causes = {drill.cause, Cause.UNEXPLAINED, None, *drill.accepted}
        minds = bool(drill.cause or drill.accepted)
        for at, verdict, cause in self.said:
            if verdict in ALARMS and Verdict(verdict) not in alarms:
                return f"{verdict} was said"
            stands = drill.verdict is Verdict.LATE and verdict == Verdict.STALLED
            told = stands or (verdict == drill.verdict and minds)
            if told and at < (self.mended_s or at) and cause not in causes:
                return f"{cause} was said"
        if drill.verdict is None and self.books.get("lost", 0):
            return "probes were called lost"
        if drill.counted and not self.books.get(drill.counted, 0):
            return f"nothing was counted as {drill.counted}"
        return "" if self.healed_s is not None else "the flow did not come back"


def as_line(result: Result) -> str:
    """Return a result as one line of JSON."""
    return json.dumps(asdict(result))


def from_line(line: str) -> Result:
    """Return the result of a line that `as_line` made."""
    fields = json.loads(line)
    fields["said"] = [tuple(one) for one in fields["said"]]
    return Result(**fields)
