"""Pages and API of incidents and flows over HTTP."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from alerts.objectives import defaults_of
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.incidents import Aims, incident_pages
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
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
    assert "about 1.9 %" in text  # 272 of 0.1 % of 6/s over 28 days
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
    scene.incidents.all = scene.incidents.open = ()
    assert "The store has no incidents" in await _text(scene, "/incidents")


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
        "/offsets",
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
