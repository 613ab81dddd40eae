"""Contents of the pages about groups, from documents of the lag monitor. Pure.

A group name may have any characters and length: pages cut names and have the full name as title; addresses
hold names percent-encoded, or an id if that is impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fleet.verdicts.vocabulary import Verdict
from lagmon.arrays.group_id import group_id
from lagmon.groups.kinds import counts_sentence
from mirrorwatch.service.view import GroupsView
from mirrorwatch.web import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AT_ONCE = 100  # rows of a page
LONGEST_NAME = 80  # characters on a page
LONGEST_PATH = 2_000  # bytes of a name in an address
_LONGEST_TITLE = 32_768

# Each status has the colour and sign of a verdict (interface.md).
STATUS_VERDICTS = {
    "ERR": Verdict.LOSING,
    "STOP": Verdict.STALLED,
    "STALL": Verdict.STALLED,
    "REWIND": Verdict.REPEATING,
    "WARN": Verdict.LATE,
    "UNKNOWN": Verdict.UNKNOWN,
    "NOTFOUND": Verdict.UNKNOWN,
    "OK": Verdict.HEALTHY,
}

# The meaning of each status, in the order of lists.
MEANINGS = {
    "ERR": "records were deleted before the group read them",
    "STOP": "the group has lag and stopped committing",
    "STALL": "the group has lag and commits the same offset again and again, or a hanging transaction "
    "blocks it",
    "REWIND": "the group went back to an earlier offset and reads records again",
    "WARN": "the group makes progress, but its lag grows",
    "UNKNOWN": "data for a verdict is missing or too old; the reason says which",
    "OK": "the group has no lag, or makes progress",
}

# For a group that is polled with the Admin API.
ASKED = (
    "Mirrorwatch polls the offsets of this group with the Admin API. A dot marks when Mirrorwatch saw a new "
    "offset, not when the group committed it. STALL: no progress with members, or a hanging transaction "
    "blocks the group. STOP: no progress and no members."
)


@dataclass(frozen=True, slots=True)
class ShownName:
    """A name as shown, and in full if it was cut."""

    text: str
    title: str

    @classmethod
    def of(cls, name: str) -> ShownName:
        """Mark invisible blanks of a name, and cut it."""
        name = texts.with_blanks(name)
        if len(name) <= LONGEST_NAME:
            return cls(name or "(no name)", "")
        return cls(name[: LONGEST_NAME - 1] + "…", texts.plain(name[:_LONGEST_TITLE]))


def groups_view(document: Mapping[str, Any]) -> GroupsView:
    """Return the counts of all groups for the main page."""
    counts, partial = document["by_status"], _is_partial(document)
    said = headline(counts, document["count"], document.get("carried"), partial=partial)
    return GroupsView(said, worst_verdict(counts, partial=partial), notes(document))


def groups_away(sentence: str) -> GroupsView:
    """Return the text of the main page while the lag monitor does not answer."""
    return GroupsView("Groups not known: no answer from the lag monitor", Verdict.UNKNOWN, (sentence,))


def headline(
    counts: Mapping[str, int],
    total: int,
    carried: Mapping[str, int] | None = None,
    *,
    searched: bool = False,
    partial: bool = False,
) -> str:
    """Write the number of groups by status: `5,000 groups: 3 STOP, 12 WARN`; the others are OK.

    `carried` is the number of groups that each flow's mirror syncs: `(613 synced by A->B)`; `searched`: a
    search or a cluster selects the groups; `partial`: groups of some shards or clusters are missing.
    """
    if not total and partial:
        return "Groups not known yet"
    if not total:
        return "No group matches this search" if searched else "No group has committed an offset"
    copies = ", ".join(f"{count:,} synced by {flow}" for flow, count in (carried or {}).items())
    aside = f" ({copies})" if copies else ""
    bad = [f"{count:,} {status}" for status, count in counts.items() if status != "OK"]
    if bad:
        return f"{texts.counted(total, 'group')}{aside}: {', '.join(bad)}"
    if partial:
        return f"{texts.counted(total, 'group')}{aside} OK, others are not known"
    if searched:
        return f"{texts.counted(total, 'group')}{aside} found, {'OK' if total == 1 else 'all OK'}"
    well = {1: "The group is OK", 2: "Both groups are OK"}.get(total, f"All {total:,} groups are OK")
    return f"{well}{aside}"


def worst_verdict(counts: Mapping[str, int], *, partial: bool = False) -> Verdict:
    """Return the verdict of the worst status that a group has; not healthy if some are missing."""
    found = STATUS_VERDICTS[next(iter(counts), "UNKNOWN")]
    return Verdict.UNKNOWN if partial and found is Verdict.HEALTHY else found


def _is_partial(document: Mapping[str, Any]) -> bool:
    """Return whether groups of a shard or a cluster are missing."""
    return bool(document.get("missing_shards") or document["not_ready"])


def notes(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons of unknown groups by shard and cluster, and of clusters that do not answer."""
    told = tuple(document.get("missing_shards", ()))
    told += tuple(f"{alias}: {why['sentence']}" for alias, why in document["not_ready"].items())
    told += tuple(away["sentence"] for away in document.get("away", {}).values())
    source = document.get("commits_from", {})
    if isinstance(source, str):
        return told + ((ASKED,) if source == "admin" else ())
    asked = [alias for alias, one in source.items() if one == "admin"]
    return told + tuple(
        f"{alias}: Mirrorwatch polls the offsets of its groups with the Admin API." for alias in asked
    )


def others(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return for each cluster the number of groups without committed offsets."""
    told = {alias: counts_sentence(counts) for alias, counts in document["other_groups"].items()}
    return tuple(f"{alias}: {said}" for alias, said in told.items() if said)


def group_address(kafka_cluster: str, group: str, *, under: str = "/groups") -> str:
    """Return the address of a group's page, with percent-encoded names.

    Browsers remove `.` and `..` from a path, and servers refuse 32 KB: such names go by id.
    """
    name = quote(group, safe="", errors="surrogatepass")
    place = f"{under}/{quote(kafka_cluster, safe='')}/"
    if group in ("", ".", "..") or len(name) > LONGEST_PATH:
        return f"{place}?{urlencode({'id': group_id(group)})}"
    return place + name


def list_names(document: Mapping[str, Any], *, search: str, kafka_cluster: str) -> dict[str, Any]:
    """Return the contents of the list."""
    asked = {"search": search, "kafka_cluster": kafka_cluster}
    total, first = document["count"], document["offset"]
    counts, partial = document["by_status"], _is_partial(document)
    searched = bool(search or kafka_cluster)
    said = headline(counts, total, document.get("carried"), searched=searched, partial=partial)
    return {
        "headline": said,
        "verdict": worst_verdict(counts, partial=partial),
        "notes": notes(document),
        "others": others(document),
        "rows": [_row(line) for line in document["groups"]],
        "search": search,
        "kafka_cluster": kafka_cluster,
        "kafka_clusters": document["kafka_clusters"],
        "place": page_of(first, len(document["groups"]), total, lambda offset: list_address(asked, offset)),
        "address": list_address(asked, first),
        "json_address": "/api/v1" + list_address(asked, first),
        "searched": searched,
    }


def list_address(asked: Mapping[str, str], offset: int) -> str:
    """Return the address of a page of the list."""
    query = {key: value for key, value in asked.items() if value}
    if offset:
        query["offset"] = str(offset)
    return "/groups" + (f"?{urlencode(query, errors='surrogatepass')}" if query else "")


def group_names(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of one group's page."""
    alias, group = document["kafka_cluster"], document["group"]
    address = group_address(alias, group)

    def page_address(offset: int) -> str:
        return address + (f"{'&' if '?' in address else '?'}offset={offset}" if offset else "")

    bad = [row for row in document["rows"] if row["status"] != "OK"]
    return {
        "document": document,
        "name": ShownName.of(group),
        "verdict": STATUS_VERDICTS[document["status"]],
        "partitions": _partitions(document["partitions"]),
        "lag": sum_text(document["lag_records"], document["lag_unknown_partitions"]),
        "behind": behind_text(document),
        "why": _why(document),
        "members": _members(document["members"]),
        "notes": notes(document),
        "ahead": any(
            row["status"] == "OK" and row["committed_offset"] > row["end_offset"] >= 0
            for row in document["rows"]
        ),
        "pictured": [] if document["offset"] else (bad or document["rows"])[: 6 if bad else 2],
        "place": page_of(document["offset"], len(document["rows"]), document["count"], page_address),
        "address": page_address(document["offset"]),
        "json_address": "/api/v1" + page_address(document["offset"]),
    }


def sum_text(records: int | None, unknown: int) -> str:
    """Write the lag of several partitions, of which so many are unknown and not in the sum."""
    return texts.number_text(records, "at_least" if unknown else "exact")


def behind_text(row: Mapping[str, Any]) -> str:
    """Write the age of the oldest unread record: `42 s`, `at least 2 h`, `about 3 d`."""
    return texts.bounded_age_text(row["lag_s"], row["lag_s_kind"])


def offset_text(offset: int) -> str:
    """Write an offset; a dash if unknown."""
    return texts.NOTHING if offset == -1 else f"{offset:,}"


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": ShownName.of(line["group"]),
        "address": group_address(line["kafka_cluster"], line["group"]),
        "kafka_cluster": line["kafka_cluster"],
        "status": line["status"],
        "verdict": STATUS_VERDICTS[line["status"]],
        "lag": sum_text(line["lag_records"], line["lag_unknown_partitions"]),
        "behind": behind_text(line),
        "partitions": _partitions(line["partitions"]),
        "why": _why(line),
    }


def _why(line: Mapping[str, Any]) -> str:
    """Write the reason of a group's status, with the partition."""
    if line["worst"] is None or line["status"] == "OK":
        return str(line["sentence"])
    topic = ShownName.of(line["worst"]["topic"]).text
    return f"{topic} {line['worst']['partition']}: {line['sentence']}"


def page_of(
    first: int, here: int, total: int, address: Callable[[int], str], *, order: str = "worst first"
) -> dict[str, Any]:
    """Return which rows are shown, and the addresses of the previous and next page."""
    if not here:
        text = f"No rows from {first + 1:,} on: there are {total:,}" if first else ""
    elif here == total:
        text = ""
    else:
        text = f"{first + 1:,} to {first + here:,} of {total:,}, {order}"
    return {
        "text": text,
        "before": address(max(0, min(first, total) - AT_ONCE)) if first else "",
        "after": address(first + here) if here and first + here < total else "",
    }


def _partitions(counts: Mapping[str, int]) -> str:
    """Write the number of partitions by status, worst first: `1 STOP, 11 OK`."""
    return ", ".join(f"{counts[status]:,} {status}" for status in STATUS_VERDICTS if counts.get(status))


def _members(count: int) -> str:
    return "not known" if count < 0 else "none" if count == 0 else f"{count:,}"
