"""What stands at the lag monitor's addresses while it is off, and while it is on."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from fleet.errors import UnavailableError
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.groups import GroupCounts
from mirrorwatch.web.routes.lag_monitor import lag_monitor_routes
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.monitored import Monitored
from tests.runtime.fake_clock import FakeClock

PATHS = (
    "/burrow/admin",
    "/api/v1/groups",
    "/groups",
    "/groups/A/g",
    "/api/v1/flows/A->B/offsets",
    "/flows/A->B/offsets",
)


@pytest.fixture
async def client():
    lagging = SimpleNamespace(on=True, ask=Monitored("A").ask)
    app = web.Application()
    app.add_routes(lag_monitor_routes(lagging, page=Page(), clock=FakeClock()))
    async with TestClient(TestServer(app)) as made:
        made.lagging = lagging
        yield made


@pytest.mark.parametrize("path", PATHS)
async def test_while_it_is_off_there_is_nothing_and_a_sentence_shows_why(client, path):
    client.lagging.on = False
    answer = await client.get(path)
    assert answer.status == 404
    sentence = "The lag monitor is off (lag.commits)."
    if path.startswith("/api/"):
        problem = await answer.json()
        assert (problem["code"], problem["detail"]) == ("lag_off", sentence)
    elif path.startswith("/burrow/"):
        assert await answer.text() == f"{sentence}\n"
    else:
        assert sentence in Markup(await answer.text()).text


async def test_under_v3_scripts_are_reported_in_burrows_json_why_there_is_no_answer(client):
    async def ask(*_args, **_details):
        raise UnavailableError("the lag monitor does not answer: it does not listen yet")

    client.lagging.ask = ask
    address = URL("/v3/kafka/A/consumer/a%2Fb/lag", encoded=True)
    told_back = {"url": "/v3/kafka/A/consumer/a/b/lag", "host": socket.gethostname()}
    answer = await client.get(address)
    assert answer.status == 503
    sentence = "The lag monitor does not answer: it does not listen yet."
    assert await answer.json() == {"error": True, "message": sentence, "request": told_back}
    health = await client.get("/burrow/admin")  # a liveness probe that was kept must not end the service
    assert (health.status, await health.text()) == (200, "GOOD")
    client.lagging.on = False
    for method in ("GET", "DELETE"):
        answer = await client.request(method, address)
        assert answer.status == 404
        sentence = "The lag monitor is off (lag.commits)."
        assert await answer.json() == {"error": True, "message": sentence, "request": told_back}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v3/kafka", 405),
        ("/v3/kafka/", 405),
        ("/v3/kafka/A/consumer/g", 405),
        ("/v3/kafka/A/consumer/a%2Fb/lag", 405),
        ("/v3/admin/loglevel", 404),
        ("/v3/config", 404),
        ("/v3/kafka/A/other", 404),
        ("/v3", 404),
        ("/v3/", 404),
    ],
)
async def test_burrows_paths_take_no_other_method_and_what_it_does_not_know_is_not_found(
    client, method, path, status
):
    answer = await client.request(method, URL(path, encoded=True))
    assert answer.status == status
    if status == 404:
        assert await answer.json() == {"error": True, "message": "invalid request type", "result": {}}
    else:
        assert answer.headers["Allow"] == "GET,HEAD"


@pytest.mark.parametrize("path", ["/v3", "/v3/", "/v3/kafka", "/v3/admin/loglevel"])
async def test_every_path_of_burrows_api_is_answered_in_one_place(client, path):
    asked = []

    async def ask(question, **details):
        asked.append((question, details["path"]))
        return {"status": 200}, b"{}"

    client.lagging.ask = ask
    assert (await client.get(path)).status == 200
    assert asked == [("burrow", path)]


async def test_it_is_switched_on_and_off_while_the_routes_stay(client):
    for on, status in ((True, 200), (False, 404), (True, 200)):
        client.lagging.on = on
        assert (await client.get("/api/v1/groups")).status == status


async def test_the_page_reports_no_counts_while_it_is_off(client):
    counts = GroupCounts(client.lagging, clock=FakeClock())
    assert await counts.view() is not None
    client.lagging.on = False
    assert await counts.view() is None
