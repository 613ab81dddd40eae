"""A drill of the checksum is right only with verdict, cause and the records that the fault has to reach."""

from __future__ import annotations

import pytest

from deploy.drill_audit_page import wrong
from deploy.drill_list_audits import AUDITS
from deploy.drill_page import page
from deploy.drill_result import Result, as_line, from_line
from deploy.local.faults import BY_NAME

BY_LABEL = {one.label: one for one in AUDITS}
LOST = BY_LABEL["checksum-drop-some"]
WELL = BY_LABEL["checksum-restart-mirror"]
TWICE = BY_LABEL["checksum-second-mirror"]


def ended(audit, verdict, cause=None, **books):
    return Result(audit.label, said=[(60.2, verdict, cause)], books=books, day="2026-11-23", took_s=20.4)


@pytest.mark.parametrize(
    ("audit", "result", "told"),
    [
        (LOST, ended(LOST, "losing", "filtered", match=10, lost=3), ""),
        (LOST, ended(LOST, "losing", "unexplained", match=10, lost=3), "unexplained was said"),
        (LOST, ended(LOST, "unknown", match=10), "unknown was said"),
        (LOST, ended(LOST, "losing", "filtered", match=10), "nothing was counted as lost"),
        (LOST, ended(LOST, "losing", "filtered", lost=3), "nothing was compared"),
        (LOST, Result(LOST.label), "nothing was said"),
        (WELL, ended(WELL, "unknown", match=10), ""),
        (WELL, ended(WELL, "altered", match=10), "altered was said"),
        (TWICE, ended(TWICE, "unknown", match=10), "nothing was counted as duplicated"),
        (TWICE, ended(TWICE, "unknown", match=10, duplicated=9), ""),
    ],
)
def test_what_is_right(audit, result, told):
    assert wrong(audit, result) == told


def test_each_is_a_fault_of_the_register():
    assert {one.name for one in AUDITS} <= set(BY_NAME)


def test_the_page_has_those_that_were_run():
    kept = from_line(as_line(ended(LOST, "losing", "filtered", match=10, lost=3, extra=0)))
    text = page({LOST.label: kept})
    row = "| losing filtered | losing | filtered | 60 | 20 | match 10, lost 3 | yes |"
    assert row in text
    assert "`checksum-restart-mirror`" in text.split("Listed, and not run for this page: ")[1]
    assert "## By the checksum" not in page({})
