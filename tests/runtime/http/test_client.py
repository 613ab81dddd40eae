"""One request to a service of others, against servers that answer well, badly or not at all."""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fleet.errors import MalformedError, UnavailableError
from runtime.http import client as http_client
from runtime.http.client import User, get, post


async def told(handler, path="/", **more):
    application = web.Application()
    application.router.add_get(path, handler)
    async with TestServer(application) as server:
        return await get(str(server.make_url(path)), **more)


@asynccontextmanager
async def speaking(text):
    """Listen, and answer whoever comes with this text whatever they ask."""

    async def answer(_reader, writer):
        writer.write(text)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_status_body_and_parameters():
    async def handler(request):
        assert request.query.getall("expand") == ["info", "status"]
        assert "Authorization" not in request.headers
        return web.Response(status=418, text="tea")

    answer = await told(handler, "/connectors", parameters={"expand": ["info", "status"]})
    assert (answer.status, answer.body, answer.location) == (418, b"tea", "")


async def test_a_user_is_sent():
    async def handler(request):
        assert request.headers["Authorization"] == "Basic " + b64encode("mw:päss".encode()).decode()
        return web.Response()

    assert (await told(handler, user=User("mw", "päss"))).status == 200
    assert "päss" not in repr(User("mw", "päss"))


async def test_a_post_brings_its_token_and_some_megabytes():
    came = []

    async def handler(request):
        came.append((request.headers["Authorization"], request.content_type, len(await request.read())))
        return web.Response(status=201, text="kept")

    application = web.Application(client_max_size=2**23)
    application.router.add_post("/told", handler)
    async with TestServer(application) as server:
        answer = await post(str(server.make_url("/told")), b" " * 2**22, token="t0ken")
    assert (answer.status, answer.body) == (201, b"kept")
    assert came == [("Bearer t0ken", "application/json", 2**22)]


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://elsewhere.example/", "http://elsewhere.example/"),
        ("https://me:hunter2@elsewhere.example:8083/a@b?token=hunter2#hunter2", "https://elsewhere.example:8083/a@b"),
        ("//me:hunter%402@[::1]/", "//[::1]/"),
        ("/login?next=/", "/login"),
    ],
)  # fmt: skip
async def test_a_redirection_is_not_followed_and_its_address_has_no_secret(location, shown):
    async def handler(_request):
        return web.Response(status=302, headers={"Location": location})

    answer = await told(handler)
    assert (answer.status, answer.location) == (302, shown)


async def test_more_than_is_believed_is_refused(monkeypatch):
    monkeypatch.setattr(http_client, "MOST_BYTES", 10**6)

    async def handler(_request):
        return web.Response(body=b"x" * (10**6 + 1))

    with pytest.raises(MalformedError, match=r"^it sends more than 1 MB$"):
        await told(handler)


async def test_no_one_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UnavailableError) as refusal:
            await get(url)
    assert str(refusal.value) == (
        f"{url} cannot be reached (Connection refused); check that it runs and is reachable from this host"
    )


async def test_no_answer_in_time(monkeypatch):
    monkeypatch.setattr(http_client, "TIMEOUT_S", 0.05)
    leave = asyncio.Event()

    async def handler(_request):
        await leave.wait()
        return web.Response()

    with pytest.raises(UnavailableError, match=r"did not answer within 0\.05 s: try again$"):
        await told(handler)
    leave.set()


async def test_an_end_without_an_answer():
    async with speaking(b"") as url:
        with pytest.raises(UnavailableError, match=r"ended the connection without an answer: try again$"):
            await get(url)


async def test_something_else_than_http():
    async with speaking(b"SSH-2.0-OpenSSH_9.2\r\n") as url:
        with pytest.raises(MalformedError, match=r"^it does not speak HTTP$"):
            await get(url)
        with pytest.raises(MalformedError, match=r"^it does not speak TLS, or no common TLS version$"):
            await get(url.replace("http:", "https:"))
