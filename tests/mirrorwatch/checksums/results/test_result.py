"""What is printed ends with a row for each topic, so that it is what somebody sees who comes back."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from checksum.compare.findings import RecordVerdict
from checksum.compare.verdicts import Audit, PartitionResult, Result
from checksum.plan.shape import LeftOut
from checksum.report.result_document import run_document
from mirrorwatch.check.sheet import FIRST, Sheet
from mirrorwatch.checksums.results.result import print_result
from mirrorwatch.checksums.session import Session
from runtime.process.logs import Redactor
from tests.checksum.pretend_logs import plan_of
from tests.mirrorwatch.told_runs import audit, finding


def part(topic, number, records=100, *, lost=0, verified=None):
    counts = {RecordVerdict.MATCH: records - lost, RecordVerdict.LOST: lost}
    return PartitionResult(
        topic, number, counts, records, records - lost, records, records if verified is None else verified
    )


@pytest.fixture
def said():
    def write(*parts, left_out=()):
        file = io.StringIO()
        session = Session(None, None, Sheet(Console(file=file, width=100), Redactor()), None, None, None)
        found = Result((), (), (), (), (), parts, tuple(left_out))
        print_result(session, Audit(plan_of({}), found))
        lines = file.getvalue().splitlines()
        begin = lines.index("By topic") if "By topic" in lines else len(lines)
        return [re.split(r"  +", line.strip()) for line in lines[begin + 1 :]]

    return write


def test_a_row_for_each_topic_and_one_for_all(said):
    rows = said(part("audit", 0), part("orders", 0), part("orders", 1, lost=2))
    assert rows == [
        ["topic", "partitions", "source", "target", "match", "lost", "verified"],
        ["orders", "2", "200", "198", "198", "2", "100 %"],
        ["audit", "1", "100", "100", "100", "0", "100 %"],
        ["all topics", "3", "300", "298", "298", "2", "100 %"],
    ]


def test_one_topic_needs_no_sum_and_no_verdict_that_nothing_has(said):
    assert said(part("orders", 0)) == [
        ["topic", "partitions", "source", "target", "match", "verified"],
        ["orders", "1", "100", "100", "100", "100 %"],
    ]


def test_what_was_left_out_lessens_what_is_verified_of_its_topic(said):
    gone = [LeftOut("orders", 1, 100, "no offset sync"), LeftOut("gone", None, 50, "B has no such topic")]
    rows = said(part("audit", 0), part("orders", 0, verified=75), left_out=gone)
    assert [(row[0], row[-1]) for row in rows[1:]] == [
        ("orders", "37.5 %"),
        ("gone", "0 %"),
        ("audit", "100 %"),
        ("all topics", "50 %"),
    ]


def test_of_many_topics_those_with_something_to_tell_are_shown(said):
    parts = [part(f"t{number:02d}", 0, lost=number == 33) for number in range(40)]
    rows = said(*parts)
    assert rows[1][0] == "t33"
    assert len(rows) == 1 + FIRST + 1 + 1
    assert rows[-2][0] == "all topics"
    assert rows[-1] == ["and 20 more; --json FILE lists more"]


def test_nothing_to_compare_has_no_table(said):
    assert said() == []


@pytest.mark.parametrize("unverified", [0, 1])
def test_records_that_nobody_could_look_up_stand_under_what_is_not_verified(unverified):
    file = io.StringIO()
    session = Session(None, None, Sheet(Console(file=file, width=300), Redactor()), None, None, None)
    unsettled = [
        finding(RecordVerdict.UNVERIFIABLE, source=None, offset=at, number=at) for at in range(FIRST + 3)
    ]
    left_out = [LeftOut("gone", None, 50, "B has no such topic")] * unverified
    print_result(
        session,
        audit([], findings=(), expected=(), unsettled=unsettled, blocks=(), left_out=left_out, made_at_ms=0),
    )
    said = [line.strip() for line in file.getvalue().splitlines()]
    begin = said.index("Not verified")
    listed = [line for line in said[begin + 1 :] if line.startswith("orders [0]: record at offset ")]
    assert len(listed) == FIRST
    assert "is a duplicate or was" in listed[0]
    assert said[said.index(listed[0]) + 1].endswith("or is too long to read")
    assert "and 3 more; --json FILE lists more" in said[begin:]


def test_the_worst_findings_stand_first_whatever_their_topics_are():
    file = io.StringIO()
    session = Session(None, None, Sheet(Console(file=file, width=300), Redactor()), None, None, None)
    order = (RecordVerdict.EXTRA, RecordVerdict.ALTERED, RecordVerdict.MISROUTED, RecordVerdict.LOST)
    several = [
        finding(verdict, topic=f"{place}-{verdict}", offset=at, found_in=("x", 0))
        for place, verdict in zip("abcd", order, strict=True)
        for at in range(11)
    ]
    found = audit([], findings=several, expected=(), blocks=(), left_out=(), made_at_ms=0)
    print_result(session, found)
    shown = [
        line.split(":")[0].strip()
        for line in file.getvalue().splitlines()
        if ": d-" in line or ": c-" in line
    ]
    assert shown == ["lost"] * 11 + ["misrouted"] * (FIRST - 11)
    document = run_document(found)["findings"]
    assert [one["verdict"] for one in document["shown"][::11]] == ["lost", "misrouted", "altered", "extra"]
