"""The samples of a minute: as many in each, however long a round takes, and what they hold of audits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from alerts.minutes import SAMPLE_S, Sample
from mirrorwatch.audits.flow_audit import TopicAudit
from mirrorwatch.history.minute_keeping import MinuteKeeping, measured_of
from tests.runtime.fake_clock import FakeClock

NO_POINT_YET = SimpleNamespace(recovery_point_age_s=1.0)


class EndError(Exception):
    """Ends a loop that would not end."""


async def test_a_round_that_takes_long_leaves_no_minute_partly_observed():
    clock = FakeClock(wall_s=1_790_000_003.0)
    rows = []

    def samples():
        clock.advance(0.4)  # of work in each round
        if len(rows) == 5:
            raise EndError
        return {"A->B": Sample(lag_s=1.0)}

    async def write(wanted):
        rows.extend(wanted.keywords.get("rows", ()))
        return False

    keeping = MinuteKeeping(
        SimpleNamespace(write=write),
        replica="r",
        incarnation="a1",
        keep_s=86_400.0,
        clock=clock,
        reporter=SimpleNamespace(problem=print, settled=print),
        samples=samples,
    )
    with pytest.raises(EndError):
        await keeping.keep()
    assert max(clock.waits_s) <= SAMPLE_S
    assert [row.observed_s for _, row in rows[1:]] == [60] * 4


def test_an_audit_is_as_old_as_a_topic_that_was_never_complete():
    prober = SimpleNamespace(
        flows={"A->B": SimpleNamespace(watch=SimpleNamespace(summary=lambda _ns: NO_POINT_YET))}
    )
    topics = {"orders": TopicAudit(200.0, 1.0, {}, 200.0), "payments": TopicAudit(100.0, 0.1, {}, None)}
    held = SimpleNamespace(topics=topics, runs=(SimpleNamespace(topics=topics),))
    for audits, audited_at in (({}, None), ({"A->B": held}, 100.0)):
        found = measured_of(prober, {}, audits, now=SimpleNamespace(ns=0))
        assert found["A->B"].audited_at == audited_at
