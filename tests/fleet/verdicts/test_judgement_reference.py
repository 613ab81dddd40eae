"""docs/reference/verdicts.md has every verdict and every cause once, each where it belongs, with something to do."""

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
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in found}


def test_every_verdict_stands_there_worst_first():
    assert list(rows("Verdicts, worst first")) == [verdict.value for verdict in Verdict]


def test_every_cause_stands_where_it_belongs():
    told = {row.cause.value for row in ROWS if row.cause is not None}
    assert set(rows("Causes that this version tells")) == told
    assert set(rows("Causes kept for later parts")) == {cause.value for cause in LATER}
    assert set(Cause) == {*told, *LATER}


def test_every_row_says_something_in_every_cell():
    for heading in ("Verdicts, worst first", "Causes that this version tells", "Causes kept for later parts"):
        assert all(len(cell) > 3 for cells in rows(heading).values() for cell in cells)


def test_what_the_page_says_of_a_cause_is_what_a_sentence_says():
    """The words in the second column stand in a sentence of the table of rules."""
    sentences = {cause: [row.sentence for row in ROWS if row.cause is cause] for cause in Cause}
    for cause in (Cause.MIRROR_DOWN, Cause.TASK_STUCK, Cause.SOURCE_DOWN, Cause.TARGET_DOWN, Cause.OVERTAKEN):
        words = re.sub(r"`", "", rows("Causes that this version tells")[cause.value][0])
        assert any(words in sentence for sentence in sentences[cause]), cause
