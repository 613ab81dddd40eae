"""Dashboards: what Grafana's own models read, laid out without overlap, of series that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import combinations

import pytest
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import BOARDS, dashboard
from dashboards.builder import SOURCE, STATE_COLOURS
from fleet.series.catalogue import CATALOGUE
from fleet.verdicts.vocabulary import CONDITIONS, Verdict

SERVICE = "https://mw.example.org"
DOCUMENTS = [dashboard(board, job="mirrorwatch", service=SERVICE) for board in BOARDS]
PANELS = [
    pytest.param(panel, id=f"{document['uid']}: {panel['title']}")
    for document in DOCUMENTS
    for panel in document["panels"]
    if panel["type"] != "row"
]
NAMES = {one.full_name for one in CATALOGUE}


def promql(expression):
    """Return the expression as Grafana sends it, with some choice of its variables."""
    return re.sub(r"\$(\w+)", lambda name: "5m" if name[1].startswith("__") else "x", expression)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_grafanas_own_models_read_it_and_write_it_again(document):
    read = Dashboard.from_json(document)
    assert (read.uid, read.title) == (document["uid"], document["title"])
    assert len(read.panels) == len(document["panels"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_no_data_source_is_a_string_and_nothing_is_null(document):
    def walk(value):
        if isinstance(value, dict):
            assert value.get("datasource", SOURCE) == SOURCE
            assert None not in value.values()
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(document)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_ids_are_unique_and_panels_do_not_overlap(document):
    ids = [panel["id"] for panel in document["panels"]]
    assert len(set(ids)) == len(ids)
    for one, other in combinations((panel["gridPos"] for panel in document["panels"]), 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in document["panels"])


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_shows_what_it_shows_in_which_unit(panel):
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"].get("unit") or panel["type"] in {"state-timeline", "heatmap"}


@pytest.mark.parametrize("panel", PANELS)
def test_every_series_and_label_in_a_query_is_in_the_catalogue(panel):
    for target in panel["targets"]:
        for name, matchers in re.findall(r"\b(mirrorwatch_[a-z0-9_]+)\{([^}]*)\}", target["expr"]):
            (one,) = [each for each in CATALOGUE if name in {each.full_name, f"{each.full_name}_bucket"}]
            labels = set(re.findall(r"(\w+)\s*[=!]", matchers))
            assert labels <= {"job", *one.label_names}, target["expr"]
        assert set(re.findall(r"\bmirrorwatch_[a-z0-9_]+", target["expr"])) <= NAMES | {
            f"{name}_bucket" for name in NAMES
        }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_a_link_leads_to_a_board_that_there_is(document):
    uids = {one["uid"] for one in DOCUMENTS}
    assert set(re.findall(r"/d/([\w-]+)", json.dumps(document))) <= uids


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_a_board_leads_to_the_other_boards_and_to_mirrorwatchs_own_page(document):
    boards, page = document["links"]
    assert (boards["type"], boards["tags"]) == ("dashboards", ["mirrorwatch"])
    assert page["url"].startswith(f"{SERVICE}/")
    assert dashboard(BOARDS[0], job="x")["links"] == [boards]


def test_flows_are_sorted_by_the_worst_condition_first():
    (table,) = [each.values[0] for each in PANELS if each.values[0]["title"].startswith("Conditions by flow")]
    assert [one["displayName"] for one in table["options"]["sortBy"]] == [str(one) for one in CONDITIONS]


def test_a_condition_that_does_not_hold_has_no_colour():
    (table,) = [each.values[0] for each in PANELS if each.values[0]["title"].startswith("Conditions by flow")]
    for override in table["fieldConfig"]["overrides"]:
        ((mappings,),) = [one["value"] for one in override["properties"] if one["id"] == "mappings"]
        assert mappings["options"]["0"]["color"] == "transparent"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["uid"])
def test_a_choice_is_a_regular_expression_only_where_several_can_be_chosen(document):
    for variable in document["templating"]["list"]:
        if variable["type"] == "query":
            used = set(
                re.findall(rf'(=~?)"\${variable["name"]}(?=[|"])', json.dumps(document).replace("\\", ""))
            )
            assert used == {"=~" if variable["multi"] else "="}, variable["name"]


@pytest.mark.parametrize("panel", PANELS)
def test_the_first_ones_are_not_those_of_one_replica_twice(panel):
    for target in panel["targets"]:
        if re.match(r"(top|bottom)k", target["expr"]):
            assert re.search(r"\b(max|min) by \(", target["expr"]), target["expr"]


def test_promtool_reads_every_expression(tmp_path):
    rules = [
        {"record": f"panel:{number}", "expr": promql(target["expr"])}
        for number, target in enumerate(target for panel in PANELS for target in panel.values[0]["targets"])
    ]
    assert len(rules) > 30
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    program = shutil.which("promtool")
    assert program, "promtool is not installed: apt-get install prometheus"
    checked = subprocess.run(
        [program, "check", "rules", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_verdict_has_a_colour_of_its_own():
    assert set(STATE_COLOURS) == set(Verdict)
    assert len(set(STATE_COLOURS.values())) == len(STATE_COLOURS)
