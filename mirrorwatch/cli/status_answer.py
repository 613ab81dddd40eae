"""The documents of /api/v1 for `mirrorwatch status`: checked, bounded, safe for a terminal. Pure.

The service may have another version: unknown keys are ignored, and optional ones may be missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleet.errors import MalformedError
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.service.recovery_point import RecoveryPoint
from mirrorwatch.web.texts import plain, with_blanks

_ORDER = {str(verdict): verdict.severity for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class AlsoAnswer:
    """Another condition that holds now, apart from the verdict."""

    verdict: str
    cause: str
    sentence: str
    since_at: float | None = None


@dataclass(frozen=True, slots=True)
class EventAnswer:
    """An event of a flow that may be no fault."""

    at: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """One flow; latencies are end to end, of the newest interval."""

    flow: str
    verdict: str
    since_at: float | None
    cause: str
    sentence: str
    p50_s: float | None
    p99_s: float | None
    recovery_point: RecoveryPoint
    canary_lost: int | None  # since the counters started
    lost: Bounds | None  # by offsets, in the last 15 minutes
    also: AlsoAnswer | None = None
    lag: str = ""  # verdict of its offsets
    checksum: str = ""  # result of its last run
    conditions: tuple[str, ...] | None = None  # present ones; None if unknown
    events: tuple[EventAnswer, ...] = ()  # of a day, newest first

    @property
    def past(self) -> bool:
        """Return whether the verdict is about a past condition."""
        if self.conditions is None or self.verdict in ("healthy", "unknown"):
            return False
        return self.verdict not in self.conditions

    @property
    def now(self) -> str:
        """Return the worst present condition, or the verdict if the service does not say."""
        if not self.past:
            return self.verdict
        if self.also is not None:
            return self.also.verdict
        return next(iter(self.conditions or ()), "healthy")


@dataclass(frozen=True, slots=True)
class Note:
    """A cluster that is not up, or a problem: its place and the sentence."""

    where: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer: flows worst first, and the received document."""

    document: dict[str, Any]
    version: str
    now_at: float | None
    flows: tuple[FlowAnswer, ...]
    clusters: tuple[Note, ...]
    problems: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """One consumer group."""

    kafka_cluster: str
    group: str
    status: str
    lag_records: int | None
    lag_records_kind: str  # `exact`, `at_least` or `none`
    lag_s: float | None
    lag_s_kind: str  # `exact`, `at_least`, `estimate` or `none`
    sentence: str
    topic: str = ""  # the partition of the sentence: the worst one
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class GroupsAnswer:
    """The worst groups, counts by status, and notes on missing data."""

    worst: tuple[GroupAnswer, ...]
    count: int
    by_status: tuple[tuple[str, int], ...]
    notes: tuple[Note, ...]
    page: str = ""  # the address of the page with all of them
    searched: bool = False  # whether a search selected them
    carried: tuple[tuple[str, int], ...] = ()  # by flow, number of groups that its mirror syncs
    away: tuple[Note, ...] = ()  # clusters that do not answer; their groups are as last read


def answer_of(document: Any) -> Answer:
    """Check a decoded document and return the answer.

    Raises MalformedError if it is not a document of flows.
    """
    if not isinstance(document, dict) or not isinstance(document.get("flows"), list):
        raise MalformedError("the list of flows is missing")
    flows = [_flow(item) for item in document["flows"]]
    flows.sort(key=lambda flow: (_place(flow), flow.flow))
    clusters = [item for item in _list(document, "clusters") if item.get("state") != "up"]
    return Answer(
        document=document,
        version=_text(document, "version"),
        now_at=_moment(document.get("now")),
        flows=tuple(flows),
        clusters=tuple(
            Note(
                f"{_text(item, 'kafka_cluster')} is {_text(item, 'state') or 'in no known state'}",
                _text(item, "sentence"),
            )
            for item in clusters
        ),
        problems=tuple(
            Note(_text(item, "where"), _text(item, "sentence")) for item in _list(document, "problems")
        ),
    )


def _place(flow: FlowAnswer) -> tuple[int, int]:
    """Return the sort key of a flow, worst first: bad now, then recently bad, then the rest."""
    if flow.now not in ("healthy", "unknown"):
        return 0, _ORDER.get(flow.now, -1)
    return (1, _ORDER.get(flow.verdict, -1)) if flow.past else (2, _ORDER.get(flow.verdict, -1))


def groups_of(document: Any) -> GroupsAnswer | None:
    """Return the groups of a document; None if it is not one of groups."""
    if not isinstance(document, dict):
        return None
    if not isinstance(document.get("groups"), list):
        sentence = _text(document, "detail")
        return GroupsAnswer((), 0, (), (Note("Groups", sentence),)) if sentence else None
    counts, clusters = _dict(document, "by_status"), _list(document, "clusters")
    carried = _dict(document, "carried_by_flow")
    return GroupsAnswer(
        worst=tuple(_group(item) for item in _list(document, "groups")),
        count=_whole(document, "count") or 0,
        by_status=tuple((plain(name), _whole(counts, name) or 0) for name in counts),
        carried=tuple((plain(flow), _whole(carried, flow) or 0) for flow in carried),
        notes=_notes(clusters, "not_ready"),
        away=_notes(clusters, "away"),
    )


def _notes(clusters: list[dict[str, Any]], key: str) -> tuple[Note, ...]:
    return tuple(
        Note(f"Groups of {_text(cluster, 'kafka_cluster')}", _text(_dict(cluster, key), "sentence"))
        for cluster in clusters
        if isinstance(cluster.get(key), dict)
    )


def _group(item: dict[str, Any]) -> GroupAnswer:
    worst = _dict(item, "worst_partition")
    return GroupAnswer(
        kafka_cluster=_text(item, "kafka_cluster"),
        group=_name(item, "group"),
        status=_text(item, "status"),
        lag_records=_whole(item, "lag_records"),
        lag_records_kind=_text(item, "lag_records_kind"),
        lag_s=_number(item, "lag_s"),
        lag_s_kind=_text(item, "lag_s_kind"),
        sentence=_text(item, "sentence"),
        topic=_name(worst, "topic"),
        partition=_whole(worst, "partition"),
    )


def _flow(item: Any) -> FlowAnswer:
    if not isinstance(item, dict) or not isinstance(item.get("flow"), str):
        raise MalformedError("a flow has no name")
    if not isinstance(item.get("verdict"), str):
        raise MalformedError("a flow has no verdict")
    cause = _dict(item, "cause")
    newest = _newest(_dict(item, "latency").get("end_to_end"))
    return FlowAnswer(
        flow=plain(item["flow"]),
        verdict=plain(item["verdict"]),
        since_at=_moment(item.get("since")),
        cause=_text(cause, "code"),
        sentence=_text(item, "sentence"),
        p50_s=_number(newest, "p50_s"),
        p99_s=_number(newest, "p99_s"),
        recovery_point=RecoveryPoint(
            _number(item, "recovery_point_age_s"), _text(item, "recovery_point_age_s_kind")
        ),
        canary_lost=_canary_lost(_dict(item, "counters")),
        lost=_lost(item),
        also=_also(_dict(item, "also")),
        lag=_text(_dict(item, "parts"), "lag"),
        checksum=_text(_dict(item, "parts"), "checksum"),
        conditions=_conditions(item),
        events=tuple(
            EventAnswer(_moment(one.get("at")), _text(one, "sentence")) for one in _list(item, "events")
        ),
    )


def _conditions(item: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the present conditions, worst first."""
    found = item.get("conditions")
    if not isinstance(found, list):
        return None
    names = [plain(one) for one in found if isinstance(one, str)]
    return tuple(sorted(names, key=lambda one: _ORDER.get(one, -1)))


def _also(item: dict[str, Any]) -> AlsoAnswer | None:
    verdict, cause = _text(item, "verdict"), _dict(item, "cause")
    if not verdict:
        return None
    return AlsoAnswer(verdict, _text(cause, "code"), _text(item, "sentence"), _moment(item.get("since")))


def _newest(slices: Any) -> dict[str, Any]:
    """Return the newest interval with arrivals."""
    if not isinstance(slices, list):
        return {}
    return next(
        (each for each in reversed(slices) if isinstance(each, dict) and each.get("p50_s") is not None), {}
    )


def _canary_lost(counters: dict[str, Any]) -> int | None:
    """Return the number of lost canary records, None without any canary record."""
    if not _whole(counters, "expected"):
        return None
    return (_whole(counters, "lost") or 0) + (_whole(counters, "confirmed") or 0)


def _lost(item: dict[str, Any]) -> Bounds | None:
    least = _whole(item, "lost_records")
    return None if least is None else Bounds(least, _whole(item, "lost_records_most"))


def _dict(item: dict[str, Any], key: str) -> dict[str, Any]:
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def _list(item: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = item.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return plain(value) if isinstance(value, str) else ""


def _name(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return plain(with_blanks(value)) if isinstance(value, str) else ""


def _whole(item: dict[str, Any], key: str) -> int | None:
    value = item.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(item: dict[str, Any], key: str) -> float | None:
    value = item.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _moment(value: Any) -> float | None:
    """Return the epoch seconds of an ISO 8601 time; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return None
