"""Unit tests of rendered rules for `promtool test rules`: silence first, then exactly these alerts. Pure.

Each case plays series of one flow of the configuration and lists every alert that fires at some times; any
other alert fails the case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alerts.objectives.objective import ObjectiveKind
from alerts.rules.rule import CRITICAL, FLOW, INFO, WARNING, quoted
from alerts.rules.trust import EXPIRY_CRITICAL_S, EXPIRY_WARNING_S
from alerts.rules.watching import JOB
from fleet.series import catalogue as series
from fleet.series import failover as series_failover
from fleet.series import lag as series_lag
from fleet.series.checksum import (
    CHECKSUM_DIFFERING_RECORDS,
    CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS,
    CHECKSUM_RECORDS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alerts.objectives.objective import Objective
    from alerts.objectives.resolving import FlowFacts
    from alerts.rules.rule import Group
    from fleet.series.kinds import Series

STEP_S = 15  # the scrape interval of the rendered configuration
_MINUTE = 60 // STEP_S
FIRING = 'ALERTS{alertstate="firing", alertname!="MirrorwatchWatchdog"}'


@dataclass(frozen=True, slots=True)
class Case:
    """Series by selector, with values in promtool's notation, and the firing alerts at each time."""

    name: str
    series: Mapping[str, str]
    moments: Sequence[tuple[str, Sequence[str]]]  # a duration, and samples of ALERTS


class Story:
    """The series of one healthy flow; a case changes some."""

    def __init__(self, objective: Objective, others: Sequence[tuple[str, str, str]], minutes: int) -> None:
        self._labels = _labels_of(objective.flow, objective.source, objective.target)
        self._count = minutes * _MINUTE
        self._values: dict[str, str] = {f"up{{job={quoted(JOB)}}}": f"1x{self._count}"}
        for labels in (self._labels, *(_labels_of(*one) for one in others)):
            self._values[_selector(series.FLOW_INFO, labels)] = f"1x{self._count}"
            now = f"0+{STEP_S}x{self._count}"
            self._values[_selector(series_failover.FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS, labels)] = now
            compared = _selector(CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS, labels | {"topic": "orders"})
            self._values[compared] = now
        self.play(series.CANARY_THRESHOLD_SECONDS, f"5x{self._count}")
        self.play(series.CANARY_INTERVAL_SECONDS, f"1x{self._count}")
        self.play(series.FLOW_RECOVERY_POINT_AGE_SECONDS, f"1x{self._count}")
        self.play(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, f"0+{STEP_S}x{self._count}")
        for one in _COUNTERS:
            self.play(one, f"0+{2 * STEP_S}x{self._count}")
        for outcome in ("lost", "overdue"):
            self.play(series.CANARY_PROBES_TOTAL, f"0x{self._count}", outcome=outcome)

    def play(self, one: Series, values: str, **labels: str) -> Story:
        """Set a series of the flow."""
        self._values[_selector(one, {**self._labels, **labels})] = values
        return self

    def play_alone(self, one: Series, values: str, **labels: str) -> Story:
        """Set a series without flow labels."""
        self._values[_selector(one, labels)] = values
        return self

    def fires(self, name: str, severity: str, **labels: str) -> str:
        """Return the sample of ALERTS while the alert fires for the flow."""
        return self.fires_alone(name, severity, **self._labels, **labels)

    def fires_alone(self, name: str, severity: str, **labels: str) -> str:
        """Return the sample of an alert without flow labels."""
        held = {"alertname": name, "alertstate": "firing", "severity": severity, **labels}
        return _braced("ALERTS", held)

    def case(self, name: str, *moments: tuple[str, Sequence[str]]) -> Case:
        """Return the played case."""
        return Case(name, dict(self._values), moments)


def _labels_of(flow: str, source: str, target: str) -> dict[str, str]:
    return dict(zip(FLOW.split(", "), (flow, source, target), strict=True))


_COUNTERS = (
    series.CANARY_EXPECTED_TOTAL,
    series.CANARY_SETTLED_TOTAL,
    series.CANARY_GOOD_TOTAL,
    series.CANARY_CONCLUDED_TOTAL,
    series.CANARY_DELIVERED_TOTAL,
)


def cases_of(
    objectives: Sequence[Objective], flows: Sequence[FlowFacts], *, audits_failover: bool = True
) -> Iterator[Case]:
    """Yield the cases of the first flow with a canary; the rules of all flows are equal.

    `audits_failover`: as for the rules.
    """
    probed = [one for one in objectives if one.kind is ObjectiveKind.FRESHNESS and one.slice_ratio is None]
    if not probed:
        return
    flow = probed[0]
    others = sorted((one.name, one.source, one.target) for one in flows if one.name != flow.flow)
    for make in (
        _healthy,
        _silence,
        _pause,
        _one_lost,
        _lost_while_stalled,
        _in_turns,
        _nothing_due,
        _audit,
        _race,
        _no_race,
        _gone,
        _certificate,
        _clocks,
        _zero,
        _collector,
        _group,
        _failover,
        *((_no_failover_audit,) if audits_failover else ()),
    ):
        yield make(flow, others)


def _healthy(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    return Story(flow, others, 30).case("a healthy flow", ("1m", ()), ("29m", ()))


def _silence(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    # Five minutes of arrivals, then none.
    story.play(
        series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, f"0+{STEP_S}x{5 * _MINUTE} {5 * 60}x{25 * _MINUTE}"
    )
    silent = story.fires("MirrorwatchNoRecordsArrive", CRITICAL)
    return story.case("records stop to arrive", ("5m", ()), ("5m35s", (silent,)))


def _pause(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    """Play a connector that an operator pauses after five minutes, which is known half a minute later."""
    story = Story(flow, others, 30)
    story.play(
        series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, f"0+{STEP_S}x{5 * _MINUTE} {5 * 60}x{25 * _MINUTE}"
    )
    story.play(series.FLOW_CONDITION, f"0x{5 * _MINUTE} 1x{25 * _MINUTE}", condition="stalled")
    known = 5 * _MINUTE + 2
    story.play(series.FLOW_CAUSE, f"0x{known} 1x{30 * _MINUTE - known}", cause="paused")
    silent = story.fires("MirrorwatchNoRecordsArrive", CRITICAL)
    paused = story.fires("MirrorwatchMirrorPaused", WARNING)
    return story.case(
        "the mirror is paused", ("5m", ()), ("5m30s", (silent,)), ("7m30s", ()), ("22m", (paused,))
    )


def _one_lost(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    story.play(series.CANARY_PROBES_TOTAL, f"0x{5 * _MINUTE} 1x{25 * _MINUTE}", outcome="lost")
    lost = story.fires("MirrorwatchRecordsLost", CRITICAL)
    return story.case("one canary record is lost", ("5m", ()), ("6m", (lost,)), ("25m", ()))


def _lost_while_stalled(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    story.play(series.FLOW_CONDITION, f"0x{5 * _MINUTE} 1x{25 * _MINUTE}", condition="losing")
    story.play(series.FLOW_CONDITION, f"0x{10 * _MINUTE} 1x{20 * _MINUTE}", condition="stalled")
    lost = story.fires("MirrorwatchRecordsLost", CRITICAL)
    stalled = story.fires("MirrorwatchReplicationStalled", CRITICAL)
    return story.case(
        "a stall and a loss", ("4m", ()), ("6m", (lost,)), ("10m30s", (lost,)), ("12m", (lost, stalled))
    )


def _in_turns(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    """Play a mirror that stalls every other scrape, as under a quota, and then two short stalls."""
    story = Story(flow, others, 30)
    turns = "1 0 " * (5 * _MINUTE // 2)
    short = f"{'1 ' * 2}0x{_MINUTE} {'1 ' * 2}"
    values = f"0x{5 * _MINUTE} {turns}0x{10 * _MINUTE} {short}0x{10 * _MINUTE}"
    story.play(series.FLOW_CONDITION, values, condition="stalled")
    stalled = story.fires("MirrorwatchReplicationStalled", CRITICAL)
    return story.case(
        "the mirror stalls and moves in turn",
        ("6m30s", ()),
        ("8m", (stalled,)),
        ("9m", (stalled,)),
        ("12m", ()),
        ("24m", ()),
    )


def _nothing_due(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    for one in _COUNTERS:
        story.play(one, f"0+{2 * STEP_S}x{5 * _MINUTE} {600}x{25 * _MINUTE}")
    silent = story.fires("MirrorwatchCanarySilent", CRITICAL)
    return story.case("the canary stops", ("14m", ()), ("17m30s", (silent,)))


def _audit(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    story.play(CHECKSUM_DIFFERING_RECORDS, f"0x{5 * _MINUTE} 3x{25 * _MINUTE}", topic="orders")
    # Such as offsets that were not read again, and extra records of aborted transactions.
    for verdict in ("unverifiable", "extra"):
        story.play(CHECKSUM_RECORDS, f"5x{30 * _MINUTE}", topic="orders", verdict=verdict)
    found = story.fires("MirrorwatchAuditFoundLoss", CRITICAL)
    return story.case("a checksum finds a difference", ("5m", ()), ("6m", (found,)))


def _race(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    steps = 30 * _MINUTE
    story.play(series_lag.REPLICATION_TOPIC_LAG_SECONDS, f"0+{STEP_S}x{steps}", topic="orders")
    headroom = f"1500-{STEP_S}x{steps}"
    story.play(series_lag.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS, headroom, topic="orders")
    ticket = story.fires("MirrorwatchRetentionRace", WARNING, topic="orders")
    return story.case(
        "retention comes near what waits",
        ("10m", ()),
        ("23m30s", (ticket, story.fires("MirrorwatchRetentionRace", CRITICAL, topic="orders"))),
    )


def _no_race(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    """Play a log of seconds, which starts after the mirror's stored offsets nearly all the time."""
    story = Story(flow, others, 30)
    steps = 30 * _MINUTE
    story.play(series_lag.REPLICATION_TOPIC_LAG_SECONDS, f"8x{steps}", topic="orders")
    story.play(series_lag.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS, f"1x{steps}", topic="orders")
    return story.case("retention is seconds", ("29m", ()))


def _gone(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    story.play(series.FLOW_INFO, f"1x{5 * _MINUTE} stale")
    return story.case(
        "a flow is no longer watched",
        ("6m", ()),
        ("16m", (story.fires("MirrorwatchFlowMissing", CRITICAL),)),
    )


def _certificate(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    expiry, until_s = series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS, EXPIRY_CRITICAL_S + 15 * 60
    story.play_alone(expiry, f"{until_s:.0f}x{30 * _MINUTE}", kafka_cluster=flow.target)
    story.play_alone(expiry, f"{10 * EXPIRY_WARNING_S:.0f}x{30 * _MINUTE}", kafka_cluster=flow.source)
    ticket, page = (
        story.fires_alone("MirrorwatchCertificateExpires", severity, kafka_cluster=flow.target)
        for severity in (WARNING, CRITICAL)
    )
    return story.case("a certificate expires", ("30s", ()), ("5m", (ticket,)), ("17m", (page, ticket)))


def _clocks(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    skew = series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS
    story.play_alone(skew, f"1.5x{30 * _MINUTE}", kafka_cluster=flow.source)
    story.play_alone(skew, f"0x{5 * _MINUTE} -3x{25 * _MINUTE}", kafka_cluster=flow.target)
    story.play(series.MM2_HEARTBEAT_AGE_SECONDS, f"1x{5 * _MINUTE} -4x{25 * _MINUTE}")
    broker = story.fires_alone("MirrorwatchClusterClockSkewed", WARNING, kafka_cluster=flow.target)
    worker = story.fires("MirrorwatchMirrorClockSkewed", WARNING)
    return story.case("clocks are wrong", ("14m", ()), ("17m", (broker, worker)))


def _zero(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 40)
    steps = 40 * _MINUTE
    story.play(series_lag.REPLICATION_TOPIC_LAG_RECORDS, f"0x{steps}", topic="orders")
    story.play(series_lag.REPLICATION_SOURCE_END_OFFSET, f"0+100x{steps}", topic="orders")
    stopped = f"0+100x{5 * _MINUTE} {500 * _MINUTE}x{35 * _MINUTE}"
    story.play(series_lag.REPLICATION_TARGET_END_OFFSET, stopped, topic="orders")
    zero = story.fires("MirrorwatchZeroNotCredible", WARNING)
    return story.case("no lag, and nothing on the target", ("20m", ()), ("27m", (zero,)))


def _group(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story, group = Story(flow, others, minutes=30), {"replica_group": "pair", "shard": "1"}
    # From minute 5 on the leader does not answer, and from minute 7 on the other one leads.
    story.play_alone(series.REPLICA_LEADER, f"1x{5 * _MINUTE} stale", instance="left", **group)
    story.play_alone(series.REPLICA_LEADER, f"0x{7 * _MINUTE} 1x{23 * _MINUTE}", instance="right", **group)
    no_leader = story.fires_alone("MirrorwatchNoLeader", CRITICAL, **group)
    no_standby = story.fires_alone("MirrorwatchNoStandby", WARNING, replica_group="pair")
    return story.case(
        "a leader that is gone", ("4m", []), ("6m45s", [no_leader]), ("9m", []), ("20m", [no_standby])
    )


def _collector(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 30)
    for alias, up in ((flow.source, 1), (flow.target, 0)):
        last = series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS
        values = f"0+{STEP_S}x{5 * _MINUTE} 300x{25 * _MINUTE}"
        story.play_alone(last, values, kafka_cluster=alias, collector="topics")
        # The series of a down cluster is expected to stop.
        values = f"1x{5 * _MINUTE} {up}x{25 * _MINUTE}"
        story.play_alone(series.KAFKA_CLUSTER_UP, values, kafka_cluster=alias)
    stalled = story.fires_alone(
        "MirrorwatchCollectorStalled", WARNING, kafka_cluster=flow.source, collector="topics"
    )
    down = story.fires_alone("MirrorwatchClusterDown", CRITICAL, kafka_cluster=flow.target)
    # Every flow from or to the cluster has the alert that mutes its others.
    mutes = [
        story.fires_alone(name, INFO, **_labels_of(each, source, target))
        for each, source, target in ((flow.flow, flow.source, flow.target), *others)
        for name, end in (("MirrorwatchSourceDown", source), ("MirrorwatchTargetDown", target))
        if end == flow.target
    ]
    return story.case(
        "a collector stalls", ("5m", ()), ("8m", (down, *mutes)), ("13m", (down, *mutes, stalled))
    )


def _failover(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 60)
    steps = 60 * _MINUTE
    groups = series_failover.FAILOVER_GROUPS
    for status in ("skips", "no_checkpoint", "stale"):
        story.play(groups, f"0x{5 * _MINUTE} 1x{55 * _MINUTE}", status=status)
    story.play(groups, f"1x{steps}", status="ready")
    story.play(series_failover.DRIFT_DIFFERENCES, f"0x{5 * _MINUTE} 2x{55 * _MINUTE}", kind="config")
    drift = story.fires("MirrorwatchDrift", WARNING, kind="config")
    skips, stale, not_ready = (
        story.fires(f"Mirrorwatch{name}", WARNING)
        for name in ("FailoverSkipsRecords", "CheckpointsStale", "FailoverNotReady")
    )
    return story.case(
        "groups are not ready to fail over",
        ("5m", ()),
        ("18m", (skips, stale)),
        ("40m", (skips, stale, not_ready, drift)),
    )


def _no_failover_audit(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = Story(flow, others, 40)
    last = f"0+{STEP_S}x{5 * _MINUTE} 300x{35 * _MINUTE}"
    story.play(series_failover.FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS, last)
    old = story.fires("MirrorwatchFailoverAuditOld", WARNING)
    return story.case("the failover audit stops", ("24m", ()), ("27m30s", (old,)))


def cases_document(cases: Sequence[Case], groups: Sequence[Group], rule_file: str) -> dict[str, Any]:
    """Return the contents of a file of unit tests for groups of rules.

    Without an order promtool evaluates the groups of a step in a random one, and an alert that reads what
    another group records then fires a step earlier or later.
    """
    return {
        "rule_files": [rule_file],
        "evaluation_interval": f"{STEP_S}s",
        "group_eval_order": [group.name for group in groups],
        "tests": [
            {
                "name": case.name,
                "interval": f"{STEP_S}s",
                "input_series": [{"series": one, "values": values} for one, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": FIRING,
                        "eval_time": at,
                        "exp_samples": [{"labels": labels, "value": 1} for labels in sorted(firing)],
                    }
                    for at, firing in case.moments
                ],
            }
            for case in cases
        ],
    }


def _selector(one: Series, labels: Mapping[str, str]) -> str:
    return _braced(one.full_name, labels)


def _braced(name: str, labels: Mapping[str, str]) -> str:
    return f"{name}{{{', '.join(f'{key}={quoted(value)}' for key, value in labels.items())}}}"
