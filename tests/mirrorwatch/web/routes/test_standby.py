"""A replica that stands by answers with the leader's pages, and with its own health and series."""

from __future__ import annotations

import asyncio
import io

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from fleet.series import catalogue as series
from fleet.shards import Shard
from mirrorwatch.service.samples import ServiceSamples
from mirrorwatch.web.replicas.forwarding import PART, Forwarder
from mirrorwatch.web.routes.standby import FORWARDED, standby_answers
from runtime.http.server import application


async def echo(request):
    body = await request.text()
    headers = {"X-Own": "yes", "Set-Cookie": "a=b"}
    told = {
        "method": request.method,
        "path": request.raw_path,
        "body": body,
        "user": request.headers.get("Authorization"),
        "by": request.headers.get(FORWARDED),
        "accepts": request.headers.get("Accept-Encoding"),
    }
    return web.json_response(told, status=418, headers=headers)


async def moved(_request):
    raise web.HTTPFound("/elsewhere")


@pytest.fixture
async def leader():
    app = application(max_body_bytes=16 * 2**20)
    app.add_routes([web.get("/moved", moved), web.route("*", "/{rest:.*}", echo)])
    async with TestServer(app) as server:
        yield server


class Holders:
    """The replicas that work the shards; those without an address do not."""

    def __init__(self, *urls):
        self.urls = list(urls)
        self.shard = None
        self.replica = "right"
        self.sees = True

    @property
    def count(self):
        return len(self.urls)

    def url(self, number):
        return self.urls[number - 1]


@pytest.fixture
async def stage(leader):
    holders = Holders(str(leader.make_url("")).rstrip("/"))
    works = [False]
    samples = ServiceSamples(((series.REPLICA_LEADER, ("pair", "1"), 0.0),))
    app, forwarder = application(), Forwarder("right")
    app.add_routes([web.get("/-/healthy", own), web.get("/page", own), web.get("/metrics", own)])
    app.middlewares.append(
        standby_answers(
            holders, forwarder, works=lambda: works[0], sees=lambda: holders.sees, samples=lambda: samples
        )
    )
    async with TestClient(TestServer(app)) as client:
        yield client, holders, works
    await forwarder.close()


async def own(_request):
    return web.Response(text="own")


async def test_a_request_is_passed_on_whole(stage):
    client, _, _ = stage
    answer = await client.post(
        "/any/a%2Fb?a=%3D%26&b=",
        data="body",
        headers={"Authorization": "Bearer x"},
        skip_auto_headers=["Accept-Encoding"],  # then a compressed answer would be no answer
    )
    assert answer.status == 418
    assert answer.headers["X-Own"] == "yes"
    assert await answer.json() == {
        "method": "POST",
        "path": "/any/a%2Fb?a=%3D%26&b=",
        "body": "body",
        "user": "Bearer x",
        "by": "right",
        "accepts": None,
    }
    answer = await client.get("/moved", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, "/elsewhere")


async def test_a_body_may_be_as_large_as_the_leader_takes(stage):
    client, _, _ = stage
    answer = await client.post("/any", data=io.BytesIO(b"x" * 3 * 2**20))
    assert len((await answer.json())["body"]) == 3 * 2**20
    answer = await client.post("/any", data=io.BytesIO(b"x" * 17 * 2**20))
    assert answer.status == 413


async def test_a_body_that_cannot_be_decoded_is_the_fault_of_the_client(stage):
    client, _, _ = stage
    answer = await client.post("/any", data=b"no gzip", headers={"Content-Encoding": "gzip"}, compress=False)
    assert answer.status == 400
    assert "cannot be decoded" in await answer.text()


async def test_health_and_series_are_its_own(stage):
    client, holders, _ = stage
    assert await (await client.get("/-/healthy")).text() == "own"
    assert await (await client.get("/-/ready")).text() == "ready: on standby\n"
    text = await (await client.get("/metrics")).text()
    assert '\nmirrorwatch_replica_leader{replica_group="pair",shard="1"} 0.0\n' in text
    holders.urls = [""]
    answer = await client.get("/-/ready")
    assert (answer.status, await answer.text()) == (503, "not ready: it sees no leader yet\n")


async def test_it_is_not_ready_while_the_store_does_not_answer(stage):
    client, holders, _ = stage
    holders.sees = False
    answer = await client.get("/-/ready")
    assert (answer.status, await answer.text()) == (503, "not ready: the store does not answer\n")


async def test_once_it_works_it_answers_everything(stage):
    client, _, works = stage
    works[0] = True
    assert await (await client.get("/page")).text() == "own"
    assert await (await client.get("/metrics")).text() == "own"


@pytest.mark.parametrize(
    ("change", "headers"),
    [
        ({"shard": Shard(1, 1)}, {}),  # the lease is its own, and it does not work yet
        ({"urls": [""]}, {}),
        ({}, {FORWARDED: "left"}),  # two that take each other for the leader must not ask on and on
    ],
)
async def test_nothing_is_passed_on_without_another_replica_that_works(stage, change, headers):
    client, holders, _ = stage
    vars(holders).update(change)
    answer = await client.get("/page", headers=headers)
    assert answer.status == 503
    assert answer.headers["Retry-After"] == "1"
    assert "does not lead at the moment" in await answer.text()


async def test_another_replica_answers_for_one_that_is_not_reached(stage, leader, unused_tcp_port):
    client, holders, _ = stage
    gone = f"http://127.0.0.1:{unused_tcp_port}"
    holders.urls = [gone, "", *holders.urls]
    answer = await client.post("/any", data="body")
    assert (answer.status, (await answer.json())["body"]) == (418, "body")
    holders.urls = [gone, gone]
    assert f"at {gone}, {gone} does not answer" in await (await client.get("/any")).text()


async def test_it_has_no_part(stage):
    client, _, _ = stage
    answer = await client.get("/-/view", headers={PART: "1/1"})
    assert answer.status == 503
    assert "watches no shard" in await answer.text()


@pytest.mark.parametrize("target", ["ple://x/y", "http://evil.example/", "*"])
async def test_an_address_that_would_change_the_host_is_not_passed_on(stage, target):
    client, holders, _ = stage
    holders.urls = ["http://leader.exam"]
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(f"OPTIONS {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(10):
        assert await reader.readline() == b"HTTP/1.1 400 Bad Request\r\n"
    writer.close()


async def test_a_leader_that_does_not_answer_is_said(stage, leader):
    client, _, _ = stage
    await leader.close()
    answer = await client.get("/api/v1/flows")
    assert answer.status == 503
    assert "does not answer; this replica takes over soon" in await answer.text()
