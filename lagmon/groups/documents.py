"""Documents of /api/v1 about groups and flows, from the same data as the pages. Pure.

The ingest process makes them, not the service: a page of 10,000 rows takes a second and would block the
service's event loop. The schemas are in `mirrorwatch/api`; tests compare every document with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import cause_document, chosen, moment_ms_text, page, records_document
from fleet.quantity import bounds_kind
from lagmon.groups.rules.words import How

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

Document = dict[str, Any]

# By origin of the headroom in seconds: its name in the API and the kind of number.
HEADROOM: Mapping[str | None, tuple[str | None, str]] = {
    None: (None, "none"),
    How.OVERTAKEN: ("overtaken", "exact"),
    How.BY_RETENTION: ("retention_ms", "exact"),
    How.BY_RECORD_TIME: ("record_timestamp", "estimate"),
    How.AT_MOST: ("retention_ms", "at_most"),
    How.BY_SPEED: ("speed", "estimate"),
    How.NOT_IN_SIGHT: ("not_in_sight", "none"),
    How.NOT_KNOWN: (None, "none"),
}


def groups_document(found: Mapping[str, Any], *, address: str, fields: Collection[str] | None) -> Document:
    """Return a page of groups; `address` is that of the list, without `offset`."""
    return {
        "now": moment_ms_text(found["now_ms"]),
        **_page("groups", found, found["groups"], _group, address=address, fields=fields),
        "by_status": found["by_status"],
        "carried_by_flow": found["carried"],
        "clusters": [
            {
                "kafka_cluster": alias,
                "commits_from": source,
                "other_groups": found["other_groups"][alias],
                **_reading(alias, found),
            }
            for alias, source in found["commits_from"].items()
        ],
    }


def group_document(found: Mapping[str, Any], *, address: str, fields: Collection[str] | None) -> Document:
    """Return one group with a page of its partitions."""
    return {
        "now": moment_ms_text(found["now_ms"]),
        **_group(found),
        "state": found["state"],
        "members": _known(found["members"]),
        "clients": found["clients"],
        "commits_from": found["commits_from"],
        **_reading(found["kafka_cluster"], found),
        **_page("partitions", found, found["rows"], _group_row, address=address, fields=fields),
    }


def offsets_document(found: Mapping[str, Any], *, address: str, fields: Collection[str] | None) -> Document:
    """Return the state of one flow by its offsets, with a page of its partitions."""
    standstill = found["standstill"]
    return {
        "now": moment_ms_text(found["now_ms"]),
        "flow": found["flow"],
        "source": found["source_cluster"],
        "target": found["target_cluster"],
        "verdict": found["verdict"],
        "since": moment_ms_text(found["since_ms"]),
        "sentence": found["sentence"],
        "cause": cause_document(found["cause"], found["sentence"]),
        "standstill": None
        if standstill is None
        else cause_document(standstill["cause"], standstill["sentence"]),
        "status": found["status"],
        "lag_from": found["lag_from"],
        "offsets": found["offsets"],
        "groups": found["groups"],
        "read_at": moment_ms_text(found["read_to_ms"]),
        "commit_interval_s": found["cadence_s"],
        "partition_count": found["partitions"],
        **_lag(found, unknown=found["unknown_partitions"], is_estimate=found["lag_estimated"]),
        "offsets_without_records": found["tail_records"],
        "unread_sentence": found["unread"] or None,
        "overtaken": [_overtaken(one) for one in found["overtaken"]],
        "overtaken_count": found["overtaken_total"],
        "missing": [_missing(one) for one in found["missing"]],
        "missing_count": found["missing_total"],
        "findings": [_finding(one) for one in found["findings"]],
        "findings_count": found["findings_total"],
        "findings_settled": found["findings_settled"],
        "recreated_topics": [
            {
                "topic": one["topic"],
                "side": one["side"],
                "at": moment_ms_text(one["at_ms"]),
                "former_topic_id": one["before"],
                "topic_id": one["now"],
            }
            for one in found["recreated"]
        ],
        "events": [_event(one) for one in found["events"]],
        **_page("partitions", found, found["rows"], _flow_row, address=address, fields=fields),
    }


def _page(
    name: str,
    found: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    item: Callable[[Mapping[str, Any]], Document],
    *,
    address: str,
    fields: Collection[str] | None,
) -> Document:
    items = [chosen(item(row), fields) for row in rows]
    return page(name, items, offset=found["offset"], count=found["count"], address=address)


def _reading(alias: str, found: Mapping[str, Any]) -> Document:
    """Return why a cluster's groups are not all known and since when it has not answered; null if it does."""
    away = found["away"].get(alias)
    return {
        "not_ready": found["not_ready"].get(alias),
        "away": None
        if away is None
        else {"since": moment_ms_text(away["since_ms"]), "sentence": away["sentence"]},
    }


def _group(line: Mapping[str, Any]) -> Document:
    return {
        "kafka_cluster": line["kafka_cluster"],
        "group": line["group"],
        "status": line["status"],
        "sentence": line["sentence"],
        "worst_partition": line["worst"],
        "carried_by": line["carried_by"],
        "partitions_by_status": line["partitions"],
        **_lag(line, unknown=line["lag_unknown_partitions"]),
        "max_lag_records": line["max_lag_records"],
        "max_lag_records_kind": _records_kind(line["max_lag_records"], line["lag_unknown_partitions"]),
    }


def _lag(found: Mapping[str, Any], *, unknown: int, is_estimate: bool = False) -> Document:
    """Return the lag in records and seconds, each with its kind: exact, a bound, an estimate, or none."""
    records = found["lag_records"]
    kind = _records_kind(records, unknown)
    return {
        "lag_records": records,
        "lag_records_kind": "estimate" if is_estimate and kind != "none" else kind,
        "lag_unknown_partitions": unknown,
        **_lag_s(found),
    }


def _records_kind(records: int | None, unknown: int) -> str:
    return "none" if records is None else "at_least" if unknown else "exact"


def _lag_s(found: Mapping[str, Any]) -> Document:
    return {"lag_s": found["lag_s"], "lag_s_kind": found["lag_s_kind"]}


def _group_row(row: Mapping[str, Any]) -> Document:
    return {
        "topic": row["topic"],
        "partition": row["partition"],
        "status": row["status"],
        "reason": row["reason"],
        "sentence": row["sentence"],
        "since": moment_ms_text(row["since_ms"]),
        "committed_offset": _known(row["committed_offset"]),
        "first_readable_offset": _known(row["readable_from"]),
        "log_start_offset": _known(row["start_offset"]),
        "log_end_offset": _known(row["end_offset"]),
        "lag_records": row["lag_records"],
        **_lag_s(row),
        "client_id": row.get("client_id"),
        "host": row.get("host"),
        "commits": [
            {"offset": one["offset"], "at": moment_ms_text(one["committed_at_ms"])} for one in row["commits"]
        ],
        "log_ends": _log_ends(row),
    }


def _flow_row(row: Mapping[str, Any]) -> Document:
    lost, most = row.get("overtaken_records", 0), row.get("overtaken_records_most", 0)
    origin, kind = HEADROOM[row.get("headroom_from")]
    return {
        "topic": row["topic"],
        "target_topic": row["target_topic"],
        "partition": row["partition"],
        "status": row["status"],
        "reason": row["reason"],
        "sentence": row["sentence"],
        "next_offset": row["next_offset"],
        "next_offset_kind": "none"
        if row["next_offset"] is None
        else "estimate"
        if row["next_offset_estimated"]
        else "exact",
        "committed_at": moment_ms_text(row.get("committed_at_ms")),
        "log_start_offset": row.get("start_offset"),
        "log_end_offset": row.get("end_offset"),
        "target_log_end_offset": row.get("target_end_offset"),
        "lag_records": row["lag_records"],
        "lag_records_kind": _row_kind(row),
        **_lag_s(row),
        "offsets_without_records": row.get("tail_records", 0),
        "overtaken_records": lost,
        "overtaken_records_most": most,
        "overtaken_records_kind": bounds_kind(lost, most),
        "headroom_records": row.get("headroom_records"),
        "headroom_s": row.get("headroom_s"),
        "headroom_s_kind": "estimate" if row.get("headroom_by_polls") else kind,
        "headroom_from": origin,
        "offsets_not_committing": row.get("offsets_not_committing", False),
        "source_topic_id": row.get("source_topic_id"),
        "target_topic_id": row.get("target_topic_id"),
        "commits": [
            {
                "offset": one["offset"],
                "at": moment_ms_text(one["committed_at_ms"]),
                "lag_records": one["lag_records"],
            }
            for one in row["commits"]
        ],
        "log_ends": _log_ends(row),
    }


def _row_kind(row: Mapping[str, Any]) -> str:
    """Return the kind of a partition's lag: at most, if the log was not read, as markers may be in it.

    If the offset is an estimate, so is the lag.
    """
    if row["lag_records"] is None:
        return "none"
    if row["next_offset_estimated"]:
        return "estimate"
    return "at_most" if row["reason"] == "unread" else "exact"


def _log_ends(row: Mapping[str, Any]) -> list[Document]:
    return [{"offset": one["offset"], "at": moment_ms_text(one["read_at_ms"])} for one in row["ends"]]


def _overtaken(one: Mapping[str, Any]) -> Document:
    return {
        "topic": one["topic"],
        "partition": one["partition"],
        **records_document(one["records"], one["records_most"]),
        "next_offset": one["next_offset"],
        "written_offset": one["written_offset"],
        "log_start_offset": one["start_offset"],
        "first_at": moment_ms_text(one["first_at_ms"]),
        "at": moment_ms_text(one["at_ms"]),
    }


def _missing(one: Mapping[str, Any]) -> Document:
    return {
        "topic": one["topic"],
        "since": moment_ms_text(one["since_ms"]),
        "cause": cause_document(one["code"], one["sentence"]),
    }


def _finding(one: Mapping[str, Any]) -> Document:
    return {
        "verdict": one["verdict"],
        "cause": cause_document(one["code"], one["sentence"]),
        "topic": one["topic"],
        "partition": one["partition"],
        "side": one["side"],
        "first_offset": one["first_offset"],
        "last_offset": one["last_offset"],
        "at": moment_ms_text(one["at_ms"]),
        "records": one["records"],
        "records_most": one["records_most"],
        "records_kind": one["records_kind"],
        "proved": one["proved"],
    }


def _event(one: Mapping[str, Any]) -> Document:
    return {
        "kind": one["kind"],
        "at": moment_ms_text(one["at_ms"]),
        "last_at": moment_ms_text(one["last_ms"]),
        "topic": one["topic"],
        "partition_count": one["partitions"],
        **records_document(one["records"], one["records_most"]),
        "sentence": one["sentence"],
        "worst": [
            {**each, **records_document(each["records"], each["records_most"])} for each in one["worst"]
        ],
    }


def _known(number: int | None) -> int | None:
    return number if number is not None and number >= 0 else None
