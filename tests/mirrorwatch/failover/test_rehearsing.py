"""The command `drill` over two clusters in memory: what is not seen is not reached, and the record is kept."""

from __future__ import annotations

import pytest

from fleet.errors import ConfigurationError, UnavailableError
from fleet.verdicts.flow import Flow
from lagmon.failover.rehearsal import QUIET_S
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.failover import asking, rehearsing
from tests.mirrorwatch.failover.cluster import sync
from tests.mirrorwatch.failover.test_facts import KEPT, ORDERS, source, target
from tests.runtime.fake_clock import FakeClock

__all__ = ["source", "target"]


@pytest.fixture
def drill(monkeypatch, source, target):
    """Return a function that watches; `story` has what happens after so many looks."""
    kept, syncs = [], {}
    source.ends[ORDERS] = 240  # the mirror has replicated all of it

    async def kept_syncs(_config, _flows):
        return {order.name: (syncs, [])}

    async def keep(_config, record):
        kept.append(record)
        return True

    order = order_of(Flow("A", "B", mirror_version="4.3"))
    monkeypatch.setattr(rehearsing, "orders_named", lambda _config, _flow: [order])
    monkeypatch.setattr(rehearsing, "readers_of", lambda *_: {"A": source, "B": target})
    monkeypatch.setattr(rehearsing, "_kept", keep)
    monkeypatch.setattr(asking, "_kept", kept_syncs)

    def go(story=None, *, groups=(), limit_s=200.0, stored=None):
        syncs.update(stored or {})
        clock, looks, left = FakeClock(), 0, dict(story or {})

        def sleep(_seconds):
            nonlocal looks
            looks += 1
            clock.advance(QUIET_S)
            left.pop(looks, lambda: None)()

        monkeypatch.setattr(rehearsing, "SystemClock", lambda: clock)
        monkeypatch.setattr(rehearsing.time, "sleep", sleep)
        status = rehearsing.rehearse(None, flow="A->B", groups=groups, limit_s=limit_s)
        return status, kept[-1]

    return go


def test_a_planned_failover(drill, source, capsys):
    def stop():
        source.states["billing"] = "empty"

    status, record = drill({2: stop})
    said = capsys.readouterr().out.splitlines()
    assert (status, record.complete, len(record.steps)) == (0, True, 5)
    assert [line[:6] for line in said if " of 5 " in line] == [f"{number} of 5" for number in range(1, 6)]


def test_older_offset_syncs_are_those_in_the_store(drill, source):
    source.records["mm2-offset-syncs.B.internal"] = [(b"x", None)] * 10 + [sync("orders", 0, 239, 239)]
    assert drill()[1].steps == ()
    assert drill(stored=KEPT)[1].steps[0].step == "groups ready"


def test_a_source_that_is_away_is_no_source_without_writers(drill, source, capsys):
    def leave():
        source.away = True

    status, record = drill({1: leave})
    said = capsys.readouterr().out
    assert "waits for: an answer: cluster A: cannot connect to any broker" in said
    assert (status, record.complete, [one.step for one in record.steps]) == (1, False, ["groups ready"])


def test_it_goes_on_with_a_cluster_that_answers_again(drill, source, target):
    def leave():
        target.away = True

    def come_back():
        target.away = False
        source.states["billing"] = "empty"

    assert drill({1: leave, 2: come_back})[0] == 0


def test_a_cluster_that_is_away_at_first_is_an_error(drill, source):
    source.away = True
    with pytest.raises(UnavailableError, match="cluster A"):
        drill()


def test_an_unknown_group_is_refused(drill):
    with pytest.raises(ConfigurationError, match="nobody, nothing: has no offsets of a topic"):
        drill(groups=("billing", "nobody", "nothing"))


def test_after_ctrl_c_the_record_is_kept(drill):
    def interrupt():
        raise KeyboardInterrupt

    status, record = drill({1: interrupt})
    assert (status, record.complete, record.groups) == (1, False, 1)
