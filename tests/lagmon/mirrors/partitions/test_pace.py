"""How often a worker writes offsets, with MirrorMaker's default of a minute: restarts, crashes, idle tails."""

from __future__ import annotations

import pytest

from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.groups.rules.words import Reason
from lagmon.mirrors.answers.orders import order_of, read_mirror, write_mirror
from tests.lagmon.mirror_flows import Mirrored, S

FLUSH_S = 60
STOPPED_S = 2 * FLUSH_S + 24  # two flushes and two looks
ORDERS = [("orders", 0), ("orders", 1)]


def minutely(topics=None, **flow):
    one = Mirrored(topics, **{"flush_s": float(FLUSH_S), "status_storage_topic": "", **flow})
    one.poll()
    return one


def goes_on(one, seconds, *, writes_at=lambda _: False, of=ORDERS, copied=True, every=5):
    """Let each second bring 20 records of each partition; return verdict and cause by second, every few."""
    begun, said = one.now, {}

    def second():
        for topic, partition in of:
            one.write(20, topic, partition, copied=copied)
        at = (one.now - begun) // S
        if writes_at(at):
            for key in of:
                one.commit(*key)
        if at % every == 0:
            said[at] = told(one)

    one.go(seconds, each=second)
    return said


def flushes(at):
    return at % FLUSH_S == 0


def told(one):
    found = one.verdict()
    return found.verdict, found.cause


def first(said, verdict):
    """Return the second in which that was said first, None if it never was."""
    return next((at for at, one in said.items() if one[0] is verdict), None)


def test_a_restart_soon_after_the_first_start_shows_nothing():
    # The offsets that its end writes are the first ones; the next come a flush after it is back.
    one = minutely()
    goes_on(one, 25, writes_at=lambda at: at == 25)
    away = goes_on(one, 20, copied=False)
    back = goes_on(one, 180, writes_at=flushes)
    assert {*away.values(), *back.values()} == {(Verdict.HEALTHY, None)}


def test_a_partition_s_first_offset_is_enough_to_be_judged_by():
    one = minutely()
    goes_on(one, 25, writes_at=lambda at: at == 25)
    goes_on(one, 40)
    row = one.flow_rows()[0]
    assert (row["status"], row["reason"]) == ("OK", Reason.PAUSING.name.lower())
    assert "No progress for" in row["sentence"]
    assert "up to 2 min 24 s" in row["sentence"]


def test_a_mirror_that_dies_after_its_first_offsets_is_down_when_it_would_be_after_its_tenth():
    ends = []
    for minutes in (1, 10):
        one = minutely()
        goes_on(one, minutes * FLUSH_S, writes_at=flushes)
        said = goes_on(one, 200, copied=False)
        assert set(said.values()) == {(Verdict.HEALTHY, None), (Verdict.STALLED, Cause.MIRROR_DOWN)}
        ends.append(first(said, Verdict.STALLED))
    assert ends[0] == ends[1]
    assert STOPPED_S < ends[0] <= STOPPED_S + 20


@pytest.mark.parametrize("lag_from", ["equal-offsets", "group"])
def test_what_is_no_offset_of_a_worker_shows_no_pace_by_one(lag_from):
    one = minutely(lag_from=lag_from, group="mm1")
    goes_on(one, 25, writes_at=lambda at: at == 25)
    one.write(20, copied=False)
    one.now += 12 * S
    one.poll()
    one.flow.windows.committed_ms[one.slot()] = one.now - 5 * S
    assert one.flow_rows()[0]["reason"] == Reason.ONE_COMMIT.name.lower()


# --- a marker of a transaction at the end of a topic that is quiet then


@pytest.mark.parametrize("into_the_minute_s", [1, 12, 30, 47, 48, 59])
def test_a_quiet_tail_is_known_before_its_partition_counts_as_stopped(into_the_minute_s):
    one = minutely({"orders": 2, "bookings": 1})
    goes_on(one, 4 * FLUSH_S, writes_at=flushes)
    goes_on(one, into_the_minute_s)
    one.write(99, "bookings")
    one.write(1, "bookings", record=False)
    one.go(1)

    def writes_at(at):
        if (at + into_the_minute_s + 1) % FLUSH_S:
            return False
        if one.slot("bookings") is None:
            one.commit("bookings", to=99)
        return True

    assert set(goes_on(one, 300, writes_at=writes_at).values()) == {(Verdict.HEALTHY, None)}
    assert one.snapshot().partitions.tail[one.slot("bookings")] == 1


@pytest.mark.parametrize("into_the_minute_s", [1, 30, 59])
def test_records_that_stay_behind_at_rest_are_lag_however_well_others_go_on(into_the_minute_s):
    one = minutely({"orders": 2, "bookings": 1})
    one.write(99, "bookings")
    one.commit("bookings")
    one.poll()
    goes_on(one, into_the_minute_s)
    one.write(5, "bookings", copied=False)
    said = goes_on(one, 300, writes_at=flushes)
    assert (Verdict.STALLED, Cause.TASK_STUCK) in said.values()
    assert {Verdict.HEALTHY, Verdict.STALLED} == {verdict for verdict, _ in said.values()}
    assert first(said, Verdict.STALLED) <= STOPPED_S + 20
    assert (one.snapshot().partitions.tail[one.slot("bookings")], one.verdict().lag) == (0, 5)


@pytest.mark.parametrize("phase_s", [0, 25, 50])
def test_of_a_stalled_task_a_record_now_and_then_is_no_quiet_tail(phase_s):
    # Each record comes when the one before could pass for a tail.
    one = minutely({"orders": 1, "bookings": 1})
    begun, said = one.now, []
    for second in range(1, 701):
        one.now = begun + second * S
        one.write(20)
        stands = second >= 300 + phase_s
        if second % 100 == 0:
            one.write(1, "bookings", copied=not stands)
        if second % FLUSH_S == 0:
            one.commit()
        if second % FLUSH_S == 30 and not stands:
            one.commit("bookings")
        if second % 10 == 0:
            one.poll()
            said.append(told(one))
    stalled = said.index((Verdict.STALLED, Cause.TASK_STUCK))
    assert set(said[stalled:]) == {(Verdict.STALLED, Cause.TASK_STUCK)}


def test_of_a_stalled_task_what_comes_behind_a_quiet_tail_is_a_stall():
    one = minutely({"orders": 2, "bookings": 1})
    goes_on(one, FLUSH_S, writes_at=flushes, of=[*ORDERS, ("bookings", 0)])
    one.write(1, "bookings", record=False)
    assert set(goes_on(one, 200, writes_at=flushes).values()) == {(Verdict.HEALTHY, None)}
    one.write(1, "bookings", copied=False)
    said = goes_on(one, 200, writes_at=flushes)
    assert (Verdict.STALLED, Cause.TASK_STUCK) in said.values()
    assert first(said, Verdict.STALLED) <= STOPPED_S + 20


# --- a worker that ends and starts again every few seconds, and then stays


def crashes(one):
    return goes_on(one, 200, writes_at=lambda at: at % 8 == 0)


def test_after_many_crashes_a_worker_is_given_the_time_that_its_settings_say():
    one = minutely()
    goes_on(one, 4 * FLUSH_S, writes_at=flushes)
    said = [*crashes(one).values(), *goes_on(one, 300, writes_at=flushes).values()]
    assert set(said) == {(Verdict.HEALTHY, None)}
    assert one.snapshot().partitions.cadence_ms == FLUSH_S * S


def test_a_worker_that_dies_after_many_crashes_is_down_by_its_settings_too():
    one = minutely()
    crashes(one)
    said = goes_on(one, 200, copied=False)
    assert STOPPED_S < first(said, Verdict.STALLED) <= STOPPED_S + 20


def test_a_worker_that_is_configured_to_write_often_and_does_not_is_given_the_time_that_it_takes():
    one = minutely(flush_s=5.0)
    said = goes_on(one, 10 * FLUSH_S, writes_at=flushes)
    assert one.snapshot().partitions.cadence_ms == FLUSH_S * S
    assert {each for at, each in said.items() if at > 4 * FLUSH_S} == {(Verdict.HEALTHY, None)}


@pytest.mark.parametrize(
    "flow",
    [{"on_connect": True, "offset_storage_topic": "connect-offsets"}, {"exactly_once": True}],
    ids=["on Connect", "exactly once"],
)
def test_where_settings_do_not_say_it_a_worker_is_as_quick_as_it_is_seen_to_be(flow):
    one = minutely(**flow)
    crashes(one)
    assert one.snapshot().partitions.cadence_ms == 8 * S


def test_with_little_traffic_a_worker_s_settings_show_its_pace():
    one = minutely()
    for minute in range(0, 90, 9):  # a record every nine minutes, each stored with the next flush
        one.write(1), one.write(1, partition=1)
        one.go(60), one.poll()
        one.commit(), one.commit(partition=1)
        one.go(480), one.poll()
        assert one.snapshot().partitions.cadence_ms == FLUSH_S * S, minute


@pytest.mark.parametrize(
    ("flow", "how", "is_said"),
    [
        ({"status_storage_topic": ""}, {}, True),
        ({"status_storage_topic": "mm2-status.A.internal"}, {}, True),
        ({}, {}, False),  # written by hand, with the default
        ({"status_storage_topic": "", "exactly_once": True}, {}, False),
        ({"on_connect": True, "offset_storage_topic": "connect-offsets"}, {}, False),
        ({}, {"topic": "connect-offsets"}, False),  # whose worker's settings stand in no file of ours
        ({}, {"topic": "mm2-offsets.A.internal", "status_topic": "mm2-status.A.internal"}, False),
        ({}, {"lag_from": "offset-syncs"}, False),
        ({}, {"lag_from": "equal-offsets"}, False),
        ({}, {"lag_from": "group", "group": "mm1"}, False),
    ],
)
def test_whose_flush_is_configured(flow, how, is_said):
    order = order_of(Flow("A", "B", **flow), **how)
    assert order.flush_is_configured is is_said
    assert read_mirror(write_mirror(order)).flush_is_configured is is_said


@pytest.mark.parametrize("flush_ms", [0, 86_400_000, (1 << 62), (1 << 63) - 1])
def test_a_flow_is_judged_whatever_its_worker_is_reported_for_when_to_write(flush_ms):
    one = Mirrored(flush_s=flush_ms / 1000)
    one.poll()
    for _ in range(8):
        one.now += 10 * S
        for partition in (0, 1):
            one.write(10, partition=partition)
            one.commit(partition=partition)
        one.poll()
        assert one.verdict().verdict is Verdict.HEALTHY
