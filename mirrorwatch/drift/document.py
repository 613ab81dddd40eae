"""The JSON document of `drift --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fleet.dialect import moment_ms_text
from lagmon.drift.differences import worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.drift.differences import Comparison, Difference, FlowDrift


def drift_document(flows: Sequence[FlowDrift], *, now_at: float) -> dict[str, Any]:
    """Return the drift of all flows with every difference; instants are RFC 3339, unknown values null."""
    return {
        "at": moment_ms_text(round(now_at * 1000)),
        "verdict": worst(one.verdict for one in flows),
        "flows": [_flow(one) for one in flows],
    }


def _flow(found: FlowDrift) -> dict[str, Any]:
    flow, inventory = found.flow, found.inventory
    return {
        "flow": flow.name,
        "source": flow.source,
        "target": flow.target,
        "verdict": found.verdict,
        "topics": {"total": inventory.topics, **asdict(inventory)},
        "kinds": [_kind(one) for one in found.comparisons],
    }


def _kind(one: Comparison) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "verdict": one.verdict,
        "compared": one.compared,
        "note": one.note or None,
        "differences": [_difference(each) for each in one.differences],
        "remarks": [_difference(each) for each in one.remarks],
        "not_compared": [{"why": each.why, "subjects": list(each.subjects)} for each in one.omissions],
    }


def _difference(one: Difference) -> dict[str, Any]:
    found = {
        "subject": one.subject or None,
        "on_target": one.remote or None,
        "what": one.what,
        "source": one.source,
        "target": one.target,
        "advice": one.advice,
    }
    return found if one.until_ms is None else found | {"expected_until": moment_ms_text(one.until_ms)}
