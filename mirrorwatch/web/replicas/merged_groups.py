"""One answer about consumer groups of those of all shards, as one lag monitor would give it. Pure.

The answers are in the form for pages (`lagmon/groups/answers.py`). `missing` has a sentence for each shard
without an answer.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lagmon.groups.rules.words import RANK, WORSE, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Document = Mapping[str, Any]

_PHASES = ("refused", "down", "starting", "reading")  # worst first


def merged_groups(
    documents: Sequence[Document], missing: Sequence[str], *, first: int, most: int
) -> dict[str, Any]:
    """Return a page of the groups, worst first, then by lag; each document has its first groups."""
    lines = sorted((line for one in documents for line in one["groups"]), key=_order)
    return {
        **documents[0],
        **merged_counts(documents, missing),
        "groups": lines[first : first + most],
        "offset": first,
        "other_groups": _other_groups(documents),
        "away": {alias: why for one in reversed(documents) for alias, why in one["away"].items()},
    }


def merged_counts(documents: Sequence[Document], missing: Sequence[str]) -> dict[str, Any]:
    """Return the number of groups, in total, by status and by the flow that syncs them."""
    by_status = _sum(one["by_status"] for one in documents)
    carried = _sum(one["carried"] for one in documents)
    return {
        "count": sum(one["count"] for one in documents),
        "by_status": {
            status.name: by_status[status.name] for status in reversed(WORSE) if by_status[status.name]
        },
        "carried": {flow: carried[flow] for flow in sorted(carried)},
        "not_ready": _not_ready(documents),
        "missing_shards": list(missing),
    }


def with_reasons(document: Document) -> dict[str, Any]:
    """Return the document with missing shards as the reason why a cluster's groups are not all known."""
    if not document["missing_shards"]:
        return dict(document)
    sentence = " ".join(document["missing_shards"])
    lacking = {"phase": "down", "sentence": sentence, "total_records": 0, "read_records": 0}
    known = document["not_ready"]
    reasons = {
        alias: {**known[alias], "sentence": f"{known[alias]['sentence']} {sentence}"}
        if alias in known
        else lacking
        for alias in document["commits_from"]
    }
    return {**document, "not_ready": reasons}


def _order(line: Document) -> tuple[int, int, str, str]:
    """Return the sort key of a group, as that of `lagmon.groups.listing.Listed`."""
    return -RANK[Status[line["status"]]], -(line["lag_records"] or 0), line["group"], line["kafka_cluster"]


def _other_groups(documents: Sequence[Document]) -> dict[str, dict[str, int]]:
    aliases = dict.fromkeys(alias for one in documents for alias in one["other_groups"])
    return {alias: dict(_sum(one["other_groups"].get(alias, {}) for one in documents)) for alias in aliases}


def _not_ready(documents: Sequence[Document]) -> dict[str, Any]:
    """Return by cluster why its groups are not all known: the worst reason, and records of all shards."""
    found: dict[str, list[Document]] = {}
    for one in documents:
        for alias, why in one["not_ready"].items():
            found.setdefault(alias, []).append(why)
    return {
        alias: {
            **min(reasons, key=lambda one: _PHASES.index(one["phase"])),
            "total_records": sum(one["total_records"] for one in reasons),
            "read_records": sum(one["read_records"] for one in reasons),
        }
        for alias, reasons in found.items()
    }


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total
