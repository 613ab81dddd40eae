"""Requests to other replicas: whole, bounded, never to another host, and never half an answer."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import ClientPayloadError, web
from aiohttp.test_utils import TestClient, TestServer

from fleet.errors import UnavailableError
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.replicas import forwarding
from mirrorwatch.web.replicas.forwarding import PART, Forwarder, NotReachedError
from mirrorwatch.web.replicas.peers import Alone
from mirrorwatch.web.routes.replicas import Replicas
from runtime.http.audit import FORWARDED
from runtime.http.server import application
from tests.mirrorwatch import views
from tests.runtime.fake_clock import FakeClock


async def echo(request):
    if request.path == "/half":
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        request.transport.abort()
        return response
    if request.path == "/much":
        return web.Response(body=b"x" * 5_000)
    headers = {name: request.headers.get(name) for name in (PART, FORWARDED, "Cookie", "X-Own", "Expect")}
    return web.json_response({"path": request.raw_path, "headers": headers}, headers={"Set-Cookie": "a=b"})


@pytest.fixture
async def other():
    app = web.Application()
    app.add_routes([web.route("*", "/{rest:.*}", echo)])
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
async def forwarder():
    made = Forwarder("left")
    yield made
    await made.close()


@pytest.fixture
async def client(other, forwarder):
    async def answer(request):
        try:
            return await forwarder.forward(request, client.other, part="2/3")
        except UnavailableError as error:
            raise web.HTTPServiceUnavailable(text=str(error)) from error

    app = application()
    app.add_routes([web.route("*", "/{rest:.*}", answer)])
    async with TestClient(TestServer(app)) as client:
        client.other = other
        yield client


async def fetch(forwarder, url, path, **more):
    return await forwarder.fetch(url, path, **{"part": "1/2", "headers": {}, "within_s": 5.0} | more)


async def test_no_client_says_for_whom_it_asks_or_who_passes_it_on(client):
    headers = {PART: "1/3", FORWARDED: "right", "X-Own": "yes", "Expect": "100-continue"}
    answer = await (await client.get("/a", headers=headers)).json()
    assert answer["headers"] == {
        PART: "2/3",
        FORWARDED: "right, left",
        "Cookie": None,
        "X-Own": "yes",
        "Expect": None,
    }


async def test_no_cookie_of_one_user_is_sent_for_another(forwarder, other):
    await fetch(forwarder, other, "/a")
    found = await fetch(forwarder, other, "/a")
    assert b'"Cookie": null' in found.body


async def raw(client, line):
    """Send a request line as it is; return the first line and the rest of the answer."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(10):
        found = await reader.read()
    writer.close()
    return found.split(b"\r\n", 1)


async def test_bytes_of_a_path_arrive_as_they_were(client):
    status, rest = await raw(client, b"GET /a%2F%zz%ED%A0%80'\"[?q=%ff&b= HTTP/1.1")
    assert status == b"HTTP/1.1 200 OK"
    assert rb'''"path": "/a%2F%zz%ED%A0%80'\"[?q=%ff&b="''' in rest


async def test_an_absolute_address_goes_to_no_other_host(client, forwarder):
    client.other = "http://other.exam"
    status, _ = await raw(client, b"GET ple://x/y HTTP/1.1")
    assert status == b"HTTP/1.1 400 Bad Request"
    for path in ("ple/y", "@evil/", ":80/", ""):
        with pytest.raises(web.HTTPBadRequest):
            await fetch(forwarder, "http://other.exam", path)


async def test_half_an_answer_does_not_look_whole(client, forwarder, other):
    with pytest.raises(ClientPayloadError):
        await (await client.get("/half")).read()
    with pytest.raises(UnavailableError, match="does not answer"):
        await fetch(forwarder, other, "/half")


async def test_too_much_is_refused(forwarder, other, monkeypatch):
    monkeypatch.setattr(forwarding, "MOST_BYTES", 4_000)
    with pytest.raises(UnavailableError, match="answers with more than"):
        await fetch(forwarder, other, "/much")


async def test_who_was_not_reached_is_told_apart(forwarder, unused_tcp_port):
    with pytest.raises(NotReachedError, match="does not answer"):
        await fetch(forwarder, f"http://127.0.0.1:{unused_tcp_port}", "/a")
    with pytest.raises(UnavailableError, match="does not answer"):
        await fetch(forwarder, "http://127.0.0.1:port", "/a")


# --- a service without other shards, and one that does not work yet


class Unasked:
    """Peers that are never asked for an address."""

    count, replica = 2, "left"

    def __init__(self, shard=None):
        self.shard = shard


class Monitor:
    on = True

    async def ask(self, question, **details):
        return {"question": question}, repr(details).encode()


@pytest.mark.parametrize(
    ("peers", "works"), [(Alone(), True), (Unasked(), True), (Unasked(Alone().shard), False)]
)
async def test_where_no_other_shard_is_concerned_every_answer_is_the_own(peers, works):
    replicas = Replicas(peers, clock=FakeClock(), works=lambda: works)
    seen, own = [], views.service(views.flow())

    async def answer(request):
        seen.append(await replicas.complete(own))
        lagging = replicas.lag_monitor(Monitor())
        for question in ("groups", "group", "group_counts", "burrow", "flow"):
            found = await lagging.ask(question, path="/v3/kafka/A/consumer", first=10**9, most=1)
            assert found == await Monitor().ask(question, path="/v3/kafka/A/consumer", first=10**9, most=1)
        assert await replicas.failover_audit(Monitor()).ask("groups", flow="X")
        assert await replicas.reload() == []
        return web.Response(text="own")

    app = application()
    app.add_routes([web.get("/api/v1/flows/{flow}", answer), web.get("/checksums/{run}", answer)])
    app.middlewares.append(replicas.middleware(Page()))
    app.on_cleanup.append(replicas.close)
    async with TestClient(TestServer(app)) as client:
        for path in ("/api/v1/flows/X:Y", "/checksums/r"):
            assert await (await client.get(path)).text() == "own"
        assert (await client.get("/checksums/r", headers={PART: "2/2"})).status == 503
    assert [one is own for one in seen] == [True, True]
    assert replicas.forwarder._opened is None
