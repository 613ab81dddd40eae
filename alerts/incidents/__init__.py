"""Incidents and history: consecutive bad time of a flow is one incident.

incident   one incident: how it starts, continues and ends (pure)
losses     records lost by offsets, as several processes counted them (pure)
recorder   what one process has seen of one flow, until the store has it (pure)
bars       the last 24 hours and 30 days of a flow as a bar (pure)

The tables are in `alerts/incident_tables.py`.
"""

from __future__ import annotations

from alerts.incidents.bars import Bar, Run, bar_of
from alerts.incidents.incident import GAP_S, Counts, Incident, Note, Stretch, Symptom
from alerts.incidents.recorder import Batch, Recorder, Sample, Span

__all__ = [
    "GAP_S",
    "Bar",
    "Batch",
    "Counts",
    "Incident",
    "Note",
    "Recorder",
    "Run",
    "Sample",
    "Span",
    "Stretch",
    "Symptom",
    "bar_of",
]
