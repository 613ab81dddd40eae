"""The operation that resumes a canary, and the schema of its answer."""

from __future__ import annotations

from mirrorwatch.api.flows import FLOW_PATH
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, moment, text

SCHEMAS = {
    "Resumed": closed(
        {
            "flow": text(),
            "sentence": text(),
            "lifted": closed(
                {"kafka_cluster": text(), "topic": text(), "latched_at": moment(), "sentence": text()},
                description="The latch: why and since when no probes were sent.",
            ),
        }
    ),
}

RESUME_CANARY = Operation(
    name="resume_canary",
    method="POST",
    path="/api/v1/flows/{flow:[^/]+}/canary/resume",
    path_parameters=FLOW_PATH,
    summary="Send probes again after a latch, for every flow from the same source.",
    description="Mirrorwatch latches the canary of a topic when a probe came back to its source, a loop.",
    answers={200: "Resumed"},
    problems=("unknown_flow", "not_latched", "too_many_requests", "unavailable"),
    bearer="operator",
)

OPERATIONS = (RESUME_CANARY,)
