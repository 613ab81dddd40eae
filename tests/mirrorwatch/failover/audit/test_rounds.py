"""Rounds over the flows: results, failures, the time between them, and the settings of the process."""

from __future__ import annotations

import asyncio

import pytest

from fleet.errors import UnavailableError
from fleet.verdicts.flow import Flow
from lagmon.drift.differences import Comparison, FlowDrift, Kind
from lagmon.failover.readiness import Status
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.failover.audit import rounds as audit_rounds
from mirrorwatch.failover.audit.orders import read_orders, write_orders
from mirrorwatch.failover.audit.rounds import DRIFT_S, Rounds, _drain_s
from mirrorwatch.failover.facts import Waiting
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.mirrorwatch.failover.test_facts import source, target
from tests.runtime.fake_clock import FakeClock

__all__ = ["source", "target"]

CLUSTERS = {"A": "a:1", "B": "b:1"}


def config_of(folder, **sections):
    return read_configuration(configuration(folder, clusters=CLUSTERS, **sections), environ={})


def orders_of(folder, **sections):
    return write_orders(config_of(folder, **sections), log_level="info", log_format="text")


class Clock(FakeClock):
    """A clock that stops the rounds after some."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    async def wait(self, event, *, timeout_s):
        self.rounds -= 1
        if not self.rounds:
            event.set()
        return await super().wait(event, timeout_s=timeout_s)


@pytest.fixture
def run(monkeypatch, tmp_path, source, target):
    """Return a function that runs some rounds over a flow between the two clusters of `test_facts`."""
    clusters = {"A": source, "B": target}

    class Reader:
        def __init__(self, alias, _settings, _clock, *, apart):
            assert not apart
            self.cluster = clusters[alias]

        def __enter__(self):
            return self.cluster

        def __exit__(self, *_exception):
            return None

    async def read_drift(_topology, flows, _clients, _clock):
        if target.away:
            raise UnavailableError("cluster B: cannot connect to any broker")
        (flow,) = flows
        return [FlowDrift(flow, None, (Comparison(kind=Kind.CONFIG, compared=3, differences=(None,)),))]

    monkeypatch.setattr(audit_rounds, "read_drift", read_drift)
    monkeypatch.setattr(audit_rounds, "ClusterReader", Reader)
    told = orders_of(tmp_path, failover="{interval: 30s}", lag="{groups: 'bill.*|mail.*'}")
    orders = read_orders({**told, "socket": "/nowhere"})
    object.__setattr__(orders, "mirrors", (order_of(Flow("A", "B", mirror_version="4.3")),))

    def go(rounds=1, made=None):
        clock = Clock(rounds)
        made = made or Rounds(orders, clock=clock)
        made._clock = clock
        asyncio.run(made.run(asyncio.Event()))
        return made

    return go


def test_a_round_audits_the_wanted_groups(run):
    made = run()
    found = made.audits.flows["A->B"]
    assert {one.group for one in found.found.groups} <= {"billing", "mailer"}
    assert [one.status for one in found.found.groups if one.group == "billing"] == [Status.READY]
    assert (found.problem, made.audits.number, made._clock.waits_s) == ("", 2, [30.0])


def test_drift_is_compared_at_long_intervals_and_kept(run, target):
    made = run(3)
    assert made.audits.flows["A->B"].drift == {Kind.CONFIG: 1}
    assert made.audits.number == 4
    target.away = True
    made._clock.advance(DRIFT_S)
    assert run(1, made).audits.flows["A->B"].drift == {Kind.CONFIG: 1}


def test_a_failure_keeps_what_was_found_and_says_why(run, target):
    made = run()
    target.away = True
    run(2, made)
    found = made.audits.flows["A->B"]
    assert found.found is not None
    assert found.at is not None
    assert found.problem == "cluster B: cannot connect to any broker"
    target.away = False
    assert run(1, made).audits.flows["A->B"].problem == ""


@pytest.mark.parametrize(
    "sections", [{"failover": "{audit: false}"}, {"lag": "{commits: 'off'}"}], ids=["audit off", "lag off"]
)
def test_it_is_off(tmp_path, sections):
    assert orders_of(tmp_path, **sections) is None


@pytest.mark.parametrize(
    ("sections", "same"),
    [
        ({}, True),
        ({"http": "{reload: true}"}, True),
        ({"failover": "{interval: 20s}"}, False),
        ({"lag": "{groups: 'a.*'}"}, False),
        ({"flows": {"A->B": "{topics: 'a.*'}"}}, False),
    ],
)
def test_what_the_process_works_by(tmp_path, sections, same):
    assert (orders_of(tmp_path) == orders_of(tmp_path, **sections)) is same


def test_which_groups_are_wanted(tmp_path):
    orders = read_orders({**orders_of(tmp_path), "socket": "/nowhere"})
    assert [orders.wanted(one) for one in ("billing", "console-consumer-1")] == [True, False]


@pytest.mark.parametrize(
    ("before", "after", "drain_s"),
    [
        ({}, {}, None),
        ({0: (10, 50)}, {0: (60, 60)}, 0.0),
        ({0: (10, 50)}, {0: (60, 90)}, 6.0),
        ({0: (10, 50), 1: (0, 9)}, {0: (60, 90), 1: (5, 10)}, 10.0),
        ({0: (10, 50)}, {0: (10, 90)}, None),
        ({0: (10, 50)}, {0: (5, 90)}, None),
        ({}, {0: (10, 50)}, None),
        ({}, {0: (50, 50)}, 0.0),
    ],
)
def test_the_time_that_the_mirror_takes_for_what_waits(before, after, drain_s):
    def waiting(told):
        return {("orders", number): Waiting(*both) for number, both in told.items()}

    assert _drain_s(waiting(before), waiting(after), took_s=10.0) == drain_s
