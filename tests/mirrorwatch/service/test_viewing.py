"""What the outside is shown: the state of a cluster by its supervisor and its probes, and losses with their number."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from canary.report import CollectorCounts
from canary.site.control import ControlState
from canary.watch.findings import Loss
from canary.watch.watch import FlowWatch
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.vocabulary import FlowVerdict, Verdict
from mirrorwatch.audits.flow_audit import flow_audit, run_summary
from mirrorwatch.audits.run_document import read_run
from mirrorwatch.lag.collected import Unanswered
from mirrorwatch.service.view import UnreachedView
from mirrorwatch.service.viewing import STALE_S, cluster_state, service_view
from runtime.process.supervision import Phase, State
from tests.canary.pretend_link import TOPIC, policy
from tests.mirrorwatch.told_runs import run
from tests.runtime.fake_clock import FakeClock

NOW_AT = 1000.0
BOOKS = {"expected": 100, "lost": 2, "confirmed": 1}


def site(*, reached=True, control=Control.UNKNOWN, read_at=None, wanted=("mirrorwatch-canary",)):
    state = ControlState("B", control, "what the probes say", 900.0)
    counts = CollectorCounts({} if read_at is None else {"topics": read_at}, Counter())
    return SimpleNamespace(alias="B", reached=reached, control=state, counts=counts, wanted={*wanted})


def told(phase):
    return State("B", phase, "what the supervisor says"), 800.0


@pytest.mark.parametrize(
    ("seen", "supervised", "expected"),
    [
        (site(reached=False), None, ("connecting", NOW_AT, "not connected yet")),
        (site(reached=False), told(Phase.RUNNING), ("connecting", 800.0, "not connected yet")),
        (site(reached=False), told(Phase.DOWN), ("down", 800.0, "what the supervisor says")),
        (site(reached=False), told(Phase.REFUSED), ("refused", 800.0, "what the supervisor says")),
        (site(control=Control.OK), told(Phase.RUNNING), ("up", 900.0, "")),
        (site(control=Control.FAILING), told(Phase.RUNNING), ("down", 900.0, "what the probes say")),
        (site(read_at=NOW_AT - STALE_S), told(Phase.RUNNING), ("up", 800.0, "what the probes say")),
        (site(read_at=NOW_AT - 11), told(Phase.RUNNING), ("down", NOW_AT - 11, "what the probes say")),
        (site(), told(Phase.RUNNING), ("down", 0.0, "what the probes say")),
    ],
)
def test_the_state_of_a_cluster(seen, supervised, expected):
    assert cluster_state(seen, supervised, NOW_AT) == expected


AWAY = Unanswered(930.0, "nothing listens there")


@pytest.mark.parametrize(
    ("seen", "unanswered", "expected"),
    [
        (site(wanted=()), None, ("up", 800.0, "what the probes say")),
        (site(wanted=()), AWAY, ("down", 930.0, "nothing listens there")),
        (site(read_at=NOW_AT - 1), AWAY, ("down", 930.0, "nothing listens there")),
        (site(control=Control.OK), AWAY, ("up", 900.0, "")),
        (site(control=Control.FAILING), AWAY, ("down", 900.0, "what the probes say")),
    ],
)
def test_without_control_probes_the_lag_monitor_reports_whether_a_cluster_answers(seen, unanswered, expected):
    assert cluster_state(seen, told(Phase.RUNNING), NOW_AT, unanswered) == expected


def test_what_the_canary_and_its_target_know_of_a_flow_is_shown():
    watch = FlowWatch(policy(), source_topic=TOPIC, target_topic=f"A.{TOPIC}", interval_s=1)
    watch.found.losses.extend([Loss(990.0, 3, 7, 107, "proved", 50), Loss(980.0, 0, 2, None, "overtaken", 1)])
    flow = SimpleNamespace(
        name="A->B", source="A", target="B", source_topic=TOPIC, target_topic=f"A.{TOPIC}", threshold_s=5.0
    )
    target = site(control=Control.OK)
    target.mirror_topics = SimpleNamespace(
        heartbeat_age_s=lambda flow, now_at: {("A->B", NOW_AT): 1.2}[flow, now_at]
    )
    prober = SimpleNamespace(
        flows={"A->B": SimpleNamespace(flow=flow, watch=watch)},
        sites={"B": target},
        unreached=lambda _name: (
            SimpleNamespace(side="target", kafka_cluster="B", broker_id=3),
            SimpleNamespace(side="target", kafka_cluster="B", broker_id=2),
        ),
        state=lambda _name: (CanaryState.RUNNING, ""),
    )
    route = SimpleNamespace(policy=SimpleNamespace(kind=SimpleNamespace(value="default")))
    cluster = SimpleNamespace(client={"bootstrap.servers": "b:9092"})
    topology = SimpleNamespace(flow=lambda _name: route, cluster=lambda _alias: cluster)
    view = service_view(
        SimpleNamespace(topology=topology, lone=()),
        prober,
        version="0",
        clock=FakeClock(wall_s=NOW_AT),
        started_at=0.0,
        verdicts={"A->B": FlowVerdict("A->B", Verdict.LOSING, None, "it loses", (), (), 0.0)},
        states={},
        complaints=(),
        checksums={
            "A->B": flow_audit([run_summary(read_run(run("r1")), ended_at=900.0, exactly_once=False)])
        },
    )
    (shown,) = view.flows
    assert (shown.checksum.newest.run, shown.checksum.newest.ended_at) == ("r1", 900.0)
    assert [(one.at, one.sequence, one.source_offset, one.count) for one in shown.losses] == [
        (990.0, 7, 107, 50),
        (980.0, 2, None, 1),
    ]
    assert {one.topic for one in shown.losses} == {TOPIC}
    assert shown.unreached == (UnreachedView("target", "B", (2, 3)),)
    assert (shown.heartbeat_age_s, shown.interval_s, shown.partitions) == (1.2, 1, 0)
    assert [(one.alias, one.state, one.flows_to) for one in view.clusters] == [("B", "up", ("A->B",))]
