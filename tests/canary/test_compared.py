"""Copies that wait to be compared with their originals: no deadline passes over what was read before it."""

from __future__ import annotations

import pytest

from canary.tracker.events import SeenAtTarget, TargetRead
from canary.tracker.stamp import Compared, Corrupted, ForeignRecord, Identity, Intact
from canary.watch.foreign_records import HOLD_S, ForeignRecords
from runtime.kafka.tap import TappedRecord
from tests.canary.played import Played
from tests.canary.pretend_link import INCARNATION, INSTALLATION, TOPIC_ID, S, stamp

HORIZON_S = 60


class Line:
    """One partition of a flow whose copies come by way of the comparison, as in the service."""

    def __init__(self) -> None:
        self.play = Played()
        self.strangers = ForeignRecords()
        self.offset = 0
        self.ticked_ms = 0

    def read(self, reading, at_s: float) -> TappedRecord:
        offset, at_ns = self.offset, int(at_s * S)
        self.offset += 1
        record = TappedRecord("B", "A.c", 0, offset, offset + 1, b"key", b"%d" % offset, [], at_ns)

        def give(one):
            self.play.tell(SeenAtTarget(0, offset, offset + 1, one, at_ns))

        self.strangers.sort(record, reading, give, line=("A->B", 0))
        return record

    def until(self, at_s: float) -> None:
        """Do at every tick what the service does: first what may be given on, then the deadlines."""
        while self.ticked_ms < at_s * 1000:
            self.ticked_ms += 100
            self.strangers.release(self.ticked_ms * S // 1000)
            self.play.until(self.ticked_ms / 1000)


def changed(sequence: int) -> Corrupted:
    return Corrupted(Identity(TOPIC_ID, INCARNATION, 0, sequence), "the value differs", INSTALLATION)


STRANGE = Corrupted(None, "it names no probe")


def test_a_copy_behind_one_that_is_compared_is_late_by_its_arrival_and_not_overdue():
    line = Line()
    line.play.send(0, 0)
    line.read(STRANGE, HORIZON_S - 0.2)
    line.read(Intact(stamp(0)), HORIZON_S - 0.1)
    line.until(HORIZON_S + 0.5)
    assert line.play.counts("in_flight", "overdue") == (1, 0)
    line.until(HORIZON_S + HOLD_S)
    assert line.play.counts("late", "overdue", "recovered", "in_flight") == (1, 0, 0, 0)


def test_a_copy_that_arrived_at_the_horizon_itself_is_late():
    line = Line()
    line.play.send(0, 0)
    line.read(STRANGE, HORIZON_S)
    line.read(Intact(stamp(0)), HORIZON_S)
    line.until(HORIZON_S + HOLD_S)
    assert line.play.counts("late", "overdue") == (1, 0)


def test_a_changed_copy_that_is_compared_over_the_horizon_makes_its_probe_lost():
    line = Line()
    line.play.send(0, 0)
    line.read(changed(0), HORIZON_S - 0.1)
    line.until(HORIZON_S + HOLD_S)
    assert line.play.counts("lost", "overdue", "corrupted") == (1, 0, 1)


def test_a_copy_that_was_read_after_the_horizon_saves_nothing():
    line = Line()
    line.play.send(0, 0)
    line.read(STRANGE, HORIZON_S + 0.1)
    line.read(Intact(stamp(0)), HORIZON_S + 0.1)
    line.until(HORIZON_S + 0.2)
    assert line.play.counts("overdue", "in_flight") == (1, 0)
    line.until(HORIZON_S + 2)
    assert line.play.counts("overdue", "recovered", "late") == (1, 1, 0)


def test_deadlines_pass_again_once_everything_that_was_compared_was_given_on():
    line = Line()
    line.play.send(0, 0)
    record = line.read(STRANGE, HORIZON_S - 0.1)
    line.strangers.add(record)  # the source shows the same
    line.until(HORIZON_S)
    assert line.strangers.idle
    assert line.play.counts("overdue", "corrupted") == (1, 0)


@pytest.mark.parametrize("partition", [0, 1])
def test_what_is_compared_holds_the_horizons_of_the_whole_flow(partition):
    """A copy may stand in a partition that is not its own."""
    play = Played()
    play.send(0, 0, partition=partition)
    play.tell(SeenAtTarget(0, 7, 8, Compared(), 59 * S))
    play.until(HORIZON_S + 0.5)
    assert play.counts("in_flight") == (1,)
    play.tell(SeenAtTarget(0, 7, 8, ForeignRecord("its bytes on the source are the same"), 59 * S))
    play.until(HORIZON_S + 0.5)
    assert play.counts("overdue", "in_flight") == (1, 0)


def test_what_is_compared_is_not_read_yet():
    """Neither is a newer probe sighted by it, nor is the target read past it."""
    play = Played()
    for sequence in range(2):
        play.send(sequence, sequence)
        play.source(sequence, sequence + 0.1)
    play.tell(SeenAtTarget(0, 0, 1, Compared(), 2 * S))
    play.read_to_end()
    assert play.counts("lost", "duplicated", "in_flight") == (0, 0, 2)
    play.tell(SeenAtTarget(0, 0, 1, Intact(stamp(0)), 2 * S))
    assert play.counts("good", "duplicated", "in_flight") == (1, 0, 1)


@pytest.mark.parametrize(("held", "lost"), [(0, 0), (1, 1)], ids=["of this partition", "of another"])
def test_absence_is_not_proved_over_a_copy_that_is_still_compared(held, lost):
    """The tap tells the end at once, and the copy that was missing may be the one that is held."""
    play = Played()
    for sequence in range(3):
        play.send(sequence, sequence)
    play.source(2, 2.1)
    play.tell(SeenAtTarget(0, 0, 1, Intact(stamp(1)), 3 * S))
    play.tell(SeenAtTarget(held, 1, 2, Compared(), 3 * S))
    play.tell(TargetRead(0, 2, 2))
    assert play.counts("lost", "good") == (lost, 1)
    play.tell(SeenAtTarget(held, 1, 2, Intact(stamp(0, held)), 3 * S))
    play.tell(TargetRead(0, 2, 2))
    assert play.counts("lost", "returned") == (lost, 0)


def test_once_the_held_copy_is_released_the_end_proves_what_is_absent():
    play = Played()
    for sequence in range(3):
        play.send(sequence, sequence)
        play.source(sequence, sequence + 0.1)
    play.tell(SeenAtTarget(0, 0, 1, Intact(stamp(1)), 3 * S))
    play.tell(SeenAtTarget(0, 1, 2, Compared(), 3 * S))
    play.tell(TargetRead(0, 2, 2))
    play.tell(SeenAtTarget(0, 1, 2, ForeignRecord("its bytes on the source are the same"), 3 * S))
    assert play.counts("lost", "good", "in_flight") == (1, 1, 1)
