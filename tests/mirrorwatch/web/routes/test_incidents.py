"""Pages and API of incidents and flows over HTTP."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from alerts.objectives import defaults_of
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.service.view import ChecksumRunView, ChecksumView
from mirrorwatch.web import texts
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.incidents import Aims, incident_pages
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.stored_incidents import ENDED, HOSTILE, OPEN, Incidents


@pytest.fixture(scope="module")
def page():
    return Page()


@pytest.fixture
async def scene(page):
    stalled = replace(
        views.flow("A", "B", Verdict.STALLED), incident=OPEN, recent=(OPEN, ENDED), bars=views.bars()
    )
    stalled = replace(stalled, objectives=views.objectives(stalled))
    scene = SimpleNamespace(flows=[stalled, views.flow("B", "A")], incidents=Incidents())

    def look():
        return replace(
            views.service(*scene.flows),
            links=PageLinks(grafana="https://g.example.org"),
            outside=PageLinks("https://mw.example.org", grafana="https://g.example.org"),
        )

    facts = (SimpleNamespace(name="A->B", probes_per_s=6.0),)
    aims = Aims(defaults_of("A->B", "A", "B", has_canary=True), facts)
    application = web.Application()
    application.add_routes(
        [*routes(look, page=page), *incident_pages(look, scene.incidents, page=page, aims=lambda: aims)]
    )
    async with TestClient(TestServer(application)) as client:
        scene.client = client
        yield scene


async def _text(scene, path, status=200):
    answer = await scene.client.get(path, allow_redirects=False)
    assert answer.status == status, await answer.text()
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    return await answer.text()


async def test_the_page_of_an_incident(scene):
    text = await _text(scene, f"/incidents/{ENDED.incident}")
    for part in (
        "272 records lost, stalled",
        "duration 3 min",
        "What to do",
        "mirror_down",
        "Ada",
        "Raised it.",
    ):
        assert part in text
    assert 'href="https://g.example.org/d/mirrorwatch-flow?var-flow=A-%3EB"' in text
    assert "about 5.1 %" in text  # 272 of 400 in 3 min, of 0.1 % of 28 days
    opened = await _text(scene, f"/incidents/{OPEN.incident}")
    assert "<strong>Open</strong> since" in opened
    assert '<details class="to-do" id="to-do" open>' in opened


async def test_hostile_names_and_notes_stay_text(scene):
    text = await _text(scene, f"/incidents/{HOSTILE.incident}")
    assert "<script>document" not in text
    assert "\u202e" not in text


async def test_the_list_of_incidents_and_that_of_one_flow(scene):
    text = await _text(scene, "/incidents")
    assert "1 incident open" in text
    assert text.count("272 records lost") == 3
    assert (await _text(scene, "/incidents?flow=A:B")).count("272 records lost") == 2
    assert "Unknown flow" in await _text(scene, "/incidents?flow=A:C", 404)
    assert "Unknown page" in await _text(scene, "/incidents?offset=-1", 400)
    assert "1 incident of A-&gt;B open" in await _text(scene, "/incidents?flow=A:B")
    text = Markup(await _text(scene, "/incidents?flow=B:A")).text
    assert "No open incidents of B->A" in text
    assert "The store has no incidents of B → A; see all incidents." in text
    scene.incidents.all = scene.incidents.open = ()
    assert "The store has no incidents." in await _text(scene, "/incidents")


async def test_the_page_of_a_flow_has_everything_about_it(scene):
    text = await _text(scene, "/flows/A:B")
    for part in (
        "stalled",
        "What to do now",
        "24 hours",
        "Incidents",
        "Objectives",
        "99.9 %, over 28 d; 61.2 % of its error budget is left",
        "2.5 times its error budget is spent",
        "error budget unknown: not enough data",
        "Counters",
    ):
        assert part in text
    assert await _text(scene, "/flows/A-%3EB") == text
    assert "Unknown flow" in await _text(scene, "/flows/A:C", 404)


async def test_an_alert_is_led_to_the_newest_incident_of_a_flow(scene):
    answer = await scene.client.get("/flows/A:B/incident", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, f"/incidents/{OPEN.incident}")
    answer = await scene.client.get("/flows/B:A/incident", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, "/flows/B:A")


async def test_all_flows_and_all_checksums(scene):
    text = await _text(scene, "/flows")
    assert "1 of 2 flows is stalled" in text
    assert "/flows/B:A" in text
    assert "2 of 2 flows have no checksum yet" in await _text(scene, "/checksums")
    scene.flows = []
    assert "No flows configured" in await _text(scene, "/flows")
    assert "No flows configured" in await _text(scene, "/checksums")


async def test_an_old_latency_is_not_listed_as_the_present_one(scene):
    rows = (await _text(scene, "/flows")).split("<tr")
    none = f'data-label="99th percentile">{texts.NOTHING}<'
    shown = {flow: none not in row for row in rows for flow in ("A:B", "B:A") if f"/flows/{flow}" in row}
    assert shown == {"A:B": False, "B:A": True}


async def test_only_the_first_line_and_a_lost_connection_are_read_out(scene):
    markup = Markup(await _text(scene, f"/incidents/{OPEN.incident}"))
    live = [(tag, one.get("id")) for tag, one in markup.elements if "aria-live" in one]
    assert live == [("p", "lost-connection"), ("h1", None)]


async def test_offsets_are_linked_while_they_are_monitored(scene):
    flow, _ = scene.flows
    for path in (f"/incidents/{OPEN.incident}", "/flows/A:B"):
        assert "/flows/A-%3EB/offsets" not in await _text(scene, path)
    parts = (*flow.verdict.parts, ("lag", "No lag on 6 partitions."))
    scene.flows[0] = replace(flow, verdict=replace(flow.verdict, parts=parts))
    for path in (f"/incidents/{OPEN.incident}", "/flows/A:B"):
        assert "/flows/A-%3EB/offsets" in await _text(scene, path)


def checksum(*, ago_s=600.0, status=0, findings=0, records=100, earlier=()):
    ended_at = views.NOW_AT - ago_s
    run = ChecksumRunView(
        "r1", ended_at - 60, ended_at, status, 1.0, records, records, {}, findings, 0, 0, 0, 1
    )
    return ChecksumView(run, earlier)


FOUND = checksum(ago_s=7200, status=1, findings=5).newest


@pytest.mark.parametrize(
    ("verdict", "shown", "headline"),
    [
        (
            Verdict.HEALTHY,
            checksum(),
            "✓ No differences: the newest checksum of every flow is OK, the oldest of 20:16:40 UTC",
        ),
        (
            Verdict.HEALTHY,
            checksum(ago_s=300 * 86_400),
            "✓ No differences: the newest checksum of every flow is OK, the oldest of 01 Aug 2025 20:26 UTC",
        ),
        (
            Verdict.HEALTHY,
            checksum(earlier=(FOUND,)),
            "✓ The newest checksum of every flow is OK, the oldest of 20:16:40 UTC; earlier ones found differences",
        ),
        (Verdict.LOSING, checksum(earlier=(FOUND,)), "✕ Checksums found differences on 1 flow"),
        (Verdict.HEALTHY, checksum(status=1), "✕ Checksums found differences on 1 flow"),
        (Verdict.HEALTHY, checksum(status=1, findings=2), "✕ Checksums found differences on 1 flow"),
        (Verdict.HEALTHY, checksum(status=3), "? Checksums incomplete: not all records were verified"),
        (Verdict.HEALTHY, checksum(records=0), "? The newest checksum of 1 flow compared no records"),
    ],
)
async def test_checksums_are_ok_only_while_none_of_them_found_a_difference_that_holds(
    scene, verdict, shown, headline
):
    rows = () if verdict is Verdict.HEALTHY else (replace(views.evidence(), part="checksum"),)
    scene.flows = [replace(views.flow(verdict=verdict, evidence_rows=rows), checksum=shown)]
    assert f"{headline} A → B" in Markup(await _text(scene, "/checksums")).text


async def test_a_store_that_does_not_answer_is_shown(scene):
    scene.incidents.failing = True
    for path in ("/incidents", f"/incidents/{OPEN.incident}"):
        assert "the store mw.db is closed" in await _text(scene, path, 503)
    assert "the store mw.db is closed" in await _text(scene, "/flows/A:B")
    answer = await scene.client.get("/api/v1/incidents")
    assert (answer.status, (await answer.json(content_type=None))["code"]) == (503, "unavailable")


async def test_incidents_as_json(scene):
    document = await (await scene.client.get("/api/v1/incidents?limit=1")).json()
    assert (document["count"], document["offset"]) == (3, 0)
    assert document["next"] == "/api/v1/incidents?limit=1&offset=1"
    (one,) = document["incidents"]
    assert (one["state"], one["source"], one["target"]) == ("open", "A", "B")
    assert one["started_at"] == "2026-05-28T20:26:00.000Z"
    assert one["cause"]["code"] == "filtered"
    assert one["duration_s_most"] is None
    assert one["links"] == {
        "page": f"https://mw.example.org/incidents/{OPEN.incident}",
        "flow": "https://mw.example.org/flows/A:B",
        "runbook": "https://mw.example.org/runbooks/filtered",
        "dashboard": "https://g.example.org/d/mirrorwatch-flow?var-flow=A-%3EB",
    }
    short = await (await scene.client.get("/api/v1/incidents?flow=A:B&state=open&fields=incident")).json()
    assert short["incidents"] == [{"incident": OPEN.incident}]
    one = await (await scene.client.get(f"/api/v1/incidents/{ENDED.incident}")).json()
    assert (one["state"], one["duration_s"], one["duration_s_most"]) == ("ended", 180, 180)
    assert [budget["objective"] for budget in one["budget_spent"]] == ["availability", "freshness"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/v1/incidents?stat=open", 400, "invalid_query"),
        ("/api/v1/incidents?state=closed", 400, "invalid_query"),
        ("/api/v1/incidents?flow=A:C", 404, "unknown_flow"),
        ("/api/v1/incidents/none", 404, "unknown_incident"),
    ],
)
async def test_what_the_api_refuses(scene, path, status, code):
    answer = await scene.client.get(path)
    assert (answer.status, answer.content_type) == (status, "application/problem+json")
    assert (await answer.json(content_type=None))["code"] == code
