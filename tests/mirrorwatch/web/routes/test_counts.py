"""Produced against mirrored over HTTP: which rows are asked for, and what is no question."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiohttp.test_utils import TestClient, TestServer

from checksum.history.entries import Counted
from fleet.errors import UnavailableError
from mirrorwatch.web.routes import counts as routes_counts
from mirrorwatch.web.routes.counts import counts_routes
from mirrorwatch.web.routes.main import routes
from runtime.http.server import application
from tests.mirrorwatch import views
from tests.runtime.fake_clock import FakeClock

NOW_AT = 1_790_000_000.0
DAY_MS = 86_400_000
PATH = "/api/v1/flows/A:B/counts"


class Kept:
    def __init__(self):
        self.asked = []
        self.rows = [Counted("orders", 0, 900_000, 10, 10), Counted("orders", 1, 900_000, 7, 6)]
        self.broken = False

    def knows(self, flow):
        return flow == "A->B"

    async def counts(self, flow, topic, *, since_ms, until_ms, limit):
        self.asked.append((flow, topic, since_ms, until_ms))
        if self.broken:
            raise UnavailableError("the store is away")
        return self.rows[:limit]


@pytest.fixture
async def scene():
    kept, app, clock = Kept(), application(), FakeClock(wall_s=NOW_AT)
    app.add_routes([*counts_routes(kept, clock=clock), *routes(lambda: views.service(views.flow()))])
    async with TestClient(TestServer(app)) as client:
        yield SimpleNamespace(kept=kept, client=client, clock=clock)


async def ask(scene, path, **asked):
    answer = await scene.client.get(path, params=asked)
    return answer.status, await answer.json()


@pytest.mark.parametrize("path", [PATH, "/api/v1/flows/A-%3EB/counts"])
async def test_a_topic_of_the_last_day(scene, path):
    status, document = await ask(scene, path, topic="orders")
    assert (status, document["flow"], document["topic"], document["count"]) == (200, "A->B", "orders", 1)
    (bucket,) = document["buckets"]
    assert (bucket["source_records"], bucket["target_records"]) == (17, 16)
    assert bucket["differing"] == [{"partition": 1, "source_records": 7, "target_records": 6}]
    now_ms = round(NOW_AT * 1000)
    assert scene.kept.asked == [("A->B", "orders", now_ms - DAY_MS, now_ms)]


async def test_every_page_is_of_the_same_time(scene):
    scene.kept.rows.append(Counted("orders", 0, 1_800_000, 3, 3))
    _, first = await ask(scene, PATH, topic="orders", limit="1")
    scene.clock.advance(3600)
    answer = await scene.client.get(first["next"])
    second = await answer.json()
    assert (len(first["buckets"]), len(second["buckets"]), second["next"]) == (1, 1, None)
    assert scene.kept.asked[0] == scene.kept.asked[1]


async def test_a_time_of_ones_own(scene):
    asked = {"since": "2026-09-01T00:00:00Z", "until": "2026-09-01T02:00:00 02:00"}
    assert (await ask(scene, PATH, topic="orders", **asked))[0] == 200
    (found,) = scene.kept.asked
    assert found[2] == found[3] == 1_788_220_800_000


@pytest.mark.parametrize(
    ("asked", "status", "sentence"),
    [
        ({}, 400, "topic: missing; the topic, by its name on the source"),
        ({"topic": "a\0b"}, 400, "topic: invalid topic 'a\0b'; write its name on the source"),
        (
            {"topic": "t", "since": "yesterday"},
            400,
            "since: invalid moment 'yesterday'; write it as 2026-01-31T23:00:00Z, with its zone",
        ),
        (
            {"topic": "t", "until": "2026-09-01T00:00:00"},
            400,
            "until: invalid moment '2026-09-01T00:00:00'; write it as 2026-01-31T23:00:00Z, with its zone",
        ),
    ],
)
async def test_what_is_no_question(scene, asked, status, sentence):
    found, problem = await ask(scene, PATH, **asked)
    assert (found, problem["code"], problem["problems"]) == (status, "invalid_query", [sentence])
    assert scene.kept.asked == []


async def test_a_flow_that_is_not_known_and_a_store_that_is_away(scene):
    status, problem = await ask(scene, "/api/v1/flows/A:C/counts", topic="t")
    assert (status, problem["code"], problem["detail"]) == (404, "unknown_flow", "unknown flow 'A:C'")
    scene.kept.broken = True
    status, problem = await ask(scene, PATH, topic="t")
    assert (status, problem["code"], problem["detail"]) == (503, "unavailable", "the store is away")


async def test_too_much_at_once_is_shown_and_not_cut(scene, monkeypatch):
    monkeypatch.setattr(routes_counts, "MOST_ROWS", 2)
    status, problem = await ask(scene, PATH, topic="t")
    assert (status, problem["code"]) == (400, "invalid_query")
    assert problem["detail"] == "since: 2 rows or more; request a shorter time"


async def test_the_flow_itself_is_still_found(scene):
    assert (await ask(scene, "/api/v1/flows/A:B"))[0] == 200
