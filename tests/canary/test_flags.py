"""Each flag by its rule, with its sentence; flags stand beside the outcomes and take nothing back."""

import pytest

from canary.tracker.counters import Flag, Outcome
from canary.tracker.events import Acked, SeenAtTarget, TargetReplaced, TopicReplaced
from canary.tracker.stamp import Corrupted, ForeignRecord, Identity, Intact, Stamp
from tests.canary.played import Played
from tests.canary.pretend_link import INCARNATION, INSTALLATION, TOPIC, TOPIC_ID, S, stamp


def changed(sequence: int, partition: int = 0, topic_id: str = TOPIC_ID) -> Corrupted:
    identity = Identity(topic_id, INCARNATION, partition, sequence)
    return Corrupted(identity, "the key is missing", INSTALLATION)


def test_recovered_is_what_arrives_after_overdue_and_its_latency_is_kept():
    play = Played()
    play.send(0, 0)
    play.until(60)
    play.arrive(0, 75)
    assert play.flags(Flag.RECOVERED) == [(0, 1, "arrived after its horizon")]
    assert play.counts("overdue", "recovered", "outstanding", "delivered") == (1, 1, 0, 0)
    assert ("end_to_end", 75.0) in play.timed()
    one = play.tracker.partition_statuses()[0]
    assert (one.newest_present_ns, one.last_latency_ns, one.oldest_pending_ns) == (0, 75 * S, None)


def test_confirmed_is_what_was_overdue_and_is_proved_absent():
    play = Played()
    for number in range(3):
        play.send(number, number)
    play.until(70)
    play.send(3, 70)
    play.arrive(3, 70.1)
    play.read_to_end()
    sentence = "overdue, then not found on the target"
    assert play.flags(Flag.CONFIRMED) == [(0, 3, sentence)]
    assert play.counts("overdue", "confirmed", "lost", "outstanding") == (3, 3, 0, 0)


def test_closed_is_what_was_overdue_when_its_topic_went_away():
    play = Played()
    play.send(0, 0)
    play.until(60)
    play.tell(TopicReplaced(TOPIC_ID, 61 * S))
    assert play.flags(Flag.CLOSED) == [(0, 1, "overdue when its topic was re-created")]
    assert play.counts("overdue", "closed", "outstanding") == (1, 1, 0)


@pytest.mark.parametrize("how", ["lost", "confirmed as lost"])
def test_returned_is_what_arrives_after_it_was_given_up(how):
    play = Played()
    play.send(0, 0)
    if how != "lost":
        play.until(60)
    play.send(1, 60)
    play.arrive(1, 60.1)
    play.read_to_end()
    play.arrive(0, 61)
    sentence = f"arrived although reported as {how}: that report was wrong"
    assert play.flags(Flag.RETURNED) == [(0, 1, sentence)]
    assert play.counts("returned", "duplicated") == (1, 0)
    assert play.counts({"confirmed as lost": "confirmed"}.get(how, how)) == (1,)  # nothing is taken back


def test_what_arrives_after_nobody_knew_whether_it_was_written_is_no_wrong_report():
    play = Played()
    play.send(0, 0, acked=False)
    play.until(60)
    play.arrive(0, 61)
    assert play.flags(Flag.RETURNED) == []
    assert play.counts("produce_unknown", "returned", "duplicated") == (1, 0, 0)


def test_duplicated_is_every_copy_after_the_first_at_an_offset_of_its_own():
    play = Played()
    play.send(0, 0)
    for _ in range(3):
        play.arrive(0, 1)
    assert play.flags(Flag.DUPLICATED) == [(0, 1, "arrived before")] * 2
    assert play.counts("good", "duplicated") == (1, 2)


def test_a_reader_that_starts_over_counts_nothing_twice():
    play = Played()
    for number in range(4):
        play.send(number, number)
        play.source(number, number + 0.02)
    play.arrive(0, 5)
    play.record(changed(1), 5)
    play.record(Intact(Stamp("other", INCARNATION, 7, TOPIC_ID, TOPIC, 0, 0)), 5)
    play.record(Intact(stamp(0, 1)), 5)
    flags = [flag.value for flag in Flag]
    assert sum(play.counts(*flags)) == 3
    foreign = Intact(Stamp("other", INCARNATION, 7, TOPIC_ID, TOPIC, 0, 0))
    for offset, reading in enumerate([Intact(stamp(0)), changed(1), foreign, Intact(stamp(0, 1))]):
        play.tell(SeenAtTarget(0, offset, 4, reading, 6 * S))
    for number in range(4):
        play.source(number, 6)
    assert play.counts("corrupted", "foreign", "misrouted") == (1, 1, 1)
    assert sum(play.counts(*flags)) == 3


def test_a_target_recreated_begins_at_offset_0_and_its_records_count():
    play = Played()
    play.send(0, 0)
    play.arrive(0, 0.1)
    play.tell(TargetReplaced(1 * S))
    play.target_offset = 0
    play.arrive(0, 2)
    assert play.counts("good", "duplicated") == (1, 1)
    play.send(1, 3)
    play.send(2, 4)
    play.arrive(2, 4.1)
    play.read_to_end()
    assert play.outcome(1)[0] is Outcome.LOST


def test_reordered_is_an_inversion_within_a_partition():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.arrive(1, 1.5)
    play.arrive(0, 1.6)
    assert play.flags(Flag.REORDERED) == [(0, 1, "arrived after probe 1")]
    assert play.counts("good", "reordered", "returned") == (2, 1, 0)


def test_a_corrupted_copy_delivers_nothing_and_without_an_intact_one_the_probe_is_lost():
    play = Played()
    play.send(0, 0)
    play.record(changed(0), 0.2)
    assert play.counts("corrupted", "in_flight", "settled") == (1, 1, 0)
    play.until(60)
    assert play.outcome(0) == (Outcome.LOST, "only a corrupted record of it arrived before its horizon")
    assert play.counts("settled", "outstanding") == (1, 0)


def test_a_corrupted_copy_shows_how_far_the_mirror_got():
    play = Played()
    for number in range(3):
        play.send(number, number)
    play.record(changed(1), 3)
    play.read_to_end()
    assert play.outcome(0)[0] is Outcome.LOST
    play.arrive(2, 3.1)
    play.read_to_end()
    assert play.outcome(1) == (Outcome.LOST, "only a corrupted record of it is on the target")


def test_an_intact_copy_beside_a_corrupted_one_delivers():
    play = Played()
    play.send(0, 0)
    play.record(changed(0), 0.2)
    play.arrive(0, 0.3)
    assert play.outcome(0)[0] is Outcome.GOOD
    assert play.counts("corrupted", "duplicated") == (1, 0)


def test_a_corrupted_copy_of_an_older_topics_probe_says_nothing_about_the_present_one():
    play = Played()
    play.tell(TopicReplaced("older", 0))
    for number in range(2):
        play.send(number, number)
    play.record(changed(1, topic_id="older"), 3)
    play.read_to_end()
    assert play.counts("corrupted", "lost", "in_flight") == (1, 0, 2)


def test_misrouted_is_a_stamp_in_another_partition_and_it_proves_nothing_about_older_ones():
    play = Played()
    for number in range(2):
        play.send(number, number)
    play.record(Intact(stamp(1)), 1.1, partition=1)
    assert play.flags(Flag.MISROUTED) == [(1, 1, "found in partition 1")]
    play.read_to_end()
    play.arrive(0, 1.5)  # between partitions no order is kept, so it may still come
    play.until(61)
    assert play.outcome(0)[0] is Outcome.GOOD
    assert play.outcome(1) == (Outcome.LOST, "only a misrouted record of it arrived before its horizon")


def test_misrouted_is_a_stamp_of_another_topic():
    play = Played()
    play.send(0, 0)
    play.record(Intact(Stamp(INSTALLATION, INCARNATION, 0, "else", "orders", 0, 0)), 1)
    assert play.flags(Flag.MISROUTED) == [(0, 1, "sent to the topic orders")]


def test_looped_is_a_probe_that_stands_in_the_sources_log_again():
    play = Played()
    play.send(0, 0)
    play.source(0, 0.1)
    play.source(0, 0.5, offset=117)
    assert play.flags(Flag.LOOPED) == [(0, 1, "written to the source again, at offset 117")]


def test_looped_also_where_the_first_sight_is_not_where_it_was_acknowledged():
    play = Played()
    play.send(0, 0)
    play.source(0, 0.5, offset=117)
    assert play.counts("looped") == (1,)


def test_foreign_is_another_installations_and_what_we_never_sent():
    play = Played()
    play.send(0, 0)
    play.record(Intact(Stamp("theirs", INCARNATION, 0, TOPIC_ID, TOPIC, 0, 0)), 1)
    play.record(Corrupted(Identity(TOPIC_ID, INCARNATION, 0, 0), "changed", "theirs"), 1)
    play.record(Intact(stamp(9)), 1)
    assert [sentence for _, _, sentence in play.flags(Flag.FOREIGN)] == [
        "a probe of another installation (theirs)",
        "a changed probe of another installation (theirs)",
        "this incarnation never sent it",
    ]
    assert play.counts("in_flight", "good", "corrupted") == (1, 0, 0)


@pytest.mark.parametrize(
    "forged",
    [
        Identity("of no topic of ours", INCARNATION, 0, 0),
        Identity(TOPIC_ID, INCARNATION, 77, 0),
        Identity(TOPIC_ID, INCARNATION, 0, 1),
    ],
)
def test_foreign_is_a_changed_record_under_a_key_that_we_never_wrote(forged):
    play = Played()
    play.send(0, 0)
    play.record(Corrupted(forged, "the value differs from the value sent"), 1)
    sentence = "a changed record that names a probe which this incarnation never sent"
    assert [one[2] for one in play.flags(Flag.FOREIGN)] == [sentence]
    assert play.counts("in_flight", "corrupted", "foreign") == (1, 0, 1)
    play.arrive(0, 1.5)
    assert play.outcome(0)[0] is Outcome.GOOD


def test_a_stranger_and_another_incarnation_move_no_counter():
    play = Played()
    play.send(0, 0)
    before = play.tracker.counters.as_dict()
    play.record(ForeignRecord("no probe"), 1)
    play.record(Intact(stamp(0, incarnation="00000000000000bb")), 1)
    assert play.tracker.counters.as_dict() == before


def test_an_acknowledgement_after_the_arrival_is_still_timed():
    play = Played()
    play.send(0, 0, acked=False)
    play.arrive(0, 0.5)
    play.source(0, 0.6)
    play.tell(Acked(TOPIC_ID, 0, 0, 100, 8 * S))
    assert play.timed() == [
        ("queueing", 0.001),
        ("end_to_end", 0.5),
        ("replication", 0.0),  # located after its arrival: less than nothing is nothing
        ("ack", 7.999),
    ]
    play.until(100)
    assert play.counts("good", "expected") == (1, 1)


def test_a_corrupted_copy_of_an_overdue_probe_confirms_nothing_by_itself():
    play = Played()
    play.send(0, 0)
    play.until(60)
    play.record(changed(0), 61)
    play.read_to_end()
    assert play.counts("corrupted", "confirmed", "outstanding") == (1, 0, 1)
    play.send(1, 62)
    play.arrive(1, 62.1)
    play.read_to_end()
    assert play.counts("confirmed", "outstanding") == (1, 0)
