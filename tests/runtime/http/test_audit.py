"""The audit log: one line for each request that changes something, and none for others."""

from __future__ import annotations

import aiohttp
import bcrypt
import pytest
from aiohttp import web

from mirrorwatch.web.routes import standby
from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig
from runtime.http.audit import FORWARDED, OBJECT, UNKNOWN_PER_MINUTE
from runtime.http.server import HttpServer, application, require_token
from tests.runtime.fake_clock import FakeClock

USERS = {"ops": bcrypt.hashpw(b"pw", bcrypt.gensalt(4))}
OPERATOR = {"Authorization": "Bearer 0perator"}


class Log:
    def __init__(self):
        self.lines = []

    def info(self, sentence, **facts):
        self.lines.append(("info", sentence, facts))

    def warning(self, sentence, **facts):
        self.lines.append(("warning", sentence, facts))

    def exception(self, *_):
        pass


@pytest.fixture
async def stage():
    log, clock = Log(), FakeClock()
    server = HttpServer(clock)
    app = application(log=Log(), audit=log, clock=clock)

    async def change(request):
        require_token(request, "0perator")
        request[OBJECT] = request.query.get("object", "thing")
        return web.Response(text="changed")

    async def broken(_request):
        raise RuntimeError

    app.add_routes([web.post("/change/{name}", change), web.get("/change/{name}", broken)])
    app.add_routes([web.post("/broken", broken)])
    config = HttpConfig(listen="127.0.0.1:0", tokens={"operator": "0perator", "audit": "aud1t"})
    await server.start(app, config, web_config=WebConfig(users=USERS))
    async with aiohttp.ClientSession() as session:

        async def post(path="/change/a", **more):
            async with session.post(server.url + path, **more) as answer:
                return answer.status

        yield post, log, clock, session, server
    await server.stop(0.1)


def only(log):
    ((level, sentence, facts),) = log.lines
    log.lines.clear()
    return level, sentence, facts


async def test_who_what_and_the_result(stage):
    post, log, *_ = stage
    base = {"address": "127.0.0.1", "method": "POST", "path": "/change/a"}
    assert await post(headers=OPERATOR) == 200
    accepted = {"role": "operator", **base, "object": "thing", "status": 200}
    assert only(log) == ("info", "change accepted", accepted)
    assert await post(headers={"Authorization": "Bearer aud1t", FORWARDED: "left"}) == 401
    refused = {"role": "audit", **base, "forwarded_by": "left", "status": 401}
    assert only(log) == ("warning", "change refused", refused)
    assert await post(headers={"Authorization": aiohttp.encode_basic_auth("ops", "pw")}) == 401
    assert only(log) == ("warning", "change refused", {"user": "ops", **base, "status": 401})
    assert await post() == 401
    assert only(log) == ("warning", "change refused", {"user": "unknown", **base, "status": 401})
    assert await post("/broken", headers=OPERATOR) == 500
    assert only(log)[2] == {**base, "role": "operator", "path": "/broken", "status": 500}


async def test_reads_and_addresses_without_a_change_have_no_line(stage):
    post, log, _, session, server = stage
    assert await post("/nothing", headers=OPERATOR) == 404
    async with session.get(f"{server.url}/change/a", headers=OPERATOR) as answer:
        assert answer.status == 500
    assert log.lines == []


async def test_text_of_a_client_is_bounded_and_escaped_and_has_no_secret(stage):
    post, log, *_ = stage
    name = "x" * 300 + "%0Aline"
    headers = {**OPERATOR, FORWARDED: "l\u202eeft\u2028\xff"}
    assert await post(f"/change/{name}?password=hunter2&object=a%0A%00%1B[31mb", headers=headers) == 200
    facts = only(log)[2]
    assert facts["path"] == f"/change/{'x' * 192}..."
    assert facts["object"] == r"a\n\x00\x1b[31mb"
    assert facts["forwarded_by"] == r"l\u202eeft\u2028ÿ"
    assert "hunter2" not in str(facts)
    # A password in the place of the name, and a name that is not configured, are not written.
    assert await post(headers={"Authorization": aiohttp.encode_basic_auth("hunter2", "hunter2")}) == 401
    assert await post(headers={"Authorization": "Bearer hunter2"}) == 401
    assert "hunter2" not in str(log.lines)


async def test_a_flood_of_strangers_is_counted_and_does_not_hide_others(stage):
    post, log, clock, *_ = stage
    for _ in range(UNKNOWN_PER_MINUTE + 5):
        await post()
    assert len(log.lines) == UNKNOWN_PER_MINUTE
    assert await post(headers=OPERATOR) == 200
    assert await post(headers={"Authorization": "Bearer aud1t"}) == 401
    assert log.lines[-2][:2] == ("info", "change accepted")
    assert log.lines[-1][2]["not_logged_before"] == 5
    clock.advance(60)
    await post()
    assert "not_logged_before" not in log.lines[-1][2]


def test_the_header_is_that_of_a_standby():
    assert FORWARDED == standby.FORWARDED


async def test_who_only_names_a_user_is_a_stranger_but_is_named(stage):
    post, log, *_ = stage
    wrong = {"Authorization": aiohttp.encode_basic_auth("ops", "wrong")}
    for _ in range(UNKNOWN_PER_MINUTE + 5):
        await post(headers=wrong)
    assert len(log.lines) == UNKNOWN_PER_MINUTE
    assert {facts["user"] for _, _, facts in log.lines} == {"ops"}
    assert await post(headers={"Authorization": aiohttp.encode_basic_auth("ops", "pw")}) == 401
    assert log.lines[-1][2]["not_logged_before"] == 5
