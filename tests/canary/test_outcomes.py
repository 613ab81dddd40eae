"""Each outcome by its rule, with the sentence that says why."""

import pytest

from canary.tracker.counters import Flag, Outcome
from canary.tracker.events import (
    Acked,
    Impaired,
    MirrorPassed,
    Refused,
    Restored,
    Scheduled,
    Sent,
    Skipped,
    Stopping,
    TargetRead,
    TopicReplaced,
)
from canary.tracker.stamp import ForeignRecord
from tests.canary.played import Played
from tests.canary.pretend_link import TOPIC_ID, S


@pytest.mark.parametrize(
    ("at_s", "outcome", "sentence"),
    [
        (0.25, Outcome.GOOD, "arrived after 0.250 s"),
        (5.0, Outcome.GOOD, "arrived after 5.000 s"),
        (5.001, Outcome.LATE, "arrived after 5.001 s"),
        (60.0, Outcome.LATE, "arrived after 60.000 s"),
    ],
)
def test_a_probe_is_good_up_to_its_threshold_and_late_up_to_its_horizon(at_s, outcome, sentence):
    play = Played()
    play.send(0, 0)
    play.arrive(0, at_s)
    assert play.outcome(0) == (outcome, sentence)
    assert play.counts("settled", "in_flight", "outstanding") == (1, 0, 0)


def test_nothing_of_the_partition_arrives_so_it_is_overdue_at_its_horizon():
    play = Played()
    play.send(0, 0)
    play.until(4.999)
    assert play.counts("settled") == (0,)
    play.until(5)
    assert play.counts("settled", "in_flight") == (1, 1)
    play.until(60)
    sentence = "written to source at offset 100; nothing newer arrived either"
    assert play.outcome(0) == (Outcome.OVERDUE, sentence)
    assert play.counts("settled", "in_flight", "outstanding") == (1, 0, 1)


def test_a_newer_one_that_was_not_read_past_yet_leaves_it_overdue_and_the_sentence_says_so():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.arrive(1, 1.2)
    play.until(60)
    after = "newer ones arrived, but the target was not read to its end since"
    assert play.outcome(0) == (Outcome.OVERDUE, f"written to source at offset 100; {after}")
    play.read_to_end()
    assert play.counts("overdue", "confirmed", "outstanding", "lost") == (1, 1, 0, 0)


def test_a_newer_one_and_a_read_to_the_end_prove_it_lost():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.arrive(1, 1.2)
    assert play.counts("lost") == (0,)
    play.read_to_end()
    sentence = "written to source at offset 100; not found on the target"
    assert play.outcome(0) == (Outcome.LOST, sentence)
    assert play.counts("settled", "in_flight") == (2, 0)


def test_an_end_beyond_what_was_read_proves_nothing_yet():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.arrive(1, 1.2)
    play.tell(TargetRead(0, play.target_offset, play.target_offset + 3))
    assert play.counts("lost") == (0,)
    play.arrive(0, 1.3)  # the mirror had turned them round: it was still to be read
    assert play.counts("good", "lost", "returned", "reordered") == (2, 0, 0, 1)


def test_the_record_that_brings_a_probe_never_proves_it_absent():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.arrive(1, 1.2)
    play.arrive(0, 1.3)
    assert play.counts("good", "lost", "returned", "reordered") == (2, 0, 0, 1)


def test_a_newer_one_in_another_partition_proves_nothing():
    play = Played()
    play.send(0, 0)
    play.send(1, 1, partition=1)
    play.tell(TargetRead(1, 5, 5))
    play.read_to_end()
    play.until(59)
    assert play.counts("lost", "in_flight") == (0, 2)


def test_what_is_not_known_to_be_on_the_source_is_lost_only_once_it_is_known():
    play = Played()
    play.send(0, 0, acked=False)
    play.send(1, 1)
    play.arrive(1, 1.2)
    play.read_to_end()
    assert play.counts("lost", "in_flight") == (0, 1)
    play.source(0, 3)
    play.source(1, 3)
    play.read_to_end()
    assert play.outcome(0)[0] is Outcome.LOST


def test_what_stands_behind_the_newer_one_in_the_sources_log_is_not_passed_by_it():
    play = Played()
    play.send(0, 0, acked=False)  # its request hangs, another producer goes on, and then it comes through
    play.send(1, 1)
    play.arrive(1, 1.2)
    play.read_to_end()
    play.source(1, 1.1)
    play.source(0, 3, offset=102)
    play.read_to_end()
    assert play.counts("lost", "looped", "in_flight") == (0, 0, 1)
    play.arrive(0, 3.2)
    assert play.counts("good", "lost", "looped") == (2, 0, 0)


def test_a_log_that_began_anew_under_us_proves_nothing_about_what_went_into_it():
    play = Played()
    for number in range(3):
        play.send(number, number)
        play.arrive(number, number + 0.2)
    play.read_to_end()
    play.send(3, 3, acked=False)
    play.tell(Acked(TOPIC_ID, 0, 3, 0, int(3.1 * S)))  # another topic of the same name took it
    play.read_to_end()
    assert play.counts("lost", "in_flight") == (0, 1)
    play.send(4, 4, acked=False)
    play.tell(Acked(TOPIC_ID, 0, 4, 1, int(4.1 * S)))
    play.arrive(4, 4.2)
    play.read_to_end()
    assert play.outcome(3)[0] is Outcome.LOST  # and from there on all is as before


def test_the_mirrors_own_position_proves_it_lost_after_a_read_to_the_end_asked_for_then():
    play = Played()
    play.send(0, 0)
    play.tell(TargetRead(0, 7, 7), MirrorPassed(TOPIC_ID, 0, 100, 9))
    assert play.counts("lost") == (0,)
    play.tell(TargetRead(0, 8, 9))
    assert play.counts("lost") == (0,)
    play.tell(TargetRead(0, 9, 9))
    assert play.outcome(0)[0] is Outcome.LOST


def test_the_mirrors_position_before_its_offset_proves_nothing():
    play = Played()
    play.send(0, 0)
    play.tell(TargetRead(0, 9, 9), MirrorPassed(TOPIC_ID, 0, 99, 9), TargetRead(0, 9, 9))
    assert play.counts("lost", "in_flight") == (0, 1)


def test_the_source_refuses_it():
    play = Played()
    play.send(0, 0, acked=False)
    play.tell(Refused(TOPIC_ID, 0, 0, "not authorised"))
    assert play.outcome(0) == (Outcome.PRODUCE_FAILED, "the source refused it: not authorised")
    assert play.counts("settled", "concluded") == (0, 0)


def test_no_acknowledgement_and_not_on_the_source_by_the_horizon():
    play = Played()
    play.send(0, 0, acked=False)
    play.until(60)
    sentence = "not acknowledged, and not found on the source"
    assert play.outcome(0) == (Outcome.PRODUCE_UNKNOWN, sentence)
    assert play.counts("settled", "concluded") == (0, 0)


@pytest.mark.parametrize("reports", [(), (Refused(TOPIC_ID, 0, 0, "no"),)])
def test_seen_on_the_source_it_is_an_ordinary_probe_whatever_was_reported(reports):
    play = Played()
    play.send(0, 0, acked=False)
    play.source(0, 1)
    for report in reports:
        play.tell(report)
    play.arrive(0, 2)
    assert play.outcome(0)[0] is Outcome.GOOD


def test_before_the_flow_carries_the_topic_a_probe_is_warm_up_and_later_ones_count():
    play = Played(warmup_s=600, carried=False)
    play.send(0, 0)
    assert play.counts("expected", "warmup", "in_flight", "settled") == (1, 1, 0, 0)
    play.send(1, 1)
    play.arrive(0, 30)
    play.arrive(1, 30)
    play.send(2, 31)
    play.arrive(2, 31.1)
    assert play.carried() == 1
    assert play.counts("warmup", "good", "settled", "expected") == (2, 1, 1, 3)
    assert [stage for stage, _ in play.timed()].count("end_to_end") == 1


def test_warm_up_ends_by_time_and_then_nothing_downstream_is_overdue():
    play = Played(warmup_s=10, carried=False)
    play.send(0, 0)
    play.send(1, 10)
    play.until(80)
    assert play.counts("warmup", "overdue", "settled") == (1, 1, 1)


def test_a_tick_that_is_not_sent_is_skipped():
    play = Played()
    play.tell(Scheduled(TOPIC_ID, 0, 0, 0, 0))
    assert play.counts("expected", "in_flight") == (1, 1)
    play.tell(Skipped(TOPIC_ID, 0, 0))
    assert play.outcome(0) == (Outcome.SKIPPED, "not sent")


def test_an_orderly_stop_abandons_what_the_source_never_showed_and_leaves_the_rest_in_flight():
    play = Played()
    play.send(0, 0, acked=False)
    play.send(1, 1)
    play.tell(Stopping())
    assert play.outcome(0) == (
        Outcome.ABANDONED,
        "Mirrorwatch stopped before it read the probe on the source",
    )
    assert play.counts("abandoned", "in_flight") == (1, 1)


def test_an_impaired_prober_says_unknown_and_not_overdue():
    play = Played()
    play.send(0, 0)
    play.tell(Impaired("the loop stood still", 1 * S), Restored(2 * S))
    play.send(1, 3)
    play.until(70)
    assert play.outcome(0) == (Outcome.UNKNOWN, "the canary could not measure while it was in flight")
    assert play.outcome(1)[0] is Outcome.OVERDUE
    assert play.counts("settled") == (1,)


def test_while_impaired_a_late_arrival_is_unknown_and_an_early_one_good():
    play = Played()
    play.send(0, 0)
    play.send(1, 3)
    play.tell(Impaired("the tap stood still", 1 * S))
    play.arrive(0, 6)
    play.arrive(1, 6)
    sentence = "arrived at an unknown time: the canary could not measure"
    assert play.outcome(0) == (Outcome.UNKNOWN, sentence)
    assert play.outcome(1)[0] is Outcome.GOOD


def test_what_was_settled_stays_settled_though_the_probe_ends_unknown():
    play = Played()
    play.send(0, 0)
    play.until(6)
    play.tell(Impaired("the tap stood still", 7 * S))
    play.until(60)
    assert play.counts("settled", "unknown", "concluded") == (1, 1, 0)


def test_a_re_created_topic_ends_what_was_in_flight_as_unknown():
    play = Played()
    play.send(0, 0)
    play.tell(TopicReplaced(TOPIC_ID, 2 * S))
    assert play.outcome(0) == (Outcome.UNKNOWN, "its topic was re-created")
    play.tell(Acked(TOPIC_ID, 0, 0, 5, 3 * S), Refused(TOPIC_ID, 0, 0, "gone"))
    play.arrive(0, 3)
    assert play.counts("expected", "unknown", "duplicated") == (1, 1, 0)


def test_a_tick_for_a_topic_that_went_away_is_unknown_and_begins_nothing():
    play = Played()
    play.send(0, 0)
    play.tell(TopicReplaced(TOPIC_ID, 2 * S))
    play.tell(Scheduled(TOPIC_ID, 0, 1, 3 * S, 3000), Sent(TOPIC_ID, 0, 1, 3 * S))
    play.tell(Scheduled(TOPIC_ID, 0, 2, 4 * S, 4000), Skipped(TOPIC_ID, 0, 2))
    assert play.outcome(1) == (Outcome.UNKNOWN, "its topic was re-created before it was sent")
    play.until(100)
    assert play.counts("expected", "unknown", "in_flight") == (3, 3, 0)
    assert play.tracker.partition_statuses() == []


def test_sequences_start_again_with_a_new_topic_and_are_not_mixed_with_the_old():
    play = Played()
    play.send(0, 0)
    play.arrive(0, 0.1)
    play.tell(
        TopicReplaced(TOPIC_ID, 2 * S),
        Scheduled("topic-id-2", 0, 0, 3 * S, 3000),
        Sent("topic-id-2", 0, 0, 3 * S),
    )
    play.arrive(0, 3.1)  # a copy of the old topic's
    assert play.counts("good", "duplicated", "in_flight") == (1, 0, 1)


@pytest.mark.parametrize(
    "event",
    [
        Sent(TOPIC_ID, 0, 5, 0),
        Skipped(TOPIC_ID, 0, 0),
        Scheduled(TOPIC_ID, 0, 0, 0, 0),
        Sent("other", 0, 0, 0),
    ],
)
def test_what_cannot_be_raises_and_changes_nothing(event):
    play = Played()
    play.send(0, 0)
    before = play.tracker.counters.as_dict()
    with pytest.raises(ValueError, match=r"^probe \d of partition 0 "):
        play.tracker.handle(event)
    assert play.tracker.counters.as_dict() == before


def test_an_event_handled_late_settles_what_it_finds_past_its_horizon():
    play = Played()
    play.send(0, 0)
    play.arrive(0, 61)  # no deadline was looked at in between
    assert play.counts("overdue", "recovered", "settled", "outstanding") == (1, 1, 1, 0)
    assert len(play.flags(Flag.RECOVERED)) == 1


def test_a_reader_that_started_over_has_not_read_to_the_end():
    play = Played()
    play.send(0, 0)
    play.tell(TargetRead(0, 9, 9))
    play.record(ForeignRecord("the log began again, or the reader did"), 1)
    play.tell(MirrorPassed(TOPIC_ID, 0, 100, 5))
    assert play.counts("lost") == (0,)
    play.tell(TargetRead(0, 5, 5))
    assert play.outcome(0)[0] is Outcome.LOST
