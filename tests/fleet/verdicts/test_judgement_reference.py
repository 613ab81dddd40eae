"""docs/reference/verdicts.md has every verdict in order, and evidence for every cause that is reported."""

from __future__ import annotations

import re
from pathlib import Path

from fleet.verdicts.vocabulary import Cause, Verdict
from tests.fleet.verdicts.test_judgement import LATER
from tests.fleet.verdicts.test_judgement import ROWS as CANARY_ROWS
from tests.fleet.verdicts.test_judgement_checksum import ROWS as CHECKSUM_ROWS
from tests.fleet.verdicts.test_judgement_offsets import ROWS as OFFSET_ROWS

ROWS = CANARY_ROWS + OFFSET_ROWS + CHECKSUM_ROWS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "verdicts.md").read_text(encoding="utf-8")


def rows(heading):
    """Return the cells of each row of a section's table, the first one as the words that it has in code."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`(\w+)`", first), [cell.strip() for cell in rest]) for first, *rest in table]


def test_every_verdict_is_there_worst_first():
    assert [word for (word,), _ in rows("Verdicts, worst first")] == [verdict.value for verdict in Verdict]


def test_every_cause_that_is_reported_has_its_evidence_once():
    reported = {row.cause.value for row in ROWS if row.cause is not None}
    listed = [word for words, _ in rows("Evidence for each cause") for word in words]
    assert sorted(listed) == sorted(reported)
    assert set(Cause) == {*reported, *LATER}


def test_every_verdict_says_something_in_every_cell_and_every_cause_in_one():
    assert all(len(cell) > 3 for _, cells in rows("Verdicts, worst first") for cell in cells)
    assert all(any(len(cell) > 3 for cell in cells) for _, cells in rows("Evidence for each cause"))
