"""What the page about a flow's offsets shows: a document of the lag monitor, made ready for reading. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from fleet.quantity import between_text, duration_text
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.groups.rules.words import How
from mirrorwatch.web import texts
from mirrorwatch.web.pages.groups import STATUS_VERDICTS, behind_text, page_of, sum_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mirrorwatch.service.flow_status import FlowState
    from mirrorwatch.service.view import FlowView

_PICTURED, _PICTURED_WELL = 6, 2
_SHOWN = 50  # of what was found
WAITING = "WAITING"  # what a row shows whose commit is overdue, though its status is still OK
_OVERDUE_CADENCES = 2.0  # a mirror commits once in each; one may fall between two samples
# What seconds of headroom are worth that are not taken from our own looks.
_WORTH = {
    How.BY_RECORD_TIME: "about ",
    How.BY_SPEED: "about ",
    How.AT_MOST: "at most ",
}


class _Kind(NamedTuple):
    """What was found of one kind, a time and a sentence each; how many more the document leaves out."""

    one: str
    many: str
    found: list[tuple[int, str]]
    unlisted: int = 0


def has_offsets(flow: FlowView) -> bool:
    """Return whether the lag monitor reads the offsets of a flow."""
    return any(part == "lag" for part, _ in flow.verdict.parts)


def flow_address(flow: str, offset: int = 0, search: str = "") -> str:
    """Return the address of the page about a flow's offsets, of the topics that are searched for."""
    asked = {name: value for name, value in (("search", search), ("offset", offset)) if value}
    query = f"?{urlencode(asked)}" if asked else ""
    return f"/flows/{quote(flow, safe='')}/offsets{query}"


def mirror_names(
    document: Mapping[str, Any], *, search: str = "", now: FlowState | None = None
) -> dict[str, Any]:
    """Return what the template needs; `search` is what was searched for, `now` how the flow is by all parts.

    Offsets alone may still look well while the canary shows a stall: then the page says what the flow is.
    """
    by_all = now if now is not None and now.is_bad and document["verdict"] == Verdict.HEALTHY else None
    bad = [row for row in document["rows"] if row["status"] != "OK"]
    offset = document["offset"]
    pictured = [] if offset else bad[:_PICTURED] or document["rows"][:_PICTURED_WELL]
    return {
        "document": document,
        "verdict": Verdict(document["verdict"]) if by_all is None else by_all.verdict,
        "by_all": by_all,
        "lag": sum_text(document["lag_records"], document["unknown_partitions"]),
        "behind": behind_text(document),
        "read": _read(document),
        **_found(document),
        "pictured": [_pictured(row) for row in pictured],
        "rows": [_row(row, waiting=_is_waiting(row, document)) for row in document["rows"]],
        "ahead": any(_is_ahead(row) for row in document["rows"]),
        "search": search,
        "address": flow_address(document["flow"]),
        "place": page_of(
            offset,
            len(document["rows"]),
            document["count"],
            lambda at: flow_address(document["flow"], at, search),
        ),
        "json_address": "/api/v1" + flow_address(document["flow"], offset, search),
    }


def _read(document: Mapping[str, Any]) -> str:
    """Say from what this is known, how often that is written and how old it is."""
    if document["read_to_ms"] is None:
        return "not read yet"
    age_s = max(0.0, (document["now_ms"] - document["read_to_ms"]) / 1000)
    every = duration_text(document["cadence_s"])
    return f"MirrorMaker commits every {every}; last read {duration_text(age_s)} ago"


def _found(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found, and how many more of each kind there are; none of them hides another."""
    lacks = "incompletely mirrored topic", "incompletely mirrored topics"
    kinds = [
        _Kind("event", "events", _events(document)),
        _Kind(
            "loss to retention", "losses to retention", _overtaken(document), _unlisted(document, "overtaken")
        ),
        _Kind("finding", _several(document), _findings(document), _unlisted(document, "findings")),
        _Kind("re-created topic", "re-created topics", _recreated(document)),
        _Kind(*lacks, _missing(document), _unlisted(document, "missing")),
    ]
    shares = _shares([len(kind.found) for kind in kinds], _SHOWN)
    more = []
    for kind, share in zip(kinds, shares, strict=True):
        count = len(kind.found) - share + kind.unlisted
        if count:
            more.append(f"{count:,} {kind.one if count == 1 else kind.many}")
    shown = [one for kind, share in zip(kinds, shares, strict=True) for one in kind.found[:share]]
    return {"found": shown, "more_found": ", ".join(more)}


def _events(document: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(one["at_ms"], one["sentence"]) for one in document["events"]]


def _several(document: Mapping[str, Any]) -> str:
    """Return what several findings are called; losses to retention are such, and a kind of their own."""
    return "findings (losses to retention among them)" if document["overtaken"] else "findings"


def _unlisted(document: Mapping[str, Any], kind: str) -> int:
    return int(document[f"{kind}_total"]) - len(document[kind])


def _shares(counts: Sequence[int], most: int) -> list[int]:
    """Return how many of each kind are shown where there is room for so many in all: they get it in turn."""
    shares = [0] * len(counts)
    while most and shares != list(counts):
        for kind, count in enumerate(counts):
            if most and shares[kind] < count:
                shares[kind] += 1
                most -= 1
    return shares


def _overtaken(document: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return a time and a sentence for each loss to retention, the newest first."""
    return [(one["at_ms"], _loss(document, one)) for one in reversed(document["overtaken"])]


def _loss(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    number = between_text(one["records"], one["records_most"], "record")
    return (
        f"{number[0].upper()}{number[1:]} of {one['topic']} "
        f"{one['partition']}, offsets "
        f"{one['next_offset']:,} to {one['start_offset'] - 1:,}, were deleted on "
        f"{document['source_cluster']} before they were replicated."
    )


def _findings(document: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the findings that the losses to retention are not among."""
    return [
        (one["at_ms"], one["sentence"])
        for one in document["findings"]
        if one["code"] != Cause.OVERTAKEN or not one["proved"]
    ]


def _recreated(document: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(one["at_ms"], _recreated_text(one)) for one in reversed(document["recreated"])]


def _missing(document: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return what has waited for longest to be mirrored."""
    return [(one["since_ms"], one["sentence"]) for one in document["missing"]]


def _recreated_text(one: Mapping[str, Any]) -> str:
    return (
        f"Topic {one['topic']} was re-created on the {one['side']}: its id changed from {one['before']} to "
        f"{one['now']}."
    )


def _is_ahead(row: Mapping[str, Any]) -> bool:
    """Return whether the mirror is past the last polled log end offset."""
    next_offset, end = row["next_offset"], row.get("end_offset")
    return row["status"] == "OK" and None not in (next_offset, end) and next_offset > end


def _pictured(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the mirror's committed offset for the picture."""
    return {**row, "committed_offset": row["next_offset"]}


def _is_waiting(row: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return whether an OK row has lag and an overdue commit."""
    at_ms, lag = row.get("committed_at_ms"), row["lag_records"]
    if row["status"] != "OK" or at_ms is None or not lag:
        return False
    return bool(document["now_ms"] - at_ms > _OVERDUE_CADENCES * 1000 * document["cadence_s"])


def _row(row: Mapping[str, Any], *, waiting: bool) -> dict[str, Any]:
    return {
        "status": WAITING if waiting else row["status"],
        "verdict": Verdict.LATE if waiting else STATUS_VERDICTS[row["status"]],
        "topic": row["topic"],
        "partition": row["partition"],
        "lag": texts.number_text(row["lag_records"], "at_most" if row["reason"] == "unread" else "exact"),
        "behind": behind_text(row),
        "next_offset": texts.number_text(row["next_offset"]),
        "end": texts.number_text(row.get("end_offset")),
        "target_end": texts.number_text(row.get("target_end_offset")),
        "headroom": _headroom(row),
        "sentence": row["sentence"],
    }


def _headroom(row: Mapping[str, Any]) -> str:
    """Write the retention headroom in time if known, otherwise in records."""
    if row.get("headroom_s") is not None:
        worth = _WORTH.get(row.get("headroom_from", ""), "about " if row.get("headroom_by_polls") else "")
        return worth + texts.age_text(row["headroom_s"])
    records = row.get("headroom_records")
    return texts.NOTHING if records is None else texts.counted(records, "record")
