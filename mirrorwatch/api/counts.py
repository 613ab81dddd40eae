"""The operation that lists the number of records on both sides of a flow, for one topic."""

from __future__ import annotations

from fleet.topic_name import is_topic_name
from mirrorwatch.api.flows import FLOW_PATH
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, listed, moment, page, ref, text, whole
from runtime.http.parameters import Parameter, paging
from runtime.http.parameters import moment as moment_parameter


def _topic(given: str) -> str:
    if not is_topic_name(given):
        raise ValueError(f"invalid topic '{given[:100]}'; write its name on the source")
    return given


_SIDES = {"source_records": whole(), "target_records": whole()}

SCHEMAS = {
    "CountBucket": closed(
        {
            "at": moment("When the bucket begins."),
            **_SIDES,
            "differing": listed(
                closed({"partition": whole(), **_SIDES}), "Partitions in which both sides differ."
            ),
        }
    ),
    "Counts": page(
        "buckets",
        ref("CountBucket"),
        before={"flow": text(), "topic": text(), "since": moment(), "until": moment()},
    ),
}

LIST_COUNTS = Operation(
    name="list_counts",
    method="GET",
    path="/api/v1/flows/{flow:[^/]+}/counts",
    path_parameters=FLOW_PATH,
    summary="List how many records both sides of a flow held of a topic, by bucket of time, oldest first.",
    parameters=(
        Parameter(
            name="topic",
            description="The topic, by its name on the source.",
            read=_topic,
            schema={"type": "string", "minLength": 1, "maxLength": 249, "pattern": "^[a-zA-Z0-9._-]+$"},
            required=True,
        ),
        *paging(default=10_000, most=10_000),
        moment_parameter("since", "The first bucket begins here or later; a day before `until` without it."),
        moment_parameter("until", "The last bucket begins before this; now without it."),
    ),
    answers={200: "Counts"},
    problems=("unknown_flow", "unavailable"),
)

OPERATIONS = (LIST_COUNTS,)
