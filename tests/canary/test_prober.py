"""The end of the prober: how long it waits for probes in flight."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary import prober as canary_prober
from canary.config import CanaryConfig
from canary.prober import Prober
from tests.runtime.fake_clock import FakeClock


@pytest.mark.parametrize(
    ("thresholds_s", "in_flight", "waited_s"),
    [([5.0, 30.0], 1, 30), ([5.0, 120.0], 1, 60), ([120.0], 0, 0), ([], 1, 0)],
)
async def test_a_stop_waits_for_the_longest_threshold_and_ends_before_it_is_killed(
    monkeypatch, thresholds_s, in_flight, waited_s
):
    clock = FakeClock()
    prober = Prober(
        [],
        {},
        CanaryConfig(topic="c"),
        installation="0" * 32,
        memory=SimpleNamespace(note_carried=None, incarnation="00000000000000aa"),
        inherited={},
        clock=clock,
        reporter=SimpleNamespace(),
    )
    for threshold_s in thresholds_s:
        watch = SimpleNamespace(counters=SimpleNamespace(in_flight=in_flight))
        flow = SimpleNamespace(threshold_s=threshold_s)
        prober.flows[f"A->{threshold_s}"] = SimpleNamespace(flow=flow, watch=watch)

    async def pass_time(seconds):
        clock.advance(seconds)

    monkeypatch.setattr(canary_prober, "asyncio", SimpleNamespace(sleep=pass_time))
    await prober.drain_flights()
    assert clock.now_ns / 1e9 == pytest.approx(waited_s, abs=0.1)
