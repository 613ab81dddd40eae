"""A log that is empty after a mirror's offset: the sentence never implies that a stopped mirror replicates."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told

DAY_S = 86_400


def emptied(*, lost, stood_s=2 * DAY_S, copy=6500):
    """Give a flow that is looked at first once retention has emptied its logs, behind a mirror that stands."""
    one = Mirrored({"orders": 1, "other": 1}, flush_s=60.0)
    for topic in ("orders", "other"):
        one.flow.windows.take(topic, 0, copy - 1, NOW - stood_s * S, live=False)
        one.ends[topic, 0] = one.starts[topic, 0] = copy + lost
        one.target_ends[f"A.{topic}", 0] = copy
    one.poll()
    return one


@pytest.mark.parametrize("lost", [1, 3000])  # the marker of a transaction, or the records of two days
def test_what_was_deleted_before_a_mirror_that_may_be_down_is_reported_as_that(lost):
    one, seen = emptied(lost=lost), set()
    for _ in range(100):
        one.go(10)
        seen.add(told(one))
    assert seen <= {(Verdict.UNKNOWN, None), (Verdict.HEALTHY, None)}  # well before it stood for so long
    assert told(one) == (Verdict.UNKNOWN, None)
    said = one.verdict().sentence
    assert said.startswith("The logs of 2 partitions (orders-0 among them) on A are empty and start after")
    assert f"Up to {2 * lost:,} records may be lost, if the mirror is down" in said
    assert one.snapshot().findings == ()


def test_a_target_that_grows_shows_a_mirror_that_writes_no_offsets():
    one = emptied(lost=3000)

    def each():
        for topic in ("orders", "other"):
            one.write(100, topic)
            one.starts[topic, 0] = one.ends[topic, 0]

    one.go(300, each=each, step=10)
    assert told(one) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


def test_a_target_that_is_no_longer_polled_shows_nothing_else():
    one = emptied(lost=3000)
    for _ in range(30):
        one.now += 10 * S
        one.flow.read_to_ms = one.now
        one.a.heads.note(one.a.places.of("orders"), one.a.heads.end[one.a.places.of("orders")], one.now)
        one.a.heads.note(one.a.places.of("other"), one.a.heads.end[one.a.places.of("other")], one.now)
    assert told(one) == (Verdict.UNKNOWN, None)
    assert "are empty and start after the mirror's newest offset" in one.verdict().sentence
