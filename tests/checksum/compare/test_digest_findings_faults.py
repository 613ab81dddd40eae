"""What digests of a pretend mirror are said to prove is so, and what they do not prove is asked for."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from checksum.compare.digest_findings import MOVED
from checksum.compare.findings import LookupAnswer as Answer
from checksum.compare.findings import RecordVerdict
from checksum.compare.flow_findings import with_answers
from checksum.digest.cell_rows import Side, check_row, planned_partitions
from checksum.digest.record_hash import record_hash
from tests.checksum.auditing import audited
from tests.checksum.pretend_faults import Mirrored, mirrors
from tests.checksum.pretend_logs import hashes

V = RecordVerdict


class Truth:
    """What is on both sides, counted."""

    def __init__(self, mirror: Mirrored, *, timestamps: bool):
        self.mirror = mirror
        self.timestamps = timestamps
        self.source, self.target = {}, {}
        for topic, partitions in mirror.topics.items():
            for number, one in enumerate(partitions):
                self.source[topic, number] = hashes(one.source, timestamps=timestamps)
                self.target[topic, number] = hashes(one.target, timestamps=timestamps)

    def lacking(self, where):
        return self.source[where] - self.target[where]

    def surplus(self, where):
        return self.target[where] - self.source[where]

    def hash_at(self, where, side, offset):
        partition = self.mirror.topics[where[0]][where[1]]
        log = partition.source if side is Side.SOURCE else partition.target
        (content,) = [held.content for held in log if held.offset == offset]
        return record_hash(content, timestamps=self.timestamps)

    def stands_within(self, where, side, wanted, offsets):
        partition = self.mirror.topics[where[0]][where[1]]
        log = partition.source if side is Side.SOURCE else partition.target
        return any(
            offsets.first <= held.offset < offsets.until
            and record_hash(held.content, timestamps=self.timestamps) == wanted
            for held in log
        )


def assert_true(finding, truth: Truth, findings):
    """Hold a finding of digests against the logs."""
    where = (finding.topic, finding.partition)
    match finding.verdict:
        case V.LOST:
            assert truth.lacking(where)[finding.hash] >= finding.records
            assert truth.stands_within(where, Side.SOURCE, finding.hash, finding.source)
            # Nothing stands there that it could have been made into, and nowhere does it stand itself.
            explained = Counter(one.target_hash for one in findings if one.verdict is V.ALTERED)
            explained += Counter(
                one.hash for one in findings if one.verdict is V.MISROUTED and one.found_in == where
            )
            assert not truth.surplus(where) - explained
            elsewhere = [
                there
                for there in truth.target
                if truth.surplus(there)[finding.hash] and not truth.source[there][finding.hash]
            ]
            lost = [here for here in truth.source if truth.lacking(here)[finding.hash]]
            left = sum(truth.lacking(here)[finding.hash] for here in lost)
            left -= sum(truth.surplus(there)[finding.hash] for there in elsewhere)
            assert not elsewhere or len(lost) > 1 or len(elsewhere) > 1 or finding.records <= left
        case V.ALTERED:
            assert truth.hash_at(where, Side.SOURCE, finding.source.first) == finding.hash
            assert truth.hash_at(where, Side.TARGET, finding.target.first) == finding.target_hash
            assert truth.lacking(where)[finding.hash]
            assert truth.surplus(where)[finding.target_hash]
            copy = truth.mirror.copy_at(*where, finding.target.first)
            log = truth.mirror.topics[where[0]][where[1]].source
            assert (
                copy.origin is None
                or (*where, log.index(original_at(log, finding.source.first))) == copy.origin
            )
        case V.MISROUTED:
            assert truth.lacking(where)[finding.hash]
            assert truth.surplus(finding.found_in)[finding.hash]
            assert truth.stands_within(where, Side.SOURCE, finding.hash, finding.source)
            assert truth.stands_within(finding.found_in, Side.TARGET, finding.hash, finding.target)
        case V.DUPLICATED:
            assert truth.source[where][finding.hash]
            assert truth.surplus(where)[finding.hash] >= finding.records
            assert truth.stands_within(where, Side.TARGET, finding.hash, finding.target)
        case V.EXTRA:
            assert truth.surplus(where)[finding.hash] >= finding.records
            assert truth.stands_within(where, Side.TARGET, finding.hash, finding.target)
        case _:
            raise AssertionError(finding)


def original_at(log, offset):
    (held,) = [held for held in log if held.offset == offset]
    return held


def answer(lookup, truth: Truth):
    return Answer.COMMITTED if truth.source[lookup.topic, lookup.partition][lookup.hash] else Answer.NO


SHAPES = {
    "cells": st.sampled_from([1, 2, 16]),
    "bucket_ms": st.sampled_from([5, 1000]),
    "timestamps": st.booleans(),
}


@settings(max_examples=100, deadline=None)
@given(mirrors(), SHAPES["cells"], SHAPES["bucket_ms"], SHAPES["timestamps"])
def test_whatever_the_mirror_did_no_finding_is_false_and_no_difference_is_passed_over(
    mirror, cells, bucket_ms, timestamps
):
    audit = audited(mirror.topics, cells=cells, bucket_ms=bucket_ms, timestamps=timestamps)
    known = audit.known
    partitions = planned_partitions(audit.plan)
    for side, rows in ((Side.SOURCE, audit.source), (Side.TARGET, audit.target)):
        for row in rows.values():
            check_row(row, audit.plan, partitions, side)
    truth = Truth(mirror, timestamps=timestamps)
    for finding in known.findings:
        assert_true(finding, truth, known.findings)
    told = {(one.topic, one.partition) for one in (*known.findings, *known.read_again)}
    told |= {one.found_in for one in known.findings if one.found_in}
    assert {where for where in truth.source if truth.lacking(where) or truth.surplus(where)} <= told
    assert told or all(not cells.moved for cells in audit.cells.values())

    # What was asked for is read, and then every record is accounted for.
    known = audit.read()
    assert known.read_again == ()
    findings = with_answers(known, [(one, answer(one, truth)) for one in known.lookups]).findings
    for where in truth.source:
        assert accounted(findings, where) == (truth.lacking(where), truth.surplus(where))
    made = {one.target_hash for one in findings if one.verdict is V.ALTERED}
    for one in findings:
        if one.verdict in (V.EXTRA, V.DUPLICATED) and one.hash not in made:
            assert (one.verdict is V.DUPLICATED) == bool(truth.source[one.topic, one.partition][one.hash])


def accounted(findings, where):
    """Return what findings say the target lacks and has too many of, by hash."""
    lacking, surplus = Counter(), Counter()
    for one in findings:
        here = (one.topic, one.partition) == where
        if here and one.verdict in (V.LOST, V.ALTERED, V.MISROUTED):
            lacking[one.hash] += one.records
        if here and one.verdict is V.ALTERED:
            surplus[one.target_hash] += 1
        if (here and one.verdict in (V.EXTRA, V.DUPLICATED)) or one.found_in == where:
            surplus[one.hash] += one.records
    return lacking - surplus, surplus - lacking


# Who changes a record and puts it elsewhere, or changes one of its copies, leaves nothing to know it again by.
IN_PLACE = ("drop", "value", "key", "header", "time")
UNCHANGED = ("drop", "repeat", "repeat later", "swap", "move", "misroute")
NAMED = st.sampled_from([IN_PLACE, UNCHANGED]).flatmap(
    lambda faults: mirrors(faults=faults, most_faults=4, alike=False)
)


@settings(max_examples=100, deadline=None)
@given(NAMED, SHAPES["cells"], SHAPES["bucket_ms"])
def test_once_read_each_record_is_named_for_what_was_done_to_it(mirror, cells, bucket_ms):
    known = audited(mirror.topics, cells=cells, bucket_ms=bucket_ms).read(pinpoint=True)
    for one in known.findings:
        where = (one.topic, one.partition)
        log = mirror.topics[one.topic][one.partition]
        if one.source is not None and one.source.span == 1:
            index = log.source.index(original_at(log.source, one.source.first))
            made = [
                (there, copy)
                for there, copies in mirror.copies.items()
                for copy in copies
                if copy.origin == (*where, index)
            ]
        match one.verdict:
            case V.LOST:
                assert not made
            case V.ALTERED:
                copy = mirror.copy_at(*where, one.target.first)
                assert copy.changed
                assert copy.origin == (*where, index)
            case V.MISROUTED:
                assert {there for there, _ in made} == {one.found_in}
            case V.REORDERED:  # of some of these only one side was read
                order = [copy.origin[2] for copy in mirror.copies[where] if copy.origin[:2] == where]
                assert order != sorted(order)


@settings(max_examples=40, deadline=None)
@given(mirrors(most_faults=0), SHAPES["cells"], SHAPES["bucket_ms"], SHAPES["timestamps"])
def test_of_a_mirror_that_did_nothing_nothing_is_told(mirror, cells, bucket_ms, timestamps):
    audit = audited(mirror.topics, cells=cells, bucket_ms=bucket_ms, timestamps=timestamps)
    assert audit.known.findings == ()
    # Between two pairs with one distance stand markers of both logs, and records there at another distance:
    # the order sums do not fit, and reading finds that all is well.
    assert {one.why for one in audit.known.read_again} <= {MOVED}
    assert audit.read().findings == ()
