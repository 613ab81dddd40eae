"""One flow judged from its offsets: lag when they were written, tails, cadence, loss, what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.groups.rules.words import Status
from lagmon.mirrors.partitions.snapshot import LEAST_MS
from lagmon.mirrors.partitions.window import observed_cadence_ms
from tests.lagmon.mirror_flows import Mirrored, S, told


@pytest.fixture
def flow():
    """Give a flow of two partitions with 100 records a second each, all copied and committed at once."""
    one = Mirrored()
    one.poll()
    return one.rest().go(58, each=lambda: busy(one))


def busy(one, *, partitions=(0, 1), commits=(0, 1), copied=True):
    for partition in partitions:
        one.write(100, partition=partition, copied=copied)
    for partition in commits:
        one.commit(partition=partition)


def test_a_mirror_that_keeps_up_has_no_lag_however_old_the_poll_at_the_log_is(flow):
    assert told(flow) == (Verdict.HEALTHY, None)
    assert flow.verdict().lag == 0
    # The last look is 9 s old and the mirror 900 records past the end seen then: still no lag, and no doubt.
    flow.go(9, each=lambda: busy(flow), poll=100)
    assert told(flow) == (Verdict.HEALTHY, None)
    assert (flow.verdict().lag, flow.verdict().lag_s) == (0, 0.0)


def test_lag_is_taken_when_the_offset_was_written_and_not_a_flush_later():
    # Offsets every 60 s, everything copied at once: against the present end lag would be a sawtooth to 6,000.
    one = Mirrored(flush_s=60.0)
    one.poll()
    worst = 0
    for second in range(1, 601):
        one.go(1, each=lambda: busy(one, commits=()), poll=100)
        if second % 60 == 7:
            one.commit(), one.commit(partition=1)
        if second % 10 == 0:
            one.poll()
            if second > 80:
                verdict = one.verdict()
                assert verdict.verdict is Verdict.HEALTHY, verdict.sentence
                worst = max(worst, verdict.lag)
    # The end is a line between two looks, so the lag is right to a few records of 100 a second.
    assert worst <= 2


def test_a_real_lag_is_reported_in_records_and_seconds_of_that_time(flow):
    def behind():
        busy(flow, commits=())
        flow.commit(to=flow.ends["orders", 0] - 700)
        flow.commit(partition=1)

    flow.go(60, each=behind)
    verdict = flow.verdict()
    assert verdict.lag == pytest.approx(700, abs=5)
    assert verdict.lag_s == pytest.approx(7, abs=0.2)
    assert verdict.verdict is Verdict.HEALTHY


def test_no_verdict_inside_twice_the_cadence_then_stalled():
    one = Mirrored(flush_s=60.0)
    one.poll()
    beat = {"n": 0}

    def minute():
        busy(one, commits=())
        beat["n"] += 1
        if beat["n"] % 60 == 0:
            one.commit(), one.commit(partition=1)

    one.go(600, each=minute)
    assert observed_cadence_ms(one.flow.windows, 1) == 60 * S
    last = one.now
    while one.verdict().verdict is not Verdict.STALLED:
        one.go(1, each=lambda: busy(one, commits=(), copied=False), poll=1)
        assert one.now - last < 300 * S
    assert one.now - last > 2 * 60 * S
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_a_worker_that_was_restarted_does_not_keep_to_shorter_times():
    # It writes offsets at each end too: one that writes each minute is no quicker for it, and does not stand.
    one = Mirrored(flush_s=60.0)
    one.poll()
    beat = {"n": 0, "next": 5}

    def second():
        busy(one, commits=())
        beat["n"] += 1
        if beat["n"] == beat["next"]:
            one.commit(), one.commit(partition=1)
            beat["next"] += 5 if beat["n"] < 30 else 60
        if beat["n"] % 5 == 0:
            seen.add(one.verdict().verdict)

    seen = set()
    one.go(25, each=second)
    seen.clear()  # nothing to judge by in the beginning
    one.go(400, each=second)
    assert seen == {Verdict.HEALTHY}


@pytest.mark.parametrize("flush_s", [5, 60])
def test_more_records_under_way_each_time_are_no_falling_behind_and_seconds_are(flush_s):
    def watched(behind):
        one = Mirrored(flush_s=float(flush_s))
        one.poll()
        beat, seen = {"n": 0}, set()

        def second():
            busy(one, commits=())
            beat["n"] += 1
            if beat["n"] % flush_s == 0:
                left = behind(beat["n"] // flush_s)
                one.commit(to=max(1, one.ends["orders", 0] - left)), one.commit(partition=1)
            if beat["n"] % 10 == 0 and beat["n"] > 3 * flush_s:
                seen.add(told(one)[0])

        one.go(20 * flush_s, each=second)
        return seen

    assert watched(lambda turn: 20 * turn) == {Verdict.HEALTHY}  # 4 s at most, of a hundred records each
    assert Verdict.LATE in watched(lambda turn: 300 * turn)


def test_a_stalled_mirror_is_down_and_its_lag_grows_until_it_is_back(flow):
    began = flow.now
    flow.go(90, each=lambda: busy(flow, commits=(), copied=False))
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert flow.verdict().status is Status.STOP
    assert flow.verdict().lag == 2 * 90 * 100
    assert flow.verdict().lag_s == pytest.approx((flow.now - began) / S, abs=1)
    flow.go(20, each=lambda: busy(flow))
    assert told(flow) == (Verdict.HEALTHY, None)


def test_some_partitions_that_are_stalled_while_others_move_are_a_stuck_task(flow):
    flow.go(60, each=lambda: busy(flow, commits=(1,)) or flow.target_ends.update({("A.orders", 0): 6000}))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert "1 partition of orders" in flow.verdict().sentence


def test_offsets_that_do_not_move_while_the_target_advances_are_not_committed_and_no_stall(flow):
    flow.go(90, each=lambda: busy(flow, commits=()))
    assert told(flow) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)
    assert "replicate them again" in flow.verdict().sentence


def test_a_target_that_grows_by_more_than_what_waits_does_not_hide_a_stuck_partition(flow):
    def fed():
        busy(flow, commits=(1,))
        flow.target_ends["A.orders", 0] += 200  # of producers

    flow.go(120, each=fed)
    assert told(flow) == (Verdict.STALLED, Cause.TASK_STUCK)


@pytest.mark.parametrize(
    ("topics", "cause"), [("orders", Cause.TASK_STUCK), ("others", Cause.OFFSETS_NOT_COMMITTING)]
)
def test_a_target_that_another_flow_writes_too_does_not_show_that_offsets_are_not_committed(topics, cause):
    plain = ReplicationPolicy(PolicyKind.IDENTITY)
    one = Mirrored({"orders": 2}, target={"orders": 2}, policy=plain)
    one.b.flows = (
        one.flow.order.flow,
        Flow("C", "B", mirror_version="4.3", policy=plain, topic_filter=TopicFilter(topics, "", None)),
    )

    def both(commits=(1,)):
        busy(one, commits=commits, copied=False)
        for partition in (0, 1):
            one.target_ends["orders", partition] += 100

    one.poll()
    one.go(60, each=lambda: both((0, 1)))
    one.go(60, each=both)
    assert one.verdict().cause is cause


def test_one_that_stops_to_replicate_after_it_stopped_to_commit_is_a_stall(flow):
    flow.go(90, each=lambda: busy(flow, commits=()))
    flow.go(60, each=lambda: busy(flow, commits=(), copied=False))
    assert told(flow) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)
    flow.go(60, each=lambda: busy(flow, commits=(), copied=False))
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_a_mirror_that_died_after_it_replicated_for_a_while_without_offsets_is_a_stall():
    one = Mirrored(flush_s=60.0)
    one.poll()
    beat = {"n": 0}

    def minute():
        busy(one, commits=())
        beat["n"] += 1
        if beat["n"] % 60 == 0:
            one.commit(), one.commit(partition=1)

    one.go(600 + 45, each=minute)  # most of a minute is copied and not committed
    one.go(200, each=lambda: busy(one, commits=(), copied=False))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)


@pytest.mark.parametrize("records", [1, 40])
def test_a_quiet_tail_is_no_stall_and_no_lag(flow, records):
    # Markers or aborted records at the end of a partition that then is idle.
    flow.write(records, record=False)
    seen = set()
    for _ in range(60):
        flow.go(10, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
        seen.add(told(flow))
    assert seen == {(Verdict.HEALTHY, None)}
    assert flow.verdict().lag == 0
    slot = flow.slot()
    assert flow.snapshot().partitions.tail[slot] == records
    # What comes later counts: the mirror passes the tail with it, or stands.
    flow.write(1)
    flow.commit()
    flow.go(30, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
    assert told(flow) == (Verdict.HEALTHY, None)
    assert flow.snapshot().partitions.tail[slot] == 0
    assert flow.flow.windows.next_offset[slot] == flow.ends["orders", 0]


def test_what_is_written_behind_a_tail_and_is_not_passed_is_a_stall(flow):
    flow.write(1, record=False)
    flow.go(120, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
    assert told(flow) == (Verdict.HEALTHY, None)
    flow.write(5, copied=False)
    flow.go(LEAST_MS // S + 40, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert flow.verdict().lag == 5


def test_an_idle_partition_of_a_mirror_that_is_down_is_no_quiet_tail(flow):
    flow.write(3, copied=False)
    flow.go(90)
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_retention_that_overtakes_is_reported_with_the_exact_number_of_each_partition(flow):
    stood = flow.ends["orders", 0]
    flow.go(60, each=lambda: busy(flow, commits=(), copied=False))
    flow.starts = {("orders", 0): stood + 4321, ("orders", 1): stood}
    flow.go(10, each=lambda: busy(flow, commits=(), copied=False))
    verdict = flow.verdict()
    assert (verdict.status, verdict.verdict, verdict.cause) == (Status.ERR, Verdict.STALLED, Cause.OVERTAKEN)
    assert "4,321 records" in verdict.sentence
    assert [(one.topic, one.partition, one.records) for one in flow.snapshot().overtaken] == [
        ("orders", 0, 4321)
    ]
    # More goes: the same loss grows. Then the mirror is back, and the loss is still told.
    flow.starts["orders", 0] += 79
    flow.go(10, each=lambda: busy(flow, commits=(), copied=False))
    flow.go(30, each=lambda: busy(flow))
    assert told(flow) == (Verdict.HEALTHY, None)
    assert [one.records for one in flow.snapshot().overtaken] == [4400]
    assert flow.flow.detectors.retention.total["orders"] == 4400


def test_what_was_replicated_after_the_last_offsets_is_no_loss_and_counted_once(flow):
    stood = flow.ends["orders", 0]
    flow.write(22)  # copied, and not committed when the mirror froze
    flow.go(60, each=lambda: busy(flow, commits=(), copied=False))
    flow.starts = {("orders", 0): stood + 123}
    flow.go(10)
    assert [one.records for one in flow.snapshot().overtaken] == [101]
    assert flow.flow.detectors.retention.total["orders"] == 0  # how much it is shows when the mirror goes on
    flow.commit(to=stood + 22)
    flow.go(10)
    flow.go(30, each=lambda: busy(flow))
    assert [one.records for one in flow.snapshot().overtaken] == [101]
    assert flow.flow.detectors.retention.total["orders"] == 101


def test_a_marker_at_the_end_that_retention_deletes_is_no_loss(flow):
    flow.write(1, record=False)
    flow.go(60, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
    flow.starts = {("orders", 0): flow.ends["orders", 0]}
    flow.go(60, each=lambda: busy(flow, partitions=(1,), commits=(1,)))
    assert told(flow) == (Verdict.HEALTHY, None)
    assert flow.snapshot().overtaken == ()


def test_an_offset_that_goes_back_repeats(flow):
    flow.commit(to=200)
    flow.target_ends["A.orders", 0] += 5800  # all that comes again
    flow.go(10, each=lambda: busy(flow, commits=(1,)))
    assert told(flow) == (Verdict.REPEATING, Cause.DUPLICATING)


def test_a_recreated_topic_is_reported_by_its_id_and_is_no_repetition(flow):
    flow.flow.note_ids("A", {"orders": "one"}, flow.now)
    flow.a.note_id("orders", "one", flow.now)
    flow.now += S
    flow.flow.note_ids("A", {"orders": "two"}, flow.now)
    flow.a.note_id("orders", "two", flow.now)
    flow.ends["orders", 0] = flow.ends["orders", 1] = 9000
    flow.go(10)
    assert told(flow) == (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)
    # The new log is longer than the offset of the old one: 3,000 records to copy would be wrong.
    assert flow.verdict().lag == -1
    assert "may belong to the old topic" in flow.flow_rows()[0]["sentence"]
    flow.ends["orders", 0] = flow.ends["orders", 1] = 50
    flow.commit(), flow.commit(partition=1)
    flow.go(10, each=lambda: busy(flow))
    # Nothing of the old log is left in the windows: nothing went back.
    assert flow.flow.windows.rings.offset[flow.slot()].max() == flow.ends["orders", 0] == 1050
    assert told(flow) == (Verdict.HEALTHY, None)
    assert "orders on A was re-created" in flow.verdict().sentence
    flow.go(900, each=lambda: busy(flow), step=5)
    assert "made anew" not in flow.verdict().sentence


def test_the_side_that_was_recreated_is_reported(flow):
    flow.flow.note_ids("B", {"A.orders": "one"}, flow.now)
    flow.flow.note_ids("B", {"A.orders": "two"}, flow.now)
    assert [one.side for one in flow.flow.topics.recreations] == ["target"]
    assert "A.orders on B was re-created" in flow.snapshot().findings[0].sentence


def test_a_partition_that_the_target_lacks_explains_what_is_stalled():
    one = Mirrored({"orders": 2}, target={"A.orders": 1})
    one.poll()
    one.go(60, each=lambda: both(one))
    one.go(90, each=lambda: [one.write(100, partition=number, copied=False) for number in (0, 1)])
    assert told(one) == (Verdict.STALLED, Cause.PARTITION_MISSING)
    assert "A.orders on B has only 1 of" in one.verdict().sentence


@pytest.mark.parametrize(
    ("writes_on", "is_listed_again", "cause"),
    [
        (True, False, Cause.MIRROR_DOWN),
        (False, False, Cause.MIRROR_DOWN),  # it may have been made before the mirror stood
        (False, True, Cause.TOPIC_MISSING),
    ],
)
def test_a_target_that_the_mirror_has_made_since_topics_were_listed_explains_nothing(
    writes_on, is_listed_again, cause
):
    one = Mirrored({"orders": 1}, target={"A.other": 1})
    one.a.note_topics({"orders": 1}, one.now)
    one.b.note_topics({"A.other": 1}, one.now)
    one.poll = lambda **_: look_at_source(one)
    one.poll()
    one.write(100, copied=False)
    one.commit()
    one.snapshot()
    for _ in range(20):
        one.now += S
        one.write(100, copied=False)
        if writes_on:
            one.commit()
        one.poll()
        one.snapshot()
    for _ in range(90):
        one.now += S
        one.write(100, copied=False)
        one.poll()
        if is_listed_again and one.b.list_awaited:
            one.b.note_topics({"A.other": 1}, one.now)
        one.snapshot()
    assert told(one) == (Verdict.STALLED, cause)
    assert (one.b.list_awaited == set()) is is_listed_again


def look_at_source(one):
    place = np.array(one.a.places.of("orders"), np.int32)
    one.a.heads.note(place, np.array([one.ends["orders", 0]]), one.now)
    one.a.heads.note_stable(place, np.array([one.ends["orders", 0]]))
    one.flow.read_to_ms = one.now


def both(one):
    one.write(100)
    one.write(100, partition=1, copied=False)
    one.commit(), one.commit(partition=1)


def test_a_topic_without_an_offset_is_listed_at_once_and_a_stall_after_the_mirror_had_time():
    one = Mirrored({"orders": 2, "new": 1}, refresh_topics_interval_s=600.0)
    one.target_ends["A.new", 0] = 3  # of another time: it is not one of which all is left out
    one.poll()
    one.write(7, "new", copied=False)
    one.go(60, each=lambda: busy(one))
    assert [(m.code, m.topic) for m in one.snapshot().missing] == [("not_mirrored", "new")]
    assert told(one) == (Verdict.HEALTHY, None)
    one.go(720, each=lambda: busy(one))
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    since = one.snapshot().missing[0].since_ms
    assert one.now - since > 700 * S


def test_a_topic_that_never_had_a_record_is_not_missed():
    one = Mirrored({"orders": 2, "empty": 1})
    one.poll()
    one.go(900, each=lambda: busy(one), step=5)
    assert one.snapshot().missing == ()
    assert told(one) == (Verdict.HEALTHY, None)


def test_nothing_is_reported_before_the_offsets_are_read_nor_when_they_are_read_no_more(flow):
    fresh = Mirrored()
    fresh.poll()
    fresh.flow.read_to_ms = -1
    assert told(fresh) == (Verdict.UNKNOWN, None)
    read_to = flow.flow.read_to_ms
    flow.go(90, each=lambda: busy(flow))
    flow.flow.read_to_ms = read_to
    assert told(flow) == (Verdict.UNKNOWN, None)
    assert "commits are read only up to" in flow.verdict().sentence
    flow.flow.problem = "They may not be read."
    assert flow.verdict().sentence.endswith(" UTC. They may not be read.")


def test_a_worker_that_writes_offsets_all_the_time_is_judged_like_any_other():
    one = Mirrored()
    one.poll()

    def often():
        one.write(1), one.write(1, partition=1)
        one.commit(), one.commit(partition=1)

    for _ in range(3000):  # ten a second
        one.now += 100
        often()
        if one.now % 10_000 == 0:
            one.poll()
            assert one.verdict().lag == 0
            assert told(one)[0] in (Verdict.HEALTHY, Verdict.UNKNOWN)
    assert told(one) == (Verdict.HEALTHY, None)


def test_an_offset_of_a_topic_that_the_flow_skips_says_nothing():
    # It stays in the worker's topic for good, and the source goes on to write to its own.
    one = Mirrored({"orders": 1, "old": 1}, topic_filter=TopicFilter("orders", "", None))
    one.poll()
    one.commit("old", to=1)

    def each():
        one.write(10)
        one.commit()
        one.write(10, "old", copied=False)

    one.go(120, each=each)
    assert told(one) == (Verdict.HEALTHY, None)
    assert [row["topic"] for row in one.flow_rows()] == ["orders"]


def test_offsets_that_were_taken_away_and_come_back_in_another_order_are_of_their_own_logs(flow):
    flow.go(10, each=lambda: busy(flow))
    flow.write(1000, partition=1)
    for partition in (1, 0):
        flow.flow.windows.reset("orders", partition)
    for partition in (1, 0):
        flow.commit(partition=partition)
    flow.poll()
    assert [row["end_offset"] for row in flow.flow_rows()] == [
        flow.ends["orders", 0],
        flow.ends["orders", 1],
    ]


def test_the_largest_offset_that_a_record_can_show_is_no_fact_and_ends_no_reader(flow):
    flow.flow.windows.take("orders", 0, (1 << 63) - 1, flow.now, live=True)
    flow.poll()
    assert told(flow) == (Verdict.UNKNOWN, None)
