"""Operations of checksum runs, and the schemas of their documents."""

from __future__ import annotations

from checksum.compare.findings import RecordVerdict
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.api import shapes
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import (
    Schema,
    closed,
    flag,
    listed,
    mapped,
    moment,
    nullable,
    one_of,
    ref,
    text,
    whole,
)
from mirrorwatch.audits.run_document import RUN_ID


def _some(items: Schema, description: str = "") -> Schema:
    """Return the schema of a cut list with its count."""
    return closed({"count": whole(), "shown": listed(items)}, description=description)


_OFFSETS = nullable(
    {
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "description": "[first, until)",
    }
)
_BOTH = closed({"source": whole(), "target": whole()})
_FINDING = {
    "verdict": one_of([*RecordVerdict, "lacking", "surplus"]),
    "cause": nullable(one_of(Cause)),
    "sentence": text(),
    "topic": text(),
    "partition": whole(),
    "records": whole(),
    "at": nullable(text("The record's timestamp on the source.")),
    "target_at": nullable(text("Its timestamp on the target.")),
    "until": nullable(text("Of a count: where its bucket ends.")),
    "source_offsets": _OFFSETS,
    "target_offsets": _OFFSETS,
    "source_records": whole(),
    "target_records": whole(),
    "found_in": nullable(listed({})),
    "altered": listed(text(), "The parts of the record that differ."),
    "aborted": flag(),
    "tombstone": flag(),
    "proof": text(),
    "hash": text("A signed decimal number."),
    "target_hash": nullable(text()),
}
_BLOCK = {
    "topic": text(),
    "partition": whole(),
    "source_offsets": _OFFSETS,
    "target_offsets": _OFFSETS,
    "lacking": whole(),
    "surplus": whole(),
    "certain": flag(),
    "sentence": text(),
}
_PARTITION = {
    "topic": text(),
    "partition": whole(),
    "source_records": whole(),
    "target_records": whole(),
    "offsets": whole("Offsets that were to be compared."),
    "verified": whole("Offsets that were verified."),
    "records": mapped(whole(), "Records by verdict."),
    "unverified": listed(closed({"offsets": _OFFSETS, "why": text()})),
    "verified_to": nullable(_BOTH),
    "held": whole(),
    "buckets": whole(),
    "differing": whole(),
    "not_compared": nullable(text("Why its counts were not compared.")),
}
_LEFT_OUT = {
    "topic": text(),
    "partition": nullable(whole()),
    "records": nullable(whole()),
    "why": text(),
    "later": flag("It is merely new, and is compared by a later run."),
}
_RUN = {
    "version": whole("The version of this document."),
    "run": text("Its id."),
    "begun_at": moment(),
    "ended_at": moment(),
    "who": text("Who ran it, and where."),
    "counts_only": flag("Only records were counted, and nothing was verified."),
    "flow": text(),
    "plan": text("The id of the plan."),
    "planned_at": moment(),
    "topics": whole("How many topics were compared."),
    "offsets": _BOTH,
    "bytes": _BOTH,
    "left_out": _some(closed(_LEFT_OUT), "What was not compared, and why."),
    "status": whole("The exit status: 0 verified, 1 a finding, 3 incomplete."),
    "coverage": nullable(shapes.share("The share of offsets that was verified.")),
    "not_due": whole("Offsets of the source that were too new to be compared."),
    "records": mapped(whole(), "Records by verdict."),
    "source_records": whole(),
    "target_records": whole(),
    "findings": _some(closed(_FINDING, optional=_FINDING)),
    "expected": _some(closed(_FINDING, optional=_FINDING), "Duplicates that at-least-once delivery allows."),
    "not_read_again": _some(closed(_BLOCK), "Ranges that differ, and were not resolved to records."),
    "unsettled": _some(closed(_FINDING, optional=_FINDING), "What may still be on its way."),
    "partitions": _some(closed(_PARTITION, optional=_PARTITION)),
    "nothing_new": listed(text(), "Topics of which all was verified before."),
    "whole": flag("All topics that the flow replicated were to be compared."),
    "counts": mapped({}, "Records by bucket of time, as the page draws them."),
    "not_kept": text("Why the command's own store did not take the run."),
}
_ALWAYS = {
    "version",
    "run",
    "begun_at",
    "ended_at",
    "flow",
    "plan",
    "status",
    "source_records",
    "target_records",
}

# A flow of a `--json` file that was not compared.
_FAILED = {"type": "object", "properties": {"failure": text()}, "required": ["failure"]}

SCHEMAS = {
    "ChecksumDocument": closed(_RUN, optional=_RUN.keys() - _ALWAYS),
    "PostedRuns": {
        "description": "The document of a run, or the file that `--json` writes.",
        "anyOf": [
            ref("ChecksumDocument"),
            {
                "type": "object",
                "properties": {"runs": listed({"anyOf": [ref("ChecksumDocument"), _FAILED]})},
                "required": ["runs"],
            },
        ],
    },
    "StoredRuns": closed(
        {
            "runs": listed(
                closed(
                    {
                        "run": text(),
                        "flow": text(),
                        "new": flag("False where the run was stored before."),
                        "page": text("The path of its page."),
                        "sentence": text(),
                    }
                )
            )
        }
    ),
}
POST_CHECKSUMS = Operation(
    name="post_checksums",
    method="POST",
    path="/api/v1/checksums",
    summary="Store checksum runs: the document of one, or a file that `--json` wrote.",
    description="At most 16 MiB and 120 requests a minute. A run that is stored already changes nothing.",
    answers={200: "StoredRuns", 201: "StoredRuns"},
    problems=(
        "invalid_document",
        "unknown_flow",
        "too_large",
        "unsupported_media_type",
        "too_many_requests",
        "unavailable",
    ),
    body="PostedRuns",
    bearer="audit",
)
GET_CHECKSUM = Operation(
    name="get_checksum",
    method="GET",
    path=f"/api/v1/checksums/{{run:{RUN_ID}}}",
    path_parameters={"run": "The id of the run."},
    summary="Show the whole document of a checksum run.",
    answers={200: "ChecksumDocument"},
    problems=("unknown_run", "not_found", "unavailable"),
)

OPERATIONS = (POST_CHECKSUMS, GET_CHECKSUM)
