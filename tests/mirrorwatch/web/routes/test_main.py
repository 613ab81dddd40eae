from __future__ import annotations

from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.documents import flow_document, flows_document
from mirrorwatch.web.linking import WITHIN
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.pages.runbooks import runbook_names
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views


class _Service:
    """What the routes look at; a test changes it."""

    def __init__(self):
        self.view = views.service(views.flow(verdict=Verdict.LOSING), views.flow("B", "A"))
        self.looks = 0

    def look(self):
        self.looks += 1
        return self.view


@pytest.fixture
def service():
    return _Service()


@pytest.fixture
async def client(service):
    application = web.Application()
    application.add_routes(routes(service.look))
    async with TestClient(TestServer(application)) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/runbooks",
        "/runbooks/mirror_down",
        "/",
        "/view",
        "/api/v1/flows",
        "/api/v1/flows/A:B",
        "/static/page.js",
        "/static/none",
    ],
)
async def test_every_answer_is_guarded(client, path):
    answer = await client.get(path)
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert {
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    } <= set(policy)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not any("unsafe" in part for part in policy)


async def test_the_page_and_its_view_are_never_kept(client):
    for path in ("/", "/view"):
        answer = await client.get(path)
        assert answer.status == 200
        assert answer.content_type == "text/html"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "1 of 2 flows is losing records" in await answer.text()


async def test_static_files_are_kept_under_the_address_with_their_hash_only(client):
    page = Page()
    for name, file in page.static.items():
        answer = await client.get(page.asset(name))
        assert await answer.read() == file.body
        assert answer.content_type == file.content_type
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (await client.get("/static/page.css?v=old")).headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/static/..%2fpage.py", "/static/", "/static/none.css", "/static/page.css/"]
)
async def test_nothing_but_the_static_files_is_served(client, path):
    assert (await client.get(path)).status == 404


async def test_the_flows_as_a_document(client, service):
    answer = await client.get("/api/v1/flows")
    assert answer.content_type == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert await answer.json() == flows_document(service.view)


@pytest.mark.parametrize("name", ["A->B", "A:B"])
async def test_one_flow_by_either_name(client, service, name):
    answer = await client.get(f"/api/v1/flows/{quote(name, safe='')}")
    assert await answer.json() == flow_document(service.view.flows[0], WITHIN)


async def test_an_unknown_flow_is_refused_with_the_nearest(client, service):
    answer = await client.get("/api/v1/flows/A-B")
    assert (answer.status, answer.content_type) == (404, "application/problem+json")
    document = await answer.json()
    assert document["code"] == "unknown_flow"
    assert document["detail"] == "unknown flow 'A-B'; did you mean 'A->B'?"
    assert document["instance"] == "/api/v1/flows/A-B"
    service.view = views.service()
    document = await (await client.get("/api/v1/flows/x")).json()
    assert document["detail"] == "unknown flow 'x'; there are none here"


async def test_flows_come_a_page_at_a_time_with_the_fields_that_are_asked_for(client, service):
    service.view = views.service(*(views.flow(f"A{number}", "B") for number in range(5)))
    found, address = [], "/api/v1/flows?limit=2&fields=verdict,flow"
    while address:
        document = await (await client.get(address)).json()
        assert document["count"] == 5
        found += document["flows"]
        address = document["next"]
    assert found == [{"flow": f"A{number}->B", "verdict": "healthy"} for number in range(5)]
    assert list(await (await client.get("/api/v1/flows/A1:B?fields=flow")).json()) == ["flow"]


async def test_all_that_is_wrong_with_a_query_is_shown_at_once(client):
    answer = await client.get("/api/v1/flows?limt=2&limit=0&offset=1&offset=2&fields=verdict,flw")
    document = await answer.json()
    assert (answer.status, document["code"]) == (400, "invalid_query")
    assert document["problems"] == [
        "unknown parameter 'limt'; did you mean 'limit'?",
        "limit: invalid value '0'; write a whole number from 1 to 10,000",
        "offset: given 2 times; give it once",
        "fields: unknown field 'flw'; did you mean 'flow'?",
    ]
    assert document["detail"] == "; ".join(document["problems"])


async def test_a_flow_with_a_slash_and_a_percent_is_found(client, service):
    service.view = views.service(views.flow("a/b%", "c"))
    answer = await client.get("/api/v1/flows/" + "a%2Fb%25-%3Ec")
    assert (await answer.json())["source"] == "a/b%"


async def test_the_answer_follows_the_service(client, service):
    assert "is losing" in await (await client.get("/view")).text()
    service.view = views.service(views.flow(now_at=views.NOW_AT + 2), now_at=views.NOW_AT + 2)
    assert "The flow is healthy" in await (await client.get("/view")).text()
    # A clock that was set back is no reason to go on showing what was.
    service.view = views.service(views.flow(verdict=Verdict.STALLED), now_at=views.NOW_AT - 3600)
    assert "The flow is stalled" in await (await client.get("/view")).text()


async def test_only_get_is_answered(client):
    assert (await client.post("/api/v1/flows")).status == 405
    assert (await client.head("/")).status == 200


async def test_a_runbook_is_a_page_with_links_to_others(client):
    answer = await client.get("/runbooks/MirrorwatchNoRecordsArrive")
    text = await answer.text()
    assert answer.status == 200
    assert ">MirrorwatchNoRecordsArrive</h1>" in text
    assert "<h2>Mitigation</h2>" in text
    assert 'href="task_stuck"' in text
    assert (await client.get("/runbooks/task_stuck")).status == 200


async def test_all_runbooks_are_listed_with_what_they_mean(client):
    text = await (await client.get("/runbooks")).text()
    for name in runbook_names():
        assert f'<a href="/runbooks/{name}">{name}</a>: ' in text
    assert text.index("<h2>Alerts</h2>") < text.index(">MirrorwatchDown<") < text.index("<h2>Causes</h2>")


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fpyproject", "%3Cscript%3E", "mirror_down.md"])
async def test_what_is_no_runbook_is_not_found(client, name):
    answer = await client.get(f"/runbooks/{name}")
    assert answer.status == 404
    assert "<script>" not in (await answer.text()).replace('<script src="', "")
