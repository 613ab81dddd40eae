"""TLS of the real server: certificates replaced while it runs, and clients that must present one."""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509

from runtime.config.sections import HttpConfig
from runtime.config.web import load_web_config
from runtime.http.server import HttpServer, application
from tests.runtime.certificates import write_pair

BASIC = "tls_server_config: {cert_file: server.crt, key_file: server.key}"
MUTUAL = (
    "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: clients.crt,"
    " client_auth_type: RequireAndVerifyClientCert"
)


class Reports:
    """What is reported to the user: the problem that is active, and how many were."""

    def __init__(self):
        self.active = {}
        self.count = 0

    def problem(self, where, sentence):
        self.active[where] = sentence
        self.count += 1

    def settled(self, where):
        self.active.pop(where, None)


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.reports = Reports()
        self._seconds = itertools.count(1)
        self.ca = write_pair(folder, "ca")
        self.clients = write_pair(folder, "clients")
        write_pair(folder, "client", authority=self.clients)
        write_pair(folder, "server", authority=self.ca)
        self.server = HttpServer(problem=self.reports.problem, settled=self.reports.settled)

    def web_config(self, text):
        (self.folder / "web.yml").write_text(text)
        return load_web_config(self.folder / "web.yml")

    async def serve(self, text):
        app = application()

        async def answer(_request):
            return web.Response(text="fine")

        app.router.add_get("/page", answer)
        config = HttpConfig(listen="127.0.0.1:0")
        await self.server.start(app, config, web_config=self.web_config(text))

    def trust(self, client=None):
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        if client is not None:
            context.load_cert_chain(self.folder / f"{client}.crt", self.folder / f"{client}.key")
        return context

    def date_files(self):
        """Give all files a time of their own: two writes within a tick of the kernel have the same."""
        second = next(self._seconds)
        for path in self.folder.iterdir():
            os.utime(path, (second, second))

    async def connect(self, **more):
        return await asyncio.open_connection("127.0.0.1", self.server.port, ssl=self.trust(**more))

    async def serial(self):
        """Return the serial number of the certificate that a new connection gets."""
        _reader, writer = await self.connect()
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return x509.load_der_x509_certificate(found).serial_number

    async def status(self, client=None):
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
            session.get(f"{self.server.url}/page", ssl=self.trust(client)) as answer,
        ):
            return answer.status, await answer.text()


@pytest.fixture
async def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    await stage.server.stop(0.1)


async def ask(reader, writer):
    writer.write(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(10):
        status = await reader.readline()
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(4) == b"fine"
    return status


async def test_a_new_certificate_is_used_at_the_next_handshake_and_open_connections_stay(stage):
    await stage.serve(BASIC)
    before = await stage.serial()
    reader, writer = await stage.connect()
    assert await ask(reader, writer) == b"HTTP/1.1 200 OK\r\n"
    renewed, _ = write_pair(stage.folder, "server", authority=stage.ca)
    stage.date_files()
    assert await stage.serial() == renewed.serial_number != before
    assert await ask(reader, writer) == b"HTTP/1.1 200 OK\r\n"
    writer.close()
    assert stage.reports.count == 0


async def test_files_that_cannot_be_used_change_nothing_and_are_reported_once(stage):
    await stage.serve(BASIC)
    before = await stage.serial()
    certificate, key = ((stage.folder / f"server.{kind}").read_bytes() for kind in ("crt", "key"))
    # A certificate is renewed file by file: the new certificate with the old key is no pair.
    renewed, _ = write_pair(stage.folder, "other", authority=stage.ca)
    (stage.folder / "server.crt").write_bytes((stage.folder / "other.crt").read_bytes())
    stage.date_files()
    assert [await stage.serial() for _ in range(3)] == [before] * 3
    assert stage.reports.active == {
        "tls": (
            "TLS files not reloaded, the previous ones stay in effect:"
            f" {stage.folder}/web.yml:1: tls_server_config.cert_file: does not match key_file; name the"
            " certificate of that key"
        )
    }
    assert stage.reports.count == 1
    (stage.folder / "server.key").write_bytes((stage.folder / "other.key").read_bytes())
    stage.date_files()
    assert await stage.serial() == renewed.serial_number
    assert stage.reports.active == {}
    (stage.folder / "server.key").unlink()
    assert await stage.serial() == renewed.serial_number
    assert "server.key: cannot be read (no such file or directory)" in stage.reports.active["tls"]
    (stage.folder / "server.crt").write_bytes(certificate)
    (stage.folder / "server.key").write_bytes(key)
    stage.date_files()
    assert await stage.serial() == before
    assert stage.reports.active == {}


async def test_a_reload_uses_other_files_and_settings(stage):
    await stage.serve(BASIC)
    other, _ = write_pair(stage.folder, "other", authority=stage.ca)
    stage.server.use_tls(stage.web_config(BASIC.replace("server.", "other.")))
    assert await stage.serial() == other.serial_number
    stage.server.use_tls(stage.web_config(MUTUAL + "}"))
    with pytest.raises((aiohttp.ClientError, ConnectionError)):
        await stage.status()
    assert await stage.status("client") == (200, "fine")


async def test_a_certificate_authority_of_clients_is_replaced(stage):
    await stage.serve(MUTUAL + "}")
    assert await stage.status("client") == (200, "fine")
    write_pair(stage.folder, "clients")
    stage.date_files()
    with pytest.raises((aiohttp.ClientError, ConnectionError)):
        await stage.status("client")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("[a.example, 127.0.0.1]", (200, "fine")),
        (
            "[a.example, 127.0.0.2]",
            (403, "This client certificate has none of the names in client_allowed_sans.\n"),
        ),
    ],
)
async def test_only_clients_with_an_allowed_name_are_answered(stage, names, expected):
    await stage.serve(f"{MUTUAL}, client_allowed_sans: {names}}}")
    assert await stage.status("client") == expected


async def test_without_tls_a_reload_does_not_switch_it_on(stage):
    await stage.server.start(
        application(), HttpConfig(listen="127.0.0.1:0"), web_config=stage.web_config(BASIC).__class__()
    )
    stage.server.use_tls(stage.web_config(BASIC))
    assert stage.server.url.startswith("http://")
    with pytest.raises(ssl.SSLError):
        await stage.connect()
