"""What is handed in about a flow: the mirror's heartbeats by our clock, and when a topic's settings are known."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest

from canary.site import topics
from canary.site.control import ControlState
from canary.site.topic_checks import Refusal
from canary.site.topics import KnownTopics
from canary.watch.flow_evidence import flow_evidence, settings_within_s
from canary.watch.watch import Instant
from fleet.verdicts.evidence import CanaryState
from tests.canary.desk import Desk, S
from tests.canary.test_topic_refusals import PLACE, Scene
from tests.runtime.fake_clock import FakeClock


def site(alias, **mirror_topics):
    said = {"tasks": lambda _flow: (), "heartbeats_s": lambda _flow, _now_ns: ()} | mirror_topics
    return SimpleNamespace(
        alias=alias, topics=KnownTopics(), control=ControlState(alias), mirror_topics=SimpleNamespace(**said)
    )


def test_heartbeats_and_the_time_for_settings_are_handed_in(tmp_path):
    desk = Desk(f"sqlite:///{tmp_path}/store", clock=FakeClock())
    held = desk.watch("A->B")
    asked = []

    def heartbeats_s(flow, now_ns):
        asked.append((flow, now_ns))
        return (2.0, 4.0)

    found = flow_evidence(
        held,
        site("A"),
        site("B", heartbeats_s=heartbeats_s),
        Instant(7 * S, 1000.0),
        state=CanaryState.RUNNING,
        sentence="",
        refusal=Refusal("It takes nothing.", 980.0, 990.0),
    )
    assert found.heartbeats_s == (2.0, 4.0)
    assert asked == [("A->B", 7 * S)]
    assert found.topic.settings_within_s == settings_within_s(held.flow.threshold_s)
    assert found.topic.target_refuses == "It takes nothing."
    assert (found.topic.target_refused_since, found.topic.target_refused_at) == (980.0, 990.0)
    assert found.topic.target_exists is None
    assert found.tasks == ()


PHASES = (0.0, 0.5, 1.0, 1.5, 1.9)


@pytest.mark.parametrize("threshold_s", [1.0, 5.0, 30.0])
def test_settings_are_read_within_the_time_that_is_handed_in_whatever_the_phases(threshold_s):
    """Play looks at source and target, each at its own phase, and a reading at any time before the fault."""
    slowest_s = 0.0
    for source_s, target_s, before_s in product(PHASES, PHASES, (0.0, 1.0, 3.9)):
        scene = Scene()
        scene.look()
        instants = [(source_s + topics.INTERVAL_S * k, "source") for k in range(40)]
        instants += [(target_s + topics.INTERVAL_S * k, "target") for k in range(40)]
        now_s = -before_s  # the probe that waits was due at 0
        for at_s, side in sorted(instants):
            scene.clock.advance(at_s - now_s)
            now_s = at_s
            if side == "source" and at_s > threshold_s / 2:
                scene.topic_checks.hasten(*PLACE)
            elif side == "target" and scene.asked < 2:
                scene.look()
            if scene.asked == 2:
                break
        slowest_s = max(slowest_s, now_s)
    assert slowest_s <= settings_within_s(threshold_s)
    assert slowest_s > settings_within_s(threshold_s) / 2  # it is no idle promise
