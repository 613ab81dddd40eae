"""Whether the source holds a record that the target has too often, and where it is looked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum import look_ups
from checksum.findings import Finding, Held, LookUp, Proof, RecordVerdict
from checksum.look_ups import LookUps
from checksum.plan_shape import READ_COMMITTED, OffsetRange
from checksum.record_hash import Content, record_hash
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_logs import Partition, plan_of
from tests.checksum.pretend_mirror import MARKER, Log, Record

FIRST_MS = 1000
RANGE = OffsetRange(40, 60)


def log(count=100, *, start=0):
    """Return a log whose record at offset n has the time 1000 + n."""
    return Log([Record(at, b"k", b"v%d" % at, FIRST_MS + at) for at in range(count)], start)


def without(one, *offsets):
    """Return a reader's view in which these records were aborted."""
    found = Log(list(one.records), one.start)
    for offset in offsets:
        found.records[offset] = MARKER
    return found


def planned(**more):
    plan = plan_of({"t": [Partition()]})
    (topic,) = plan.topics
    (partition,) = topic.partitions
    return replace(plan, topics=(replace(topic, partitions=(replace(partition, source=RANGE),)),), **more)


def asked(at, *, offsets=None, timed=True, value=None):
    """Ask for the record that stands, or would stand, at this offset."""
    content = Content(b"k", value or b"v%d" % at, FIRST_MS + at)
    found = record_hash(content)
    at_ms = content.timestamp_ms if timed else None
    finding = Finding(RecordVerdict.EXTRA, "t", 0, 1, found, at_ms, None, OffsetRange(1, 2), Proof.DIGESTS)
    return LookUp("t", 0, found, at_ms, offsets, finding)


def held(asking, everything, committed=None, *, plan=None):
    readers = [PretendReader({("t", 0): one}) for one in (everything, committed or everything)]
    answer = LookUps(plan or planned(), everything=readers[0], committed=readers[1]).held(asking)
    return answer, readers[0].picked


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("at", "offsets"),
    [
        (50, RANGE),  # where the digests leave it open
        (10, None),  # before what is compared
        (75, None),  # behind it
        (40, OffsetRange(40, 41)),
        (60, None),
        (99, None),
    ],
)
def test_a_record_that_is_there_is_found(at, offsets, timed):
    assert held(asked(at, offsets=offsets, timed=timed), log())[0] is Held.COMMITTED


def test_where_the_digests_rule_it_out_it_is_not_looked_for():
    answer, read = held(asked(50), log())
    assert (answer, read) == (Held.NO, 40)  # what stands behind the range; nothing before is as late


def test_where_the_source_is_read_without_aborted_records_digests_rule_nothing_out():
    plan = planned(isolation_source=READ_COMMITTED)
    assert held(asked(50), log(), without(log(), 50), plan=plan)[0] is Held.ABORTED


def test_a_record_whose_transaction_was_aborted_is_told_as_that():
    assert held(asked(75), log(), without(log(), 75))[0] is Held.ABORTED


def test_one_that_was_committed_goes_before_one_that_was_aborted():
    twice = log()
    twice.records[80] = twice.records[70]
    assert held(asked(70), twice, without(twice, 70))[0] is Held.COMMITTED


def test_what_nobody_wrote_is_not_there():
    assert held(asked(50, offsets=RANGE, value=b"other"), log())[0] is Held.NO
    assert held(asked(50, offsets=RANGE, value=b"other", timed=False), log())[0] is Held.NO
    assert held(asked(200), log())[0] is Held.NO  # later than all
    assert held(asked(5), Log())[0] is Held.NO


@pytest.mark.parametrize(
    ("at", "timed", "answer"),
    [
        (10, True, Held.NOT_KNOWN),  # the log begins later
        (30, True, Held.NOT_KNOWN),  # the log begins with records of that very time
        (31, True, Held.NO),
        (90, False, Held.NOT_KNOWN),  # its time says nothing
    ],
)
def test_what_retention_may_have_taken_is_not_known(at, timed, answer):
    assert held(asked(at, timed=timed, value=b"other"), log(start=30))[0] is answer
    assert held(asked(at), log(start=100))[0] is Held.NOT_KNOWN  # all of it


def test_how_much_is_read_is_bounded(monkeypatch):
    monkeypatch.setattr(look_ups, "MOST_RECORDS", 25)
    monkeypatch.setattr("checksum.stretches.CHUNK_RECORDS", 10)
    answer, read = held(asked(10), log())
    assert (answer, read) == (Held.NOT_KNOWN, 30)


def test_how_much_a_run_reads_is_bounded(monkeypatch):
    monkeypatch.setattr(look_ups, "MOST_IN_ALL", 30)
    reader = PretendReader({("t", 0): log()})
    answers = LookUps(planned(), everything=reader, committed=reader)
    assert answers.held(asked(99)) is Held.COMMITTED
    assert answers.held(asked(75)) is Held.COMMITTED
    assert [answers.held(asked(99)), answers.held(asked(99))] == [Held.COMMITTED, Held.COMMITTED]
    answers.held(asked(5, value=b"other"))
    assert answers.held(asked(98, value=b"other")) is Held.NOT_KNOWN
