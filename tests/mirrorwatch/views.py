"""Examples of what a service shows of itself, for the tests of page, API and table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from alerts.incidents import Counts, Incident, Note, Span, Symptom
from alerts.incidents.incident import incident_id
from alerts.incidents.losses import Loss
from alerts.objectives import defaults_of
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Also, Cause, Evidence, FlowVerdict, Verdict
from mirrorwatch.history.incident_keeping import bars_of
from mirrorwatch.service.recovery_point import older
from mirrorwatch.service.view import (
    ClusterView,
    FailoverGroupView,
    FailoverView,
    FlowBars,
    FlowView,
    LatencySlice,
    LossView,
    ObjectiveView,
    ProblemView,
    ServiceView,
    UnreachedView,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

NONE_LOST = Bounds(0, 0)
ABSENT = "written to source at offset 918204; not found on the target"
NOW_AT = 1_780_000_000.0  # 2026-05-28 20:26:40 UTC

HOSTILE = "<script>document.title='taken'</script>\"'&\u202e"

_SENTENCES = {
    Verdict.LOSING: "17 canary records lost (6 partitions): newer ones arrived, so the mirror drops records, as by a "
    "transform or errors.tolerance=all.",
    Verdict.ALTERED: "4 records arrived with another value than they were sent with.",
    Verdict.STALLED: "No canary records replicated for 42 s on any partition: both clusters are up, so the mirror is down "
    "or hangs.",
    Verdict.REPEATING: "Records arrive twice on 3 of 6 partitions and go on doing so.",
    Verdict.LATE: "Records arrive after the threshold of 5 s: the newest took 8.2 s.",
    Verdict.UNKNOWN: "The flow has not carried a canary yet: it warms up until its first one arrives.",
    Verdict.HEALTHY: "Every canary of the last 15 minutes arrived within 5 s.",
}

_CAUSES = {
    Verdict.LOSING: Cause.FILTERED,
    Verdict.ALTERED: Cause.TRANSFORMED,
    Verdict.STALLED: Cause.MIRROR_DOWN,
    Verdict.REPEATING: Cause.DUPLICATING,
    Verdict.LATE: Cause.THROTTLED,
}

_COUNTERS = (
    *(
        "expected",
        "settled",
        "good",
        "late",
        "overdue",
        "lost",
        "produce_failed",
        "produce_unknown",
        "warmup",
    ),
    *(
        "skipped",
        "abandoned",
        "unknown",
        "recovered",
        "confirmed",
        "closed",
        "returned",
        "duplicated",
        "reordered",
    ),
    *(
        "corrupted",
        "misrouted",
        "looped",
        "foreign",
        "inherited",
        "in_flight",
        "outstanding",
        "concluded",
        "delivered",
    ),
)


def slices(
    base_s: float | None, *, now_at: float = NOW_AT, gaps: Iterable[int] = (), slow_from: int = 99
) -> tuple[LatencySlice, ...]:
    """Thirty slices of 30 s that wander around `base_s`; from slice `slow_from` on each is slower."""
    missing = set(gaps)
    made = []
    for number in range(30):
        at = now_at - 900 + 30 * (number + 0.5)
        if base_s is None or number in missing:
            made.append(LatencySlice(at=at, p50_s=None, p99_s=None, max_s=None))
            continue
        p50 = base_s * (1 + 0.2 * math.sin(number / 2.3)) * 1.35 ** max(0, number - slow_from)
        p99 = p50 * (2.1 + math.sin(number * 1.7))
        made.append(LatencySlice(at=at, p50_s=p50, p99_s=p99, max_s=p99 * 1.4))
    return tuple(made)


def latency(
    now_at: float = NOW_AT, *, gaps: Iterable[int] = (), slow_from: int = 99
) -> dict[str, tuple[LatencySlice, ...]]:
    gaps = tuple(gaps)
    return {
        "queueing": slices(0.0003, now_at=now_at),
        "ack": slices(0.004, now_at=now_at),
        "replication": slices(0.031, now_at=now_at, gaps=gaps, slow_from=slow_from),
        "end_to_end": slices(0.036, now_at=now_at, gaps=gaps, slow_from=slow_from),
    }


def books(**counts: int) -> dict[str, int]:
    return dict.fromkeys(_COUNTERS, 0) | counts


def loss(number: int = 0, *, now_at: float = NOW_AT, topic: str = "mirrorwatch-canary") -> LossView:
    return LossView(
        at=now_at - 20 - 7 * number,
        topic=topic,
        partition=number % 6,
        sequence=4711 - number,
        source_offset=None if number == 3 else 918_204 - 6 * number,
        sentence=f"written to source at offset {918_204 - 6 * number}; not found on the target",
        count=50 if number == 4 else 1,
    )


def evidence(sentence: str = ABSENT, *, topic: str | None = "mirrorwatch-canary") -> Evidence:
    return Evidence(
        part="canary",
        sentence=sentence,
        at=NOW_AT - 20,
        topic=topic,
        partition=3,
        source_offset=918_204,
        target_offset=None,
    )


def flow(
    source: str = "A",
    target: str = "B",
    verdict: Verdict = Verdict.HEALTHY,
    *,
    now_at: float = NOW_AT,
    canary_state: str = "running",
    canary_sentence: str = "",
    sentence: str | None = None,
    evidence_rows: tuple[Evidence, ...] | None = None,
    losses: tuple[LossView, ...] | None = None,
    measured: bool = True,
    heartbeat_age_s: float | None = 1.2,
    unreached: tuple[UnreachedView, ...] = (),
) -> FlowView:
    """One flow of the given verdict, with numbers that go with it."""
    good = 84_211
    stalled = verdict is Verdict.STALLED
    losing = verdict is Verdict.LOSING
    unknown = verdict is Verdict.UNKNOWN
    if evidence_rows is None:
        evidence_rows = () if verdict in (Verdict.HEALTHY, Verdict.UNKNOWN) else (evidence(),)
    if losses is None:
        losses = tuple(loss(number, now_at=now_at) for number in range(12)) if losing else ()
    name = f"{source}->{target}"
    said = _SENTENCES[verdict] if sentence is None else sentence
    counts = books(
        expected=good + 61,
        settled=good + 41,
        good=good,
        late=41 if verdict is Verdict.LATE else 2,
        lost=17 if losing else 0,
        overdue=26 if stalled else 0,
        outstanding=26 if stalled else 0,
        in_flight=42 if stalled else 6,
        warmup=14,
    )
    return FlowView(
        flow=name,
        source=source,
        target=target,
        policy="default",
        verdict=FlowVerdict(
            flow=name,
            verdict=verdict,
            cause=_CAUSES.get(verdict),
            sentence=said,
            evidence=evidence_rows,
            parts=(("canary", said),),
            since_at=now_at - (7234 if verdict is Verdict.HEALTHY else 200),
            conditions=frozenset({verdict} - {Verdict.HEALTHY}),
        ),
        canary_topic="mirrorwatch-canary",
        canary_target_topic=f"{source}.mirrorwatch-canary",
        canary_state=canary_state,
        canary_sentence=canary_sentence,
        threshold_s=5.0,
        interval_s=1.0,
        partitions=6,
        books=books(expected=3, warmup=3) if unknown else counts,
        recovery_point=older(None if unknown else 42.3 if stalled else 0.41),
        last_arrival_at=None if unknown else now_at - (42 if stalled else 0.4),
        latency={stage: slices(None, now_at=now_at) for stage in latency()}
        if unknown or not measured
        else latency(
            now_at,
            gaps=(27, 28, 29) if stalled else (8, 9, 11),
            slow_from=14 if verdict is Verdict.LATE else 99,
        ),
        losses=losses,
        heartbeat_age_s=heartbeat_age_s,
        unreached=unreached,
        lost_records=NONE_LOST,
    )


def failover(group: str = "reports") -> FailoverView:
    """Return an audit with a group that skips records, and one of which nothing is known."""
    return FailoverView(
        at=NOW_AT - 40,
        drain_s=12.4,
        drift={"topic_missing": 1, "partition_count": 0, "config": 5, "acl": None, "loop": 0},
        problem="",
        group_count=14,
        ready_count=12,
        by_status={"ready": 12, "skips": 1, "unknown": 1},
        worst=(
            FailoverGroupView(
                group=group,
                status="skips",
                sentence="the committed offset on B is 160 in orders-1, after 10 records not read.",
                read_again_records=Bounds(49, 49),
                skipped_records=Bounds(10, 10),
                at_risk_records=Bounds(0, 40),
            ),
            FailoverGroupView(
                group="audit",
                status="unknown",
                sentence="not enough data for orders-0: no offset syncs.",
                read_again_records=None,
                skipped_records=None,
                at_risk_records=None,
            ),
        ),
    )


def unprobed(verdict: Verdict = Verdict.HEALTHY, *, lost_records: Bounds | None = NONE_LOST) -> FlowView:
    """A flow that offsets alone judge, as its canary is off."""
    view = flow(
        verdict=verdict, canary_state="off", canary_sentence="canary.mode is off", losses=(), measured=False
    )
    return replace(view, books=books(), lost_records=lost_records, last_arrival_at=None)


def stalled_beside_losing() -> FlowView:
    """A flow that lost records a while ago and stands now."""
    view = flow(
        verdict=Verdict.LOSING,
        evidence_rows=(evidence(), evidence("a canary record has waited on A for 30 s")),
    )
    also = Also(
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 30 s on any partition.",
        since_at=NOW_AT - 30,
        evidence=view.verdict.evidence[1:],
    )
    verdict = replace(view.verdict, also=also, conditions=frozenset({Verdict.STALLED}))
    return replace(view, verdict=verdict)


def healthy_after_losing() -> FlowView:
    """A flow that lost records a while ago and delivers again."""
    view = flow(verdict=Verdict.LOSING)
    parts = (("canary", "Canary records arrive on 6 of 6 partitions."),)
    return replace(view, verdict=replace(view.verdict, conditions=frozenset(), parts=parts))


def incident(
    source: str = "A",
    target: str = "B",
    *,
    began_s: float = 700.0,
    lasted_s: float = 180.0,
    ended: bool = True,
    now_at: float = NOW_AT,
    text: str = "",
) -> Incident:
    """An incident that began `began_s` before now: a stall and then losses, with a note."""
    name, started_at = f"{source}->{target}", now_at - began_s
    until_at = started_at + lasted_s
    return Incident(
        incident=incident_id(name, started_at),
        flow=name,
        source=source,
        target=target,
        started_at=started_at,
        bad_until_at=until_at,
        seen_at=until_at,
        ended=ended,
        healthy_at=until_at + 1 if ended else None,
        symptoms=(
            Symptom(
                Verdict.STALLED,
                Cause.MIRROR_DOWN,
                text or _SENTENCES[Verdict.STALLED],
                started_at,
                started_at + min(95, lasted_s),
                (evidence(text or "a canary record has waited on A for 42 s"),),
            ),
            Symptom(
                Verdict.LOSING,
                Cause.FILTERED,
                text or _SENTENCES[Verdict.LOSING],
                started_at + min(60, lasted_s),
                until_at,
                (evidence(), evidence("written to source at offset 918210; not found on the target")),
            ),
        ),
        counts_by={"one:1": Counts(settled=400, good=110, concluded=400, delivered=128, lost=272)},
        lost_by={"one:1": Loss(started_at, until_at)},
        at_risk_records=5_746,
        recovery_point_age_s=94.0,
        notes=(Note(until_at + 300, text or "Ada", text or "The worker ran out of memory.\nRaised it."),),
    )


def objectives(flow: FlowView) -> tuple[ObjectiveView, ...]:
    """Default objectives: one kept, one spent, one that allows no failure, one without data."""
    found = defaults_of(flow.flow, flow.source, flow.target, has_canary=True)
    return tuple(map(ObjectiveView, found, (0.6127, -1.5, None, None)))


def bars(now_at: float = NOW_AT, *, bad: Verdict = Verdict.STALLED) -> FlowBars:
    """Bars of a flow that was watched for three weeks, with a restart, some bad time and unknown time."""
    now = int(now_at // 60)
    spans = [
        Span(now - 30_000, now - 9_000, Verdict.HEALTHY),
        Span(now - 9_000, now - 8_600, Verdict.UNKNOWN),
        Span(now - 8_600, now - 2_000, Verdict.HEALTHY),
        Span(now - 2_000, now - 1_950, Verdict.LOSING),
        Span(now - 1_950, now - 700, Verdict.HEALTHY),
        Span(now - 640, now - 15, Verdict.HEALTHY),
        Span(now - 600, now - 560, Verdict.LATE),
        Span(now - 15, now - 12, bad),
        Span(now - 12, now, Verdict.HEALTHY),
    ]
    return bars_of(spans, now)


def cluster(
    alias: str, *, state: str = "up", sentence: str = "", flows: Iterable[FlowView] = ()
) -> ClusterView:
    flows = tuple(flows)
    return ClusterView(
        alias=alias,
        bootstrap=f"{alias.lower()}1.example.net:9092,{alias.lower()}2.example.net:9092",
        state=state,
        since_at=NOW_AT - 7300,
        sentence=sentence,
        control_last_ok_at=NOW_AT - 0.8 if state == "up" else None,
        flows_from=tuple(each.flow for each in flows if each.source == alias),
        flows_to=tuple(each.flow for each in flows if each.target == alias),
    )


def service(
    *flows: FlowView,
    now_at: float = NOW_AT,
    down: dict[str, str] | None = None,
    uncontrolled: str = "",
    problems: tuple[ProblemView, ...] = (),
) -> ServiceView:
    """A service with these flows; `down` names clusters that are down, each with its sentence.

    `uncontrolled` says why there are no control probes.
    """
    down = down or {}
    aliases = sorted({alias for each in flows for alias in (each.source, each.target)} | set(down))
    return ServiceView(
        version="0.1.0",
        now_at=now_at,
        started_at=NOW_AT - 7300,
        clusters=tuple(
            cluster(alias, state="down" if alias in down else "up", sentence=down.get(alias, ""), flows=flows)
            if not uncontrolled
            else replace(
                cluster(
                    alias, state="down" if alias in down else "up", sentence=down.get(alias, ""), flows=flows
                ),
                control_last_ok_at=None,
                control_sentence=uncontrolled,
            )
            for alias in aliases
        ),
        flows=tuple(sorted(flows, key=lambda each: each.status.rank)),
        problems=problems,
    )


def problem(where: str = "cluster B", sentence: str = "the principal may not create topics") -> ProblemView:
    return ProblemView(where=where, sentence=sentence, since_at=NOW_AT - 600, last_at=NOW_AT - 12, times=5)
