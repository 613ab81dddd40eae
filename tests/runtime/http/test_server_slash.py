"""A slash at the end of an address that has none."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from runtime.http.server import application


@pytest.fixture
async def client():
    async def fine(request):
        return web.Response(text=request.path)

    app = application()
    app.router.add_get("/groups", fine)
    app.router.add_get(r"/groups/{cluster}/{group:[\s\S]*}", fine)
    async with TestClient(TestServer(app)) as made:
        yield made


async def test_what_is_found_without_it_is_sent_there_with_its_query(client):
    answer = await client.get(URL("/groups/?search=a%20b", encoded=True), allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (308, "/groups?search=a%20b")
    assert await (await client.get("/groups/")).text() == "/groups"


@pytest.mark.parametrize("path", ["/groups/A/", "/groups/A/g/"])
async def test_an_address_that_has_one_is_left_alone(client, path):
    answer = await client.get(path, allow_redirects=False)
    assert (answer.status, await answer.text()) == (200, path)


async def test_no_one_is_sent_to_another_site_or_to_nothing(client):
    for path, led_to in (("/nothing/", None), ("//example.com/", None), ("//groups/", "/groups")):
        address = URL(f"http://{client.host}:{client.port}{path}", encoded=True)
        answer = await client.session.get(address, allow_redirects=False)
        assert answer.headers.get("Location") == led_to
