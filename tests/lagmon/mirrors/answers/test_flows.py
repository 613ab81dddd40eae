"""A bug with one flow: it is logged, makes that flow unknown, and does not affect the others."""

from __future__ import annotations

import io
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.series import lag as series
from fleet.verdicts.flow import Flow
from lagmon.exposition import mirrors as mirror_telling
from lagmon.ingest.faults import Faults
from lagmon.mirrors.answers import flows as mirror_answers
from lagmon.mirrors.answers.flows import MirrorAnswers
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.flow import MirrorFlow
from runtime.process import logs
from tests.lagmon.mirror_flows import NOW, S, busy, busy_for_a_minute
from tests.runtime.fake_clock import FakeClock

PLACES = {
    "snapshot": (MirrorFlow, "take_snapshot"),
    "judging": (mirror_answers, "judge_flow"),
    "documents": (mirror_answers, "movement_document"),
    "metrics": (mirror_telling, "_topics"),
}


@pytest.fixture
def two(monkeypatch):
    """A->B, which works, and A->C, at which `fail_at` makes something fail, once or each time."""
    good, bad = busy_for_a_minute(), busy_for_a_minute()
    bad.flow.order = order_of(Flow("A", "C", mirror_version="4.3"), lag_from="connect-offsets", group=None)
    wrong = []
    answers = MirrorAnswers(
        [bad.flow, good.flow],
        [threading.Lock()],
        clock=SimpleNamespace(wall_s=lambda: good.now / S),
        wrong=lambda name, error: wrong.append((name, str(error))),
    )

    def fail_at(where, *, times=1000):
        before, left = getattr(*PLACES[where]), [times]

        def fail(flow, *given, **more):
            if flow is bad.flow and left[0]:
                left[0] -= 1
                raise IndexError("no such place")
            return before(flow, *given, **more)

        monkeypatch.setattr(*PLACES[where], fail)

    return SimpleNamespace(answers=answers, wrong=wrong, fail_at=fail_at)


def flows(answers):
    told = json.loads(b"".join(answers.answer_flows({"canary_topic": "orders"}).pieces))["flows"]
    return {one["flow"]: one for one in told}


def values_of(answers, wanted):
    """Return the values of a family, by flow."""
    orders = SimpleNamespace(per_partition=True, max_series=100)
    values = answers.series(orders).values(answers.snapshots())
    (family,) = (one for one in values if one.series is wanted)
    return np.asarray(values[family]).tolist()


@pytest.mark.parametrize(("where", "times"), [("snapshot", 1000), ("judging", 1000), ("documents", 1)])
def test_the_flow_is_unknown_and_says_why_and_the_other_is_reported_as_ever(two, where, times):
    two.fail_at(where, times=times)
    found = flows(two.answers)
    assert (found["A->B"]["verdict"], found["A->B"]["partitions"]) == ("healthy", 2)
    assert (found["A->C"]["verdict"], found["A->C"]["cause"]) == ("unknown", None)
    assert found["A->C"]["sentence"].startswith(
        "Unknown: the lag monitor failed on this flow (IndexError: no such place at test_flows.py:"
    )
    assert (found["A->C"]["partitions"], found["A->C"]["read_to_ms"], found["A->C"]["worst"]) == (0, None, [])
    assert set(two.wrong) == {("A->C", "no such place")}
    answer = two.answers.answer_flow({"flow": "A->B"})
    assert json.loads(b"".join(answer.pieces))["count"] == 2


def test_a_scrape_goes_without_the_topics_of_the_flow(two):
    two.fail_at("metrics")
    assert len(values_of(two.answers, series.REPLICATION_STATUS)) == 2
    assert len(values_of(two.answers, series.REPLICATION_TOPIC_LAG_RECORDS)) == 1
    assert set(two.wrong) == {("A->C", "no such place")}


def test_it_is_reported_once_with_where_it_came_from_at_debug_level():
    clock, said = FakeClock(), io.StringIO()
    undo = logs.configure(form="json", level="debug", stream=said)
    faults = Faults(logs.get("ingest"), clock=clock)
    try:
        for _ in range(500):
            clock.advance(1)
            try:
                np.zeros(0)[0]
            except IndexError as error:
                faults.note("A->C cannot be judged by its offsets", error, flow="A->C")
        lines = [json.loads(line) for line in said.getvalue().splitlines()]
    finally:
        undo()
    assert [(one["level"], one["flow"]) for one in lines] == [("error", "A->C"), ("debug", "A->C")]
    assert lines[0]["sentence"].startswith(
        "A->C cannot be judged by its offsets: IndexError: index 0 is out of bounds for axis 0 with size 0 at "
        "test_flows.py:"
    )
    assert lines[0]["sentence"].endswith("; please report this with the output of --log-level debug")
    assert "Traceback" not in lines[0]["sentence"]
    assert "np.zeros(0)[0]" in lines[1]["exception"]


def test_a_slot_that_was_given_back_since_its_flow_was_judged_takes_no_answer():
    one = busy_for_a_minute()
    one.go(300, each=lambda: busy(one, moves=(0,)))  # partition 1 stands
    wrong = []
    answers = MirrorAnswers(
        [one.flow],
        [threading.Lock()],
        clock=SimpleNamespace(wall_s=lambda: one.now / S),
        wrong=lambda *told: wrong.append(told),
    )

    def worst():
        return [row["partition"] for row in flows(answers)["A->B"]["worst"]]

    def page():
        told = json.loads(b"".join(answers.answer_flow({"flow": "A->B"}).pieces))
        return [row["partition"] for row in told["rows"] if row["reason"] != "no_offset"]

    assert (worst(), page()) == ([1], [1, 0])  # of which 1 stands
    one.flow.windows.reset("orders", 1)
    assert (worst(), page()) == ([], [0])
    one.flow.windows.reset("orders", 0)
    one.commit(partition=1)  # which has the slot of one of them by now
    assert page() == [1]
    assert wrong == []


def test_since_when_is_reported_with_a_verdict_that_is_given_again_in_the_same_answer():
    """As after a restart, when its offsets are read between judging and answering."""
    one = busy_for_a_minute()
    one.flow.read_to_ms = -1
    answers = MirrorAnswers(
        [one.flow],
        [threading.Lock()],
        clock=SimpleNamespace(wall_s=lambda: one.now / S),
        wrong=lambda *told: pytest.fail(str(told)),
    )
    answers.restore_since("A->B", ("healthy", None), NOW - 1234)
    assert flows(answers)["A->B"]["verdict"] == "unknown"
    one.now += S // 2  # still the same sight
    one.commit("new", 0, to=5)
    one.flow.read_to_ms = one.now
    told = flows(answers)["A->B"]
    assert (told["verdict"], told["since_ms"]) == ("healthy", NOW - 1234)
