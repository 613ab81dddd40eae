"""What a flow's watch keeps of what its tracker says: findings, the last losses, recovery point, evidence."""

import pytest

from canary.persistence.inherited import InheritedState
from canary.tracker.events import (
    Acked,
    Impaired,
    Scheduled,
    SeenAtTarget,
    Sent,
    Stage,
    TargetRead,
    TopicReplaced,
)
from canary.tracker.stamp import Corrupted, Identity, Intact
from canary.watch.findings import MAX_FINDINGS, MAX_LOSSES
from canary.watch.watch import FlowWatch, Instant
from fleet.verdicts.evidence import CanaryState, FindingKind
from tests.canary.pretend_link import INCARNATION, INSTALLATION, TOPIC, TOPIC_ID, S, policy, stamp

BEGAN_AT = 1_790_000_000.0


class Watched:
    """A watch that is told by whole seconds of one clock; the wall clock began at BEGAN_AT."""

    def __init__(self, *, carried: bool = True, warmup_s: float = 0) -> None:
        known = [(TOPIC_ID, number) for number in range(64)] if carried else []
        self.watch = FlowWatch(
            policy(warmup_s=warmup_s),
            source_topic=TOPIC,
            target_topic=f"A.{TOPIC}",
            interval_s=1,
            carried=known,
        )
        self.ends: dict[int, int] = {}

    def tell(self, at_s: float, *events: object) -> None:
        for event in events:
            self.watch.handle(event, Instant(int(at_s * S), BEGAN_AT + at_s))

    def until(self, at_s: float) -> None:
        self.watch.advance(Instant(int(at_s * S), BEGAN_AT + at_s))

    def send(self, sequence: int, at_s: float, partition: int = 0) -> None:
        name, at = (TOPIC_ID, partition, sequence), int(at_s * S)
        self.tell(
            at_s, Scheduled(*name, at, at // 1_000_000), Sent(*name, at), Acked(*name, 100 + sequence, at)
        )

    def record(self, reading: object, at_s: float, partition: int = 0) -> None:
        offset = self.ends.get(partition, 0)
        self.ends[partition] = offset + 1
        self.tell(at_s, SeenAtTarget(partition, offset, offset + 1, reading, int(at_s * S)))

    def arrive(self, sequence: int, at_s: float, partition: int = 0) -> None:
        self.record(Intact(stamp(sequence, partition)), at_s, partition)

    def read_to_end(self, at_s: float, partition: int = 0) -> None:
        end = self.ends.get(partition, 0)
        self.tell(at_s, TargetRead(partition, end, end))

    def last_arrival_at(self, at_s: float, *, set_by_s: float = 0.0) -> float | None:
        now = Instant(int(at_s * S), BEGAN_AT + at_s + set_by_s)
        return self.watch.last_arrival_at(self.watch.summary(now.ns), now)

    def evidence(self, at_s: float):
        now = Instant(int(at_s * S), BEGAN_AT + at_s)
        return self.watch.evidence(now, state=CanaryState.RUNNING, sentence="")


def changed(sequence: int, partition: int = 0) -> Corrupted:
    return Corrupted(Identity(TOPIC_ID, INCARNATION, partition, sequence), "the key is missing", INSTALLATION)


def test_a_lost_probe_is_a_finding_and_one_of_the_last_losses():
    watched = Watched()
    watched.send(0, 0)
    watched.send(1, 1)
    watched.arrive(1, 1.5)
    watched.read_to_end(2)
    (finding,) = watched.evidence(3).findings
    assert (finding.kind, finding.at, finding.topic) == (FindingKind.LOST, BEGAN_AT + 2, TOPIC)
    assert (finding.partition, finding.source_offset, finding.count) == (0, 100, 1)
    assert not finding.overtaken
    (loss,) = watched.watch.found.losses
    assert (loss.at, loss.sequence, loss.source_offset, loss.count) == (BEGAN_AT + 2, 0, 100, 1)


@pytest.mark.parametrize(("log_start", "overtaken"), [(100, False), (101, True)])
def test_a_loss_is_overtaken_where_the_sources_log_begins_behind_it(log_start, overtaken):
    watched = Watched()
    watched.watch.log_starts = {0: log_start}
    watched.send(0, 0)
    watched.until(60)
    watched.send(1, 61)
    watched.arrive(1, 61.5)
    watched.read_to_end(62)
    (finding,) = watched.evidence(63).findings
    assert (finding.kind, finding.overtaken, finding.count) == (FindingKind.LOST, overtaken, 1)
    assert finding.sentence == "overdue, then not found on the target"


def test_a_corrupted_copy_is_altered_and_not_a_loss_as_well():
    watched = Watched()
    watched.send(0, 0)
    watched.record(changed(0), 0.5)
    watched.until(60)
    assert watched.watch.counters.lost == 1
    (finding,) = watched.evidence(61).findings
    assert (finding.kind, finding.at, finding.target_offset) == (FindingKind.ALTERED, BEGAN_AT + 0.5, 0)
    assert finding.topic == f"A.{TOPIC}"
    assert list(watched.watch.found.losses) == []


def test_findings_of_a_kind_and_partition_are_counted_together_until_a_burst_of_them_has_ended():
    watched = Watched()
    for number in range(6):
        watched.send(number, 0)
        watched.record(changed(number), 10 + 1.125 * number + (4 if number > 3 else 0))
    found = watched.evidence(30).findings
    assert [(one.began_at - BEGAN_AT, one.at - BEGAN_AT, one.count) for one in found] == [
        (10, 13.375, 4),
        (18.5, 19.625, 2),
    ]
    assert [one.target_offset for one in found] == [3, 5]


def test_a_flood_of_one_kind_pushes_out_no_other():
    watched = Watched()
    watched.send(0, 0)
    watched.send(1, 1)
    watched.arrive(1, 1.5)
    watched.read_to_end(2)
    for copy in range(2 * MAX_FINDINGS):
        watched.arrive(1, 10 + 6.0 * copy)
    findings = watched.evidence(9000).findings
    assert [one.kind for one in findings].count(FindingKind.LOST) == 1
    assert len(findings) == 1 + MAX_FINDINGS
    assert [one.at for one in findings] == sorted(one.at for one in findings)


def test_the_newest_losses_are_kept_first_and_not_more_than_a_page_of_them():
    watched = Watched()
    for number in range(2 * MAX_LOSSES + 10):
        watched.send(number, number)
        if number % 2:
            watched.arrive(number, number + 0.2)
            watched.read_to_end(number + 0.3)
    losses = watched.watch.found.losses
    assert len(losses) == MAX_LOSSES
    assert losses[0].sequence == 2 * MAX_LOSSES + 8
    assert [loss.sequence for loss in losses] == sorted((loss.sequence for loss in losses), reverse=True)


def test_the_recovery_point_is_the_oldest_partitions_and_grows_while_nothing_arrives():
    watched = Watched()
    assert watched.watch.recovery_point_age_s(0) is None
    watched.send(0, 1)
    watched.send(0, 2, partition=1)
    watched.arrive(0, 3)
    assert watched.watch.recovery_point_age_s(4 * S) is None  # nothing has come through partition 1 yet
    watched.arrive(0, 4, partition=1)
    assert watched.watch.recovery_point_age_s(4 * S) == 3
    assert watched.watch.recovery_point_age_s(100 * S) == 99


def test_the_recovery_point_moves_with_what_arrives_after_its_horizon():
    watched = Watched()
    for number in range(10):
        watched.send(number, number)
    watched.until(100)
    for number in range(4):
        watched.arrive(number, 101)
    assert watched.watch.recovery_point_age_s(102 * S) == 102 - 3
    one = watched.evidence(102).partitions[0]
    assert (one.pending_age_s, one.pending_offset) == (102 - 4, 104)
    assert (one.latency_s, one.arrival_age_s, one.present_age_s) == (101 - 3, 1, 99)


def test_a_partition_that_is_new_does_not_hide_the_recovery_point_of_the_others():
    watched = Watched(carried=False, warmup_s=600)
    watched.send(0, 1)
    watched.arrive(0, 2)
    watched.send(0, 3, partition=1)
    assert watched.watch.recovery_point_age_s(5 * S) == 4


def test_evidence_tells_ages_of_what_waits_and_of_what_came():
    watched = Watched()
    watched.send(0, 1)
    watched.arrive(0, 1.5)
    watched.send(1, 2)
    watched.tell(3, Scheduled(TOPIC_ID, 0, 2, 3 * S, 3000), Sent(TOPIC_ID, 0, 2, 3 * S))
    one = watched.evidence(10).partitions[0]
    assert (one.pending_age_s, one.pending_offset, one.unacked_age_s) == (8, 101, 7)
    assert (one.arrival_age_s, one.latency_s, one.present_age_s) == (8.5, 0.5, 9)
    assert watched.watch.last_arrival_ns == 1.5 * S


def test_the_last_arrival_survives_a_re_creation_and_a_clock_that_is_set():
    watched = Watched()
    watched.watch.inherit(InheritedState(arrived_at=BEGAN_AT - 300_000), Instant(0, BEGAN_AT))
    watched.send(0, 1)
    watched.arrive(0, 2)
    watched.tell(3, TopicReplaced(TOPIC_ID, 3 * S, "another"))
    assert watched.last_arrival_at(20) is None  # nothing waits
    at = 20 * S
    name = ("another", 0, 1)
    watched.tell(20, Scheduled(*name, at, 20_000), Sent(*name, at), Acked(*name, 5, at))
    assert watched.last_arrival_at(30) == BEGAN_AT + 2
    assert watched.last_arrival_at(30, set_by_s=-3600) == BEGAN_AT + 2 - 3600


def test_an_arrival_from_the_future_was_just_now():
    watched = Watched()
    watched.watch.inherit(InheritedState(arrived_at=BEGAN_AT + 3600), Instant(0, BEGAN_AT))
    watched.send(0, 1)
    assert watched.last_arrival_at(100) == BEGAN_AT


def test_what_failed_in_an_outage_says_nothing_once_newer_ones_are_written():
    watched = Watched()
    watched.tell(1, Scheduled(TOPIC_ID, 0, 0, 1 * S, 1000), Sent(TOPIC_ID, 0, 0, 1 * S))
    assert watched.evidence(10).partitions[0].unacked_age_s == 9
    watched.send(1, 11)
    watched.arrive(1, 11.5)
    assert watched.evidence(12).partitions[0].unacked_age_s is None
    watched.tell(13, Scheduled(TOPIC_ID, 0, 2, 13 * S, 13_000), Sent(TOPIC_ID, 0, 2, 13 * S))
    assert watched.evidence(20).partitions[0].unacked_age_s == 7


def test_what_is_warming_up_waits_for_nothing():
    watched = Watched(carried=False, warmup_s=600)
    watched.send(0, 1)
    one = watched.evidence(50).partitions[0]
    assert (one.carried, one.pending_age_s, one.unacked_age_s, one.arrival_age_s) == (False, None, None, None)


def test_why_the_prober_cannot_judge_is_part_of_the_evidence():
    watched = Watched()
    watched.tell(1, Impaired("its event loop was blocked for 2.0 s", 1 * S))
    assert watched.evidence(2).impaired == "its event loop was blocked for 2.0 s"


def test_after_a_re_creation_the_old_topics_partitions_are_evidence_no_more():
    watched = Watched()
    watched.send(0, 1)
    watched.tell(2, TopicReplaced(TOPIC_ID, 2 * S))
    assert watched.evidence(3).partitions == ()


def test_each_stage_is_measured_once_for_each_probe_that_arrives():
    watched = Watched()
    for number in range(5):
        watched.send(number, number)
        watched.arrive(number, number + 0.2)
    for stage in Stage:
        assert watched.watch.histograms[stage].cumulative()[-1] == ("+Inf", 5)
        assert watched.watch.recent[stage].summary(5 * S)[-1].max_s is not None


def test_concluded_probes_are_counted_by_partition_and_outcome():
    watched = Watched()
    watched.send(0, 0)
    watched.send(0, 0, partition=7)
    watched.arrive(0, 0.2, partition=7)
    watched.until(60)
    counts = {(number, outcome.value): n for (number, outcome), n in watched.watch.partition_outcomes.items()}
    assert counts == {(7, "good"): 1, (0, "overdue"): 1}
