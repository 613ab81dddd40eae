"""What is read again, how much of it, and what of it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum.compare.digest_findings import compared
from checksum.compare.findings import Proof, ReadAgain, RecordVerdict
from checksum.compare.retention import Unverified
from checksum.compare.verdicts import INCOMPLETE, result
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from checksum.plan.shape import OffsetRange
from checksum.recheck import recheck
from checksum.recheck.recheck import PAUSE_S, Readers, checked_twice, log_starts
from fleet.errors import MalformedError
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_logs import Held, Partition, digest, plan_of
from tests.checksum.pretend_mirror import MARKER, Log, Record

BUCKET_MS = 1000


class Logs:
    """A topic with one partition on both sides, its digests as they are at first, and readers of it later."""

    def __init__(self, *, lost=(), altered=(), count=100):
        self.source = Log([Record(at, b"k%d" % (at % 7), b"v%d" % at, 10 * at) for at in range(count)])
        copies = [record for record in self.source.records if record.number not in lost]
        self.target = Log([self._altered(one) if one.number in altered else one for one in copies])
        partition = Partition(self._held(self.source), self._held(self.target), [(0, 0)])
        topics = {"t": [partition]}
        self.plan = plan_of(topics, cells=2, bucket_ms=BUCKET_MS)
        self.comparison = compared(self.plan, *(digest(topics, self.plan, side).values() for side in Side))
        self.readers = [PretendReader({("t", 0): self.source}), PretendReader({("A.t", 0): self.target})]
        self.pauses = []

    @staticmethod
    def _altered(one):
        return Record(one.number, one.key, b"other", one.at_ms)

    @staticmethod
    def _held(log):
        return [Held(at, Content(one.key, one.value, one.at_ms, None)) for at, one in enumerate(log.records)]

    def looked(self, meanwhile=lambda: None):
        def pause(seconds):
            self.pauses.append(seconds)
            meanwhile()

        source, target = self.readers
        return checked_twice(self.comparison, Readers(source, target, source, source), pause=pause)

    @property
    def found(self):
        known, _ = self.looked()
        return [(one.verdict, one.source.first if one.source else None, one.proof) for one in known.findings]


def test_where_nothing_differs_nothing_is_read():
    logs = Logs()
    assert logs.found == []
    assert (logs.pauses, [one.picked for one in logs.readers]) == ([], [0, 0])


def test_what_the_digests_tell_only_roughly_is_read_twice():
    logs = Logs(lost=(50,))
    (known,) = logs.comparison.known.findings
    assert (known.verdict, known.proof, known.source.span > 1) == (RecordVerdict.LOST, Proof.DIGESTS, True)
    assert logs.found == [(RecordVerdict.LOST, 50, Proof.READING)]
    assert logs.pauses == [PAUSE_S]
    assert [one.picked for one in logs.readers] == [200, 198]


def test_several_that_the_digests_cannot_tell_apart_are_named():
    logs = Logs(lost=(50, 52, 54), altered=(20, 21))
    assert logs.comparison.known.read_again
    assert [one[:2] for one in logs.found] == [
        *((RecordVerdict.ALTERED, at) for at in (20, 21)),
        *((RecordVerdict.LOST, at) for at in (50, 52, 54)),
    ]


def test_blocks_that_are_too_large_stay_as_the_digests_tell_them(monkeypatch):
    monkeypatch.setattr(recheck, "MOST_OFFSETS", 99)
    logs = Logs(lost=(50, 52, 54))
    known, _ = logs.looked()
    assert (known.findings, len(known.read_again)) == ((), 1)
    assert [one.picked for one in logs.readers] == [0, 0]
    monkeypatch.setattr(recheck, "MOST_OFFSETS", 100)
    assert len(logs.looked()[0].findings) == 3


@pytest.mark.parametrize("at", [50, 0])
def test_what_the_digests_alone_name_counts_only_as_long_as_it_is_so(monkeypatch, at):
    monkeypatch.setattr(recheck, "MOST_OFFSETS", 10)
    logs = Logs(lost=(at,))
    assert logs.found == [(RecordVerdict.LOST, 0, Proof.DIGESTS)]
    copy = logs.source.records[at]
    # Its copy was on its way, or was not given when the digest read.
    known, _ = logs.looked(lambda: logs.target.records.insert(60, copy))
    assert known.findings == ()


def test_what_cannot_be_looked_for_stays(monkeypatch):
    monkeypatch.setattr(recheck, "MOST_OFFSETS", 10)
    logs = Logs(lost=(50,))
    logs.source.records[50] = MARKER  # it is not there any more
    assert logs.found == [(RecordVerdict.LOST, 0, Proof.DIGESTS)]


def test_blocks_that_are_near_or_of_different_partitions_are_read_at_once_and_never_too_much(monkeypatch):
    monkeypatch.setattr(recheck, "MOST_OFFSETS", 50)
    monkeypatch.setattr(recheck, "NEAR", 7)

    def block(partition, first, span):
        held = OffsetRange(first, first + span)
        return ReadAgain("t", partition, held, held, "")

    one, near, far, nearer = block(0, 0, 5), block(0, 12, 5), block(0, 25, 5), block(0, 32, 5)
    other, small, large = block(1, 0, 30), block(2, 0, 1), block(3, 0, 50)
    # The last one of partition 0 is near one that was left for later.
    assert recheck.read_together([one, near, far, nearer, other, small, large]) == [
        [one, near, other, small],
        [far, nearer],
        [large],
    ]
    assert recheck.read_together([]) == []


def test_blocks_that_are_read_at_once_are_compared_one_by_one():
    logs = Logs(lost=(50, 52, 154, 156), count=200)
    (known,) = logs.comparison.known.read_again
    first = replace(known, source=OffsetRange(0, 100), target=OffsetRange(0, 98))
    second = replace(known, source=OffsetRange(150, 200), target=OffsetRange(148, 196))
    comparison = replace(logs.comparison, known=replace(logs.comparison.known, read_again=(first, second)))
    found, _ = checked_twice(
        comparison, Readers(*logs.readers, logs.readers[0], logs.readers[0]), pause=lambda _: None
    )
    assert [one.source.first for one in found.findings] == [50, 52, 154, 156]
    # Both sides whole, and each twice: two questions of each side.
    assert [one.picked for one in logs.readers] == [400, 392]


def test_a_look_reads_no_more_than_so_much(monkeypatch):
    monkeypatch.setattr(recheck, "MOST_IN_ALL", 196)
    assert Logs(lost=(50, 52, 54)).looked()[0].read_again
    monkeypatch.setattr(recheck, "MOST_IN_ALL", 197)
    assert not Logs(lost=(50, 52, 54)).looked()[0].read_again


def test_what_one_look_alone_saw_is_dropped():
    logs = Logs(lost=(50, 52, 54))
    known, _ = logs.looked(lambda: logs.source.records.__setitem__(52, MARKER))
    assert [one.source.first for one in known.findings] == [50, 54]


def test_what_the_second_look_alone_saw_is_not_counted_yet():
    logs = Logs(lost=(50, 52, 54))
    known, _ = logs.looked(lambda: logs.target.records.__setitem__(0, MARKER))
    assert [one.source.first for one in known.findings] == [50, 52, 54]


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_retention_takes_between_the_looks_is_unverified(side):
    logs = Logs(lost=(10, 50, 52))

    def expire():
        getattr(logs, side).start = 30

    known, unverified = logs.looked(expire)
    # There is no cut within, so that nothing of it can be told any more.
    assert known.findings == ()
    assert [(one.topic, one.partition, one.source.first) for one in unverified] == [("t", 0, 0)]
    assert unverified[0].source.until >= 53


def digested(logs, offsets):
    """Return what two digests tell that hold these offsets and no others."""
    held = [Logs._held(logs.source)[at] for at in offsets]
    topics = {"t": [Partition(held, held)]}
    return compared(logs.plan, *(digest(topics, logs.plan, side).values() for side in Side))


def test_what_is_taken_once_both_digests_are_made_was_read():
    # Offset 5 holds no record. Retention comes after the first question where the logs begin.
    logs = Logs()
    comparison = digested(logs, [at for at in range(100) if at != 5])
    source, target = logs.readers
    asked = source.starts

    def starts(places):
        found = asked(places)
        logs.source.start = logs.target.start = 60
        return found

    source.starts = starts
    _, unverified = checked_twice(
        comparison, Readers(source, target, source, source), pause=logs.pauses.append
    )
    assert logs.source.start == 60
    assert unverified == ()


def test_what_neither_side_read_as_retention_was_faster_is_no_match():
    # A slice of 20 was read; then both logs lost all below 60, and the next slices gave what was left.
    logs = Logs()
    comparison = digested(logs, [at for at in range(100) if at < 20 or at >= 60])
    logs.source.start = logs.target.start = 60
    source, target = logs.readers
    known, unverified = checked_twice(
        comparison, Readers(source, target, source, source), pause=logs.pauses.append
    )
    told = result(logs.plan, comparison.cells, known, exactly_once=False, unverified=unverified)
    (gone,) = unverified
    assert gone.source.first <= 20
    assert gone.source.until == 60
    assert told.coverage <= 0.6
    assert told.status == INCOMPLETE


def test_what_was_taken_before_and_after_the_digests_is_told_as_one():
    first, later = (
        Unverified("t", 0, OffsetRange(*offsets), why) for offsets, why in (((0, 20), "a"), ((15, 40), "b"))
    )
    assert recheck._joined_by_partition([first, later]) == (Unverified("t", 0, OffsetRange(0, 40), "b"),)
    assert recheck._joined_by_partition([later, first]) == (Unverified("t", 0, OffsetRange(0, 40), "b"),)


def test_log_starts_are_those_of_both_sides_by_the_source_s_name():
    logs = Logs()
    logs.source.start, logs.target.start = 3, 5
    source, target = logs.readers
    assert log_starts(logs.plan, Readers(source, target, source, source)) == {("t", 0): (3, 5)}


def test_rows_that_no_digest_can_hold_are_refused():
    logs = Logs()
    rows = list(logs.comparison.source.values())
    with pytest.raises(MalformedError, match="source, t-0, bucket"):
        compared(logs.plan, [rows[0]._replace(records=10_000), *rows[1:]], rows)
