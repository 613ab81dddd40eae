"""A key written again behind what is compared: what compaction took of it before that is no difference."""

from __future__ import annotations

import pytest

from checksum.compare.digest_findings import compared
from checksum.compare.verdicts import FINDING, INCOMPLETE, OK, result
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from checksum.recheck import rewritten_keys
from checksum.recheck.recheck import Readers, checked_twice
from tests.checksum.pretend_clusters import Clusters, PretendReader
from tests.checksum.pretend_logs import Held, Partition, digest
from tests.checksum.pretend_mirror import MARKER, Mirrored

KEYS = 20


def compact(log, *, but=()):
    """Take what a later record of the same key replaced, as a cleaner does that has come to the log's end."""
    last = {record.key: at for at, record in enumerate(log.records) if record is not MARKER}
    for at, record in enumerate(log.records):
        if record is not MARKER and last[record.key] != at and at not in but:
            log.records[at] = MARKER


class Story:
    """A compacted topic of 60 records in 20 keys, planned; then 5 keys are written again."""

    def __init__(self):
        self.mirror = Mirrored()
        for number in range(60):
            self.mirror.write(key=b"k%d" % (number % KEYS))
        self._copy()
        clusters = Clusters({("t", 0): self.mirror})
        for admin, name in ((clusters.a, "t"), (clusters.b, "A.t")):
            admin.settings[name] = {"cleanup.policy": "compact"}
        self.plan = clusters.plan()
        for number in range(5):
            self.mirror.write(key=b"k%d" % number)
        self._copy()
        self.readers = (
            PretendReader({("t", 0): self.mirror.source}),
            PretendReader({("A.t", 0): self.mirror.target}),
        )

    def _copy(self):
        self.mirror.copy()
        self.mirror.flush()

    @property
    def told(self):
        """What an audit tells, with its status: the verdict, and where on both sides."""
        (held,) = self.plan.topics[0].partitions
        logs = Partition(
            self._last_of_keys(self.mirror.source, held.source),
            self._last_of_keys(self.mirror.target, held.target),
        )
        comparison = compared(self.plan, *(digest({"t": [logs]}, self.plan, side).values() for side in Side))
        source, target = self.readers
        readers = Readers(source, target, source, source)
        known, gone = checked_twice(comparison, readers, pause=lambda _seconds: None)
        found = result(self.plan, comparison.cells, known, exactly_once=False, unverified=gone)
        told = [
            (str(one.verdict), one.source and one.source.first, one.target and one.target.first)
            for one in known.findings
        ]
        return found.status, told

    @staticmethod
    def _last_of_keys(log, span):
        last = {}
        for at in range(span.first, span.until):
            one = log.records[at]
            if one is not MARKER:
                last[one.key] = Held(at, Content(one.key, one.value, one.at_ms, None))
        return sorted(one for one in last.values() if one.content.value is not None)


@pytest.mark.parametrize("sides", [(), ("source",), ("target",), ("source", "target")])
def test_what_a_record_behind_replaced_may_lack_on_either_side(sides):
    story = Story()
    for side in sides:
        compact(getattr(story.mirror, side))
    assert story.told == (OK, [])


@pytest.mark.parametrize("compacting", [False, True])
def test_what_no_record_behind_replaced_is_lost(compacting):
    story = Story()
    story.mirror.target.records[47] = MARKER
    if compacting:
        compact(story.mirror.source)
        compact(story.mirror.target)
    # Of k7 the target holds an older record, or none.
    assert story.told == (FINDING, [("lost", 47, None)])


def test_what_is_altered_on_both_sides_is_told_though_it_is_replaced_behind():
    story = Story()
    here = story.mirror.target.records[41]
    story.mirror.target.records[41] = type(here)(here.number, here.key, b"other", here.at_ms)
    assert story.told == (FINDING, [("altered", 41, 41)])


def test_a_record_behind_on_the_other_side_alone_explains_nothing():
    story = Story()
    compact(story.mirror.target)
    story.mirror.target.records[62] = MARKER  # k2 was not copied
    assert story.told == (FINDING, [("lost", 42, None)])


@pytest.mark.parametrize("name", ["MOST_RECORDS", "MOST_IN_ALL"])
@pytest.mark.parametrize(("most", "told"), [(5, (OK, [])), (4, (INCOMPLETE, [])), (0, (INCOMPLETE, []))])
def test_where_too_much_would_have_to_be_read_it_is_not_known(monkeypatch, name, most, told):
    monkeypatch.setattr(rewritten_keys, name, most)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 1)
    story = Story()
    compact(story.mirror.target)
    assert story.told == told


def test_what_reading_proves_is_told_though_the_rest_is_not_known(monkeypatch):
    monkeypatch.setattr(rewritten_keys, "MOST_RECORDS", 0)
    story = Story()
    compact(story.mirror.target)
    here = story.mirror.target.records[50]
    story.mirror.target.records[50] = type(here)(here.number, here.key, b"other", here.at_ms)
    assert story.told == (FINDING, [("altered", 50, 50)])


def test_a_partition_that_is_too_large_to_be_read_proves_no_finding(monkeypatch):
    monkeypatch.setattr("checksum.recheck.recheck.MOST_OFFSETS", 59)
    story = Story()
    compact(story.mirror.target)
    assert story.told == (INCOMPLETE, [])


@pytest.mark.parametrize("most", [20, 39])
def test_of_a_compacted_partition_records_are_counted_and_not_offsets(monkeypatch, most):
    monkeypatch.setattr("checksum.recheck.recheck.MOST_OFFSETS", most)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 7)
    story = Story()
    compact(story.mirror.source, but=range(most - 20))
    compact(story.mirror.target)
    story.mirror.target.records[47] = MARKER
    assert story.told == (FINDING, [("lost", 47, None)])


def test_reading_of_a_compacted_partition_ends_where_there_are_too_many_records(monkeypatch):
    monkeypatch.setattr("checksum.recheck.recheck.MOST_OFFSETS", 25)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 5)
    story = Story()
    compact(story.mirror.target)
    story.mirror.target.records[47] = MARKER
    before = story.readers[0].picked
    assert story.told == (INCOMPLETE, [])
    assert story.readers[0].picked - before == 30  # of 60, in one check: it found nothing to confirm


def test_records_of_compacted_partitions_count_against_the_limit_of_a_check(monkeypatch):
    monkeypatch.setattr("checksum.recheck.recheck.MOST_IN_ALL", 29)
    story = Story()
    compact(story.mirror.source)
    compact(story.mirror.target)
    story.mirror.target.records[47] = MARKER
    assert story.told == (INCOMPLETE, [])
    monkeypatch.setattr("checksum.recheck.recheck.MOST_IN_ALL", 30)
    assert story.told == (FINDING, [("lost", 47, None)])
