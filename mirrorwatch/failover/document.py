"""The JSON document of `failover --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import moment_ms_text
from lagmon.failover.sentences import group_sentence, partition_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.quantity import Bounds
    from lagmon.failover.readiness import Checkpoint, GroupReadiness, PartitionReadiness
    from mirrorwatch.failover.facts import FlowFailover


def failover_document(flows: Sequence[FlowFailover], *, now_at: float) -> dict[str, Any]:
    """Return the groups of all flows; instants are RFC 3339, unknown values null."""
    return {"at": moment_ms_text(round(now_at * 1000)), "flows": [_flow(one) for one in flows]}


def _flow(found: FlowFailover) -> dict[str, Any]:
    flow = found.flow
    return {
        "flow": flow.name,
        "source": flow.source,
        "target": flow.target,
        "ready": not found.problem and all(found.is_ready(one) for one in found.groups),
        "problem": found.problem or None,
        "source_problem": found.source_problem or None,
        "groups_by_checkpoints": sorted(found.by_checkpoints),
        "excluded_groups": list(found.excluded),
        "groups": [
            {**group_document(found, one), "partitions": partitions_document(one, flow.target)}
            for one in found.groups
        ],
    }


def group_document(found: FlowFailover, group: GroupReadiness) -> dict[str, Any]:
    """Return a group without its partitions."""
    return {
        "group": group.group,
        "status": group.status,
        "ready": found.is_ready(group),
        "running_on_target": group.group in found.running_on_target,
        "sentence": group_sentence(group, found.flow.target),
        "topics_not_replicated": len(found.elsewhere.get(group.group, ())),
        "read_again_records": _bounds(group.read_again_records),
        "skipped_records": _bounds(group.skipped_records),
        "at_risk_records": _bounds(group.at_risk_records),
    }


def partitions_document(group: GroupReadiness, target: str) -> list[dict[str, Any]]:
    """Return the partitions of a group, worst first."""
    return [_partition(one, target) for one in group.partitions]


def _partition(one: PartitionReadiness, target: str) -> dict[str, Any]:
    facts = one.facts
    return {
        "topic": facts.topic,
        "partition": facts.partition,
        "status": one.status,
        "sentence": partition_sentence(one, target),
        "start": one.start,
        "start_from": _start_from(one),
        "source": {
            "committed": facts.committed,
            "log_end": facts.source_end,
            "first_not_replicated": facts.replicated,
        },
        "target": {
            "committed": facts.target_committed,
            "log_start": facts.target_start,
            "log_end": facts.target_end,
        },
        "checkpoint": _checkpoint(facts.checkpoint),
        "read_again_records": _bounds(one.read_again_records),
        "skipped_records": _bounds(one.skipped_records),
        "at_risk_records": _bounds(one.at_risk_records),
        "proof": None if one.proof is None else one.proof.sentence,
    }


def _start_from(one: PartitionReadiness) -> str | None:
    if one.start is None or one.at_empty_log:
        return None
    return "checkpoint" if one.at_checkpoint else "commit"


def _checkpoint(one: Checkpoint | None) -> dict[str, Any] | None:
    if one is None:
        return None
    at = moment_ms_text(None if one.at_ms < 0 else one.at_ms)
    return {"upstream": one.upstream, "downstream": one.downstream, "at": at}


def _bounds(one: Bounds | None) -> dict[str, int | None] | None:
    return None if one is None else {"least": one.least, "most": one.most}
