"""What is taken over from a dead process, and what a log that was cut or made anew leaves of a proof."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker import adoption
from canary.tracker.events import (
    Acked,
    Adopted,
    Coverage,
    Dropped,
    Impaired,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    SourceRead,
    Stopping,
    TargetGap,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
)
from canary.tracker.stamp import Intact
from canary.tracker.tracker import Tracker
from canary.tracker.tracking import TrackerPolicy
from tests.canary.played import Played
from tests.canary.pretend_link import INCARNATION, INSTALLATION, NEXT_TOPIC_ID, TOPIC, TOPIC_ID, S, stamp

OTHER, THIRD = "00000000000000bb", "00000000000000cc"
OVERDUE = ((3, 3, "overdue", False, 93, 93, 0, 0, 0),)


def left(
    play, incarnation=OTHER, *, covered=((0, 3),), absent=OVERDUE, source_from=94, target_from=0, since_ms=0
):
    coverage = Coverage(incarnation, TOPIC_ID, 0, covered, absent, source_from, target_from)
    play.tell(Adopted(incarnation, (coverage,), S, since_ms))
    play.tracker.snapshot(1)


def theirs(sequence, *, incarnation=OTHER, partition=0):
    return Intact(stamp(sequence, partition, incarnation=incarnation))


def put(play, sequence, at_s, offset):
    at = int(at_s * S)
    play.tell(Scheduled(TOPIC_ID, 0, sequence, at, at // 1_000_000), Sent(TOPIC_ID, 0, sequence, at + 1))
    play.tell(Acked(TOPIC_ID, 0, sequence, offset, at + S // 100))


def kept(play):
    return {one.incarnation: one for one in play.tracker.snapshot(2).coverages}


def newer(play, sequence=0, at_s=2.0):
    """Send and deliver a probe of our own, and read both sides to their ends."""
    play.send(sequence, at_s)
    play.source(sequence, at_s + 0.05)
    play.arrive(sequence, at_s + 0.1)
    play.read_to_end()


# --- proofs


def test_numbers_that_another_replica_skipped_take_no_place_in_the_log():
    play = Played()
    play.send(0, 0)
    play.tell(SeenAtSource(0, 99, theirs(0), 0))
    play.source(0, 0.1)
    play.arrive(0, 0.2)
    put(play, 1, 10, 102)
    play.record(theirs(21), 10.05)  # at 101: it skipped twenty, and the source's tap has not shown it yet
    play.read_to_end()
    play.arrive(1, 10.1)
    assert play.counts("lost", "returned", "good") == (0, 0, 2)


def test_a_copy_from_before_the_source_lost_its_end_proves_nothing_about_what_came_after():
    play = Played()
    for sequence, offset in enumerate([500, 480, 481]):
        put(play, sequence, sequence, offset)
    for sequence in range(3):
        play.arrive(sequence, 3 + sequence / 10)
        play.read_to_end()
    assert play.counts("lost", "returned", "good") == (0, 0, 3)


def test_what_was_overdue_before_the_log_began_anew_is_closed():
    play = Played()
    put(play, 0, 0, 500)
    play.until(61)
    for sequence, offset in ((1, 480), (2, 600)):
        put(play, sequence, 60 + sequence, offset)
        play.source(sequence, 60.05 + sequence, offset=offset)
        play.arrive(sequence, 60.1 + sequence)
        play.read_to_end()
    assert play.counts("confirmed", "closed", "outstanding", "good") == (0, 1, 0, 2)


def test_probes_that_the_source_log_lost_are_unknown_and_later_losses_are_confirmed():
    play = Played()
    put(play, 0, 0, 100)
    play.arrive(0, 0.1)
    for sequence, offset in ((1, 101), (2, 102), (3, 101)):  # an unclean election cuts the log at 101
        put(play, sequence, sequence, offset)
    play.arrive(3, 3.1)
    play.read_to_end()
    assert play.tracker.partition_statuses()[0].oldest_pending_ns is None
    play.until(70)
    lost_end = "the source log lost its end, perhaps with this record"
    assert [play.outcome(sequence) for sequence in (1, 2)] == [("unknown", lost_end)] * 2
    for sequence in range(4, 94):
        put(play, sequence, 66 + sequence, 98 + sequence)
    play.until(300)
    assert play.counts("overdue", "outstanding") == (90, 90)
    put(play, 94, 301, 192)
    play.arrive(94, 301.1)
    play.read_to_end()
    assert play.counts("confirmed", "closed", "outstanding") == (90, 0, 0)


def test_a_probe_of_the_lost_end_that_arrives_after_all_is_counted_by_its_arrival():
    play = Played()
    for sequence, offset in ((0, 100), (1, 101), (2, 101)):
        put(play, sequence, sequence, offset)
    play.arrive(0, 2.5)
    play.until(62)
    play.arrive(1, 62.5)  # unknown already
    play.arrive(2, 62.6)
    assert play.counts("good", "unknown", "overdue", "duplicated", "returned") == (1, 1, 1, 0, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 0, 0, 1, 3]), st.booleans(), st.sampled_from([1, 1, 90])), max_size=12
    )
)
@settings(deadline=None)
def test_however_a_source_log_loses_its_end_nothing_stays_outstanding(steps):
    """By step: the records cut off, whether the mirror has the next one, and the time until then."""
    play, at_s, end = Played(), 0.0, 100
    for sequence, (cut, arrives, pause_s) in enumerate([*steps, (0, True, 1)]):
        at_s += pause_s
        play.until(at_s)
        end = max(0, end - cut) + 1
        put(play, sequence, at_s, end - 1)
        if arrives:
            play.arrive(sequence, at_s + 0.1)
            play.read_to_end()
    play.until(at_s + 90)
    assert play.counts("outstanding", "in_flight", "returned") == (0, 0, 0)


def test_inherited_outstanding_probes_without_an_offset_are_closed():
    play = Played()
    left(play, absent=((1, 2, "overdue", False, None, None, 0, 0, 0), *OVERDUE), covered=((0, 3),))
    assert play.counts("inherited", "closed", "outstanding") == (3, 2, 1)
    newer(play)
    assert play.counts("confirmed", "outstanding") == (1, 0)


def test_a_topic_id_that_comes_back_is_believed_again():
    """A broker that lagged had told of the old one once more."""
    play = Played()
    play.send(0, 0)
    for at_s, (old, new) in enumerate(
        [(TOPIC_ID, NEXT_TOPIC_ID), (NEXT_TOPIC_ID, TOPIC_ID), (TOPIC_ID, NEXT_TOPIC_ID)]
    ):
        play.tell(TopicReplaced(old, at_s * S, new))
    for number in range(3):
        at = (10 + number) * S
        name = (NEXT_TOPIC_ID, 0, number)
        play.tell(Scheduled(*name, at, at // 1_000_000), Sent(*name, at), Acked(*name, number, at + 2))
        play.record(Intact(stamp(number, topic_id=NEXT_TOPIC_ID)), 10.1 + number)
    assert play.counts("good") == (3,)


# --- flags of what ended without a copy


def test_an_abandoned_probe_that_arrives_was_not_called_anything_wrong():
    play = Played()
    play.send(0, 0, acked=False)
    play.tell(Stopping())
    play.arrive(0, 1)
    assert play.counts("abandoned", "returned", "duplicated") == (1, 0, 0)


def test_the_first_copy_of_what_was_closed_is_no_duplicate():
    play = Played()
    left(play)
    play.tell(TargetGap(0, S))
    assert play.counts("closed", "outstanding", "inherited") == (1, 0, 1)
    play.record(theirs(3), 3)
    assert play.counts("duplicated", "returned") == (0, 0)


# --- left-overs of several topics


def left_of_two(*, newest_first: bool) -> Played:
    """Return a tracker that took over probes of a topic and of the one in its place, as the store told them."""
    play = Played(carried=True)
    ids = (NEXT_TOPIC_ID, TOPIC_ID) if newest_first else (TOPIC_ID, NEXT_TOPIC_ID)
    coverages = tuple(Coverage(OTHER, one, 0, ((0, 3),), (), 94, 0) for one in ids)
    play.tell(Adopted(OTHER, coverages, S))
    return play


def waits_for(play: Played, topic_id: str) -> tuple[int | None, ...]:
    """Send a probe and return by partition at which offset the oldest one on the source waits."""
    name = (topic_id, 0, 0)
    play.tell(Scheduled(*name, 2 * S, 2000), Sent(*name, 2 * S), Acked(*name, 500, 3 * S))
    return tuple(one.oldest_pending_offset for one in play.tracker.partition_statuses())


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_partition_is_judged_in_whatever_order_left_overs_of_two_topics_came(newest_first):
    play = left_of_two(newest_first=newest_first)
    play.tell(TopicReplaced(TOPIC_ID, S, NEXT_TOPIC_ID))
    assert len(play.tracker.partition_statuses()) == 1
    play.tell(SeenAtSource(0, 94, Intact(stamp(4, topic_id=NEXT_TOPIC_ID, incarnation=OTHER)), S))
    play.tell(SourceRead(0, 95, 95, 1))
    assert waits_for(play, NEXT_TOPIC_ID) == (94,)


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_partition_is_that_of_the_topic_into_which_probes_are_sent(newest_first):
    """Of a flow that is added while its source is watched nothing tells which topic came after which."""
    play = left_of_two(newest_first=newest_first)
    assert waits_for(play, NEXT_TOPIC_ID) == (500,)


def test_what_is_told_late_of_a_topic_that_went_away_takes_no_partition_back():
    play = left_of_two(newest_first=True)
    play.tell(TopicReplaced(TOPIC_ID, S, NEXT_TOPIC_ID))
    assert waits_for(play, NEXT_TOPIC_ID) == (500,)
    play.tell(Scheduled(TOPIC_ID, 0, 0, 2 * S, 2000))
    assert [one.oldest_pending_offset for one in play.tracker.partition_statuses()] == [500]


def test_where_no_topic_is_in_its_place_nothing_stands_for_a_partition():
    play = left_of_two(newest_first=True)
    play.tell(TopicReplaced(TOPIC_ID, S))
    assert play.tracker.partition_statuses() == []


# --- taking over


def test_a_probe_found_on_the_source_after_a_gap_is_unknown():
    play = Played()
    left(play, absent=())
    play.tell(Adopted(THIRD, (), S))  # it died before it kept anything
    play.tell(
        TargetGap(0, S),
        SeenAtSource(0, 95, theirs(4), S),
        SeenAtSource(0, 96, theirs(0, incarnation=THIRD), S),
    )
    newer(play)
    play.until(100)
    assert play.counts("unknown", "lost", "overdue") == (2, 0, 0)


def test_records_deleted_under_the_tap_prove_nothing():
    play = Played()
    for number in range(5):
        play.send(number, number)
    play.until(62)
    play.tell(TargetGap(0, 63 * S))
    newer(play, 5, 100)
    assert play.counts("closed", "unknown", "confirmed", "lost") == (3, 2, 0, 0)


def test_a_probe_that_was_taken_over_and_is_proved_absent_is_lost_at_its_horizon_and_not_before():
    play = Played()
    left(play, absent=())
    play.tell(SeenAtSource(0, 95, theirs(4), S))
    newer(play)
    play.until(60)
    assert play.counts("lost", "in_flight") == (0, 1)
    play.until(61)
    assert play.counts("lost", "overdue", "settled") == (1, 0, 2)


def test_more_copies_than_can_be_remembered_make_the_rest_unknown(monkeypatch):
    monkeypatch.setattr(adoption, "MAX_EARLY", 3)
    play = Played()
    play.tell(Adopted(OTHER, (), S))
    for number in range(6):
        play.record(theirs(number), 1)
    play.tell(*(SeenAtSource(0, 90 + number, theirs(number), S) for number in range(6)))
    newer(play)
    play.until(100)
    assert play.counts("unknown", "lost", "overdue") == (6, 0, 0)


def test_a_copy_that_was_read_before_its_original_proves_older_ones():
    play = Played()
    left(play)
    play.record(theirs(4), 1)
    play.tell(SeenAtSource(0, 95, theirs(4), S))
    play.read_to_end()
    assert play.counts("confirmed", "unknown") == (1, 1)


def test_a_recovered_copy_proves_older_ones():
    play = Played()
    rows = ((2, 3, "overdue", False, 92, 93, 0, 1000, 0),)
    left(play, absent=rows)
    play.record(theirs(3), 1)
    play.read_to_end()
    assert play.counts("recovered", "confirmed") == (1, 1)


def test_a_dead_run_is_not_finished_while_a_partition_of_the_source_was_not_read():
    play = Played()
    play.tell(Adopted(OTHER, (), S))
    play.until(61)
    play.tell(SourceRead(0, 0, 0, 2))
    assert play.tracker.snapshot(1).finished == ()
    play.tell(SeenAtSource(1, 0, theirs(0, partition=1), 61 * S), SourceRead(1, 1, 1, 2))
    assert play.tracker.snapshot(1).finished == ()
    play.record(theirs(0, partition=1), 62, partition=1)
    assert play.tracker.snapshot(1).finished == (OTHER,)
    assert play.tracker.snapshot(1).finished == ()  # told once


def test_a_dead_run_is_not_finished_before_a_horizon_has_passed_since_it_was_taken_over():
    """A broker that stalled may write what the dead process had sent."""
    play = Played()
    left(play, absent=())
    play.tell(SourceRead(0, 94, 94))
    play.until(60.9)
    play.tell(SourceRead(0, 94, 94))
    assert play.tracker.snapshot(1).finished == ()
    play.tell(SeenAtSource(0, 94, theirs(4), int(60.95 * S)))
    play.until(61)
    play.tell(SourceRead(0, 94, 95))  # the end that counts is behind what came
    assert play.tracker.snapshot(1).finished == ()
    play.tell(SourceRead(0, 95, 95))
    play.record(theirs(4), 62)
    assert play.counts("expected", "unknown") == (1, 1)
    assert play.tracker.snapshot(1).finished == (OTHER,)


def again(play, incarnation=OTHER, first_minute=0):
    """Drop the flow, and go on with it as a new watch of the same process does."""
    play.tell(Dropped())
    coverages = play.tracker.unfinished()[incarnation]
    rows = play.tracker.snapshot(1).rows
    after = Played()
    policy = TrackerPolicy(INSTALLATION, INCARNATION, 5 * S, 60 * S, 0, first_minute)
    after.tracker = Tracker(policy, carried=[(TOPIC_ID, 0)], source_topic=TOPIC)
    after.tell(Adopted(incarnation, coverages, 10 * S, interrupted=True))
    return after, rows


def test_what_is_found_only_after_the_flow_was_dropped_and_begun_again_is_unknown_and_counted_once():
    play = Played()
    left(play, absent=())
    play.record(theirs(5), 2)  # its copy is read by the first watch, its original by the second
    play.tell(SeenAtSource(0, 94, theirs(4), 2 * S))
    after, rows = again(play, first_minute=7)
    assert play.counts("expected", "unknown") == (1, 1)
    after.tell(*(SeenAtSource(0, 90 + number, theirs(number), 11 * S) for number in range(4, 7)))
    newer(after, at_s=12.0)
    after.until(100)
    assert after.counts("expected", "unknown", "lost", "overdue") == (3, 2, 0, 0)
    written = after.tracker.snapshot(2).rows
    assert {key: row[0] for key, row in rows.items()} == {(OTHER, 0): 1}
    assert {key: row[0] for key, row in written.items()} == {(OTHER, 7): 2, (INCARNATION, 7): 1}


def test_what_was_read_early_is_read_again_by_the_next_process():
    """Its original was not found yet: without the copy it would be called lost."""
    play = Played()
    left(play, absent=())
    for number in (4, 5, 6):
        play.record(theirs(number), 2)
    play.read_to_end()
    play.tell(SeenAtSource(0, 94, theirs(4), 2 * S))
    left_now = kept(play)[OTHER]
    assert (left_now.target_from, left_now.target_read) == (1, 3)
    heir = Played()
    heir.tell(Adopted(OTHER, (left_now,), 4 * S))
    for number in (1, 2, 3):
        heir.tell(SeenAtTarget(0, number, number + 1, theirs(number + 3), 5 * S))
    heir.tell(*(SeenAtSource(0, 90 + number, theirs(number), 5 * S) for number in (4, 5, 6)))
    assert heir.counts("unknown", "duplicated") == (2, 0)
    play.tell(TargetReplaced(3 * S), SeenAtSource(0, 95, theirs(5), 3 * S))
    assert kept(play)[OTHER].target_from == 0


def test_the_same_of_a_process_that_had_kept_nothing():
    play = Played()
    play.tell(Adopted(OTHER, (), S))
    for number in range(3):
        play.record(theirs(number), 2)
    play.read_to_end()
    play.tell(SeenAtSource(0, 94, theirs(0), 2 * S))
    assert kept(play)[OTHER].target_from == 1


@pytest.mark.parametrize("known", [True, False])
def test_what_the_former_watch_had_read_early_is_read_again_by_the_next_process(known):
    play = Played()
    if known:
        left(play, absent=())
    else:
        play.tell(Adopted(OTHER, (), S))
    for number in (4, 5, 6):
        play.record(theirs(number), 2)
    play.tell(SeenAtSource(0, 94, theirs(4), 2 * S))
    after, _ = again(play)
    after.tell(TargetRead(0, 3, 3), SeenAtSource(0, 95, theirs(5), 11 * S))
    after.target_offset = 3
    newer(after, at_s=12.0)
    assert kept(after)[OTHER].target_from <= 1
    after.until(71)
    after.tell(SeenAtSource(0, 96, theirs(6), 71 * S), SourceRead(0, 97, 97))
    assert kept(after)[OTHER].target_from == 4


def test_a_run_that_is_finished_is_not_gone_on_with():
    play = Played()
    left(play, absent=())
    assert set(play.tracker.unfinished()) == {OTHER}
    play.until(61)
    play.tell(SourceRead(0, 94, 94))
    play.tracker.snapshot(1)
    assert play.tracker.unfinished() == {}


def test_what_a_process_sent_before_it_watched_the_flow_is_not_taken_over():
    play = Played()
    play.tell(Adopted(OTHER, (), S, 5000))
    early, late = stamp(0, incarnation=OTHER), stamp(1, incarnation=OTHER)
    play.tell(SeenAtSource(0, 90, Intact(early._replace(due_at_ms=4999)), S))
    play.tell(SeenAtSource(0, 91, Intact(late._replace(due_at_ms=5000)), S))
    assert play.counts("expected", "in_flight") == (1, 1)


# --- what is kept


def watched(first, count):
    """Return a tracker of this incarnation that sent and delivered so many probes from that one on."""
    policy = TrackerPolicy(INSTALLATION, INCARNATION, 5 * S, 60 * S, 0)
    tracker = Tracker(policy, carried=[(TOPIC_ID, 0)], source_topic=TOPIC)
    for number in range(first, first + count):
        at = number * S
        tracker.handle(Scheduled(TOPIC_ID, 0, number, at, number * 1000))
        tracker.handle(Sent(TOPIC_ID, 0, number, at))
        tracker.handle(Acked(TOPIC_ID, 0, number, number, at + 1))
        tracker.handle(SeenAtTarget(0, number, number + 1, Intact(stamp(number)), at + 2))
    return tracker


def test_a_flow_that_was_dropped_and_begun_again_is_counted_once_by_the_next_process():
    first = watched(0, 100)
    first.handle(Dropped())
    rows = {one.partition: one for one in first.snapshot(2).coverages}
    second = watched(100, 20)
    rows |= {one.partition: one for one in second.snapshot(2).coverages}
    policy = TrackerPolicy(INSTALLATION, THIRD, 5 * S, 60 * S, 0)
    heir = Tracker(policy, carried=[(TOPIC_ID, 0)], source_topic=TOPIC)
    heir.handle(Adopted(INCARNATION, tuple(rows.values()), 200 * S))
    for number in range(60, 120):
        heir.handle(SeenAtSource(0, number, Intact(stamp(number)), 200 * S))
    assert heir.counters.expected == 0


def test_first_copies_of_what_was_sent_before_the_flow_was_watched_are_no_duplicates_to_the_next_process():
    """A mirror that is new, or was behind, carries them only now."""
    rows = watched(100, 2).snapshot(2).coverages
    policy = TrackerPolicy(INSTALLATION, THIRD, 5 * S, 60 * S, 0)
    heir = Tracker(policy, carried=[(TOPIC_ID, 0)], source_topic=TOPIC)
    heir.handle(Adopted(INCARNATION, tuple(rows), 200 * S))
    for offset, number in enumerate([50, 51, 99, 100, 50], 200):
        heir.handle(SeenAtTarget(0, offset, offset + 1, Intact(stamp(number)), 201 * S))
    assert (heir.counters.duplicated, heir.counters.returned) == (2, 0)  # 100, and the second copy of 50


def test_a_dropped_flow_leaves_nothing_outstanding():
    play = Played()
    play.send(0, 0)
    play.until(61)
    play.tell(Dropped())
    assert play.counts("overdue", "closed", "outstanding") == (1, 1, 0)


def test_a_clock_that_was_ahead_and_is_set_back_leaves_minutes_where_they_belong():
    tracker, rows, number = watched(0, 0), {}, 0
    for ahead_s, seconds in ((0, 60), (86_400, 600), (0, 600)):
        for _ in range(seconds):
            wall_s, at = number + ahead_s, number * S
            tracker.handle(Scheduled(TOPIC_ID, 0, number, at, wall_s * 1000))
            tracker.handle(Sent(TOPIC_ID, 0, number, at))
            tracker.handle(SeenAtTarget(0, number, number + 1, Intact(stamp(number)), at + 2))
            rows |= {minute: row for (_, minute), row in tracker.snapshot(wall_s // 60).rows.items()}
            number += 1
    assert [rows[minute][0] for minute in range(11, 21)] == [60] * 10


def test_confirmed_of_a_dead_run_is_kept():
    play = Played()
    left(play)
    newer(play)
    assert play.counts("confirmed") == (1,)
    assert kept(play)[OTHER].absent[0][3] is True


def test_how_far_the_source_was_read_for_a_dead_run_is_kept_until_then_it_begins_where_it_was_left():
    play = Played()
    left(play, covered=((0, 1),), absent=(), source_from=94)
    play.until(60)
    play.tell(SeenAtSource(0, 97, theirs(2), 60 * S))
    play.tell(SourceRead(0, 98, 98))
    assert play.tracker.snapshot(2).coverages == []  # nothing has its outcome yet
    play.until(61)
    play.tell(SourceRead(0, 98, 98))
    assert kept(play)[OTHER].source_from == 97


@pytest.mark.parametrize("ends", ["arrives", "passes its horizon"])
def test_what_becomes_of_a_warm_probe_is_kept(ends):
    play = Played(carried=False, warmup_s=100)
    play.send(0, 0)
    play.send(1, 1)
    before = kept(play)[INCARNATION]
    assert [row[0] for row in before.absent] == [0, 1]
    if ends == "arrives":
        play.arrive(0, 2)
        assert [row[0] for row in kept(play)[INCARNATION].absent] == [1]
    else:
        play.until(70)
        assert kept(play)[INCARNATION].source_from > before.source_from


def test_the_copy_of_an_unknown_probe_is_kept():
    play = Played()
    play.send(0, 0)
    play.tell(Impaired("the test says so", S))
    play.until(70)
    assert len(kept(play)[INCARNATION].absent) == 1
    play.arrive(0, 71)
    assert kept(play)[INCARNATION].absent == ()


def test_a_target_recreated_is_read_from_its_beginning_for_a_dead_run():
    play = Played()
    left(play, target_from=500)
    play.tell(TargetReplaced(2 * S))
    assert kept(play)[OTHER].target_from == 0


def test_what_was_left_is_read_from_its_place_until_the_tap_is_past():
    play = Played()
    left(play, absent=(), target_from=100)
    left(play, THIRD, absent=(), target_from=500)
    play.until(61)
    play.tell(TargetRead(0, 200, 600), SourceRead(0, 94, 94))
    assert kept(play)[OTHER].target_from == 200


def test_copies_that_came_before_their_originals_stand_at_other_places_in_a_target_recreated():
    """The next process reads the new log from its beginning, where each of them may stand."""
    play = Played()
    left(play, absent=(), target_from=50)
    play.tell(SeenAtTarget(0, 50, 51, theirs(4), 2 * S), SeenAtTarget(0, 70, 71, theirs(2), 2 * S))
    assert target_from(play) == 50
    play.tell(TargetReplaced(3 * S), SeenAtTarget(0, 80, 81, theirs(2), 4 * S))
    assert target_from(play) == 0


def target_from(play):
    (coverage,) = play.tracker.unfinished()[OTHER]
    return coverage.target_from
