"""The page of alerts is that of today, and every alert and cause has a runbook of the same form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alerts.page import page
from alerts.routing import INHIBITIONS
from fleet.series.catalogue import CATALOGUE
from fleet.series.kinds import Kind
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


@pytest.mark.parametrize("name", sorted({one.name for one in alerts_of(MIXED)}))
def test_a_runbook_says_what_mutes_its_alert_as_the_routes_have_it(name):
    meaning = (RUNBOOKS / f"{name}.md").read_text().split("## Impact")[0]
    by, muted = set(), set()
    for sentence in re.split(r"(?<=\.)\s+", meaning):
        if "mute" in sentence:
            found = muted if sentence.startswith("It mutes") else by
            found |= set(re.findall(r"Mirrorwatch[A-Z]\w+", sentence)) - {name}
    assert by == {rule.source for rule in INHIBITIONS if name in rule.targets} - {name}
    if muted:
        assert muted == {one for rule in INHIBITIONS if rule.source == name for one in rule.targets} - {name}
    if re.search(r"[Nn]o (other )?alert mutes", meaning):
        assert by == set()


SERIES = {
    one.full_name + suffix: {label.name: label.values for label in one.labels}
    for one in CATALOGUE
    for suffix in (("_bucket", "_sum", "_count") if one.kind is Kind.HISTOGRAM else ("",))
}


@pytest.mark.parametrize("name", NAMES)
def test_queries_of_a_runbook_name_series_labels_and_values_that_exist(name):
    queries = "".join(re.findall(r"```promql\n(.*?)```", (RUNBOOKS / f"{name}.md").read_text(), re.DOTALL))
    for series, matchers in re.findall(r"\b(mirrorwatch_\w+)(?:\{([^}]*)\})?", queries):
        assert series in SERIES
        for label, values in re.findall(r'(\w+)[=!]~?"([^"]*)"', matchers):
            known = SERIES[series][label]
            assert not known or set(values.split("|")) <= set(known), f"{series}{{{matchers}}}"
