"""Whether the source holds a record that the target has too often, and where it is looked for."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checksum.compare.findings import Finding, Lookup, LookupAnswer, Proof, RecordVerdict
from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import READ_COMMITTED, OffsetRange
from checksum.recheck import lookups
from checksum.recheck.lookups import Lookups
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
    return Lookup("t", 0, found, at_ms, offsets, finding)


def held(asking, everything, committed=None, *, plan=None):
    readers = [PretendReader({("t", 0): one}) for one in (everything, committed or everything)]
    (answer,) = Lookups(plan or planned(), everything=readers[0], committed=readers[1]).answers([asking])
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
    assert held(asked(at, offsets=offsets, timed=timed), log())[0] is LookupAnswer.COMMITTED


def test_where_the_digests_rule_it_out_it_is_not_looked_for():
    answer, read = held(asked(50), log())
    assert (answer, read) == (LookupAnswer.NO, 40)  # what stands behind the range; nothing before is as late


def test_where_the_source_is_read_without_aborted_records_digests_rule_nothing_out():
    plan = planned(isolation_source=READ_COMMITTED)
    assert held(asked(50), log(), without(log(), 50), plan=plan)[0] is LookupAnswer.ABORTED


def test_a_record_whose_transaction_was_aborted_is_told_as_that():
    assert held(asked(75), log(), without(log(), 75))[0] is LookupAnswer.ABORTED


def test_one_that_was_committed_goes_before_one_that_was_aborted():
    twice = log()
    twice.records[80] = twice.records[70]
    assert held(asked(70), twice, without(twice, 70))[0] is LookupAnswer.COMMITTED


def test_what_nobody_wrote_is_not_there():
    assert held(asked(50, offsets=RANGE, value=b"other"), log())[0] is LookupAnswer.NO
    assert held(asked(50, offsets=RANGE, value=b"other", timed=False), log())[0] is LookupAnswer.NO
    assert held(asked(200), log())[0] is LookupAnswer.NO  # later than all
    assert held(asked(5), Log())[0] is LookupAnswer.NO


@pytest.mark.parametrize(
    ("at", "timed", "answer"),
    [
        (10, True, LookupAnswer.NOT_KNOWN),  # the log begins later
        (30, True, LookupAnswer.NOT_KNOWN),  # the log begins with records of that very time
        (31, True, LookupAnswer.NO),
        (90, False, LookupAnswer.NOT_KNOWN),  # its time says nothing
    ],
)
def test_what_retention_may_have_taken_is_not_known(at, timed, answer):
    assert held(asked(at, timed=timed, value=b"other"), log(start=30))[0] is answer
    assert held(asked(at), log(start=100))[0] is LookupAnswer.NOT_KNOWN  # all of it


def test_how_much_is_read_is_bounded(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_RECORDS", 25)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 10)
    answer, read = held(asked(10), log())
    assert (answer, read) == (LookupAnswer.NOT_KNOWN, 30)


class CountingReader(PretendReader):
    """Counts questions: of offsets, and for records."""

    def __init__(self, logs):
        super().__init__(logs)
        self.offsets = self.picks = 0

    def starts(self, places):
        self.offsets += 1
        return super().starts(places)

    def ends(self, places):
        self.offsets += 1
        return super().ends(places)

    def since(self, times_ms):
        self.offsets += 1
        return super().since(times_ms)

    def pick(self, wanted):
        self.picks += 1
        return super().pick(wanted)


def test_what_is_beyond_the_bound_of_a_look_is_not_known_and_not_read(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_IN_ALL", 30)
    monkeypatch.setattr(lookups, "ASKING_COSTS", 0)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 10)
    reader = CountingReader({("t", 0): log()})
    answers = Lookups(planned(), everything=reader, committed=reader)
    # From 65 on: 30 records, then no more.
    wanted = [asked(65, value=b"other"), asked(70), asked(98)]
    assert answers.answers(wanted) == [LookupAnswer.NOT_KNOWN, LookupAnswer.COMMITTED, LookupAnswer.NOT_KNOWN]
    assert reader.picked == 30 + 1
    assert answers.answers([asked(98)]) == [LookupAnswer.NOT_KNOWN]
    assert reader.picked == 30 + 1


def test_what_was_looked_for_everywhere_is_known_where_others_are_beyond_the_bound(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_IN_ALL", 5)
    monkeypatch.setattr(lookups, "ASKING_COSTS", 0)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 5)
    reader = PretendReader({("t", 0): log(60)})
    answers = Lookups(planned(), everything=reader, committed=reader)
    first, last = (asked(at, offsets=OffsetRange(at, 60), value=b"other") for at in (40, 50))
    inside = asked(41, offsets=OffsetRange(40, 44), value=b"other")
    assert answers.answers([first, inside, last]) == [
        LookupAnswer.NOT_KNOWN,
        LookupAnswer.NO,
        LookupAnswer.NOT_KNOWN,
    ]


def test_to_ask_counts_as_reading(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_IN_ALL", 3 * lookups.ASKING_COSTS)
    monkeypatch.setattr("checksum.recheck.lookup_scan.NEAR", 1)
    reader = CountingReader({("t", 0): log()})
    wanted = [asked(at, offsets=OffsetRange(at, at + 1)) for at in (40, 43, 46, 49)]
    answers = Lookups(planned(), everything=reader, committed=PretendReader(reader.logs)).answers(wanted)
    assert answers == [LookupAnswer.COMMITTED] * 3 + [LookupAnswer.NOT_KNOWN]
    assert reader.picks == 3


def test_a_stretch_that_is_too_long_takes_nothing_from_others(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_RECORDS", 10)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 5)
    early, late = asked(1, value=b"other"), asked(38, value=b"other")
    reader = PretendReader({("t", 0): log(60)})
    # Of the early one 10 records are read, of the late one the two that are left before what was compared.
    answers = Lookups(planned(), everything=reader, committed=reader).answers([early, late])
    assert (answers, reader.picked) == ([LookupAnswer.NOT_KNOWN, LookupAnswer.NO], 12)


def test_many_questions_of_several_partitions_are_asked_together():
    places = [("t", number) for number in range(3)]
    plan = plan_of({"t": [Partition(source_until=0, target_until=0)] * 3})
    reader, committed = (CountingReader({place: log(400) for place in places}) for _ in range(2))
    wanted = [replace(asked(at), partition=number) for number in range(3) for at in range(100, 400)]
    answers = Lookups(plan, everything=reader, committed=committed).answers(wanted)
    assert answers == [LookupAnswer.COMMITTED] * 900
    assert (reader.picks, committed.picks, reader.picked) == (1, 1, 900)
    assert reader.offsets == 2 + lookups.MOST_TIMES


@pytest.mark.parametrize("offsets", [OffsetRange(40, 50), OffsetRange(51, 60)])
def test_what_is_read_for_another_question_is_none_where_digests_rule_it_out(offsets):
    reader = PretendReader({("t", 0): log()})
    other = asked(40, offsets=RANGE, value=b"other")
    answers = Lookups(planned(), everything=reader, committed=reader)
    assert answers.answers([asked(50, offsets=offsets), other]) == [LookupAnswer.NO, LookupAnswer.NO]


def test_nothing_is_asked_where_there_is_no_question():
    reader = CountingReader({})
    assert Lookups(planned(), everything=reader, committed=reader).answers([]) == []
    assert (reader.offsets, reader.picks) == (0, 0)


def plainly(one, everything, committed, *, plan):
    """Answer one question by looking at every record where it may stand."""
    (held_here,) = [part.source for part in plan.topics[0].partitions if part.partition == one.partition]
    inside = held_here if plan.isolation_source == READ_COMMITTED else one.offsets
    since = everything.end
    for at in range(everything.start, everything.end):
        if everything.records[at] is not MARKER and everything.records[at].at_ms >= (one.timestamp_ms or 0):
            since = at
            break
    aborted = False
    for stretch in (inside, OffsetRange(held_here.until, everything.end), OffsetRange(0, held_here.first)):
        for at in range(max(stretch.first, since), min(stretch.until, everything.end)) if stretch else ():
            record = everything.records[at]
            if record is not MARKER and _hash(record) == one.hash:
                if committed.records[at] is not MARKER:
                    return LookupAnswer.COMMITTED
                aborted = True
    if aborted:
        return LookupAnswer.ABORTED
    left = [record for record in everything.records[everything.start :] if record is not MARKER]
    late = one.timestamp_ms is None or not left or left[0].at_ms >= one.timestamp_ms
    return LookupAnswer.NOT_KNOWN if everything.start > 0 and late else LookupAnswer.NO


def _hash(record):
    return record_hash(Content(record.key, record.value, record.at_ms, None))


@st.composite
def asked_together(draw):
    """Draw a plan, logs of its partitions as both readers see them, and questions; few records are unlike."""
    count = draw(st.integers(1, 3))
    logs, views, parts = {}, {}, []
    for number in range(count):
        kinds = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30))
        at_ms, records = 0, []
        for value, later in kinds:
            at_ms += later
            records.append(MARKER if value == 0 else Record(len(records), b"k", b"v%d" % value, at_ms))
        one = Log(records, draw(st.integers(0, len(records))))
        logs["t", number] = one
        views["t", number] = (
            without(one, *draw(st.sets(st.integers(0, max(len(records) - 1, 0)), max_size=5)))
            if records
            else one
        )
        first = draw(st.integers(0, 30))
        parts.append(OffsetRange(first, first + draw(st.integers(0, 20))))
    plan = plan_of({"t": [Partition()] * count})
    (topic,) = plan.topics
    partitions = tuple(replace(one, source=parts[one.partition]) for one in topic.partitions)
    isolation = draw(st.sampled_from([READ_COMMITTED, plan.isolation_source]))
    plan = replace(plan, isolation_source=isolation, topics=(replace(topic, partitions=partitions),))
    questions = []
    for _ in range(draw(st.integers(0, 12))):
        number = draw(st.integers(0, count - 1))
        there = [(one.at_ms, one.value) for one in logs["t", number].records if one is not MARKER]
        at_ms, value = draw(st.sampled_from([*there, (7, b"v4"), (30, b"v4")]))
        found = record_hash(Content(b"k", value, at_ms, None))
        first = draw(st.integers(parts[number].first, parts[number].until))
        inside = OffsetRange(first, draw(st.integers(first, parts[number].until)))
        timed = draw(st.booleans())
        one = asked(0, offsets=draw(st.sampled_from([inside, None])))
        questions.append(replace(one, partition=number, hash=found, timestamp_ms=at_ms if timed else None))
    return plan, logs, views, questions


@settings(deadline=None)
@given(asked_together(), st.integers(1, 7), st.integers(0, 4), st.integers(1, 3), st.integers(1, 3))
def test_together_they_are_answered_as_each_by_itself(case, chunk, near, places_at_once, times):
    plan, logs, views, questions = case
    with (
        patch("checksum.recheck.record_chunks.CHUNK_RECORDS", chunk),
        patch("checksum.recheck.lookup_scan.CHUNK_RECORDS", chunk),
        patch("checksum.recheck.lookup_scan.NEAR", near),
        patch.object(lookups, "PLACES_AT_ONCE", places_at_once),
        patch.object(lookups, "MOST_TIMES", times),
    ):
        found = Lookups(plan, everything=PretendReader(logs), committed=PretendReader(views)).answers(
            questions
        )
    wanted = []
    for one in questions:
        place = one.topic, one.partition
        wanted.append(plainly(one, logs[place], views[place], plan=plan))
    assert found == wanted
