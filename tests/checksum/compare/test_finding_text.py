"""What a person reads of a finding: where, when, and what became of it."""

from __future__ import annotations

import pytest

from checksum.compare.finding_text import finding_text, open_block_text, time_text
from checksum.compare.findings import Finding, Proof, ReadAgain, RecordVerdict
from checksum.plan.shape import OffsetRange
from fleet.verdicts.vocabulary import Cause
from tests.checksum.pretend_logs import Partition, plan_of

PLAN = plan_of({"t": [Partition()]})
AT_MS = 1_790_000_000_123
AT = "2026-09-21T14:13:20.123Z"
ONE, SOME = OffsetRange(7, 8), OffsetRange(7, 10)


LACKING = "not found among the records compared on B"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"verdict": "lost", "source": ONE}, f"record at offset 7 on A ({AT}) {LACKING}"),
        (
            {"verdict": "lost", "source": SOME},
            f"record at one of the offsets 7 to 9 on A ({AT}) {LACKING}",
        ),
        ({"verdict": "lost", "source": ONE, "timestamp_ms": None}, f"record at offset 7 on A {LACKING}"),
        (
            {"verdict": "lost", "source": SOME, "records": 3},
            f"each of 3 equal records at one of the offsets 7 to 9 on A ({AT}) {LACKING}",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("key", "value")},
            f"record at offset 7 on A ({AT}) has another key and another value at offset 7 on B",
        ),
        (
            {"verdict": "lost", "source": ONE, "tombstone": True},
            f"tombstone at offset 7 on A ({AT}) {LACKING}, which still has a value of this key",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("headers",)},
            f"record at offset 7 on A ({AT}) has other headers at offset 7 on B",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE, "what": ("time",), "target_timestamp_ms": 0},
            f"record at offset 7 on A ({AT}) has time 1970-01-01T00:00:00.000Z at offset 7 on B",
        ),
        (
            {"verdict": "altered", "source": ONE, "target": ONE},
            f"record at offset 7 on A ({AT}) has other content at offset 7 on B",
        ),
        (
            {"verdict": "reordered", "source": ONE, "target": OffsetRange(9, 10)},
            f"record at offset 7 on A ({AT}) is out of order at offset 9 on B",
        ),
        ({"verdict": "reordered", "target": ONE}, f"record at offset 7 on B ({AT}) is out of order"),
        (
            {
                "verdict": "lost",
                "source": ONE,
                "cause": Cause.FILTERED,
                "why": "MirrorMaker applies a transform",
            },
            f"record at offset 7 on A ({AT}) {LACKING}; MirrorMaker applies a transform",
        ),
        (
            {"verdict": "misrouted", "source": ONE, "target": OffsetRange(9, 10), "found_in": ("u", 4)},
            f"record at offset 7 on A ({AT}) went to u [4] at offset 9 on B instead",
        ),
        (
            {"verdict": "duplicated", "target": ONE},
            f"record at offset 7 on B ({AT}) is a duplicate",
        ),
        ({"verdict": "extra", "target": ONE}, f"record at offset 7 on B ({AT}) is not on A"),
        (
            {"verdict": "extra", "target": ONE, "aborted": True},
            f"record at offset 7 on B ({AT}) was aborted on A",
        ),
        (
            {"verdict": "unverifiable", "target": ONE},
            (
                f"record at offset 7 on B ({AT}) is a duplicate or was never on A: its log there does not reach"
                " back far enough, or is too long to read"
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
                f"each of 3 equal records at one of the offsets 7 to 11 on A ({AT}) is at offset 9 on B; too many"
                " equal records to check its order"
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
        "t [2]: offsets [0, 10) on A and [5, 13) on B differ (at least 3 records missing on B; at least 1 record"
        " too many on B); too many to read again: several differ"
    )
