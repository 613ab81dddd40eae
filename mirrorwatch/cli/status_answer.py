"""The documents of /api/v1 as `mirrorwatch status` reads them: checked, bounded, safe for a terminal.

Pure. The service may be another version than this program: keys that are not known are left alone, and
those that only decorate may be missing.
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
from mirrorwatch.web.words import plain, with_blanks

_ORDER = {str(verdict): verdict.severity for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class AlsoAnswer:
    """How a flow is right now, beside its verdict."""

    verdict: str
    cause: str
    sentence: str
    since_at: float | None = None


@dataclass(frozen=True, slots=True)
class EventAnswer:
    """Something that happened to a flow and may be no fault."""

    at: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """One flow of the answer; latencies are those of the newest slice, end to end."""

    flow: str
    verdict: str
    since_at: float | None
    cause: str
    sentence: str
    p50_s: float | None
    p99_s: float | None
    recovery_point: RecoveryPoint
    losses: Bounds | None
    also: AlsoAnswer | None = None
    lag: str = ""  # how its mirror is by offsets
    checksum: str = ""  # what its last run came to
    conditions: tuple[str, ...] | None = None  # that hold right now; None where the service does not say
    events: tuple[EventAnswer, ...] = ()  # of a day, newest first

    @property
    def past(self) -> bool:
        """Tell whether the verdict is about something that does not hold any more."""
        if self.conditions is None or self.verdict in ("healthy", "unknown"):
            return False
        return self.verdict not in self.conditions

    @property
    def now(self) -> str:
        """Return what holds right now, the verdict where the service does not say."""
        if not self.past:
            return self.verdict
        if self.also is not None:
            return self.also.verdict
        return next(iter(self.conditions or ()), "healthy")


@dataclass(frozen=True, slots=True)
class Note:
    """A cluster that is not up, or a problem: where, and what is the matter."""

    where: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer: flows worst first, and the document as it came."""

    document: dict[str, Any]
    version: str
    now_at: float | None
    flows: tuple[FlowAnswer, ...]
    clusters: tuple[Note, ...]
    problems: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """One consumer group of the answer."""

    kafka_cluster: str
    group: str
    status: str
    lag_records: int | None
    lag_s: float | None
    lag_s_kind: str  # what that is worth: `exact`, `at_least`, `estimate` or `none`
    sentence: str
    topic: str = ""  # which partition that is about: its worst, where the service names one
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class GroupsAnswer:
    """The worst groups, how many there are and of each status, and what is not known of them yet."""

    worst: tuple[GroupAnswer, ...]
    count: int
    by_status: tuple[tuple[str, int], ...]
    notes: tuple[Note, ...]
    page: str = ""  # the address of the page with all of them
    searched: bool = False  # whether they are those whose names contain something
    carried: tuple[tuple[str, int], ...] = ()  # by flow, how many it carries to where nobody reads
    away: tuple[Note, ...] = ()  # clusters of whose groups is told what was read before they went away


def answer_of(document: Any) -> Answer:
    """Check a decoded document and return what a table shows of it.

    Raises MalformedError where it is no document of flows at all.
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
    """Return the place of a flow, worst first: bad now, then bad a while ago, then the rest."""
    if flow.now not in ("healthy", "unknown"):
        return 0, _ORDER.get(flow.now, -1)
    return (1, _ORDER.get(flow.verdict, -1)) if flow.past else (2, _ORDER.get(flow.verdict, -1))


def groups_of(document: Any) -> GroupsAnswer | None:
    """Return what a table shows of the document of groups, or None where it is none."""
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
        losses=_losses(item),
        also=_also(_dict(item, "also")),
        lag=_text(_dict(item, "parts"), "lag"),
        checksum=_text(_dict(item, "parts"), "checksum"),
        conditions=_conditions(item),
        events=tuple(
            EventAnswer(_moment(one.get("at")), _text(one, "sentence")) for one in _list(item, "events")
        ),
    )


def _conditions(item: dict[str, Any]) -> tuple[str, ...] | None:
    """Return what holds right now, worst first."""
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
    """Return the newest slice in which something arrived."""
    if not isinstance(slices, list):
        return {}
    return next(
        (each for each in reversed(slices) if isinstance(each, dict) and each.get("p50_s") is not None), {}
    )


def _losses(item: dict[str, Any]) -> Bounds | None:
    """Return how many records are known to be lost; where the service does not say, how many probes are."""
    if "lost_records" in item:
        least = _whole(item, "lost_records")
        return None if least is None else Bounds(least, _whole(item, "lost_records_most"))
    counters = _dict(item, "counters")
    counts = [counters[name] for name in ("lost", "confirmed") if isinstance(counters.get(name), int)]
    return Bounds(sum(counts), sum(counts)) if counts else None


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
    """Return the epoch second of an ISO 8601 moment, or None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return None
