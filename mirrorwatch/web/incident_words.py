"""Incidents in words: what each was, when, and how long it lasted. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import between_text, duration_text
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web import words

if TYPE_CHECKING:
    from alerts.incidents import Incident


def times_text(from_at: float, until_at: float, now_at: float) -> str:
    """Write two moments in UTC, the day once: `09:18 to 09:21 UTC`, `26 Nov 23:50 to 00:10 UTC`."""
    first, last = words.minute_text(from_at, now_at), words.minute_text(until_at, from_at)
    return f"{first} UTC" if from_at // 60 == until_at // 60 else f"{first} to {last} UTC"


def what_text(incident: Incident) -> str:
    """Say in a few words what an incident was: `272 records lost, stalled`."""
    lost = incident.lost_records
    said = []
    for condition in incident.conditions:
        if condition is Verdict.LOSING and lost != (0, 0):
            said.append(f"{between_text(*lost, 'record')} lost")
        else:
            said.append(words.BEEN[condition])
    return ", ".join(said)


def lasted_text(incident: Incident) -> str:
    """Say how long an incident lasted: `3 min 4 s`, `between 3 min and 2 h`, `at least 3 min`."""
    least, most = incident.lasted_s
    if most is None:
        return f"at least {duration_text(least)}"
    if least == most:
        return duration_text(least)
    return f"between {duration_text(least)} and {duration_text(most)}"


def recent_text(incident: Incident, now_at: float) -> str:
    """Write an incident in one line: `272 records lost, 09:18 to 09:21 UTC`; an open one has no end."""
    if not incident.ended:
        return f"{what_text(incident)}, since {words.minute_text(incident.started_at, now_at)} UTC"
    return f"{what_text(incident)}, {times_text(incident.started_at, incident.bad_until_at, now_at)}"
