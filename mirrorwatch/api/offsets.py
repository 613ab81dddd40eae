"""The operation that shows a flow by its offsets, and the schema of its document."""

from __future__ import annotations

from fleet.verdicts.vocabulary import Verdict
from lagmon.groups.documents import HEADROOM
from lagmon.groups.rules.words import Reason, Status
from mirrorwatch.api import shapes
from mirrorwatch.api.flows import FLOW_PATH, RECORD_KINDS, RECORDS, SIDES
from mirrorwatch.api.groups import LAG_KINDS, SEARCH
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, flag, listed, moment, nullable, one_of, page, ref, text, whole
from runtime.http.parameters import fields, paging

_PARTITION = {
    "topic": text("The topic on the source."),
    "target_topic": nullable(text("The topic on the target.")),
    "partition": whole(),
    "status": one_of(status.name for status in Status),
    "reason": one_of(
        [reason.name.lower() for reason in Reason if not reason.name.startswith("BURROW")] + ["no_offset"],
        "The rule that led to the status.",
    ),
    "sentence": text("The reason with its numbers."),
    "next_offset": nullable(whole("The source offset that the mirror replicates next.")),
    "next_offset_kind": one_of(("exact", "estimate", "none")),
    "committed_at": nullable(moment("When the mirror committed this offset.")),
    "log_start_offset": nullable(whole("On the source.")),
    "log_end_offset": nullable(whole("On the source.")),
    "target_log_end_offset": nullable(whole()),
    "lag_records": nullable(whole()),
    "lag_records_kind": one_of(
        ("exact", "at_most", "estimate", "none"),
        "`at_most` while the log behind the offset is not read; `estimate` if `next_offset` is one.",
    ),
    "lag_s": nullable(shapes.seconds("Age of the oldest record that is not replicated.")),
    "lag_s_kind": one_of(LAG_KINDS),
    "offsets_without_records": whole(
        "Offsets behind the mirror's that hold no record to replicate, such as transaction markers."
    ),
    "overtaken_records": whole("Records that retention deleted before they were replicated; at least."),
    "overtaken_records_most": nullable(whole("At most; null where that is not known.")),
    "overtaken_records_kind": one_of(RECORD_KINDS),
    "headroom_records": nullable(
        whole("Records from the log start to the next offset; negative where it was overtaken.", least=None)
    ),
    "headroom_s": nullable(shapes.seconds("Time until retention deletes the next record.")),
    "headroom_s_kind": one_of(("exact", "at_most", "estimate", "none")),
    "headroom_from": nullable(
        one_of(
            sorted({origin for origin, _ in HEADROOM.values() if origin is not None}),
            "What these seconds were taken from; null where they are unknown.",
        )
    ),
    "offsets_not_committing": flag("The mirror replicates on, and commits no offsets."),
    "source_topic_id": nullable(text()),
    "target_topic_id": nullable(text()),
    "commits": listed(ref("MirrorCommit"), "The mirror's last commits, oldest first."),
    "log_ends": listed(ref("OffsetAt"), "The log end offset on the source at the last polls, oldest first."),
}

SCHEMAS = {
    "MirrorCommit": closed(
        {"offset": whole(), "at": nullable(moment()), "lag_records": nullable(whole("The lag at that time."))}
    ),
    "OffsetsPartition": closed(_PARTITION, optional=_PARTITION),
    "Overtaken": closed(
        {
            "topic": text(),
            "partition": whole(),
            **RECORDS,
            "next_offset": whole("The offset that was to be replicated next.", least=None),
            "written_offset": nullable(whole("The last offset that was replicated.", least=None)),
            "log_start_offset": whole("Where the log started then.", least=None),
            "first_at": moment(),
            "at": moment(),
        }
    ),
    "MissingTopic": closed({"topic": text(), "since": moment(), "cause": ref("Cause")}),
    "OffsetsFinding": closed(
        {
            "verdict": one_of(Verdict),
            "cause": ref("Cause"),
            "topic": text("The topic on the source."),
            "partition": nullable(whole("Null for a whole topic.")),
            "side": one_of(SIDES, "The side of the two offsets."),
            "first_offset": nullable(whole()),
            "last_offset": nullable(whole()),
            "at": moment(),
            **RECORDS,
            "proved": flag("False for a suspicion, which leaves the verdict alone."),
        }
    ),
    "RecreatedTopic": closed(
        {
            "topic": text(),
            "side": one_of(SIDES),
            "at": moment(),
            "former_topic_id": text(),
            "topic_id": text(),
        }
    ),
    "Offsets": page(
        "partitions",
        ref("OffsetsPartition"),
        before={
            "now": moment(),
            "flow": text(),
            "source": text(),
            "target": text(),
            "verdict": one_of(Verdict, "The verdict by offsets alone."),
            "since": moment("Since when it has this verdict and cause."),
            "sentence": text("Why it has this verdict."),
            "cause": nullable(ref("Cause")),
            "standstill": nullable(ref("Cause", "Why nothing is replicated; null while records are.")),
            "status": one_of(status.name for status in Status),
            "lag_from": text("What the lag is taken from (`flows.A->B.lag_from`)."),
            "offsets": closed(
                {"kafka_cluster": text(), "topic": text()},
            ),
            "groups": listed(text(), "Groups of the mirror, where the lag is taken from groups."),
            "read_at": nullable(moment("The newest offset that was read was committed then.")),
            "commit_interval_s": shapes.seconds("How often the mirror commits."),
            "partition_count": whole("Partitions that the mirror has committed offsets of."),
            "lag_records": nullable(whole("Records that are not replicated, as a sum.")),
            "lag_records_kind": one_of(
                ("exact", "at_least", "estimate", "none"), "`estimate` if some offsets are estimates."
            ),
            "lag_unknown_partitions": whole("Partitions whose lag is unknown; they are not in the sum."),
            "lag_s": nullable(shapes.seconds("Age of the oldest record that is not replicated.")),
            "lag_s_kind": one_of(LAG_KINDS),
            "offsets_without_records": whole(),
            "unread_sentence": nullable(text("Which logs cannot be read, and what to do.")),
            "overtaken": listed(ref("Overtaken"), "Losses to retention: records deleted unreplicated."),
            "overtaken_count": whole("How many of these there are; the newest are listed."),
            "missing": listed(ref("MissingTopic"), "Topics that are not replicated whole."),
            "missing_count": whole(),
            "findings": listed(ref("OffsetsFinding")),
            "findings_count": whole(),
            "findings_settled": flag("False while the findings may still become more."),
            "recreated_topics": listed(ref("RecreatedTopic"), "Topics that were deleted and created again."),
            "events": listed(ref("Event"), "What happened in the last day, newest first."),
        },
    ),
}

GET_OFFSETS = Operation(
    name="get_offsets",
    method="GET",
    path="/api/v1/flows/{flow:[^/]+}/offsets",
    path_parameters=FLOW_PATH,
    summary="Show what the mirror's offsets say of a flow, with its partitions, worst first.",
    parameters=(*paging(default=10_000, most=10_000), fields(_PARTITION), SEARCH),
    answers={200: "Offsets"},
    problems=("unknown_flow", "lag_off", "unavailable"),
)

OPERATIONS = (GET_OFFSETS,)
