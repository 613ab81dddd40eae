"""The page of alerts is that of today, and every alert and cause has a runbook of the same form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alerts.page import page
from fleet.verdicts.vocabulary import Cause
from tests.alerts.test_rules import MIXED, alerts_of

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "alerts" / "runbooks"
NAMES = sorted({one.name for one in alerts_of(MIXED)} | set(Cause))


def test_the_page_is_written_by_the_command_that_it_names():
    assert (ROOT / "docs" / "reference" / "alerts.md").read_text() == page(), (
        "python -m alerts.page > docs/reference/alerts.md"
    )


def test_every_alert_and_every_cause_has_a_runbook_and_nothing_else_has():
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_runbook_has_its_four_parts(name):
    title, *sections = re.split(r"^## ", (RUNBOOKS / f"{name}.md").read_text(), flags=re.MULTILINE)
    assert title == f"# {name}\n\n"
    parts = [section.split("\n", 1) for section in sections]
    assert [head for head, _body in parts] == ["Meaning", "Impact", "Diagnosis", "Mitigation"]
    assert all(body.strip() for _head, body in parts)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_runbook_lead_to_runbooks(name):
    text = (RUNBOOKS / f"{name}.md").read_text()
    assert {target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("http")} <= {
        f"{other}.md" for other in NAMES
    }
