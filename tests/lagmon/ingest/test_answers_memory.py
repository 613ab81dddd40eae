"""What the process holds of what it was asked, once that is told."""

from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace

import pytest

from lagmon.ingest import answers as module
from runtime.kafka.properties.client_settings import ClientSettings
from tests.mirrorwatch.monitored import Monitored

METRICS = {"question": "metrics", "form": "text/plain"}


class _Lag:
    """A cluster's lag that remembers the verdicts it has handed out, weakly."""

    def __init__(self, lag):
        self._lag, self.seen = lag, []

    def __getattr__(self, name):
        return getattr(self._lag, name)

    def see(self, now_ms):
        sight = self._lag.see(now_ms)
        self.seen.append(weakref.ref(sight.lag_s))
        return sight


@pytest.fixture
def monitored():
    made = Monitored("A")
    made.topic("A", "orders")
    made.group("A", "billing", "orders", "moving")
    watch = made.watches["A"]
    watch.lag = _Lag(watch.lag)
    return made


@pytest.fixture
def answers(monitored):
    orders = SimpleNamespace(
        burrow_names={"A": "A"},
        clients={"A": ClientSettings({"bootstrap.servers": "a1:9092"})},
        per_partition=True,
        max_series=1000,
    )
    made = module.Answers(orders, list(monitored.watches.values()), clock=monitored)
    made.states = monitored.states
    return made


async def test_verdicts_that_are_too_old_to_be_told_again_are_let_go(monitored, answers, monkeypatch):
    monkeypatch.setattr(module, "VIEW_S", 0.0)
    answer = await answers.answer(METRICS)
    assert b'group="billing"' in b"".join(answer.pieces)
    del answer
    (seen,) = monitored.watches["A"].lag.seen
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gc.collect()
    assert seen() is None


async def test_verdicts_are_told_again_for_a_second(monitored, answers):
    for _ in range(2):
        assert b'group="billing"' in b"".join((await answers.answer(METRICS)).pieces)
    (seen,) = monitored.watches["A"].lag.seen
    assert seen() is not None


@pytest.mark.parametrize(("size", "given_back"), [(1 << 18, 1), ((1 << 18) - 1, 0)])
async def test_behind_a_large_answer_its_room_is_given_back(answers, monkeypatch, size, given_back):
    calls = []
    monkeypatch.setattr(module, "give_back", lambda: calls.append(1))
    pieces = [bytes(size // 2), bytes(size - size // 2)]
    monkeypatch.setitem(answers._answers, "metrics", lambda _question: module.Answer({}, pieces))
    answer = await answers.answer(METRICS)
    assert [len(one) for one in answer.pieces] == [len(one) for one in pieces]
    assert len(calls) == given_back
