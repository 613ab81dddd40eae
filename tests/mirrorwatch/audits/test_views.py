"""The checksums of a flow on the status page, in /api/v1/flows and in the table of `mirrorwatch status`."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from checksum.compare.findings import RecordVerdict
from mirrorwatch.audits.flow_audit import flow_audit, run_summary
from mirrorwatch.audits.run_document import read_run
from mirrorwatch.audits.views import EARLIER, checksum_view, run_text
from mirrorwatch.cli.status_answer import answer_of
from mirrorwatch.cli.status_table import show
from mirrorwatch.web.documents import flow_document, flows_document
from mirrorwatch.web.linking import WITHIN
from mirrorwatch.web.pages.page import Page
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.told_runs import block, finding, left, partition, run

ENDED_AT = views.NOW_AT - 6 * 3600
NIGHT_S = 86_400.0


def view_of(*documents):
    tolds = [read_run(document) for document in documents]
    return checksum_view(
        flow_audit(run_summary(told, ended_at=told.ended_at, exactly_once=False) for told in tolds)
    )


def newest(**said):
    return view_of(run(**({"ended_at": ENDED_AT} | said))).newest


def shown(checksum, *, beside=()):
    flow = replace(views.flow(), checksum=checksum)
    return flow, views.service(flow, *beside)


@pytest.fixture(scope="module")
def page():
    return Page()


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({}, "100 records of 1 topic compared, 100 % verified, no finding"),
        (
            {
                "partitions": [partition(hidden=1), partition("payments", offsets=9900)],
                "findings": [finding()],
            },
            "10,000 records of 2 topics compared, 99.99 % verified, 1 finding",
        ),
        (
            {"partitions": [], "nothing_new": ["orders"]},
            "no new records to compare, 100 % verified, no finding",
        ),
        ({"partitions": [], "left_out": [left()]}, "nothing could be compared, 0 % verified, no finding"),
        (
            {"partitions": [partition(unverifiable=2)]},
            "100 records of 1 topic compared, 100 % verified, no finding, 2 records without a verdict",
        ),
        (
            {"blocks": [block(lacking=1), block(lacking=2)]},
            "100 records of 1 topic compared, 100 % verified, no finding, 2 blocks of offsets unresolved",
        ),
    ],
)
def test_what_a_run_came_to_in_words(said, text):
    assert run_text(newest(**said)) == text


def test_earlier_runs_that_found_something_are_listed_newest_first_and_bounded():
    nights = [
        run(f"r{n}", ended_at=ENDED_AT - n * NIGHT_S, findings=[finding()]) for n in range(1, EARLIER + 4)
    ]
    view = view_of(run("now", ended_at=ENDED_AT), *nights, run("well", ended_at=ENDED_AT - 60))
    assert view.newest.run == "now"
    assert [one.run for one in view.earlier] == ["r1", "r2", "r3", "r4", "r5"]
    assert view.more_earlier == 3
    assert view_of(run("now", findings=[finding()])).earlier == ()


def test_the_document_of_a_flow_has_the_newest_run_and_null_without_one():
    checksum = view_of(
        run("old", ended_at=ENDED_AT - NIGHT_S, findings=[finding()]),
        run(
            "new",
            ended_at=ENDED_AT,
            expected=[finding(RecordVerdict.DUPLICATED)],
            partitions=[partition(lost=2)],
        ),
    )
    document = flow_document(shown(checksum)[0], WITHIN)["checksum"]
    earlier = document.pop("earlier")
    assert document == {
        "run": "new",
        "started_at": "2026-05-28T14:16:40.000Z",
        "ended_at": "2026-05-28T14:26:40.000Z",
        "exit_status": 0,
        "coverage": 1.0,
        "topic_count": 1,
        "source_records": 100,
        "target_records": 100,
        "records_by_verdict": dict.fromkeys(map(str, RecordVerdict), 0) | {"match": 98, "lost": 2},
        "not_due_records": 0,
        "undecided_records": 0,
        "finding_count": 0,
        "expected_count": 1,
        "unresolved_block_count": 0,
        "page": "/checksums/new",
    }
    assert [(one["run"], one["finding_count"], one["exit_status"]) for one in earlier] == [("old", 1, 1)]
    assert flow_document(views.flow(), WITHIN)["checksum"] is None


def test_the_page_has_a_block_with_the_newest_run_and_its_link(page):
    text = page.fragment(shown(view_of(run("r1", ended_at=ENDED_AT)))[1])
    assert '<a href="/checksums/r1">Run ended <time datetime="2026-05-28T14:26:40.000Z">' in text
    assert (
        "(6 h ago)</span>, duration 10 min: 100 records of 1 topic compared, 100 % verified, no finding."
        in text
    )
    assert "Earlier runs" not in text
    assert "<strong>" not in text
    Markup(text)


def test_findings_stand_out_and_so_do_those_of_nights_before(page):
    checksum = view_of(
        run("r1", ended_at=ENDED_AT - NIGHT_S, findings=[finding()]),
        run("r2", ended_at=ENDED_AT, findings=[finding()], expected=[finding(RecordVerdict.DUPLICATED)]),
    )
    text = page.fragment(shown(checksum)[1])
    assert "<strong>100 records of 1 topic compared, 100 % verified, 1 finding</strong>." in text
    assert "1 more difference is normal for at-least-once delivery." in text
    assert 'Earlier runs with findings: <a href="/checksums/r1">' in text


def test_without_a_run_the_page_shows_nothing_of_it(page):
    shown_of_flows = page.fragment(views.service(views.flow())).split("<footer")[0]
    assert "hecksum" not in shown_of_flows


def table(flow, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    document = json.loads(json.dumps(flows_document(views.service(flow))))
    show(answer_of(document), console)
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize("width", [60, 140])
def test_the_table_shows_how_the_mirror_is_by_offsets(width):
    flow = views.flow()
    sentence = "3 partitions stand, orders-0 for 4 min: 1,200 records behind."
    behind = replace(flow, verdict=replace(flow.verdict, parts=(*flow.verdict.parts, ("lag", sentence))))
    assert f"Mirrors by offsets (1) A->B: {sentence}" in table(behind, width)
    assert "by offsets" not in table(flow, width)


@pytest.mark.parametrize("width", [60, 140])
def test_the_table_shows_what_the_last_run_came_to(width):
    flow = views.flow()
    sentence = (
        "The last run ended 6 h ago: 100 records of the source compared, everything verified, no finding."
    )
    parts = (*flow.verdict.parts, ("checksum", sentence))
    audited = replace(flow, verdict=replace(flow.verdict, parts=parts))
    assert f"Checksums (1) A->B: {sentence}" in table(audited, width)
    assert "Checksums" not in table(flow, width)
