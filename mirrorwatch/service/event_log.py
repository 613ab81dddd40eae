"""Log lines about events and verdicts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.verdicts.vocabulary import Also, Cause, FlowVerdict
    from mirrorwatch.service.view import EventView

MOST_KNOWN = 10_000  # events that are not logged again


class EventLog:
    """Events to log: each once, and again when its number of records is final.

    An earlier process has logged events before `begun_at` (epoch s).
    """

    def __init__(self, begun_at: float) -> None:
        self._begun_at = begun_at
        self._known: dict[tuple[str, str, float], bool] = {}  # and whether they were settled

    def due(self, flow: str, events: Iterable[EventView]) -> list[EventView]:
        """Return the events of a flow to log now, oldest first."""
        found = []
        for one in events:
            key, is_settled = (flow, one.topic, one.at), one.records_most is not None
            known = self._known.get(key)
            if one.last_at >= self._begun_at and (known is None or (is_settled and not known)):
                self._known[key] = is_settled
                found.append(one)
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found[::-1]


Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log."""

    level: Level
    sentence: str
    facts: Mapping[str, str]


def lines_of(before: FlowVerdict | None, after: FlowVerdict) -> tuple[Line, ...]:
    """Return a line if verdict or cause changed, and one if the additional condition changed."""
    lines: list[Line] = []
    if before is None or (before.verdict, before.cause) != (after.verdict, after.cause):
        level = _level(after.verdict, first=before is None)
        facts = {"flow": after.flow, "verdict": after.verdict.value, "cause": _word(after.cause)}
        lines.append(Line(level, after.sentence, facts))
    former = None if before is None else before.also
    also = after.also
    if also is not None and (former is None or _reason(former) != _reason(also)):
        facts = {"flow": after.flow, "also": also.verdict.value, "cause": _word(also.cause)}
        lines.append(Line(_level(also.verdict), also.sentence, facts))
    elif also is None and former is not None and former.verdict is not after.verdict:
        sentence = f"{after.flow} is no longer {former.verdict}; its verdict is still {after.verdict}."
        lines.append(Line("info", sentence, {"flow": after.flow, "also": "none"}))
    return tuple(lines)


def _level(verdict: Verdict, *, first: bool = False) -> Level:
    """Return the log level of a verdict; unknown is normal at the start."""
    if verdict in (Verdict.LOSING, Verdict.ALTERED):
        return "error"
    if verdict is Verdict.HEALTHY or (first and verdict is Verdict.UNKNOWN):
        return "info"
    return "warning"


def _reason(also: Also) -> tuple[Verdict, Cause | None]:
    return also.verdict, also.cause


def _word(cause: Cause | None) -> str:
    return "none" if cause is None else cause.value
