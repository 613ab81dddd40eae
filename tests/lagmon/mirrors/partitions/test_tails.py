"""A mirror before the end of an idle log: whether records are left is read from the log, not guessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fleet.mm2.handling import Handling
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.status import TaskState
from lagmon.logs.readable import MOST_OFFSETS
from lagmon.logs.readable_gaps import Seen
from lagmon.mirrors.tasks.states import FAILED
from tests.lagmon.mirror_flows import Mirrored, told


def quiet(**flow):
    """Return a flow of a single partition that was mirrored, and where one offset more has come since."""
    one = Mirrored({"orders": 1}, reads=False, **flow)

    def moves():
        one.write(10)
        one.commit()

    one.poll()
    one.go(60, each=moves)
    one.write(1, copied=False)
    return one


def looked(one, *, record, committed=False):
    """Answer what is asked about ends of logs; return how many times anything was."""
    due = one.a.tails_due(one.now, committed=committed)
    readable = one.a.readable if committed else one.a.readable_uncommitted
    for asked in due:
        readable.note_asked([asked.place], one.now)
        readable.note([Seen(asked.place, asked.first, asked.first if record else asked.end, record)])
    return len(due)


def test_what_is_not_read_is_not_known_and_is_neither_a_stall_nor_well():
    one = quiet()
    said = [one.go(10).verdict() for _ in range(30)]
    assert {each.verdict for each in said} == {
        Verdict.HEALTHY,
        Verdict.UNKNOWN,
    }  # within its usual pause first
    assert (said[-1].verdict, said[-1].cause, said[-1].unknown) == (Verdict.UNKNOWN, None, 1)
    assert said[-1].sentence == (
        "Lag of 1 partition of topic orders is unknown: up to 1 record may not be replicated. Mirrorwatch has not"
        " read the log behind the mirror's offset on A yet."
    )
    assert one.flow_rows()[0]["reason"] == "unread"


def test_a_log_that_keeps_growing_is_a_stall_before_it_is_read():
    one = quiet()
    one.go(100, each=lambda: one.write(10, copied=False))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_a_stall_is_not_unknown_in_between_where_the_log_stops_growing_before_it_is_read():
    one = quiet()
    one.go(100, each=lambda: one.write(10, copied=False))
    assert {told(one.go(10)) for _ in range(10)} == {(Verdict.STALLED, Cause.MIRROR_DOWN)}
    assert looked(one, record=False) == 1
    one.go(10)
    assert told(one) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_where_the_log_holds_nothing_more_the_mirror_has_all_there_is(isolation):
    one, asked = quiet(isolation_level=isolation), 0
    for _ in range(30):
        one.go(10)
        asked += looked(one, record=False, committed=isolation == "read_committed")
        assert one.verdict().verdict is Verdict.HEALTHY
    assert asked == 1
    (tail,) = one.snapshot().partitions.tail[:1].tolist()
    assert (tail, one.verdict().lag) == (1, 0)


def test_where_the_log_holds_a_record_the_mirror_has_stalled_and_is_polled_once():
    one, asked = quiet(), 0
    for _ in range(30):
        one.go(10)
        asked += looked(one, record=True)
    assert (one.verdict().verdict, asked) == (Verdict.STALLED, 1)


def test_what_is_replicated_behind_it_goes_on_as_before():
    one = quiet()
    one.go(30)
    assert looked(one, record=False) == 1
    one.go(30)
    one.write(5)
    one.commit()
    one.go(20)
    assert (one.verdict().verdict, one.verdict().lag) == (Verdict.HEALTHY, 0)
    assert one.snapshot().partitions.tail[0] == 0


def test_a_mirror_whose_progress_stops_at_no_tail_is_not_asked_about():
    one = quiet(lag_from="equal-offsets")
    one.go(60)
    assert looked(one, record=False) == looked(one, record=False, committed=True) == 0


def aborted(count, *, then=0):
    """Return a flow of committed records alone that stands before so many aborted ones, and look at these."""
    one = quiet(isolation_level="read_committed")
    stood = one.ends["orders", 0] - 1
    one.write(count - 1, copied=False)
    one.write(then, copied=False)
    asked = 0
    for _ in range(20):
        one.go(10)
        assert then or one.verdict().verdict is Verdict.HEALTHY
        for each in one.a.tails_due(one.now, committed=True):
            asked += 1
            one.a.readable.note_asked([each.place], one.now)
            one.a.readable.note([Seen(each.place, each.first, max(each.first, stood + count), then > 0)])
    return one, stood, asked


def test_a_mirror_that_leaves_aborted_records_out_is_as_far_as_these_reach_however_many():
    one, stood, asked = aborted(50 * MOST_OFFSETS)
    assert (told(one), one.verdict().lag, asked) == ((Verdict.HEALTHY, None), 0, 1)
    one.starts["orders", 0] = stood + 50 * MOST_OFFSETS
    one.go(200)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.snapshot().findings == ()


@pytest.mark.parametrize("lost", [0, 7])
def test_aborted_records_that_are_deleted_before_a_mirror_that_leaves_them_out_are_no_loss(lost):
    count = 5 * MOST_OFFSETS
    one, stood, asked = aborted(count, then=20)
    assert (told(one), asked) == ((Verdict.STALLED, Cause.MIRROR_DOWN), 1)
    assert one.verdict().lag == 20  # records that it may read
    one.starts["orders", 0] = stood + count + lost
    one.go(30)
    found = one.snapshot().findings
    assert [(each.records, each.records_most, each.first_offset) for each in found if each.proved] == (
        [(lost, lost, stood + count)] if lost else []
    )
    assert told(one)[1] is (Cause.OVERTAKEN if lost else Cause.MIRROR_DOWN)
    assert one.flow_rows()[0]["headroom_records"] == -lost
    # It goes on behind what was deleted.
    one.target_ends["A.orders", 0] += 20 - lost
    one.commit()
    one.go(300, each=lambda: (one.write(10), one.commit()))
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.flow.detectors.retention.total["orders"] == lost


def test_a_loss_behind_aborted_records_says_where_the_next_record_was():
    one, stood, _ = aborted(5 * MOST_OFFSETS, then=20)
    first = stood + 5 * MOST_OFFSETS
    one.starts["orders", 0] = first + 7
    one.go(30)
    (found,) = one.snapshot().findings
    assert (
        f"the mirror had stored {stood} as its next offset (the next record is at {first}), and none of the"
        " records after it had reached B"
    ) in found.sentence
    assert "By the" not in one.verdict().sentence


@pytest.mark.parametrize("count", [MOST_OFFSETS + 1, 20 * MOST_OFFSETS])
@pytest.mark.parametrize("record", [True, False])
def test_a_long_tail_is_read_as_a_short_one_is(count, record):
    one = quiet()
    one.write(count, copied=False)
    one.go(30)
    assert looked(one, record=record) == 1
    one.go(100)
    lag = count + 1 if record else 0
    assert (told(one)[0], one.verdict().lag) == (Verdict.STALLED if record else Verdict.HEALTHY, lag)


def test_a_tail_grows_by_what_the_log_was_seen_to_hold_no_record_of_and_by_nothing_else():
    one = quiet(isolation_level="read_committed")
    one.go(30)
    assert looked(one, record=False, committed=True) == 1
    one.go(30)
    assert one.flow_rows()[0]["sentence"].endswith(
        "The last 1 offset before that holds no record: transaction markers, aborted or compacted records."
    )
    one.write(2 * MOST_OFFSETS, copied=False)
    one.go(10)
    assert one.snapshot().partitions.tail[0] == 1
    one.go(30)
    assert looked(one, record=False, committed=True) == 1
    row = one.go(10).flow_rows()[0]
    assert (row["tail_records"], row["reason"], row["status"]) == (1 + 2 * MOST_OFFSETS, "caught_up", "OK")
    one.write(1, copied=False)
    row = one.go(10).flow_rows()[0]
    assert (row["tail_records"], row["next_offset"], row["end_offset"]) == (
        1 + 2 * MOST_OFFSETS,
        60 * 10,
        60 * 10 + 2 + 2 * MOST_OFFSETS,
    )


# --- records that a transform drops at the end of a partition


DROPS = Handling(drops=("Filter",))


def filtered(count=5, **flow):
    """Return a flow whose mirror drops the last records of `orders`, while `other` goes on."""
    one = Mirrored({"orders": 1, "other": 1}, handling=DROPS, **flow)
    one.poll()
    goes_on(one, 60, "orders", "other")
    one.write(count, copied=False)
    return one


def goes_on(one, seconds, *topics):
    def each():
        for topic in topics:
            one.write(10, topic)
            one.commit(topic)

    return one.go(seconds, each=each)


@pytest.mark.parametrize("count", [1, 5, 3 * MOST_OFFSETS])
@pytest.mark.parametrize("flow", [{}, {"isolation_level": "read_committed"}, {"lag_from": "offset-syncs"}])
def test_records_dropped_at_the_tail_are_lag_although_others_go_on(count, flow):
    one = filtered(count, **flow)
    said = {told(goes_on(one, 10, "other")) for _ in range(30)}
    assert said <= {(Verdict.HEALTHY, None), (Verdict.STALLED, Cause.FILTERED)}
    assert told(one) == (Verdict.STALLED, Cause.FILTERED)
    assert one.verdict().lag == count
    row = one.flow_rows()[0]
    assert (row["topic"], row["lag_records"], row["tail_records"], row["status"]) == (
        "orders",
        count,
        0,
        "STOP",
    )
    assert row["lag_s"] >= 290
    assert "The mirror applies Filter, which may drop them" in one.verdict().sentence
    # Once it copies a record behind them it has passed them: whether they are missing an audit tells.
    one.write(1)
    one.commit()
    goes_on(one, 20, "other")
    assert (told(one), one.verdict().lag) == ((Verdict.HEALTHY, None), 0)


def test_of_a_mirror_without_such_a_transform_the_task_hangs():
    one = filtered()
    one.flow.order = replace(one.flow.order, flow=replace(one.flow.order.flow, handling=Handling()))
    goes_on(one, 200, "other")
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_where_the_log_grows_behind_the_offset_it_is_no_tail():
    one = filtered()
    one.go(200, each=lambda: (one.write(1, "other"), one.commit("other"), one.write(1, copied=False)))
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_where_nothing_else_is_written_the_mirror_may_be_down_or_drop_them():
    one = filtered()
    one.go(200)
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "Or it runs, and Filter drops these records" in one.verdict().sentence


def test_a_filtered_tail_does_not_hide_a_topic_that_the_log_shows_to_be_empty_of_records():
    one = filtered()
    one.write(3, "other", record=False)
    goes_on(one, 200, "orders")
    assert one.flow_rows()[1]["status"] == "OK"


# --- a log that Mirrorwatch may not read


def refused(count=1, **flow):
    one = filtered(0, **flow)
    one.refused = {"orders"}
    one.write(count, copied=False)
    return one


@pytest.mark.parametrize("flow", [{}, {"isolation_level": "read_committed"}])
def test_of_a_log_that_may_not_be_read_it_is_unknown_whether_the_mirror_is_behind(flow):
    one = refused(5, **flow)
    said = [goes_on(one, 10, "other").verdict() for _ in range(60)]
    assert {each.verdict for each in said} == {Verdict.HEALTHY, Verdict.UNKNOWN}
    assert [each.verdict for each in said[6:]] == [Verdict.UNKNOWN] * 54
    assert said[-1].sentence == (
        "Lag of 1 partition of topic orders is unknown: up to 5 records may not be replicated. Mirrorwatch has no"
        " READ permission on topic orders on A, so it cannot distinguish records from transaction markers there;"
        " grant READ."
    )
    assert (said[-1].cause, said[-1].unknown) == (None, 1)
    row = one.flow_rows()[0]
    assert (row["status"], row["reason"]) == ("UNKNOWN", "unread")
    assert "Mirrorwatch has no READ permission on topic orders on A" in row["sentence"]
    one.refused = set()
    goes_on(one, 30, "other")
    assert told(one) == (Verdict.STALLED, Cause.FILTERED)


def test_a_refused_log_that_the_mirror_has_replicated_to_its_end_is_well():
    one = refused(0)
    goes_on(one, 300, "other")
    assert told(one) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("pace_s", [1, 7, 25])
def test_a_refused_log_that_keeps_growing_behind_the_offset_is_a_stall_and_stays_one(pace_s):
    one = refused(0)
    at = {"s": 0}

    def each():
        one.write(10, "other"), one.commit("other")
        at["s"] += 1
        if at["s"] % pace_s == 0:
            one.write(1, copied=False)

    said = [one.go(10, each=each).verdict().verdict for _ in range(40)]
    assert said[-1] is Verdict.STALLED
    stalled = said.index(Verdict.STALLED)
    assert set(said[stalled:]) == {Verdict.STALLED}
    assert Verdict.LOSING not in said


def test_what_is_wrong_elsewhere_goes_first_and_the_missing_permission_is_reported_with_it():
    one = refused(1)
    one.write(5, "other", copied=False)
    one.go(200)
    assert told(one)[0] is Verdict.STALLED
    assert one.verdict().sentence.count("no READ permission on topic orders") == 1


def test_a_failed_task_with_nothing_but_a_refused_tail_keeps_nobody_waiting():
    one = refused(1)
    goes_on(one, 200, "other")
    one.flow.states.take(TaskState("MirrorSourceConnector", 0, FAILED, "Why"), one.now)
    one.go(60)
    assert told(one) == (Verdict.UNKNOWN, None)


def test_many_topics_without_permission_are_one_statement():
    names = [f"t{number}" for number in range(6)]
    one = Mirrored({**dict.fromkeys(names, 2), "other": 1}, handling=DROPS)
    one.poll()
    for name in names:
        for partition in (0, 1):
            one.write(10, name, partition)
            one.commit(name, partition)
    goes_on(one, 30, "other")
    one.refused = set(names)
    for name in names:
        for partition in (0, 1):
            one.write(1, name, partition, record=False)
    goes_on(one, 200, "other")
    assert one.verdict().sentence == (
        "Lag of 12 partitions of topics t0, t1, t2 and 3 more is unknown: up to 12 records may not be replicated."
        " Mirrorwatch has no READ permission on topics t0, t1, t2 and 3 more on A, so it cannot distinguish"
        " records from transaction markers there; grant READ."
    )


# --- many quiet partitions


def test_of_thousands_of_quiet_partitions_none_is_an_alarm_before_it_is_read():
    count = 1_300  # more than are read at a time
    one = Mirrored({"orders": count, "other": 1})
    for partition in range(count):
        one.write(10, partition=partition)
        one.commit(partition=partition, live=False)
        one.write(1, partition=partition, record=False)
    one.write(10, "other"), one.commit("other")
    said, read = [], []
    for _ in range(20):
        goes_on(one, 10, "other")
        found = one.verdict()
        said.append(found.verdict)
        read.append(count - found.unknown)
    assert set(said) <= {Verdict.HEALTHY, Verdict.UNKNOWN}
    assert said[-1] is Verdict.HEALTHY
    assert int(one.snapshot().partitions.tail.sum()) == count


# --- a log that was read and is another one now


def test_what_was_read_of_a_log_that_loses_its_end_does_not_count_for_what_is_written_there_later():
    one = filtered(0)
    one.write(3, record=False)
    goes_on(one, 60, "other")
    assert one.snapshot().partitions.tail[one.slot()] == 3
    one.ends["orders", 0] -= 2  # an unclean election
    one.a.tails.note_ends(np.array(one.a.places.of("orders")), np.array([one.ends["orders", 0]]))
    goes_on(one, 20, "other")
    one.no_record.clear()
    one.write(2, copied=False)
    goes_on(one, 100, "other")
    assert told(one) == (Verdict.STALLED, Cause.FILTERED)
    assert one.verdict().lag >= 2


def test_what_was_read_of_an_old_topic_does_not_count_for_the_new_one():
    one = filtered(0)
    one.a.note_id("orders", "old", one.now)
    one.flow.note_ids("A", {"orders": "old"}, one.now)
    one.write(3, record=False)
    goes_on(one, 60, "other")
    assert one.snapshot().partitions.tail[one.slot()] == 3
    one.no_record.clear()
    one.flow.note_ids("A", {"orders": "new"}, one.now)
    one.a.note_id("orders", "new", one.now)
    one.commit(to=one.ends["orders", 0] - 3)
    goes_on(one, 100, "other")
    assert (told(one)[0], one.verdict().lag) == (Verdict.STALLED, 3)
