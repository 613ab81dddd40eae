"""How soon retention reaches the unreplicated records of a stalled mirror, in its verdict."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.words import How
from tests.lagmon.mirror_flows import Mirrored, S, busy, busy_for_a_minute

HOUR = 3600 * S
REACHES = "Retention deletes unreplicated records of"


def stamps(one, kind, *topics):
    """Let the source stamp records when it appends them (LogAppendTime), or keep their own timestamps."""
    for topic in topics or ("orders",):
        one.flow.settings.types[topic, "source"] = kind


def find_stalls(seconds=120, *, retention_ms=HOUR, kind="LogAppendTime"):
    """Return a flow whose mirror stands for so long, while records come to both partitions."""
    one = busy_for_a_minute()
    stamps(one, kind)
    if retention_ms is not None:
        one.flow.retention_ms["orders"] = retention_ms
    one.go(seconds, each=lambda: busy(one, moves=()))
    return one


@pytest.mark.parametrize(
    ("retention_ms", "when"),
    [
        (HOUR, "in 58 min."),
        (7 * 24 * HOUR, "in 6 d 23 h."),
        (60 * S, "any time now."),
        (0, "any time now."),
    ],
)
def test_a_stalled_mirror_is_reported_with_the_time_that_is_left(retention_ms, when):
    assert f"{REACHES} orders-0 {when}" in find_stalls(retention_ms=retention_ms).verdict().sentence


@pytest.mark.parametrize("kind", ["CreateTime", None])
def test_the_time_that_is_left_is_an_estimate_where_records_have_timestamps_of_their_own(kind):
    one = find_stalls(kind=kind)
    assert f"{REACHES} orders-0 in about 58 min." in one.verdict().sentence
    row = one.flow_rows()[0]
    assert (row["headroom_from"], row["headroom_by_polls"]) == (How.BY_RETENTION, True)
    stamps(one, "LogAppendTime")
    assert not one.flow_rows()[0]["headroom_by_polls"]


def test_of_a_mirror_that_is_well_nothing_is_reported():
    one = busy_for_a_minute()
    one.flow.retention_ms["orders"] = 120 * S
    one.write(10)
    assert REACHES not in one.verdict().sentence


@pytest.mark.parametrize("retention_ms", [None, -1])
def test_where_no_retention_is_known_and_nothing_is_deleted_nothing_is_reported(retention_ms):
    assert REACHES not in find_stalls(retention_ms=retention_ms).verdict().sentence


def test_where_the_log_starts_move_their_speed_shows():
    one = find_stalls(retention_ms=-1)

    def each():
        busy(one, moves=())
        one.starts["orders", 1] = one.starts.get(("orders", 1), 0) + 20

    one.go(60, each=each)
    assert f"{REACHES} orders-1 in " in one.verdict().sentence
    assert "at the present rates." in one.verdict().sentence


def test_offsets_that_are_not_written_are_nothing_that_waits():
    one = busy_for_a_minute()
    one.flow.retention_ms["orders"] = HOUR
    one.go(300, each=lambda: busy(one, commits=()))
    assert one.verdict().cause is Cause.OFFSETS_NOT_COMMITTING
    assert REACHES not in one.verdict().sentence


@pytest.mark.parametrize("moving", [False, True])
def test_the_topic_with_the_shortest_retention_is_reported_and_not_the_one_that_waits_longest(moving):
    """Nor one of those that are deleted from all the time, as all are after a while."""
    names = [f"topic-{number}" for number in range(200)]
    late = "topic-150"
    one = Mirrored(dict.fromkeys(names, 1))
    one.flow.retention_ms |= dict.fromkeys(names, 24 * HOUR) | {late: 6 * HOUR}
    stamps(one, "LogAppendTime", *names)
    one.poll()
    for turn in range(8):
        for name in names:
            one.write(10, name)
            one.commit(name)
            if moving:
                one.starts[name, 0] = turn // 4
        one.go(10)
    for name in names:
        if name != late:
            one.write(10, name, copied=False)
    one.go(60)
    one.write(10, late, copied=False)
    one.go(240)
    assert f"{REACHES} {late}-0 in 5 h 56 min." in one.verdict().sentence
