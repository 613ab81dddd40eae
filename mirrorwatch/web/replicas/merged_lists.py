"""One answer of those of all shards: failover readiness of groups, and Burrow's lists of consumers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fleet.dialect import chosen, page
from lagmon.failover.readiness import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mirrorwatch.service.view import MissingShard

    Document = Mapping[str, Any]


def merged_failover(
    documents: Sequence[Document],
    missing: Iterable[MissingShard],
    *,
    first: int,
    most: int,
    address: str,
    fields: Collection[str] | None,
) -> dict[str, Any]:
    """Return a page of the groups, worst first; each document has its first groups, whole.

    A flow of a missing shard has a problem.
    """
    groups = sorted((group for one in documents for group in one["groups"]), key=_order)
    count = sum(one["count"] for one in documents)
    shown = [chosen(one, fields) for one in groups[first : first + most]]
    lacking = (_unknown(flow, one) for one in missing for flow in one.flows)
    flows = (flow for one in documents for flow in one["flows"])
    return {
        "now": documents[0]["now"],
        **page("groups", shown, offset=first, count=count, address=address),
        "flows": sorted((*flows, *lacking), key=lambda one: str(one["flow"])),
    }


def merged_consumers(documents: Sequence[Document]) -> dict[str, Any]:
    """Return Burrow's list of consumers."""
    names = {name for one in documents for name in one["consumers"]}
    return {**documents[0], "consumers": sorted(names)}


def lists_consumers(path: str) -> bool:
    """Return whether Burrow lists consumers at this path: of a cluster, or of a topic."""
    match _parts(path):
        case ["", "v3", "kafka", _, "consumer"] | ["", "v3", "kafka", _, "topic", _, "consumers"]:
            return True
    return False


def names_consumer(path: str) -> bool:
    """Return whether Burrow shows one consumer at this path."""
    match _parts(path):
        case ["", "v3", "kafka", _, "consumer", _] | ["", "v3", "kafka", _, "consumer", _, "status" | "lag"]:
            return True
    return False


def _parts(path: str) -> list[str]:
    return [unquote(part) for part in path.rstrip("/").split("/")]


def _order(group: Document) -> tuple[bool, int, str, str]:
    """Return the sort key of a group, as that of the failover audit."""
    return bool(group["ready"]), Status(group["status"]).rank, group["group"], group["flow"]


def _unknown(flow: str, shard: MissingShard) -> dict[str, Any]:
    return {
        "flow": flow,
        "at": None,
        "drain_s": None,
        "drift": {},
        "problem": f"{shard.shard}: {shard.reason}",
        "source_problem": None,
        "groups_by_status": {},
        "excluded_groups": 0,
    }
