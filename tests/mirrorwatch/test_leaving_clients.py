"""Clients that reset their connection during a large answer: none of it is an error, and none is logged."""

from __future__ import annotations

import asyncio
import io
import random
import socket
import ssl
import struct
from types import SimpleNamespace

import pytest

from mirrorwatch.web.routes import main as routes_module
from mirrorwatch.web.routes import scrape as routes_scrape
from mirrorwatch.web.routes.scrape import answer_scrape
from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig, load_web_config
from runtime.http.server import HttpServer, application
from runtime.process import logs
from tests.mirrorwatch import views
from tests.runtime.certificates import write_pair

OWN = b"# HELP own Ours.\n# TYPE own gauge\nown 1.0\n"
PIECE = b"large 2.0\n" * 10_000
PIECES = 100
LARGE = (
    random.Random(1).randbytes(2_000_000).hex()
)  # more than the kernel buffers of a connection, packed too


async def stream(_question, *, gzip, **_details):
    async def pieces():
        for _ in range(PIECES):
            yield PIECE

    return ({"crc": 0, "size": 0} if gzip else {}), pieces()


async def metrics(request):
    return await answer_scrape(request, None, SimpleNamespace(on=True, stream=stream))


@pytest.fixture
def log():
    """Return what the process logs, as its own logs are set up."""
    stream = io.StringIO()
    undo = logs.configure(form="text", level="warning", stream=stream)
    yield stream
    undo()


@pytest.fixture(params=["http", "https"])
async def server(request, tmp_path, monkeypatch, log):
    monkeypatch.setattr(routes_scrape, "render", lambda _numbers, _accept: (OWN, "text/plain; version=0.0.4"))
    monkeypatch.setattr(routes_module, "flows_document", lambda *_asked: {"flows": [LARGE]})
    page = SimpleNamespace(page=lambda _view: LARGE, fragment=lambda _view: LARGE)
    web_config = WebConfig()
    if request.param == "https":
        write_pair(tmp_path, "server")
        (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}")
        web_config = load_web_config(tmp_path / "web.yml")
    app = application()
    app.add_routes(routes_module.routes(views.service, page=page))
    app.router.add_get("/metrics", metrics)
    wrong = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: wrong.append(context["message"]))
    server = HttpServer()
    await server.start(app, HttpConfig.model_validate({"listen": "127.0.0.1:0"}), web_config=web_config)
    yield server
    await server.stop(1.0)
    assert wrong == []


def reset_while_answered(server, path, *, read_bytes, headers=""):
    """Ask for `path` and reset the connection once so much of the answer has come."""
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    client = plain
    if server.url.startswith("https"):
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        client = trusting.wrap_socket(plain)
    with client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        came = 0
        while came < read_bytes:
            came += len(client.recv(4096)) or read_bytes
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("headers", ["", "Accept-Encoding: gzip\r\n"])
@pytest.mark.parametrize("path", ["/", "/view", "/api/v1/flows", "/metrics"])
async def test_nothing_is_logged(server, log, path, headers):
    async with asyncio.TaskGroup() as group:
        for read_bytes in (0, 1, 20_000):
            group.create_task(
                asyncio.to_thread(reset_while_answered, server, path, read_bytes=read_bytes, headers=headers)
            )
    await server.stop(5.0)  # waits for the handlers
    assert log.getvalue() == ""
