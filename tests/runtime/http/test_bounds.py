"""Bounds of connections, requests and failed sign-ins, on the real server and alone."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig, load_web_config
from runtime.http import bounds
from runtime.http.bounds import Failures, Shares, few_at_once, source_of
from runtime.http.server import HttpServer, application
from runtime.http.users import FAILED_PER_MINUTE
from tests.runtime.certificates import write_pair
from tests.runtime.fake_clock import FakeClock


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, ""),
    ],
)
def test_an_ipv6_network_is_one_source(address, source):
    assert source_of(address) == source


def test_one_source_takes_half_of_the_places():
    shares = Shares(6)
    assert [shares.take("a") for _ in range(4)] == [True, True, True, False]
    assert [shares.take("b") for _ in range(4)] == [True, True, True, False]
    assert not shares.take("c")
    shares.give_back("a")
    assert shares.take("c")
    assert not shares.take("a")


def test_failures_are_forgotten_with_time_and_with_many_sources():
    failures = Failures(2, per_s=60)
    failures.add("a", 0)
    assert failures.wait_s("a", 0) == 0
    failures.add("a", 10**9)
    assert failures.wait_s("a", 2 * 10**9) == 58
    assert failures.wait_s("b", 2 * 10**9) == 0
    assert failures.wait_s("a", 60 * 10**9) == 0
    for number in range(5000):
        failures.add(f"c{number}", 2 * 10**9)
    assert failures.wait_s("a", 2 * 10**9) == 0
    assert len(failures._at_ns) == bounds._SOURCES


@pytest.fixture
async def serve():
    servers = []

    async def start(*, app=None, clock=None, **parts):
        server = HttpServer(clock)
        servers.append(server)
        app = app or application()

        async def answer(_request):
            return web.Response(text="fine")

        for path in ("/page", "/-/healthy"):
            app.router.add_get(path, answer)
        await server.start(app, HttpConfig(listen="127.0.0.1:0"), web_config=WebConfig(**parts))
        return server

    yield start
    for server in servers:
        await server.stop(0.1)


async def test_wrong_passwords_are_bounded_and_what_was_right_before_passes(serve):
    clock, checked = FakeClock(), []
    server = await serve(clock=clock, users={"ops": b"$2b$hash"})

    def check(password, _hashed):
        checked.append(password)
        return password == b"right"

    server._users._check = check

    async with aiohttp.ClientSession() as session:

        async def status(word, name="ops"):
            headers = {"Authorization": aiohttp.encode_basic_auth(name, word)}
            async with session.get(f"{server.url}/page", headers=headers) as answer:
                return answer.status, answer.headers.get("Retry-After"), await answer.text()

        assert (await status("right"))[0] == 200
        found = await asyncio.gather(*(status(f"guess {n}") for n in range(40)))
        refused = (429, "60", "Too many failed sign-ins from this address; try again in 60 s.\n")
        assert [one[0] for one in found].count(401) == FAILED_PER_MINUTE
        assert {one for one in found if one[0] != 401} == {refused}
        assert len(checked) == 1 + FAILED_PER_MINUTE
        assert (await status("right"))[0] == 200  # a scrape continues
        assert (await status(f"guess {0}"))[0] == 401  # known to be wrong, without a check
        assert len(checked) == 1 + FAILED_PER_MINUTE
        clock.advance(60)
        assert (await status("another guess"))[0] == 401


async def test_sign_ins_that_succeed_are_never_too_many(serve):
    server = await serve(clock=FakeClock(), users={f"u{n}": b"$2b$hash" for n in range(50)})
    server._users._check = lambda password, _hashed: password == b"right"
    async with aiohttp.ClientSession() as session:

        async def status(name):
            headers = {"Authorization": aiohttp.encode_basic_auth(name, "right")}
            async with session.get(f"{server.url}/page", headers=headers) as answer:
                return answer.status

        # All at once, as after a restart behind one proxy.
        assert set(await asyncio.gather(*(status(f"u{n}") for n in range(50)))) == {200}


async def test_too_many_requests_at_once_are_refused_but_not_a_liveness_probe(serve):
    app = application()
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow(_request):
        entered.set()
        await release.wait()
        return web.Response(text="done")

    app.router.add_get("/slow", slow)
    app.router.add_get("/api/v1/slow", slow)
    app.middlewares.append(few_at_once(Shares(2)))
    server = await serve(app=app)
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:

        async def status(path):
            async with session.get(server.url + path) as answer:
                return answer.status, answer.headers.get("Retry-After"), await answer.text()

        first = group.create_task(status("/slow"))
        await entered.wait()
        assert await status("/page") == (429, "1", "Too many requests at once; try again in 1 s.\n")
        assert (await status("/api/v1/slow"))[:2] == (429, "1")
        assert (await status("/-/healthy"))[0] == 200
        release.set()
    assert first.result() == (200, None, "done")


@pytest.mark.parametrize("parts", [{}, {"tls": True}], ids=["http", "https"])
async def test_connections_over_the_bound_are_closed_and_their_places_come_back(
    serve, parts, tmp_path, monkeypatch
):
    monkeypatch.setattr("runtime.http.server.CONNECTIONS", 6)
    if parts:
        write_pair(tmp_path, "s")
        (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: s.crt, key_file: s.key}")
        found = load_web_config(tmp_path / "web.yml")
        parts = {"tls": found.tls, "tls_files": found.tls_files}
    server = await serve(**parts)
    # Those that never say a word, nor start a handshake, count too.
    silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    for _, one in silent:
        one.close()
        await one.wait_closed()
    async with asyncio.timeout(10):
        while server._connections._all:  # noqa: ASYNC110 - no event is set by it
            await asyncio.sleep(0)
    connector = aiohttp.TCPConnector(ssl=False)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"{server.url}/page") as answer,
    ):
        assert answer.status == 200
