"""One scrape: whole, or cut so that nobody takes it for whole; never a second answer within the first."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from fleet.errors import UnavailableError
from mirrorwatch.web.routes import scrape as routes_scrape
from mirrorwatch.web.routes.scrape import answer_scrape, takes_gzip
from runtime.http.server import application

OWN = b"# HELP own Ours.\n# TYPE own gauge\nown 1.0\n"
LARGE = b"# HELP large Theirs.\n# TYPE large gauge\n" + b"large 2.0\n" * 1000


class Log:
    def __init__(self):
        self.lines = []

    def exception(self, sentence, **values):
        self.lines.append((sentence, values))


@pytest.fixture
async def scene(monkeypatch):
    async def pieces():
        for step in scene.steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step

    async def stream(_question, **_details):
        return {}, pieces()

    async def metrics(request):
        return await answer_scrape(request, None, SimpleNamespace(on=True, stream=stream))

    monkeypatch.setattr(routes_scrape, "render", lambda _numbers, _accept: (OWN, "text/plain; version=0.0.4"))
    log = Log()
    app = application(log=log, request_within_s=1.0)
    app.router.add_get("/metrics", metrics)
    async with TestClient(TestServer(app)) as client:
        scene = SimpleNamespace(client=client, log=log, steps=[LARGE])
        yield scene


async def test_it_is_whole(scene):
    answer = await scene.client.get("/metrics", headers={"Accept-Encoding": "identity"})
    assert await answer.read() == OWN + LARGE


async def test_head_has_no_body_and_the_connection_serves_the_next_request(scene):
    answer = await scene.client.head("/metrics")
    assert (answer.status, await answer.read()) == (200, b"")
    answer = await scene.client.get("/metrics", headers={"Accept-Encoding": "identity"})
    assert await answer.read() == OWN + LARGE


@pytest.mark.parametrize(
    ("steps", "logged"),
    [
        ([LARGE, UnavailableError("the lag monitor has ended")], []),
        ([LARGE, 30.0], []),
        ([LARGE, RuntimeError("x")], ["a request failed: a bug"]),
    ],
)
async def test_what_cannot_be_finished_is_cut(scene, steps, logged):
    scene.steps = steps
    answer = await scene.client.get("/metrics", headers={"Accept-Encoding": "identity"})
    came = bytearray()

    async def read():
        async for piece in answer.content.iter_any():
            came.extend(piece)

    with pytest.raises(aiohttp.ClientError):
        await read()
    assert answer.status == 200
    assert b"HTTP/1.1" not in came
    assert [sentence for sentence, _ in scene.log.lines] == logged


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("deflate, gzip ; q=1.0", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, identity", False),
        ("identity", False),
        ("", False),
    ],
)
def test_gzip_is_sent_where_it_is_taken(accepted, taken):
    assert takes_gzip(accepted) is taken
