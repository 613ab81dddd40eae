"""What a cluster's control probes amount to as evidence, probe by probe and while one is under way."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from canary.config import CanaryMode
from canary.report import CollectorCounts
from canary.site import control
from canary.site.control import TOPIC, ControlProbes, ControlState
from canary.tracker.plan import CONTROL_SETTINGS, settings_text
from fleet.errors import RefusedError, UnavailableError
from fleet.series.catalogue import CONTROL_PROBES_TOTAL, CONTROL_ROUND_TRIP_SECONDS
from fleet.verdicts.evidence import Control
from runtime.kafka.admin import TopicDescription
from runtime.kafka.round_trip import RoundTripOutcome, RoundTripResult, ahead_s
from tests.runtime.fake_clock import FakeClock

GOOD = RoundTripResult(RoundTripOutcome.GOOD, 0.01, None)
SECOND = 1_000_000_000


def failed(outcome, error=None):
    return RoundTripResult(outcome, 2.0, error)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (GOOD, Control.OK),
        (failed(RoundTripOutcome.OVERDUE), Control.FAILING),
        (failed(RoundTripOutcome.PRODUCE_UNKNOWN, UnavailableError("away")), Control.FAILING),
        (failed(RoundTripOutcome.PRODUCE_FAILED, UnavailableError("away")), Control.FAILING),
        (failed(RoundTripOutcome.PRODUCE_FAILED, RefusedError("no")), Control.UNKNOWN),
    ],
)
def test_what_follows_from_a_probe(result, expected):
    state = ControlState("B")
    state.take(result, 100.0)
    assert state.control is expected
    assert state.counts[result.outcome] == 1
    assert state.since_at == 100.0
    state.take(result, 200.0)
    assert state.since_at == 100.0  # it has not changed


def test_round_trips_are_timed_and_continue_where_a_state_is_replaced():
    state = ControlState("B")
    for result in (GOOD, failed(RoundTripOutcome.OVERDUE), GOOD):
        state.take(result, 100.0)
    replaced = ControlState("B")
    replaced.take_over(state)
    samples = {(one, labels): value for one, labels, value in replaced.samples()}
    round_trips = samples[CONTROL_ROUND_TRIP_SECONDS, ("B",)]
    assert dict(round_trips.cumulative())["0.01"] == dict(round_trips.cumulative())["+Inf"] == 2
    assert round_trips.sum_s == pytest.approx(0.02)
    assert samples[CONTROL_PROBES_TOTAL, ("B", "overdue")] == 1


def test_a_probe_under_way_for_too_long_is_failing_at_once():
    state = ControlState("B")
    state.take(GOOD, 100.0)
    state.begun_ns = 5 * SECOND
    early = state.evidence(now_ns=int(5.9 * SECOND), now_at=106.0, slow_s=1.0)
    late = state.evidence(now_ns=int(6.5 * SECOND), now_at=106.5, slow_s=1.0)
    assert early.control is Control.OK
    assert late.control is Control.FAILING
    assert late.since_at == pytest.approx(105.0)
    assert "under way for 1.5 s" in late.sentence
    state.take(GOOD, 107.0)
    assert state.evidence(now_ns=60 * SECOND, now_at=160.0, slow_s=1.0).control is Control.OK


def test_a_cluster_that_refuses_us_is_not_called_down_by_a_slow_probe():
    state = ControlState("B")
    state.take(failed(RoundTripOutcome.PRODUCE_FAILED, RefusedError("no")), 100.0)
    state.begun_ns = 0
    assert state.evidence(now_ns=9 * SECOND, now_at=109.0, slow_s=1.0).control is Control.UNKNOWN


class Admin:
    """Knows one control topic, which a test may make anew or take away."""

    def __init__(self, topic_id):
        self.topic_id = topic_id
        self.made = []

    async def describe_topics(self, names):
        return {
            name: TopicDescription(name, self.topic_id, (1,)) if self.topic_id else None for name in names
        }

    async def end_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, 7)

    async def create_topic(self, request):
        self.made.append(request)
        self.topic_id = "new"


class Trips:
    """Stands in for RoundTrip: each probe gives the next of the results, then asks for the end."""

    def __init__(self, results, stopping):
        self.results = list(results)
        self.stopping = stopping
        self.opened = []
        self.closed = 0

    def __call__(self, *_arguments, **_options):
        return self

    async def open(self, *, from_offset):
        self.opened.append(from_offset)

    async def once(self, _nonce, **_options):
        result = self.results.pop(0)
        if callable(result):
            result = result()
        if not self.results:
            self.stopping.set()
        return result

    async def close(self):
        self.closed += 1


async def run_probes(monkeypatch, admin, results, *, state=None):
    stopping, said, counts = asyncio.Event(), [], CollectorCounts()
    trips = Trips(results, stopping)
    monkeypatch.setattr(control, "RoundTrip", trips)
    state = state or ControlState("B")
    probes = ControlProbes(
        state,
        counts,
        settings=SimpleNamespace(),
        admin=admin,
        mode=CanaryMode.CREATE,
        nonce=b"n",
        clock=FakeClock(),
        complain=lambda where, sentence: said.append((where, sentence)),
        settle=lambda _where: None,
    )
    await probes.run(stopping)
    return state, trips, said, counts


async def test_a_topic_recreated_gets_new_clients_and_blames_no_one(monkeypatch):
    admin = Admin("old")

    def replaced():
        admin.topic_id = None
        return failed(RoundTripOutcome.OVERDUE)

    state, trips, _, counts = await run_probes(monkeypatch, admin, [GOOD, replaced, GOOD, GOOD])
    assert trips.opened == [7, 0]
    assert trips.closed == 2
    assert [request.name for request in admin.made] == [TOPIC]
    assert state.control is Control.OK
    assert state.begun_ns is None
    assert counts.errors["control"] == 1


async def test_a_failing_cluster_keeps_its_clients(monkeypatch):
    overdue = failed(RoundTripOutcome.OVERDUE, UnavailableError("away"))
    state, trips, said, counts = await run_probes(monkeypatch, Admin("old"), [GOOD, overdue, overdue, GOOD])
    assert trips.opened == [7]
    assert state.control is Control.FAILING  # what comes after the order to stop says nothing
    assert {where for where, _ in said} == {f"B: {TOPIC}"}
    assert counts.errors["control"] == 2
    assert counts.last_success_at == {"control": state.last_ok_at}
    assert state.last_ok_at is not None


@pytest.mark.parametrize(
    ("outcome", "stood", "expected"),
    [
        (RoundTripOutcome.OVERDUE, True, Control.OK),
        (RoundTripOutcome.PRODUCE_UNKNOWN, True, Control.OK),
        (RoundTripOutcome.OVERDUE, False, Control.FAILING),
        (RoundTripOutcome.GOOD, True, Control.OK),
    ],
)
async def test_a_probe_that_failed_while_we_stood_still_says_nothing(monkeypatch, outcome, stood, expected):
    state = ControlState("B")

    def notice():
        """Find, only now that a probe is to be judged, that the loop stood since it was begun."""
        if stood and len(trips_seen) == 2:
            state.disturb(state.begun_ns + SECOND)

    trips_seen = []

    def second():
        trips_seen.append("second")
        return failed(outcome, None if outcome is RoundTripOutcome.GOOD else UnavailableError("away"))

    def first():
        trips_seen.append("first")
        return GOOD

    state.notice = notice
    _, trips, said, counts = await run_probes(monkeypatch, Admin("old"), [first, second, GOOD], state=state)
    assert state.control is expected
    assert trips.opened == [7]
    voided = stood and outcome is not RoundTripOutcome.GOOD
    assert sum(state.counts.values()) == (1 if voided else 2)
    assert (said == []) is (expected is Control.OK)
    assert counts.errors["control"] == len(said)


def test_what_is_kept_moves_with_a_wall_clock_that_was_set():
    state = ControlState("B")
    state.move_instants(50.0)
    assert (state.since_at, state.last_ok_at, state.last_failed_at) == (0.0, None, None)
    state.take(GOOD, 100.0)
    state.take(failed(RoundTripOutcome.OVERDUE), 200.0)
    state.move_instants(-50.0)
    assert (state.since_at, state.last_ok_at, state.last_failed_at) == (150.0, 50.0, 150.0)


async def test_clients_that_cannot_be_made_are_told_and_end_nothing(monkeypatch):
    admin = Admin("old")
    stopping = asyncio.Event()

    class Refusing(Trips):
        async def open(self, *, from_offset):
            self.opened.append(from_offset)
            if len(self.opened) == 1:
                raise RefusedError("such settings are not taken")

    trips = Refusing([GOOD], stopping)
    monkeypatch.setattr(control, "RoundTrip", trips)
    state, said, clock, counts = ControlState("B"), [], FakeClock(), CollectorCounts()
    probes = ControlProbes(
        state,
        counts,
        settings=SimpleNamespace(),
        admin=admin,
        mode=CanaryMode.CREATE,
        nonce=b"n",
        clock=clock,
        complain=lambda _where, sentence: said.append(sentence),
        settle=lambda _where: None,
    )
    await probes.run(stopping)
    assert trips.opened == [7, 7]
    assert trips.closed == 2
    assert "such settings are not taken" in said[0]
    assert 30.0 in clock.waits_s
    assert counts.errors["control"] == 1
    assert counts.last_success_at == {}


async def test_a_control_topic_that_must_not_be_made_counts_and_names_all_its_settings():
    stopping, said, counts = asyncio.Event(), [], CollectorCounts()

    def complain(_where, sentence):
        said.append(sentence)
        stopping.set()

    admin, state = Admin(None), ControlState("B")
    probes = ControlProbes(
        state,
        counts,
        settings=SimpleNamespace(),
        admin=admin,
        mode=CanaryMode.PRECREATED,
        nonce=b"n",
        clock=FakeClock(),
        complain=complain,
        settle=lambda _where: None,
    )
    await probes.run(stopping)
    assert said[0].endswith(f"create it with one partition and {settings_text(CONTROL_SETTINGS)}")
    assert admin.made == []
    assert state.control is Control.UNKNOWN
    assert counts.errors["control"] == 1


@pytest.mark.parametrize(
    ("stamped_ms", "ahead"),
    [
        (100_000, 0.0),  # sent at 100 s, acknowledged at 101 s
        (100_999, 0.0),
        (99_999, 0.0),  # the stamp is cut to milliseconds
        (103_500, 2.5),
        (98_000, -1.999),
    ],
)
def test_a_clock_is_off_by_what_no_delay_explains(stamped_ms, ahead):
    assert ahead_s(stamped_ms, sent_at=100.0, acknowledged_at=101.0) == pytest.approx(ahead)


def test_a_clock_is_not_known_while_probes_fail():
    state = ControlState("B")
    state.take(RoundTripResult(RoundTripOutcome.GOOD, 0.01, None, 2.5), 100.0)
    assert state.clock_ahead_s == 2.5
    state.take(failed(RoundTripOutcome.OVERDUE), 101.0)
    assert state.clock_ahead_s is None
