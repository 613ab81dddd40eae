"""Telling a service of a run: what is sent, how often it is tried, and each way in which it fails."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.audits.run_document import read_run
from mirrorwatch.checksums.results import reporting as checksum_telling
from mirrorwatch.checksums.results.reporting import (
    AGAIN_AFTER_S,
    TOKEN,
    RunRejectedError,
    check_service,
    fitting,
    tell,
)
from tests.mirrorwatch.told_runs import block, finding, left, partition, run

OURS = {TOKEN: "t0ken"}


class Service:
    """Answers in turn, the last for good, and notes what came."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.came = []
        self.paused = []

    async def take(self, request):
        self.came.append((request.headers["Authorization"], await request.json()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        status, said = answer[:2]
        text = said if isinstance(said, str) else json.dumps(said)
        headers = {"Location": answer[2]} if len(answer) > 2 else {}
        return web.Response(status=status, text=text, headers=headers)

    async def pause(self, seconds):
        self.paused.append(seconds)


@asynccontextmanager
async def served(*answers, path="/api/v1/checksums"):
    service = Service(*answers)
    app = web.Application(client_max_size=2**26)
    app.router.add_post(path, service.take)
    async with TestServer(app) as server:
        service.url = f"http://127.0.0.1:{server.port}"
        yield service


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize("end", ["", "/", "/api/v1/checksums", "/api/v1/checksums/"])
async def test_a_run_is_told_with_the_token_of_the_environment(status, end):
    document = run("r1", findings=[finding()])
    async with served((status, {})) as service:
        await tell(service.url + end, document, OURS, pause=service.pause)
    assert service.came == [("Bearer t0ken", document)]
    assert service.paused == []


async def test_a_service_behind_a_path_and_a_bare_host_are_found():
    async with served((201, {}), path="/watch/api/v1/checksums") as service:
        await tell(service.url.removeprefix("http://") + "/watch", run(), OURS, pause=service.pause)
    assert len(service.came) == 1


@pytest.mark.parametrize(
    ("answer", "sentence", "error"),
    [
        (
            (401, {"detail": "This needs a token."}),
            "rejects the token in MIRRORWATCH_TOKEN",
            UnavailableError,
        ),
        (
            (403, {"detail": "This is forbidden: http.tokens.audit is not configured."}),
            "refuses: This is forbidden",
            UnavailableError,
        ),
        ((403, "no"), "answered HTTP 403", UnavailableError),
        (
            (404, {"code": "unknown_flow", "detail": "unknown flow 'A->B'"}),
            "answered HTTP 404: unknown flow 'A->B'",
            RunRejectedError,
        ),
        (
            (404, "<html>"),
            "is not Mirrorwatch, or does not accept checksum runs",
            UnavailableError,
        ),
        (
            (400, {"code": "invalid_document", "detail": "this is no run: \x1b[2J"}),
            "answered HTTP 400: this is no run: �[2J",
            RunRejectedError,
        ),
        ((400, {"detail": ["odd"]}), "answered HTTP 400", UnavailableError),
        ((400, ["odd"]), "answered HTTP 400", UnavailableError),
        (
            (400, {"statusCode": 400, "error": "Bad Request", "message": "a kbn-xsrf header is missing"}),
            "answered HTTP 400",
            UnavailableError,
        ),
        (
            (404, {"status": 404, "error": "Not Found", "path": "/api/v1/checksums"}),
            "is not Mirrorwatch, or does not accept checksum runs",
            UnavailableError,
        ),
        (
            (413, {"detail": "At most 16 MiB are taken at once."}),
            "answered HTTP 413: At most 16 MiB are taken at once.",
            RunRejectedError,
        ),
        (
            (413, "<html>"),
            f"rejects a document of {len(fitting(run())):,} bytes; let the proxy in front of Mirrorwatch pass 16 MiB",
            RunRejectedError,
        ),
        (
            (301, "", "https://else.example.org/"),
            "redirects to https://else.example.org/ (HTTP 301); use that address",
            UnavailableError,
        ),
    ],
)
async def test_what_a_service_refuses_is_said_and_not_tried_again(answer, sentence, error):
    async with served(answer) as service:
        with pytest.raises(error) as told:
            await tell(service.url, run(), OURS, pause=service.pause)
    assert str(told.value).startswith(f"cannot report the run: {service.url}/api/v1/checksums {sentence}")
    assert "t0ken" not in str(told.value)
    assert len(service.came) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_tried_again(status):
    async with served((status, {"detail": "wait"}), (201, {})) as service:
        await tell(service.url, run(), OURS, pause=service.pause)
    assert (len(service.came), service.paused) == (2, [AGAIN_AFTER_S[0]])


async def test_but_not_for_ever():
    async with served((503, {"detail": "no run is stored: the store is away"})) as service:
        with pytest.raises(UnavailableError, match="HTTP 503: no run is stored: the store is away"):
            await tell(service.url, run(), OURS, pause=service.pause)
    assert (len(service.came), service.paused) == (3, list(AGAIN_AFTER_S))


async def test_where_nobody_listens():
    service = Service()
    url = f"127.0.0.1:{unused_port()}"
    with pytest.raises(UnavailableError) as told:
        await tell(url, run(), OURS, pause=service.pause)
    assert str(told.value).startswith(
        f"cannot report the run: http://{url}/api/v1/checksums cannot be reached"
    )
    assert service.paused == list(AGAIN_AFTER_S)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "invalid address ''"),
        ("ftp://a", "invalid address 'ftp://a'"),
        ("http://", "invalid address 'http://'"),
        ("http://a b", "invalid address 'http://a b'"),
        ("http://a/?key=1", "invalid address 'http://a/?key=1'"),
        ("http://a#part", "invalid address 'http://a#part'"),
        ("http://a:99999", "invalid address 'http://a:99999'"),
        (
            "http://me:secret@a",
            "invalid address; write it as http://127.0.0.1:9699, without a user or query",
        ),
    ],
)
def test_what_is_no_address_is_said_before_hours_of_work(url, sentence):
    with pytest.raises(ConfigurationError) as told:
        check_service(url, OURS)
    assert str(told.value).startswith(f"the command line: --post: {sentence}")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({}, "is not set"),
        ({TOKEN: ""}, "is not set"),
        ({TOKEN: "a b"}, "is not a token"),
        ({TOKEN: "s3cr\nt"}, "is not a token"),
    ],
)
def test_what_is_no_token_is_too(environ, sentence):
    with pytest.raises(ConfigurationError) as told:
        check_service("http://a", environ)
    assert f"{TOKEN} in the environment {sentence}; set it to http.tokens.audit" in str(told.value)
    assert "s3cr" not in str(told.value)


def test_a_document_that_is_too_large_loses_its_lists_and_no_number(monkeypatch):
    document = run(
        "r1",
        partitions=[partition(number=number) for number in range(500)],
        findings=[finding(number=number) for number in range(3000)],
        expected=[finding(number=number) for number in range(3000)],
        blocks=[block()] * 300,
        left_out=[left(number=number) for number in range(300)],
    )
    whole = len(fitting(document))
    shown = {}
    for most in (whole, whole - 1, 900_000, 200_000):
        monkeypatch.setattr(checksum_telling, "MOST_BYTES", most)
        told = json.loads(fitting(document))
        read_run(told)
        assert [told[name]["count"] for name in ("findings", "expected", "partitions")] == [3000, 3000, 500]
        shown[most] = [len(told[name]["shown"]) for name in ("expected", "findings", "partitions")]
    assert shown == {
        whole: [3000, 3000, 500],
        whole - 1: [100, 3000, 500],
        900_000: [100, 1000, 500],
        200_000: [100, 1000, 0],
    }


def test_records_that_nobody_could_look_up_are_cut_before_findings(monkeypatch):
    several = [finding(number=number) for number in range(3000)]
    document = run("r1", findings=several[:1500], unsettled=several)
    monkeypatch.setattr(checksum_telling, "MOST_BYTES", len(fitting(document)) - 1)
    told = json.loads(fitting(document))
    assert [(told[name]["count"], len(told[name]["shown"])) for name in ("unsettled", "findings")] == [
        (3000, 100),
        (1500, 1500),
    ]
