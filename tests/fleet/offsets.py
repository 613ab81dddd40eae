"""What offsets say of a flow, for the tests of verdicts: `lag(...)` is well unless told otherwise."""

from __future__ import annotations

from dataclasses import replace

from fleet.verdicts.evidence import CanaryState, LagEvidence, LagFinding
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from tests.fleet.verdicts.test_judgement import NOW, flow

CANARY = "mirrorwatch-canary"
SAYS = {
    Verdict.HEALTHY: "6 partitions move or have nothing to copy.",
    Verdict.STALLED: "2 partitions of orders stood for 80 s, with 500 records to copy.",
    Verdict.LATE: "orders-0 falls behind.",
    Verdict.REPEATING: "orders-0 went back.",
    Verdict.UNKNOWN: "The mirror's offsets are not read yet.",
}
CAUSES = {Verdict.STALLED: Cause.TASK_STUCK, Verdict.REPEATING: Cause.DUPLICATING}


def row(topic="orders", partition=0):
    return Evidence("lag", "500 records to read at offset 300", NOW - 80, topic, partition, 300, 300)


def lag(verdict=Verdict.HEALTHY, cause=None, *, findings=(), **more):
    said = {
        "sentence": SAYS[verdict],
        "since_at": NOW - 200,
        "settles_s": 30.0,
        "standing": ("orders",) if verdict is Verdict.STALLED else (),
        "rows": () if verdict in (Verdict.HEALTHY, Verdict.UNKNOWN) else (row(),),
    }
    return LagEvidence(verdict, cause or CAUSES.get(verdict), findings=tuple(findings), **(said | more))


def deleted(*, ago_s=0.0, topic="orders", partition=0, first=1001, last=1123, **more):
    found = LagFinding(
        Verdict.LOSING,
        Cause.OVERTAKEN,
        topic,
        partition,
        NOW - ago_s,
        f"Of {topic}-{partition}, {last - first + 1} records were deleted on A before they were copied.",
        last - first + 1,
        first,
        last,
        last - first + 1,
    )
    if "records" in more:
        more.setdefault("records_most", more["records"])
    return replace(found, **more)


def seen(*partitions, offsets, **more):
    """A flow with a canary and with what offsets say of it."""
    return replace(flow(*partitions, **more), lag=offsets)


def unprobed(offsets, **more):
    """A flow whose canary is off."""
    return replace(
        flow(state=CanaryState.OFF, sentence="canary.mode is off.", partitions=(), **more), lag=offsets
    )
