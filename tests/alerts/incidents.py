"""Samples of a flow for tests of incidents."""

from __future__ import annotations

from alerts.incidents import Counts, Sample
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Cause, Evidence, FlowVerdict, Verdict

FLOW = ("A->B", "A", "B")
START = 1_700_000_040.0  # on the minute


def sample(
    at,
    *conditions,
    cause=None,
    sentence="",
    counts=None,
    lost=None,
    verdict=None,
    also=None,
    at_risk=None,
    evidence=(),
):
    """Return a sample `at` seconds after START; without conditions the flow is healthy."""
    held = frozenset(Verdict(one) for one in conditions)
    worst = min(held, key=lambda one: one.severity, default=Verdict.HEALTHY)
    told = FlowVerdict(
        flow=FLOW[0],
        verdict=Verdict(verdict) if verdict else worst,
        cause=None if cause is None else Cause(cause),
        sentence=sentence,
        evidence=tuple(evidence),
        parts=(),
        since_at=START + at,
        also=also,
        conditions=held,
    )
    return Sample(
        START + at,
        told,
        counts or Counts(),
        lost or Bounds(0, 0),
        at_risk_records=at_risk,
    )


def row(sentence="seen", at=0.0):
    """Return one row of evidence."""
    return Evidence("canary", sentence, START + at, "mirrorwatch-canary", 0, 7, None)
