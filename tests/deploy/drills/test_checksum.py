"""A drill of the checksum is right only with verdict, cause, everything verified, and something that shows it."""

from __future__ import annotations

import json

import pytest

from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.checksum_page import wrong
from deploy.drills.checksum_traces import MIRROR, TRACES
from deploy.drills.page import page
from deploy.drills.result import Result, as_line, from_line
from deploy.local.faults import BY_NAME

BY_LABEL = {one.label: one for one in AUDITS}
LOST = BY_LABEL["checksum-drop-some"]
WELL = BY_LABEL["checksum-restart-mirror"]
TWICE = BY_LABEL["checksum-second-mirror"]
CHANGED = [17, 23]


def ended(audit, verdict, cause=None, *, status=None, coverage=1.0, changed=CHANGED, **books):
    return Result(
        audit.label,
        said=[(60.2, verdict, cause)],
        books=books,
        day="2026-11-23",
        took_s=20.4,
        status=int(audit.verdict is not None) if status is None else status,
        coverage=coverage,
        changed=list(changed) if audit.changes else [],
    )


@pytest.mark.parametrize(
    ("audit", "result", "told"),
    [
        (LOST, ended(LOST, "losing", "filtered", match=10, lost=3), ""),
        (LOST, ended(LOST, "losing", "unexplained", match=10, lost=3), "unexplained was said"),
        (LOST, ended(LOST, "unknown", match=10), "unknown was said"),
        (LOST, ended(LOST, "losing", "filtered", match=10), "nothing was counted as lost"),
        (LOST, ended(LOST, "losing", "filtered", lost=3), "nothing was compared"),
        (
            LOST,
            ended(LOST, "losing", "filtered", match=10, lost=1, altered=500),
            "500 were counted as altered",
        ),
        (
            LOST,
            ended(LOST, "losing", "filtered", match=10, lost=1, duplicated=2),
            "2 were counted as duplicated",
        ),
        (
            LOST,
            ended(LOST, "losing", "filtered", status=4, match=10, lost=1),
            "the checksum ended with 4",
        ),
        (
            LOST,
            ended(LOST, "losing", "filtered", coverage=0.5, match=10, lost=1),
            "not everything was verified",
        ),
        (LOST, Result(LOST.label), "nothing was said"),
        (WELL, ended(WELL, "unknown", match=10), ""),
        (WELL, ended(WELL, "healthy", match=10, duplicated=4), ""),
        (WELL, ended(WELL, "altered", match=10), "altered was said"),
        (WELL, ended(WELL, "stalled", "mirror_down", match=10), "stalled was said"),
        (WELL, ended(WELL, "unknown", "prober", match=10), "prober was said"),
        (WELL, ended(WELL, "unknown", status=3, match=10), "the checksum ended with 3"),
        (WELL, ended(WELL, "unknown", coverage=0.999, match=10), "not everything was verified"),
        (
            WELL,
            ended(WELL, "unknown", match=1, unverifiable=100_000),
            "100000 were counted as unverifiable",
        ),
        (WELL, ended(WELL, "unknown", changed=[17, 17], match=10), f"the {MIRROR} did not change"),
        (WELL, ended(WELL, "unknown", changed=[17], match=10), f"the {MIRROR} did not change"),
        (TWICE, ended(TWICE, "unknown", match=10), "nothing was counted as duplicated"),
        (TWICE, ended(TWICE, "unknown", match=10, duplicated=9), ""),
    ],
)
def test_what_is_right(audit, result, told):
    assert wrong(audit, result) == told


def test_each_is_a_fault_of_the_register():
    assert {one.name for one in AUDITS} <= set(BY_NAME)


def test_each_has_something_that_shows_its_fault():
    assert all(one.found or one.changes in TRACES for one in AUDITS)
    assert {one.changes for one in AUDITS} - {""} == set(TRACES)


def test_the_page_has_those_that_were_run():
    lost = ended(LOST, "losing", "filtered", match=10, lost=3, extra=0)
    well = ended(WELL, "unknown", match=10)
    text = page({one.label: from_line(as_line(one)) for one in (lost, well)})
    assert "| losing filtered | losing | filtered | 60 | 20 | match 10, lost 3 | yes |" in text
    assert f"| no alarm | silence |  | 60 | 20 | match 10; {MIRROR}: 17 → 23 | yes |" in text
    assert "`checksum-kill-mirror`" in text.split("Listed, and not run for this page: ")[1]
    assert "## By the checksum" not in page({})


def test_a_line_of_before_is_read_and_proves_nothing():
    line = json.loads(as_line(ended(LOST, "losing", "filtered", match=10, lost=3)))
    kept = from_line(
        json.dumps({name: line[name] for name in line if name not in ("status", "coverage", "changed")})
    )
    assert wrong(LOST, kept) == "its line of before tells no exit status: run it again"
