"""What a person reads of a finding: where, when, and what became of it."""

from __future__ import annotations

import pytest

from checksum.compare.finding_words import finding_text, open_block_text, time_text
from checksum.compare.findings import Finding, Proof, ReadAgain, RecordVerdict
from checksum.plan.shape import OffsetRange
from fleet.verdicts.vocabulary import Cause
from tests.checksum.pretend_logs import Partition, plan_of

PLAN = plan_of({"t": [Partition()]})
AT_MS = 1_790_000_000_123
AT = "2026-09-21T14:13:20.123Z"
ONE, SOME = OffsetRange(7, 8), OffsetRange(7, 10)


LACKING = "is not among the copies that were compared on B"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"verdict": "lost", "source": ONE}, f"the record at offset 7 on A, of {AT}, {LACKING}"),
        (
            {"verdict": "lost", "source": SOME},
            f"the record at one of the offsets 7 to 9 on A, of {AT}, {LACKING}",
        ),
        ({"verdict": "lost", "source": ONE, "timestamp_ms": None}, f"the record at offset 7 on A {LACKING}"),
        (
            {"verdict": "lost", "source": SOME, "records": 3},
            f"each of 3 equal records at one of the offsets 7 to 9 on A, of {AT}, {LACKING}",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("key", "value")},
            f"the record at offset 7 on A, of {AT}, stands at offset 7 on B with another key and another value",
        ),
        (
            {"verdict": "lost", "source": ONE, "tombstone": True},
            f"the deletion (tombstone) at offset 7 on A, of {AT}, {LACKING}, which holds a value of its key",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("headers",)},
            f"the record at offset 7 on A, of {AT}, stands at offset 7 on B with other headers",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("time",), "target_timestamp_ms": 0},
            f"the record at offset 7 on A, of {AT}, stands at offset 7 on B with the time 1970-01-01T00:00:00.000Z",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE},
            f"the record at offset 7 on A, of {AT}, stands at offset 7 on B with another content",
        ),
        (
            {"verdict": "reordered", "source": ONE, "target": OffsetRange(9, 10)},
            f"the record at offset 7 on A, of {AT}, stands at offset 9 on B, out of order",
        ),
        ({"verdict": "reordered", "target": ONE}, f"the record at offset 7 on B, of {AT}, is out of order"),
        (
            {
                "verdict": "lost",
                "source": ONE,
                "cause": Cause.FILTERED,
                "why": "the mirror applies a transform",
            },
            f"the record at offset 7 on A, of {AT}, {LACKING}; the mirror applies a transform",
        ),
        (
            {"verdict": "misrouted", "source": ONE, "target": OffsetRange(9, 10), "found_in": ("u", 4)},
            f"the record at offset 7 on A, of {AT}, is not there on B; it stands in u [4] at offset 9",
        ),
        (
            {"verdict": "duplicated", "target": ONE},
            f"the record at offset 7 on B, of {AT}, is there once too often",
        ),
        ({"verdict": "extra", "target": ONE}, f"the record at offset 7 on B, of {AT}, is not on A"),
        (
            {"verdict": "extra", "target": ONE, "aborted": True},
            f"the record at offset 7 on B, of {AT}, is not on A but in a transaction that was aborted",
        ),
        (
            {"verdict": "unverifiable", "target": ONE},
            (
                f"the record at offset 7 on B, of {AT}, may be a second copy, or never have been on A: its log"
                " does not reach that far back, or too much of it would have to be read"
            ),
        ),
        (
            {
                "verdict": "unverifiable",
                "records": 3,
                "source": OffsetRange(7, 12),
                "target": OffsetRange(9, 10),
            },
            (
                f"each of 3 equal records at one of the offsets 7 to 11 on A, of {AT}, stands at offset 9 on B,"
                " and has so many equals that nobody can tell if it is in order"
            ),
        ),
    ],
)
def test_a_finding_is_one_sentence(more, sentence):
    known = {"records": 1, "hash": 1, "timestamp_ms": AT_MS, "source": None, "target": None, **more}
    verdict = RecordVerdict(known.pop("verdict"))
    found = Finding(verdict=verdict, topic="t", partition=2, proof=Proof.READING, **known)
    assert finding_text(found, PLAN) == f"t [2]: {sentence}"


def test_a_time_that_no_calendar_holds_is_its_number():
    assert time_text(1 << 62) == f"{1 << 62} ms after 1970"
    assert time_text(-1) == "1969-12-31T23:59:59.999Z"


def test_what_was_not_read_again_is_told_with_what_counts_show():
    block = ReadAgain("t", 2, OffsetRange(0, 10), OffsetRange(5, 13), "several differ", lacking=3, surplus=1)
    assert open_block_text(block, PLAN) == (
        "t [2]: A [0, 10) and B [5, 13) differ (B lacks 3 records at least; B has too many: 1 record at least), and"
        " are too many to be read again: several differ"
    )
