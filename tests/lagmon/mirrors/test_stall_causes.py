"""Why partitions of a flow are stalled: what explains it, what does not, and what was so before the stall."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.status import TaskState
from lagmon.mirrors.tasks.states import FAILED, PAUSED, STOPPED, UNASSIGNED, Start, Trouble
from tests.lagmon.mirror_flows import Mirrored, S, busy, busy_for_a_minute, told

MINE = "MirrorSourceConnector"


@pytest.fixture
def flow():
    return busy_for_a_minute()


def written(one, state, task=0):
    one.flow.states.take(TaskState(MINE, task, state, "Why"), one.now)


def looked(one, state, task=None, *, start=Start.SEEN, ago_s=0):
    one.flow.states.take_rest([Trouble(task, state, one.now - ago_s * S, "Why", start)], one.now)


# --- the target does not answer


@pytest.mark.parametrize("watched_s", [60, 2400])
def test_a_stall_is_reported_although_the_target_does_not_answer(watched_s):
    one = Mirrored()
    one.poll()
    one.rest().go(watched_s + 6, each=lambda: busy(one))  # its newest offsets are newer than all looks
    begun, notes = one.now, one.b.heads.note
    one.b.heads.note = lambda *_: None
    while one.now - begun < 60 * S:
        one.go(10, each=lambda: busy(one, moves=()))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    one.b.heads.note = notes
    one.go(60, each=lambda: busy(one, commits=()))  # it moves, and its offsets are not written
    assert told(one) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


# --- somebody halted it


@pytest.mark.parametrize(
    ("state", "task", "moves", "who"),
    [
        (PAUSED, None, (), f"The connector {MINE} is PAUSED since"),
        (STOPPED, None, (), f"The connector {MINE} is STOPPED since"),
        (PAUSED, 1, (0,), f"Task 1 of {MINE} is PAUSED since"),
    ],
)
def test_what_is_stalled_because_an_operator_halted_it_is_reported_so(flow, state, task, moves, who):
    looked(flow, state, task)
    flow.go(90, each=lambda: busy(flow, moves=moves))
    assert told(flow) == (Verdict.STALLED, Cause.PAUSED)
    sentence = flow.verdict().sentence
    assert "of orders (since 2026-09-21 14:" in sentence
    assert f"lag {(2 - len(moves)) * 9000:,} records" in sentence
    assert who in sentence
    assert sentence.count(who) == 1


def test_a_mirror_that_is_halted_and_has_nothing_to_replicate_is_no_stall_and_the_fact_is_reported(flow):
    looked(flow, PAUSED)
    flow.go(200)
    assert told(flow) == (Verdict.HEALTHY, None)
    assert f"The connector {MINE} is PAUSED since 2026-09-21 14:" in flow.verdict().sentence
    assert "it replicates nothing until it is resumed." in flow.verdict().sentence
    flow.flow.states.take_rest([], flow.now)
    assert "PAUSED" not in flow.verdict().sentence


def test_since_when_it_is_halted_may_be_longer_than_the_first_poll_shows(flow):
    looked(flow, PAUSED, start=Start.BEFORE)
    assert " or longer: " in flow.verdict().sentence
    looked(flow, PAUSED)
    assert "or longer" not in flow.verdict().sentence


@pytest.mark.parametrize(("start", "cause"), [(Start.SEEN, Cause.MIRROR_DOWN), (Start.BEFORE, Cause.PAUSED)])
def test_what_was_stalled_long_before_it_was_halted_does_not_stand_for_that(flow, start, cause):
    flow.go(300, each=lambda: busy(flow, moves=()))
    looked(flow, PAUSED, start=start)
    flow.go(60, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, cause)
    assert "is PAUSED since" in flow.verdict().sentence


def test_a_part_that_was_stalled_before_does_not_keep_a_pause_from_being_reported(flow):
    flow.go(300, each=lambda: busy(flow, moves=(0,)))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_STUCK)
    looked(flow, PAUSED)
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.PAUSED)


def test_a_pause_that_nobody_shows_any_more_explains_nothing(flow):
    looked(flow, PAUSED)
    flow.flow.states.forget_rest()
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_a_task_that_has_failed_goes_before_a_pause_which_is_reported_too(flow):
    written(flow, FAILED)
    looked(flow, PAUSED)
    flow.flow.states.take(TaskState(MINE, 0, FAILED, "Why"), flow.now + 1)
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)
    assert "is PAUSED since" in flow.verdict().sentence


@pytest.mark.parametrize(
    ("paused", "cause"), [([None], Cause.PAUSED), ([1], Cause.NOT_MIRRORED), ([], Cause.NOT_MIRRORED)]
)
def test_a_topic_waits_for_a_mirror_that_is_halted_and_not_for_one_of_its_tasks(paused, cause):
    one = Mirrored({"orders": 2, "new": 1}, refresh_topics_interval_s=60.0)
    one.target_ends["A.new", 0] = 3  # of another time
    one.poll()
    one.go(60, each=lambda: busy(one))
    for task in paused:
        looked(one, PAUSED, task)
    one.write(7, "new", copied=False)
    one.go(300)
    assert told(one) == (Verdict.STALLED, cause)


# --- a task has failed


def test_what_a_failed_task_left_is_reported_at_the_next_poll_with_its_numbers(flow):
    written(flow, FAILED)
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)
    flow.go(10, each=lambda: busy(flow, moves=(0,)))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)
    assert "Lag 1,000 records on 1 partition of orders." in flow.verdict().sentence


@pytest.mark.parametrize("start", Start)
@pytest.mark.parametrize("ago_s", [0, 30, 86_400])
def test_a_task_that_has_failed_and_lacks_nothing_to_replicate_is_a_fact_and_no_stall(flow, start, ago_s):
    flow.go(300)
    if start is Start.WRITTEN:
        flow.flow.states.take(TaskState(MINE, 0, FAILED, "Why"), flow.now - ago_s * S)
    else:
        looked(flow, FAILED, 0, start=start, ago_s=ago_s)
    assert told(flow) == (Verdict.HEALTHY, None)  # before the log is looked at again, too
    for _ in range(15):
        flow.go(10, step=5)
        assert told(flow) == (Verdict.HEALTHY, None)
    assert f"Task 0 of {MINE} is FAILED since" in flow.verdict().sentence


def test_a_connector_that_has_failed_keeps_no_task_from_running(flow):
    looked(flow, FAILED)
    for _ in range(10):
        assert told(flow) == (Verdict.HEALTHY, None)
        flow.go(5, each=lambda: busy(flow), poll=5)
    assert f"The connector of {MINE} is FAILED since" in flow.verdict().sentence
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)


@pytest.mark.parametrize("start", Start)
def test_the_first_record_for_a_task_that_failed_long_ago_is_a_stall(flow, start):
    flow.go(300)
    looked(flow, FAILED, 0, start=start)
    flow.go(600, step=5)
    flow.write(1, copied=False)
    flow.go(20)
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)


def test_a_failure_that_the_first_poll_finds_is_not_new():
    # Partition 1 has nothing to copy, 0 moves every 20 s: with a failure that is new, it could be its own.
    def watched(start):
        one = Mirrored(flush_s=20.0)
        one.poll()
        beat, seen = {"n": 0}, [set(), set()]

        def second():
            one.write(100)
            beat["n"] += 1
            if beat["n"] % 20 == 0:
                one.commit()
            if beat["n"] > 300 and beat["n"] % 5 == 0:
                seen[beat["n"] > 360].add(told(one)[0])

        one.go(300, each=second)
        looked(one, FAILED, 1, start=start)
        one.go(120, each=second)
        return seen

    assert watched(Start.BEFORE) == [{Verdict.HEALTHY}, {Verdict.HEALTHY}]
    assert watched(Start.SEEN) == [{Verdict.STALLED, Verdict.HEALTHY}, {Verdict.HEALTHY}]


def test_a_failure_that_the_first_poll_finds_is_reported_where_something_waits_for_longer_than_it_takes(flow):
    flow.go(20, each=lambda: busy(flow, moves=(0,)))
    looked(flow, FAILED, 1, start=Start.BEFORE)
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)
    assert "Lag 2,000 records on 1 partition of orders." in flow.verdict().sentence


@pytest.mark.parametrize("moves", [(), (0,), (0, 1), None])
def test_what_is_reported_after_a_restart_of_the_service_is_what_was_reported_before(flow, moves):
    # The address does not tell since when a task has failed: whoever asks anew finds it so.
    looked(flow, FAILED, 1)
    flow.go(300, each=None if moves is None else lambda: busy(flow, moves=moves))
    before = told(flow)
    assert before == (
        (Verdict.STALLED, Cause.TASK_FAILED) if moves in ((), (0,)) else (Verdict.HEALTHY, None)
    )
    looked(flow, FAILED, 1, start=Start.BEFORE)
    for _ in range(6):
        assert told(flow) == before
        flow.go(5, each=None if moves is None else lambda: busy(flow, moves=moves), poll=5)


def test_nothing_is_reported_to_wait_for_it_while_offsets_are_not_read(flow):
    read_to_ms = flow.flow.read_to_ms
    looked(flow, FAILED, 0)
    flow.go(70, each=lambda: busy(flow, moves=()))
    flow.flow.read_to_ms = read_to_ms
    assert told(flow) == (Verdict.UNKNOWN, None)


def test_what_waits_in_a_recreated_log_is_not_counted_from_the_old_offset(flow):
    for topic_id in ("one", "two"):
        flow.now += S
        flow.flow.note_ids("A", {"orders": topic_id}, flow.now)
        flow.a.note_id("orders", topic_id, flow.now)
    looked(flow, FAILED, 0)
    flow.ends["orders", 0] = flow.ends["orders", 1] = 9000
    flow.go(10)
    assert told(flow) == (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)


def test_what_is_replicated_without_offsets_does_not_wait_for_a_task_that_has_failed(flow):
    def each():
        for partition in (0, 1):
            flow.write(100, partition=partition)

    flow.go(60, each=each)
    looked(flow, FAILED, 3, start=Start.BEFORE)
    assert told(flow) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


@pytest.mark.parametrize(("by_record", "cause"), [(True, Cause.MIRROR_DOWN), (False, Cause.TASK_FAILED)])
def test_what_moved_on_after_a_task_had_failed_is_stalled_for_another_reason(flow, by_record, cause):
    # At the REST address it may have been started again and have failed once more between two looks.
    if by_record:
        written(flow, FAILED, 3)
    else:
        looked(flow, FAILED, 3)
    flow.go(60, each=lambda: busy(flow))
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, cause)
    assert "Task 3 of" in flow.verdict().sentence


def test_offsets_that_are_written_while_a_task_fails_are_of_before(flow):
    written(flow, FAILED)
    flow.go(2, each=lambda: busy(flow))
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)


# --- a part of it, or all


def test_a_mirror_that_dies_after_one_of_its_tasks_hung_is_down(flow):
    flow.go(120, each=lambda: busy(flow, moves=(1,)))
    assert told(flow) == (Verdict.STALLED, Cause.TASK_STUCK)
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "No other partition moves: " in flow.verdict().sentence


def test_more_that_is_stalled_with_a_task_that_hangs_shows_nothing_of_others_that_pause():
    # Partition 0 hangs; 1 is carried by the same task; 2 moves, and has nothing to copy for two minutes.
    one = Mirrored({"orders": 3})
    one.poll()

    def second(*, hangs, writes=(0, 2)):
        for partition in writes:
            one.write(10, partition=partition, copied=not hangs or partition == 2)
            if not hangs or partition == 2:
                one.commit(partition=partition)

    one.commit(partition=1, to=1)
    one.go(60, each=lambda: second(hangs=False))
    one.go(60, each=lambda: second(hangs=True))
    one.go(120, each=lambda: second(hangs=True, writes=(0, 1)))
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)


# --- what the target lacks


def lacking(*, flush_s=1.0):
    """Give a mirror of which the target lacks a partition, with `each(moves, wait)` for a second of traffic."""
    one = Mirrored({"orders": 3, "other": 1}, target={"A.orders": 2, "A.other": 1}, flush_s=flush_s)
    one.poll()

    def each(*, moves=("orders", "other"), wait=True):
        for topic, partition in (("orders", 0), ("orders", 1), ("other", 0)):
            one.write(10, topic, partition, copied=topic in moves)
            if topic in moves:
                one.commit(topic, partition)
        if wait:
            one.ends["orders", 2] += 1

    return one, each


def test_what_was_missing_while_the_mirror_moved_on_does_not_explain_why_it_is_stalled():
    one, each = lacking()
    one.go(300, each=each)
    assert told(one) == (Verdict.HEALTHY, None)
    one.go(90, each=lambda: each(moves=()))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    sentence = one.verdict().sentence
    assert "3 partitions of 2 topics (orders among them) (since" in sentence
    assert "A.orders on B has only 2 of the 3 partitions of orders, for" in sentence
    assert "The mirror moved since, so that is not why." in sentence


def test_what_is_missing_since_it_is_stalled_explains_it():
    one, each = lacking()
    one.go(60, each=lambda: each(wait=False))
    one.go(90, each=lambda: each(moves=()))
    assert told(one) == (Verdict.STALLED, Cause.PARTITION_MISSING)
    assert "Its task waits for that with all its partitions." in one.verdict().sentence


def test_one_task_waits_for_what_is_missing_while_others_move():
    one, each = lacking()
    one.go(60, each=lambda: each(wait=False))
    one.go(90, each=lambda: each(moves=("other",)))
    assert told(one) == (Verdict.STALLED, Cause.PARTITION_MISSING)


def test_a_task_that_moved_on_with_what_is_missing_hangs_for_another_reason():
    one, each = lacking()
    one.go(300, each=each)
    one.go(90, each=lambda: each(moves=("other",)))
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert "The mirror moved since, so that is not why." in one.verdict().sentence


def test_what_is_missing_explains_its_own_topic_where_another_is_stalled_for_another_reason():
    # orders waits for what is missing since a minute; other moved on with that, and stands since; third moves.
    one = Mirrored(
        {"orders": 3, "other": 1, "third": 1},
        target={"A.orders": 2, "A.other": 1, "A.third": 1},
    )
    one.poll()

    def each(*moves, wait=True):
        for topic, partition in (("orders", 0), ("orders", 1), ("other", 0), ("third", 0)):
            one.write(10, topic, partition, copied=topic in moves)
            if topic in moves:
                one.commit(topic, partition)
        one.ends["orders", 2] += wait

    one.go(60, each=lambda: each("orders", "other", "third", wait=False))
    one.go(60, each=lambda: each("other", "third"))
    one.go(60, each=lambda: each("third"))
    assert told(one) == (Verdict.STALLED, Cause.PARTITION_MISSING)
    assert "4 partitions" not in one.verdict().sentence
    assert "3 partitions of 2 topics (orders among them) (since" in one.verdict().sentence


def test_a_topic_that_was_quiet_while_the_mirror_moved_on_does_not_make_what_it_lacks_the_cause_of_all():
    one, each = lacking()
    one.go(60, each=lambda: each(wait=False))

    def without_orders():
        one.write(10, "other")
        one.commit("other")
        one.ends["orders", 2] += 1

    one.go(120, each=without_orders)
    assert told(one) == (Verdict.HEALTHY, None)
    one.go(90, each=lambda: each(moves=()))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_nobody_waits_for_a_partition_that_is_missing_and_has_no_record():
    one, each = lacking()
    one.go(60, each=lambda: each(wait=False))
    one.go(90, each=lambda: each(moves=(), wait=False))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "only 2" not in one.verdict().sentence


def test_offsets_that_are_written_after_a_topic_went_are_of_before():
    # Each minute: what was copied until the topic was deleted is written 40 s later.
    one = Mirrored({"orders": 2, "other": 1}, flush_s=60.0)
    one.poll()
    beat = {"n": 0}

    def second(*, goes_on):
        beat["n"] += 1
        for partition in (0, 1):
            one.write(10, partition=partition, copied=goes_on)
        one.write(10, "other")
        if beat["n"] % 60 == 0:
            one.commit("other")
            if goes_on or beat["n"] == 660:
                for partition in (0, 1):
                    one.commit(partition=partition, to=6200 if not goes_on else None)

    one.go(620, each=lambda: second(goes_on=True))
    one.b.note_topics({"A.other": 1})
    one.target_ends.pop(("A.orders", 0)), one.target_ends.pop(("A.orders", 1))
    one.write = forgiving(one)
    one.go(300, each=lambda: second(goes_on=False))
    assert told(one) == (Verdict.STALLED, Cause.TOPIC_MISSING)


def forgiving(one):
    def write(count, topic="orders", partition=0, *, copied=True):
        one.ends[topic, partition] += count
        if copied and (f"A.{topic}", partition) in one.target_ends:
            one.target_ends[f"A.{topic}", partition] += count

    return write


# --- what waits


@pytest.mark.parametrize(
    ("count", "more"),
    [(1, ""), (3, ""), (4, "1 more topic waits as well."), (7, "4 more topics wait as well.")],
)
def test_of_several_topics_that_wait_some_are_named_and_the_others_counted(count, more):
    names = [f"new{number}" for number in range(count)]
    one = Mirrored({"orders": 2} | dict.fromkeys(names, 1), refresh_topics_interval_s=2.0)
    for name in names:
        one.target_ends[f"A.{name}", 0] = 3  # of another time
    one.poll()
    one.go(20, each=lambda: busy(one))
    for name in reversed(names):  # the last one waits for longest
        one.write(7, name, copied=False)
        one.go(10, each=lambda: busy(one))
    one.go(120, each=lambda: busy(one))
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    sentence = one.verdict().sentence
    assert sentence.count("No offset of the mirror for any partition of") == min(count, 3)
    assert [name for name in names if f"of {name}," in sentence] == names[-3:]
    assert sentence.index(f"of {names[-1]},") == min(sentence.index(f"of {name},") for name in names[-3:])
    assert sentence.endswith(more)
    assert ("as well" in sentence) == bool(more)


def test_nothing_is_reported_to_wait_while_offsets_are_not_read():
    one = Mirrored({"orders": 2, "new": 1}, refresh_topics_interval_s=60.0)
    one.target_ends["A.new", 0] = 3  # of another time
    one.poll()
    one.go(60, each=lambda: busy(one))
    read_to_ms = one.now
    one.write(7, "new", copied=False)
    one.go(300, each=lambda: busy(one))
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    one.flow.read_to_ms = read_to_ms
    assert told(one) == (Verdict.UNKNOWN, None)


def test_a_task_that_is_not_assigned_is_still_reported_for_a_mirror_that_is_down(flow):
    written(flow, UNASSIGNED)
    flow.go(90, each=lambda: busy(flow, moves=()))
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "is UNASSIGNED since" in flow.verdict().sentence
    assert "after scheduled.rebalance.max.delay.ms (5 minutes by default)" in flow.verdict().sentence


@pytest.mark.parametrize(
    ("task", "copy", "cause"),
    [
        (0, True, Cause.TASK_FAILED),
        (None, True, Cause.TASK_FAILED),
        (0, False, Cause.TOPIC_MISSING),  # the connector makes it
        (None, False, Cause.TASK_FAILED),
    ],
)
def test_a_topic_waits_for_what_has_failed_of_the_mirror(task, copy, cause):
    copies = {"A.orders": 2} | ({"A.new": 1} if copy else {})
    one = Mirrored({"orders": 2, "new": 1}, target=copies, refresh_topics_interval_s=60.0)
    one.poll()
    one.go(60, each=lambda: busy(one))
    looked(one, FAILED, task)
    one.write(7, "new", copied=False)
    one.go(300, each=lambda: busy(one))
    assert told(one) == (Verdict.STALLED, cause)
    assert "is FAILED since" in one.verdict().sentence


# --- what is told by looks


@pytest.mark.parametrize(
    ("lag_from", "cause"), [("offset-syncs", Cause.MIRROR_DOWN), ("connect-offsets", Cause.TASK_STUCK)]
)
def test_what_is_estimated_from_polls_may_be_seen_to_move_two_polls_after_all_is_stalled(lag_from, cause):
    one = Mirrored({"orders": 2, "idle": 1}, lag_from=lag_from)
    one.poll()
    one.go(60, each=lambda: busy(one))
    one.write(1, "idle")
    one.go(19, each=lambda: busy(one, moves=()))
    one.commit("idle")
    one.go(90, each=lambda: busy(one, moves=()))
    assert told(one) == (Verdict.STALLED, cause)
