"""What the outside is shown: the state of a cluster by its supervisor and its probes, and losses with their number."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from canary.control import ControlState
from canary.report import CollectorCounts
from canary.watch import FlowWatch, Loss
from fleet.evidence import CanaryState, Control
from fleet.vocabulary import FlowVerdict, Verdict
from mirrorwatch.viewing import STALE_S, cluster_state, service_view
from runtime.supervision import Phase, State
from tests.canary.pretend_link import TOPIC, policy
from tests.runtime.fake_clock import FakeClock

NOW_AT = 1000.0


def site(*, reached=True, control=Control.UNKNOWN, read_at=None):
    state = ControlState("B", control, "what the probes say", 900.0)
    counts = CollectorCounts({} if read_at is None else {"topics": read_at}, Counter())
    return SimpleNamespace(alias="B", reached=reached, control=state, counts=counts)


def told(phase):
    return State("B", phase, "what the supervisor says"), 800.0


@pytest.mark.parametrize(
    ("seen", "supervised", "expected"),
    [
        (site(reached=False), None, ("connecting", NOW_AT, "it was not reached yet")),
        (site(reached=False), told(Phase.RUNNING), ("connecting", 800.0, "it was not reached yet")),
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


def test_several_probes_lost_in_a_row_are_shown_with_their_number():
    watch = FlowWatch(policy(), source_topic=TOPIC, target_topic=f"A.{TOPIC}", interval_s=1)
    watch.losses.extend([Loss(990.0, 3, 7, 107, "proved", 50), Loss(980.0, 0, 2, None, "overtaken", 1)])
    flow = SimpleNamespace(
        name="A->B", source="A", target="B", source_topic=TOPIC, target_topic=f"A.{TOPIC}", threshold_s=5.0
    )
    prober = SimpleNamespace(
        flows={"A->B": SimpleNamespace(flow=flow, watch=watch)},
        sites={},
        state=lambda _name: (CanaryState.RUNNING, ""),
    )
    route = SimpleNamespace(policy=SimpleNamespace(kind=SimpleNamespace(value="default")))
    view = service_view(
        SimpleNamespace(topology=SimpleNamespace(flow=lambda _name: route)),
        prober,
        version="0",
        clock=FakeClock(wall_s=NOW_AT),
        started_at=0.0,
        verdicts={"A->B": FlowVerdict("A->B", Verdict.LOSING, None, "it loses", (), (), 0.0)},
        states={},
        complaints=(),
    )
    (shown,) = view.flows
    assert [(one.at, one.sequence, one.source_offset, one.count) for one in shown.losses] == [
        (990.0, 7, 107, 50),
        (980.0, 2, None, 1),
    ]
    assert {one.topic for one in shown.losses} == {TOPIC}
