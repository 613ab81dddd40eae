"""Time that brokers held our clients back: summed for ever, looked at over ten seconds, told and over."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.site.throttling import report_throttling
from runtime.kafka.throttle import WINDOW_S, Throttle
from tests.runtime.fake_clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


def hold_back(throttle, seconds):
    throttle.hear(SimpleNamespace(broker_name="b", broker_id=1, throttle_time=seconds))


def test_the_sum_grows_and_the_newest_seconds_pass(clock):
    throttle = Throttle(clock)
    assert (throttle.total_s, throttle.recent_s()) == (0.0, 0.0)
    hold_back(throttle, 0.5)
    clock.advance(WINDOW_S - 1)
    hold_back(throttle, 0.25)
    hold_back(throttle, 0.0)  # what the client tells when it is over
    assert (throttle.total_s, throttle.recent_s()) == (0.75, 0.75)
    clock.advance(2)
    assert (throttle.total_s, throttle.recent_s()) == (0.75, 0.25)
    clock.advance(WINDOW_S)
    assert (throttle.total_s, throttle.recent_s()) == (0.75, 0.0)


def test_what_another_counted_is_taken_over(clock):
    before, after = Throttle(clock), Throttle(clock)
    hold_back(before, 3.0)
    hold_back(after, 0.5)
    after.take_over(before)
    assert after.total_s == 3.5


def test_more_than_a_second_in_ten_is_a_problem_until_it_is_less(clock):
    throttles = {"tap": Throttle(clock), "sender": Throttle(clock)}
    said = {}
    reporter = SimpleNamespace(
        problem=said.__setitem__, settled=lambda where: said.pop(where, None), event=lambda *_a, **_f: None
    )
    hold_back(throttles["sender"], 1.0)
    report_throttling("A", throttles, reporter)
    assert said == {}
    hold_back(throttles["sender"], 0.2)
    report_throttling("A", throttles, reporter)
    ((where, sentence),) = said.items()
    assert where == "A: quota of the sender"
    assert sentence.startswith("a quota of A throttled the canary's writing for 1.2 s in the last 10 s")
    assert "mirrorwatch-A-canary" in sentence
    clock.advance(WINDOW_S + 1)
    hold_back(throttles["tap"], 4.0)
    report_throttling("A", throttles, reporter)
    ((where, sentence),) = said.items()
    assert where == "A: quota of the tap"
    assert "the canary's reading for 4.0 s" in sentence
    assert "mirrorwatch-A-tap" in sentence
