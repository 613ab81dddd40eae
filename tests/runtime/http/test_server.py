"""The server on real sockets of the loopback: listening, guards, limits, stopping."""

from __future__ import annotations

import asyncio
import socket
import ssl

import aiohttp
import bcrypt
import pytest
from aiohttp import web
from pydantic import SecretStr
from yarl import URL

from fleet.errors import UnavailableError
from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig, load_web_config
from runtime.http import users as http_users
from runtime.http.problems import KINDS
from runtime.http.server import HttpServer, application, require_token
from tests.runtime.certificates import write_pair

HASH = bcrypt.hashpw(b"pw", bcrypt.gensalt(4)).decode()


class Log:
    def __init__(self):
        self.lines = []

    def exception(self, sentence, **values):
        self.lines.append((sentence, values))


def config(**more):
    return HttpConfig.model_validate({"listen": "127.0.0.1:0", **more})


@pytest.fixture
async def serve(tmp_path):
    servers = []

    async def start(settings=None, *, text=None, app=None, **limits):
        settings = settings or config()
        web_config = WebConfig()
        if text is not None:
            (tmp_path / "web.yml").write_text(text)
            web_config = load_web_config(tmp_path / "web.yml")
        log = Log()
        app = app or application(log=log, **limits)
        token = settings.tokens.operator

        async def fine(_request):
            return web.Response(text="fine")

        async def broken(_request):
            raise RuntimeError("a secret detail")

        async def post(request):
            require_token(request, token)
            return web.Response(text=str(len(await request.read())))

        app.router.add_get("/-/healthy", fine)
        app.router.add_get("/broken", broken)
        app.router.add_get("/api/v1/broken", broken)
        app.router.add_post("/api/v1/post", post)
        app.router.add_post("/post", post)
        server = HttpServer()
        servers.append(server)
        await server.start(app, settings, web_config=web_config)
        return server, log

    yield start
    for server in servers:
        await server.stop(0.1)


@pytest.fixture
async def client():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


async def test_answers_carry_the_headers_and_say_little(serve, client):
    server, log = await serve()
    assert server.url == f"http://127.0.0.1:{server.port}"
    async with client.get(f"{server.url}/-/healthy") as answer:
        assert (answer.status, await answer.text()) == (200, "fine")
        assert answer.headers["Server"] == "mirrorwatch"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
    async with client.get(f"{server.url}/broken") as answer:
        assert answer.status == 500
        assert await answer.text() == "The request failed inside mirrorwatch; its log says why.\n"
        assert answer.headers["X-Frame-Options"] == "DENY"
    assert log.lines == [("a request failed: a bug", {"method": "GET", "path": "/broken"})]
    async with client.get(f"{server.url}/nothing") as answer:
        assert (answer.status, await answer.text()) == (404, "No page at this address.\n")
        assert answer.headers["X-Frame-Options"] == "DENY"
    async with client.post(f"{server.url}/-/healthy") as answer:
        assert (answer.status, await answer.text()) == (405, "POST is not possible at this address.\n")


@pytest.mark.parametrize(
    ("request_line", "status", "code", "sentence"),
    [
        ("GET /api/v1/nothing", 404, "not_found", "No page at this address."),
        ("GET /api/v1/post", 405, "method_not_allowed", "GET is not possible at this address."),
        (
            "POST /api/v1/post",
            403,
            "forbidden",
            "This is forbidden: http.tokens.operator is not configured.",
        ),
        ("GET /api/v1/broken", 500, "internal", "The request failed inside mirrorwatch; its log says why."),
    ],
)
async def test_the_api_refuses_by_problem_documents(serve, client, *, request_line, status, code, sentence):
    server, _ = await serve()
    method, path = request_line.split()
    async with client.request(method, server.url + path) as answer:
        assert answer.status == status
        assert answer.content_type == "application/problem+json"
        assert await answer.json() == {
            "type": f"urn:mirrorwatch:problem:{code}",
            "title": KINDS[code].title,
            "status": status,
            "code": code,
            "detail": sentence,
            "instance": path,
        }
        assert answer.headers["X-Frame-Options"] == "DENY"


async def test_without_a_user_the_api_asks_for_one_in_json(serve, client):
    server, _ = await serve(text=f"basic_auth_users: {{ops: {HASH}}}")
    async with client.get(f"{server.url}/api/v1/flows") as answer:
        document = await answer.json()
        assert (answer.status, document["code"]) == (401, "sign_in_required")
        assert document["detail"] == "Sign in with a user of the web configuration."
        assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")


async def test_a_token_opens_what_it_is_for(serve, client):
    server, _ = await serve(config(tokens={"operator": "t0ken", "audit": "other"}))
    url = f"{server.url}/post"

    async def status(value=None):
        headers = {"Authorization": value} if value else {}
        async with client.post(url, headers=headers, data=b"xyz") as answer:
            return answer.status, await answer.text()

    assert await status("Bearer t0ken") == (200, "3")
    assert await status("bearer t0ken ") == (200, "3")
    for wrong in (
        None,
        "Bearer",
        "Bearer t0ke",
        "Bearer t0kenn",
        "Basic t0ken",
        "Bearer other",
        "Bearer \xff",
    ):
        code, text = await status(wrong)
        assert code == 401
        assert "http.tokens.operator" in text
        assert "t0ken" not in text


async def test_without_a_configured_token_no_one_may(serve, client):
    server, _ = await serve()
    async with client.post(f"{server.url}/post", headers={"Authorization": "Bearer "}) as answer:
        assert answer.status == 403
        assert await answer.text() == "This is forbidden: http.tokens.operator is not configured.\n"


async def test_other_users_are_asked_for_from_a_reload_on(serve, client):
    server, _ = await serve(text=f"basic_auth_users: {{one: {HASH}}}")

    async def status(user=None):
        headers = {"Authorization": aiohttp.encode_basic_auth(user, "pw")} if user else {}
        async with client.get(f"{server.url}/-/healthy", headers=headers) as answer:
            return answer.status

    assert [await status(user) for user in ("one", "two", None)] == [200, 401, 401]
    server.use_users(WebConfig(users={"two": HASH.encode()}))
    assert [await status(user) for user in ("one", "two", None)] == [401, 200, 401]
    server.use_users(WebConfig())
    assert await status() == 200
    server.use_users(WebConfig(users={"one": HASH.encode()}))
    assert [await status(user) for user in ("one", "two", None)] == [200, 401, 401]


async def test_users_guard_everything_and_a_scrape_is_cheap(serve, client, monkeypatch):
    checked = []

    def check(password, hashed):
        checked.append(password)
        return bcrypt.checkpw(password, hashed)

    kwdefaults = {**http_users.Users.__init__.__kwdefaults__, "check": check}
    monkeypatch.setattr(http_users.Users.__init__, "__kwdefaults__", kwdefaults)
    server, _ = await serve(
        config(tokens={"operator": "t0ken"}), text=f"basic_auth_users: {{prometheus: {HASH}}}"
    )

    async def status(path="/-/healthy", user=None, word="pw", headers=None):
        auth = {"Authorization": aiohttp.encode_basic_auth(user, word)} if user else {}
        async with client.get(server.url + path, headers={**auth, **(headers or {})}) as answer:
            assert answer.headers["X-Frame-Options"] == "DENY"
            return answer.status

    assert await status() == 401
    assert await status("/nothing") == 401
    assert checked == []
    assert [await status(user="prometheus") for _ in range(5)] == [200] * 5
    assert checked == [b"pw"]
    assert [await status(user="prometheus", word="no") for _ in range(3)] == [401] * 3
    assert [await status(user="nobody") for _ in range(3)] == [401] * 3
    assert checked == [b"pw", b"no", b"pw"]  # unknown names cost the same
    assert await status(headers={"Authorization": "Basic %%%"}) == 401
    assert await status(headers={"Authorization": "Bearer t0ken"}) == 200
    assert await status(headers={"Authorization": "Bearer t0ke"}) == 401
    assert len(checked) == 3
    # Many at once ask bcrypt once.
    assert set(await asyncio.gather(*(status(user="a", word="b") for _ in range(10)))) == {401}
    assert len(checked) == 4


@pytest.mark.parametrize("kind", ["$2a$", "$2b$", "$2y$"])
async def test_hashes_of_every_bcrypt_tool_are_read(serve, client, kind):
    server, _ = await serve(text=f"basic_auth_users: {{u: {HASH.replace('$2b$', kind)}}}")
    headers = {"Authorization": aiohttp.encode_basic_auth("u", "pw")}
    async with client.get(f"{server.url}/-/healthy", headers=headers) as answer:
        assert answer.status == 200


async def test_long_passwords_are_cut_as_when_their_hash_was_made(serve, client):
    hashed = bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode()
    server, _ = await serve(text=f"basic_auth_users: {{u: {hashed}}}")
    headers = {"Authorization": aiohttp.encode_basic_auth("u", "x" * 100)}
    async with client.get(f"{server.url}/-/healthy", headers=headers) as answer:
        assert answer.status == 200


async def test_tls_with_and_without_the_client_s_certificate(serve, client, tmp_path):
    authority = write_pair(tmp_path, "ca")
    write_pair(tmp_path, "server", authority=authority)
    write_pair(tmp_path, "client", authority=authority)
    server, _ = await serve(
        text="tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt,"
        " client_auth_type: RequireAndVerifyClientCert}"
    )
    assert server.url.startswith("https://")
    trusting = ssl.create_default_context(cafile=tmp_path / "ca.crt")
    with pytest.raises((aiohttp.ClientError, ConnectionError)):
        async with client.get(f"{server.url}/-/healthy", ssl=trusting) as answer:
            await answer.read()
    trusting.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
    async with client.get(f"{server.url}/-/healthy", ssl=trusting) as answer:
        assert answer.status == 200


async def test_a_port_in_use_or_not_ours_is_a_sentence(serve):
    server, _ = await serve()
    port = server.port

    async def refusal(listen):
        settings = HttpConfig.model_validate({"listen": listen, "insecure": "true"})
        with pytest.raises(UnavailableError) as refused:
            await HttpServer().start(application(), settings, web_config=WebConfig())
        return str(refused.value)

    assert await refusal(f"127.0.0.1:{port}") == (
        f"http.listen: 127.0.0.1:{port} is in use by another program: stop it or choose another port"
    )
    assert await refusal("192.0.2.1:9699") == "http.listen: 192.0.2.1:9699 is not an address of this machine"
    assert await refusal("no-such-host.invalid:9699") == (
        "http.listen: the host of 'no-such-host.invalid:9699' cannot be resolved: use an address of this machine"
    )


async def test_an_address_of_a_name_that_this_machine_lacks_is_left_out(serve, monkeypatch):
    """As ::1 of localhost in /etc/hosts where IPv6 is off."""
    places = ["192.0.2.1", "127.0.0.1"]

    async def getaddrinfo(_host, port, **_more):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port)) for place in places]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    server, _ = await serve(config(listen="localhost:0"))
    other, settings = HttpServer(), config(listen=f"localhost:{server.port}")
    with pytest.raises(UnavailableError, match="is in use by another program"):
        await other.bind(settings)
    places.pop()
    with pytest.raises(UnavailableError, match="is not an address of this machine"):
        await other.bind(settings)


async def test_an_address_is_had_before_anything_listens_there(client):
    """So that who cannot have it knows before it touches anything else."""
    first, second, third = HttpServer(), HttpServer(), HttpServer()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = config(listen=f"127.0.0.1:{port}")
        with pytest.raises(UnavailableError, match="is in use by another program"):
            await first.bind(settings)
    await first.bind(settings)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    # Who binds beside it is refused as soon as this one listens.
    await second.bind(settings)
    app = application(log=Log())

    async def fine(_request):
        return web.Response(text="fine")

    app.router.add_get("/-/healthy", fine)
    await first.start(app, settings, web_config=WebConfig())
    async with client.get(f"{first.url}/-/healthy") as answer:
        assert await answer.text() == "fine"
    with pytest.raises(UnavailableError, match="is in use by another program"):
        await second.start(application(log=Log()), settings, web_config=WebConfig())
    await first.stop()
    # What was bound and never listened is given back too.
    await third.bind(settings)
    await third.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass


async def test_what_is_too_large_is_refused(serve, client):
    server, _ = await serve(config(tokens={"operator": "t"}), max_body_bytes=1000)
    token = {"Authorization": "Bearer t"}
    async with client.post(f"{server.url}/post", data=b"x" * 1001, headers=token) as answer:
        assert answer.status == 413
        assert "larger than" in await answer.text() or "exceeded" in await answer.text()
    async with client.get(f"{server.url}/-/healthy", headers={"X": "x" * 20_000}) as answer:
        assert answer.status == 400
    async with client.get(f"{server.url}/-/healthy", headers={f"X-{n}": "x" for n in range(70)}) as answer:
        assert answer.status == 400


async def test_the_longest_name_that_kafka_takes_passes_in_a_path_and_a_longer_line_does_not(serve, client):
    server, _ = await serve(config())
    async with client.get(URL(f"{server.url}/{'%C3%A9' * 16_383}x", encoded=True)) as answer:
        assert answer.status == 404
    async with client.get(f"{server.url}/{'x' * 110_000}") as answer:
        assert answer.status == 400


async def test_a_body_that_comes_drop_by_drop_is_ended(serve):
    server, log = await serve(config(tokens={"operator": "t"}), request_within_s=0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /post HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 9\r\n\r\nxyz")
    async with asyncio.timeout(10):
        answer = await reader.readline()
    assert answer == b"HTTP/1.1 408 Request Timeout\r\n"
    assert log.lines == []
    writer.close()
    await writer.wait_closed()


async def test_stopping_lets_a_request_finish_and_then_frees_the_port(serve, client):
    app = application(log=Log())
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow(_request):
        entered.set()
        await release.wait()
        return web.Response(text="done")

    app.router.add_get("/slow", slow)
    server, _ = await serve(app=app)
    port = server.port

    async def ask():
        async with client.get(f"{server.url}/slow") as answer:
            return await answer.text()

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask())
        await entered.wait()
        stopping = group.create_task(server.stop(20))
        await asyncio.sleep(0)
        release.set()
    assert asking.result() == "done"
    assert stopping.done()
    assert server.port == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    await server.stop()


async def test_stopping_does_not_wait_for_ever(serve, client):
    app = application(log=Log())
    entered = asyncio.Event()

    async def stuck(_request):
        entered.set()
        await asyncio.Event().wait()

    app.router.add_get("/stuck", stuck)
    server, _ = await serve(app=app)
    async with asyncio.TaskGroup() as group:

        async def ask():
            with pytest.raises(aiohttp.ClientError):
                await client.get(f"{server.url}/stuck")

        group.create_task(ask())
        await entered.wait()
        async with asyncio.timeout(10):
            await server.stop(0.1)


def test_a_secret_can_be_a_pydantic_one_or_text():
    class Request:
        headers = {"Authorization": "Bearer x"}  # noqa: RUF012 - a stand-in

    require_token(Request(), SecretStr("x"))
    require_token(Request(), "x")
    with pytest.raises(web.HTTPUnauthorized):
        require_token(Request(), SecretStr("y"))


async def test_a_connection_that_fails_elsewhere_is_a_bug_and_not_a_client_that_left(serve, client):
    app = application(log=(log := Log()))

    async def elsewhere(_request):
        raise ConnectionResetError("a connection to something else")

    app.router.add_get("/elsewhere", elsewhere)
    server, _ = await serve(app=app)
    async with client.get(f"{server.url}/elsewhere") as answer:
        assert answer.status == 500
    assert log.lines == [("a request failed: a bug", {"method": "GET", "path": "/elsewhere"})]


async def test_a_body_that_cannot_be_decoded_is_the_client_s_error(serve, client):
    server, log = await serve(config(tokens={"operator": "t0ken"}))
    headers = {"Content-Encoding": "gzip", "Authorization": "Bearer t0ken"}
    async with client.post(f"{server.url}/api/v1/post", data=b"z" * 100, headers=headers) as answer:
        document = await answer.json()
        assert (answer.status, document["code"]) == (400, "invalid_request")
        assert document["detail"] == "The body of the request cannot be decoded."
    assert log.lines == []
