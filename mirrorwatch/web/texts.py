"""Texts that the pages and `mirrorwatch status` share. Pure.

Times are epoch seconds and are written in UTC, durations are seconds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet.quantity import Bounds, between_text, duration_text
from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from alerts.incidents import Incident
    from mirrorwatch.service.view import FlowView, ServiceView, UnreachedView

NOTHING = "\N{EN DASH}"  # no value

_SHOWN_BROKERS = 6
_BOUNDS = {"at_least": "at least ", "at_most": "at most ", "estimate": "about "}
_UNSEEN_BLANKS = re.compile(r"^ +| +$|(?<= ) +", re.ASCII)
_BREAKS = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})

GLYPHS = {
    Verdict.LOSING: "✕",
    Verdict.ALTERED: "≠",
    Verdict.STALLED: "■",
    Verdict.REPEATING: "↻",
    Verdict.LATE: "◔",
    Verdict.UNKNOWN: "?",
    Verdict.HEALTHY: "✓",
}

_DOING = {
    Verdict.LOSING: "losing records",
    Verdict.ALTERED: "altering records",
    Verdict.STALLED: "stalled",
    Verdict.REPEATING: "repeating records",
    Verdict.LATE: "late",
    Verdict.UNKNOWN: "not known",
    Verdict.HEALTHY: "healthy",
}


BEEN = {
    Verdict.LOSING: "records lost",
    Verdict.ALTERED: "records altered",
    Verdict.STALLED: "stalled",
    Verdict.REPEATING: "records repeated",
    Verdict.LATE: "late",
    Verdict.UNKNOWN: "not known",
    Verdict.HEALTHY: "healthy",
}
"""Past states of a flow."""


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, `1 flow` or `3 flows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def headline(view: ServiceView) -> str:
    """Write the state of all flows in one line, worst first: `1 of 3 flows is losing records, 1 is late`."""
    counts = Counter(flow.status.now.verdict for flow in view.flows)
    counts[Verdict.UNKNOWN] += view.hidden_flows
    total = len(view.flows) + view.hidden_flows
    if total == 0:
        return "No flows configured"
    if counts[Verdict.HEALTHY] == total:
        return {1: "The flow is healthy", 2: "Both flows are healthy"}.get(
            total, f"All {total} flows are healthy"
        )
    said: list[str] = []
    for verdict in Verdict:
        count = counts[verdict]
        if count == 0 or (verdict is Verdict.HEALTHY and said):
            continue
        verb = "is" if count == 1 else "are"
        if said:
            subject = str(count)
        elif total == 1:
            subject = "The flow"
        else:
            subject = f"{count} of {total} flows"
        said.append(f"{subject} {verb} {_DOING[verdict]}")
    return ", ".join(said)


def side_notes(view: ServiceView) -> tuple[str, ...]:
    """Write what the headline omits: past states, clusters that are not up, problems."""
    away = [
        f"Cluster {cluster.alias} is {cluster.state}" for cluster in view.clusters if cluster.state != "up"
    ]
    if len(away) > 3:
        away = [f"{len(away)} of {len(view.clusters)} clusters are not up"]
    notes = _past_notes(view) + away
    if view.problems:
        notes.append(f"{counted(len(view.problems), 'problem')}, listed below")
    return tuple(notes)


def _past_notes(view: ServiceView) -> list[str]:
    """Write which flows had another state recently."""
    standings = (flow.status for flow in view.flows)
    past = Counter((one.past.verdict, one.by_audit) for one in standings if one.past is not None)
    return [
        f"{counted(count, 'flow')} {'found' if by_audit else 'was' if count == 1 else 'were'}"
        f" {_DOING[verdict]} {'by a checksum' if by_audit else 'recently'}"
        for (verdict, by_audit), count in sorted(past.items(), key=lambda one: one[0][0].severity)
    ]


def worst(view: ServiceView) -> Verdict:
    """Return the worst verdict of all flows, unknown without flows and where some are not shown."""
    verdicts = [flow.status.worst for flow in view.flows]
    if view.hidden_flows or not verdicts:
        verdicts.append(Verdict.UNKNOWN)
    return min(verdicts, key=lambda verdict: verdict.severity)


def title(view: ServiceView) -> str:
    """Return the title of the page, with the worst verdict first for browser tabs."""
    bad, total = worst(view), len(view.flows) + view.hidden_flows
    if not total:
        return "no flows · mirrorwatch"
    if bad is Verdict.HEALTHY:
        return "healthy · mirrorwatch"
    count = sum(flow.status.worst is bad for flow in view.flows)
    if bad is Verdict.UNKNOWN:
        count += view.hidden_flows
    return f"{bad} {count}/{total} · mirrorwatch"


def plain(text: str) -> str:
    """Replace control and direction characters; a line break becomes a space."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else " " if letter in "\t\r\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )


def with_blanks(name: str) -> str:
    """Mark blanks of a name that are hard to see: at its ends, repeated ones, line breaks."""
    return _UNSEEN_BLANKS.sub(lambda found: "␣" * len(found[0]), name).translate(_BREAKS)


def moment_text(at: float, now_at: float) -> str:
    """Write a time in UTC, with its day unless it is today: `14:02:11 UTC`."""
    moment, now = _utc(at), _utc(now_at)
    if moment is None or now is None:
        return NOTHING
    if moment.date() == now.date():
        return f"{moment:%H:%M:%S} UTC"
    if moment.year == now.year:
        return f"{moment:%d %b %H:%M} UTC"
    return f"{moment:%d %b %Y %H:%M} UTC"


def minute_text(at: float, now_at: float) -> str:
    """Write a time in UTC to the minute, with its day unless it is that of `now_at`: `09:18`."""
    moment, now = _utc(at), _utc(now_at)
    if moment is None or now is None:
        return NOTHING
    if moment.date() == now.date():
        return f"{moment:%H:%M}"
    return f"{moment:%d %b %H:%M}" if moment.year == now.year else f"{moment:%d %b %Y %H:%M}"


def iso_text(at: float) -> str:
    """Write a time as ISO 8601 in UTC with milliseconds; empty for an invalid one."""
    moment = _utc(at)
    return "" if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def age_text(seconds: float | None) -> str:
    """Write an age in whole seconds below a minute, otherwise in two units; a dash if unknown.

    A time slightly in the future, from another clock, has the age 0.
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds <= 0:
        return "0 s"
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds < 1 else f"{seconds:.0f} s"
    return duration_text(seconds)


def number_text(number: int | None, kind: str = "exact") -> str:
    """Write a number with its kind, `270` or `at least 270`; a dash if unknown."""
    return NOTHING if number is None else f"{_BOUNDS.get(kind, '')}{number:,}"


def bounded_age_text(seconds: float | None, kind: str) -> str:
    """Write an age with its kind: `at least` for a bound, `about` for an estimate."""
    text = age_text(seconds)
    return text if text == NOTHING else _BOUNDS.get(kind, "") + text


def bounds_text(count: Bounds | None) -> str:
    """Write a number of records with its bounds: `5`, `at least 5`, `between 5 and 8`; a dash if unknown."""
    return NOTHING if count in (None, (0, None)) else between_text(*count)


def probes_lost(flow: FlowView) -> int:
    """Return the number of lost canary records."""
    return flow.books.get("lost", 0) + flow.books.get("confirmed", 0)


def latency_text(seconds: float | None) -> str:
    """Write a latency with two or three digits: `0.4 ms`, `38 ms`, `1.24 s`; a dash if unknown."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0:
        return "-" + latency_text(-seconds)
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    return f"{seconds:.1f} s" if seconds < 60 else duration_text(seconds)


def heartbeat_text(age_s: float) -> str:
    """Write the age of MirrorMaker's newest heartbeat, and its limits as evidence."""
    age = f"{age_s:.1f} s" if age_s < 60 else duration_text(age_s)
    return f"{age} old; it does not cover single tasks"


def unreached_text(side: UnreachedView) -> str:
    """Write the unprobed brokers: `Not probed: broker 3 of B, which leads no partition …`."""
    ids = [str(number) for number in side.broker_ids[:_SHOWN_BROKERS]]
    more = len(side.broker_ids) - len(ids)
    if more:
        ids.append(f"{more} more")
    one = len(ids) == 1
    names = ids[0] if one else f"{', '.join(ids[:-1])} and {ids[-1]}"
    return (
        f"Not probed: broker{'' if one else 's'} {names} of {side.kafka_cluster}, which"
        f" {'leads' if one else 'lead'} no partition of the canary topic."
    )


def share_text(part: int, whole: int) -> str:
    """Write a share in per cent; 100 % only if it is complete."""
    if whole <= 0:
        return NOTHING
    share = 100 * part / whole
    if part < whole and share >= 99.995:
        return "> 99.99 %"
    return f"{share:.2f}".rstrip("0").rstrip(".") + " %"


def part_text(ratio: float) -> str:
    """Write a share that may exceed 1: `about 3 %`, `less than 0.1 %`."""
    if 0 < ratio < 0.001:
        return "less than 0.1 %"
    return f"about {_two_digits(100 * ratio)} %"


def budget_left_text(ratio: float) -> str:
    """Write the remaining error budget, rounded down: `61.2 % of its error budget is left`."""
    if ratio <= 0:
        return (
            "its error budget is spent"
            if ratio > -0.05
            else f"{_two_digits(1 - ratio)} times its error budget is spent"
        )
    percent = math.floor(1000 * ratio) / 10
    return f"{f'{percent:g}' if percent else 'less than 0.1'} % of its error budget is left"


def _two_digits(number: float) -> str:
    """Write a positive number with two digits, or all digits before the point."""
    return f"{number:.2g}" if number < 9.95 else f"{number:,.0f}"


def times_text(from_at: float, until_at: float, now_at: float) -> str:
    """Write two times in UTC, the day once: `09:18 to 09:21 UTC`, `26 Nov 23:50 to 00:10 UTC`."""
    first, last = minute_text(from_at, now_at), minute_text(until_at, from_at)
    return f"{first} UTC" if from_at // 60 == until_at // 60 else f"{first} to {last} UTC"


def what_text(incident: Incident) -> str:
    """Write what an incident was: `272 records lost, stalled`."""
    lost = incident.lost_records
    said = []
    for condition in incident.conditions:
        if condition is Verdict.LOSING and lost not in ((0, 0), (0, None)):
            said.append(f"{between_text(*lost, 'record')} lost")
        else:
            said.append(BEEN[condition])
    return ", ".join(said)


def lasted_text(incident: Incident) -> str:
    """Write how long an incident lasted: `3 min 4 s`, `between 3 min and 2 h`, `at least 3 min`."""
    least, most = incident.lasted_s
    if most is None:
        return f"at least {duration_text(least)}"
    if least == most:
        return duration_text(least)
    return f"between {duration_text(least)} and {duration_text(most)}"


def recent_text(incident: Incident, now_at: float) -> str:
    """Write an incident in one line: `272 records lost, 09:18 to 09:21 UTC`; an open one has no end."""
    if not incident.ended:
        return f"{what_text(incident)}, since {minute_text(incident.started_at, now_at)} UTC"
    return f"{what_text(incident)}, {times_text(incident.started_at, incident.bad_until_at, now_at)}"


def _utc(at: float) -> datetime | None:
    """Return the time in UTC, or None for one that is out of range."""
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None
