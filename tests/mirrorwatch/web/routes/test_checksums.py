"""Who may tell the service of runs, what it takes, what it says of garbage, and the pages of runs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checksum.history.documents import unpacked
from checksum.history.history import ChecksumHistory
from checksum.report.page import render
from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.flow import Flow
from mirrorwatch.audits.following import ChecksumFollowing
from mirrorwatch.audits.run_document import MOST_RUNS
from mirrorwatch.service.store_parts import MIGRATIONS
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes import checksums as routes_checksums
from mirrorwatch.web.routes.checksums import TOLD_PER_MINUTE, checksum_routes
from runtime.config.sections import HttpConfig
from runtime.http.server import application
from runtime.store.store import Store
from tests.mirrorwatch.told_runs import block, counted, finding, partition, run
from tests.runtime.fake_clock import FakeClock

PATH = "/api/v1/checksums"
OURS = {"Authorization": "Bearer t0ken"}


class Kept:
    """What keeps runs."""

    def __init__(self):
        self.documents = {}
        self.unsettled = 0
        self.broken = None

    def knows(self, flow):
        return flow == "A->B"

    async def take(self, told, packed):
        self._fail()
        self.unsettled += 1
        document = unpacked(packed.content)
        return self.documents.setdefault(told.run, document) is document

    async def settle(self):
        self.unsettled = 0

    async def document(self, name):
        self._fail()
        return self.documents.get(name)

    def _fail(self):
        if self.broken is not None:
            raise self.broken


@pytest.fixture
async def scene():
    page = Page()
    said = SimpleNamespace(
        kept=Kept(), clock=FakeClock(), http=HttpConfig(tokens={"audit": "t0ken", "operator": "other"})
    )

    def drawn(document):
        return render(document, sheet=page.sheet("page.css", "report.css"))

    app = application()
    app.add_routes(checksum_routes(said.kept, lambda: said.http, render=drawn, clock=said.clock))
    async with TestClient(TestServer(app)) as client:
        said.client = client
        yield said


async def tell(scene, document, headers=OURS):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = await scene.client.post(PATH, data=io.BytesIO(body), headers=headers)
    return answer.status, await answer.json()


async def test_a_run_is_taken_once(scene):
    document = run("r1", findings=[finding()], blocks=[block(lacking=1)])
    assert await tell(scene, document) == (
        201,
        {
            "runs": [
                {
                    "run": "r1",
                    "flow": "A->B",
                    "new": True,
                    "page": "/checksums/r1",
                    "sentence": "stored; see /checksums/r1",
                }
            ]
        },
    )
    status, answer = await tell(scene, document)
    (told,) = answer["runs"]
    assert (status, told["new"], told["sentence"]) == (200, False, "already stored; see /checksums/r1")
    assert scene.kept.documents == {"r1": document}


def written(*runs):
    """Return what --json writes of several flows."""
    return {"version": 1, "status": 0, "runs": list(runs)}


NOT_COMPARED = {"flow": "A->C", "status": 4, "failure": "cluster C: no broker answers"}


async def test_each_run_of_a_file_is_taken_that_ended(scene):
    first, second = run("r1", findings=[finding()]), counted("c1")
    await tell(scene, second)
    status, answer = await tell(scene, written(first, NOT_COMPARED, second))
    assert (status, [(one["run"], one["new"]) for one in answer["runs"]]) == (
        201,
        [("r1", True), ("c1", False)],
    )
    assert answer["runs"][0]["sentence"] == "stored; see /checksums/r1"
    assert scene.kept.documents == {"r1": first, "c1": second}
    assert scene.kept.unsettled == 0
    assert (await tell(scene, written(first)))[0] == 200


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ([], "runs: no finished run"),
        ([NOT_COMPARED], "runs: no finished run"),
        ([run("r1"), 7], "runs[1]: the document: must be a JSON object"),
        ([run("r1"), NOT_COMPARED, run("r2") | {"status": 7}], "runs[2]: status: must"),
        (
            [run("r1")] * (MOST_RUNS + 1),
            f"runs: {MOST_RUNS + 1} are too many; post at most {MOST_RUNS} at once",
        ),
    ],
)
async def test_a_file_is_looked_at_as_a_whole_before_anything_of_it_is_kept(scene, runs, problem):
    status, answer = await tell(scene, written(*runs))
    assert (status, len(answer["problems"])) == (400, 1)
    assert answer["problems"][0].startswith(problem)
    assert scene.kept.documents == {}


async def test_of_a_file_with_a_flow_that_is_not_known_nothing_is_kept(scene):
    status, answer = await tell(scene, written(run("r1"), run("r2") | {"flow": "A->C"}))
    assert (status, answer["code"], answer["problems"]) == (
        404,
        "unknown_flow",
        ["runs[1]: unknown flow 'A->C'"],
    )
    assert scene.kept.documents == {}


@pytest.mark.parametrize(
    "wrong", ['"who": 5', '"who": "a\\nb"', '"more": 1e999', '"more": ' + "[" * 120 + "]" * 120]
)
async def test_of_a_file_with_a_run_that_cannot_be_kept_nothing_is(scene, wrong):
    body = json.dumps(written(run("r1"), run("r2", who="wrong"), run("r3", who="wrong")))
    status, answer = await tell(scene, body.replace('"who": "wrong"', wrong).encode())
    assert (status, [one.split(": ")[0] for one in answer["problems"]]) == (400, ["runs[1]", "runs[2]"])
    assert scene.kept.documents == {}


async def test_what_of_a_file_was_kept_before_the_store_failed_is_reported(scene):
    take = scene.kept.take

    async def failing(said, packed):
        if said.run == "r2":
            raise UnavailableError("the store is away")
        return await take(said, packed)

    scene.kept.take = failing
    status, answer = await tell(scene, written(run("r1"), run("r2")))
    assert (status, answer["detail"]) == (503, "1 of 2 runs are stored: the store is away")
    assert scene.kept.unsettled == 0


async def test_a_pass_over_counts_is_taken(scene):
    assert (await tell(scene, counted()))[0] == 201


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer t0ke"},
        {"Authorization": "Bearer other"},
        {"Authorization": "Basic dDBrZW46"},
        {"Authorization": "t0ken"},
    ],
)
async def test_who_may_not(scene, headers):
    answer = await scene.client.post(PATH, data=b"{", headers=headers)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "http.tokens.audit" in (await answer.json())["detail"]
    assert scene.kept.documents == {}


async def test_without_a_token_in_the_configuration_no_one_may(scene):
    scene.http = HttpConfig()
    status, problem = await tell(scene, run())
    assert (status, problem["code"]) == (403, "forbidden")
    assert problem["detail"] == "This is forbidden: http.tokens.audit is not configured."


async def test_another_token_of_the_configuration_counts_at_once(scene):
    scene.http = HttpConfig(tokens={"audit": "new"})
    assert (await tell(scene, run()))[0] == 401
    assert (await tell(scene, run(), {"Authorization": "Bearer new"}))[0] == 201


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"version": NaN}', "not JSON"),
        (b'{"version": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"version": 1, "version": 2}', "an object has the same key twice"),
        (b"[]", "the document: must be a JSON object"),
        (b"{}", "version: none is not supported (this service reads 1); use one release for both"),
        (b'{"version": 2}', "version: 2 is not supported (this service reads 1); use one release for both"),
    ],
)
async def test_garbage_is_refused_in_words(scene, body, sentence):
    status, answer = await tell(scene, body)
    assert (status, answer["problems"]) == (400, [sentence])
    assert answer["detail"] == f"the document: invalid checksum run; {sentence}"
    assert scene.kept.documents == {}


async def test_everything_that_is_wrong_is_shown_at_once(scene):
    document = run(findings=[finding()]) | {"status": 7, "coverage": "whole"}
    document["findings"]["shown"][0]["cause"] = "gremlins"
    status, answer = await tell(scene, document)
    assert (status, [one.split(": ")[0] for one in answer["problems"]]) == (
        400,
        ["status", "coverage", "findings.shown[0].cause"],
    )
    assert scene.kept.documents == {}


async def test_a_page_can_be_drawn_of_what_is_stored_whatever_else_stands_in_it(scene):
    document = run(partitions=[partition(hidden=5)])
    document["partitions"]["shown"][0]["unverified"][0]["offsets"] = ["from", "to"]
    status, answer = await tell(scene, document)
    place = "partitions.shown[0].unverified[0].offsets"
    assert (status, [one.split("[0]: ")[0] for one in answer["problems"][:1]]) == (400, [place])
    scene.kept.documents["r1"] = document  # by another release
    assert (await scene.client.get("/checksums/r1")).status == 200


async def test_a_flow_that_is_not_known(scene):
    status, answer = await tell(scene, run() | {"flow": "A->C"})
    assert (status, answer["code"], answer["detail"]) == (404, "unknown_flow", "unknown flow 'A->C'")


async def test_a_store_that_does_not_answer(scene):
    scene.kept.broken = UnavailableError("the store is away")
    status, problem = await tell(scene, run())
    assert (status, problem["detail"]) == (503, "no run is stored: the store is away")
    for path in (f"{PATH}/r1", "/checksums/r1"):
        answer = await scene.client.get(path)
        assert answer.status == 503
        assert "the run cannot be read: the store is away" in await answer.text()
    scene.kept.broken = MalformedError("The document of a checksum run in the store is incomplete.")
    answer = await scene.client.get(f"{PATH}/r1")
    assert (answer.status, "is incomplete" in await answer.text()) == (503, True)


async def test_what_the_book_does_not_take_is_no_run_either(scene, monkeypatch):
    def refuse(_document):
        raise MalformedError("A run's document is larger than the store allows.")

    monkeypatch.setattr(routes_checksums, "packed_run", refuse)
    status, answer = await tell(scene, run())
    assert (status, answer["problems"]) == (400, ["A run's document is larger than the store allows."])
    status, answer = await tell(scene, run(who=7))
    assert (status, answer["problems"]) == (400, ["who: must be text of 1 to 300 printable characters"])


async def test_too_much_is_refused_whether_it_shows_how_much_or_not(scene, monkeypatch):
    monkeypatch.setattr(routes_checksums, "MOST_BYTES", 2**20)
    body = b" " * (2**20 + 1)
    status, answer = await tell(scene, body)
    assert status == 413
    assert answer["detail"] == (
        "the document: larger than 1 MiB; post the runs of a file one by one, or use --post, which shortens"
        " long lists."
    )

    async def pieces():
        for _ in range(17):
            yield b" " * 2**16

    answer = await scene.client.post(PATH, data=pieces(), headers=OURS)
    assert answer.status == 413
    # As much as that is taken, more than other addresses do.
    assert (await tell(scene, json.dumps(run()).encode().ljust(2**20)))[0] == 201


@pytest.mark.parametrize(("said", "read"), [(None, 17), (2**20 + 1, 0)])
async def test_no_more_than_that_is_read(monkeypatch, said, read):
    monkeypatch.setattr(routes_checksums, "MOST_BYTES", 2**20)
    came = []

    async def pieces(size):
        while len(came) < 1000:
            came.append(size)
            yield b" " * size

    content = SimpleNamespace(iter_chunked=pieces)
    request = SimpleNamespace(headers={}, content_length=said, content=content)
    with pytest.raises(web.HTTPRequestEntityTooLarge):
        await routes_checksums._body(request)
    assert len(came) == read


async def test_what_is_packed_is_refused(scene):
    body = gzip.compress(json.dumps(run()).encode())
    status, answer = await tell(scene, body, OURS | {"Content-Encoding": "gzip"})
    assert (status, answer["detail"]) == (415, "Content-Encoding: invalid; send the run as plain JSON.")


async def test_not_too_often(scene):
    for _ in range(TOLD_PER_MINUTE):
        assert (await tell(scene, b"{"))[0] == 400
    answer = await scene.client.post(PATH, data=b"{", headers=OURS)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert (await tell(scene, b"{", {}))[0] == 401  # a stranger learns nothing of that
    scene.clock.advance(60)
    assert (await tell(scene, run()))[0] == 201


async def test_a_run_is_shown_as_json_and_as_a_page(scene):
    document = run("r1", findings=[finding()], who="<script>alert(1)</script>")
    await tell(scene, document)
    answer = await scene.client.get(f"{PATH}/r1")
    assert (answer.status, answer.content_type, await answer.json()) == (200, "application/json", document)
    answer = await scene.client.get("/checksums/r1")
    text = await answer.text()
    assert (answer.status, answer.content_type) == (200, "text/html")
    assert "orders [0]: record at offset 41 on A" in text
    assert "<script>" not in text
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}';" in policy
    assert " style=" not in text.replace(style, "")


@pytest.mark.parametrize("path", [f"{PATH}/gone", "/checksums/gone"])
async def test_a_run_that_is_not_known(scene, path):
    answer = await scene.client.get(path)
    assert answer.status == 404
    assert "unknown checksum run 'gone'; old runs are deleted" in await answer.text()


@pytest.mark.parametrize("name", ["..", "a b", "a" * 65, "%2e%2e%2fmetrics", "<b>"])
async def test_what_is_no_name_of_a_run_is_nothing_at_all(scene, name):
    assert (await scene.client.get(f"/checksums/{name}")).status == 404


async def test_methods(scene):
    assert (await scene.client.get(PATH)).status == 405
    assert (await scene.client.post("/checksums/r1", headers=OURS)).status == 405


BODIES = st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "run", "flow", "findings", "shown"]), inner)
    ),
).map(lambda value: json.dumps(value).encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(BODIES)
async def test_no_body_breaks_it(scene, body):
    scene.clock.advance(1)
    status, answer = await tell(scene, body)
    assert status == 400
    assert answer["detail"].startswith("the document: invalid checksum run; ")


async def test_a_key_of_many_runs_is_none_of_a_run_s(scene):
    document = run("r1", findings=[finding()]) | {"runs": [{"flow": "OTHER->ONE", "status": 0}]}
    status, answer = await tell(scene, document)
    assert (status, answer["code"]) == (400, "invalid_document")
    assert answer["problems"] == ["unknown field 'runs'; did you mean 'run'?"]
    scene.kept.documents["r1"] = document  # as another version may have stored it
    text = await (await scene.client.get("/checksums/r1")).text()
    assert "OTHER" not in text
    assert "<bdi>A</bdi>" in text
    assert "FAILED: " in text


@pytest.mark.parametrize("name", ["..", ".", "-", "_x", ".r1"])
async def test_a_run_s_name_begins_with_a_letter_or_a_digit(scene, name):
    status, answer = await tell(scene, run(name))
    assert (status, "a letter or digit first" in answer["detail"]) == (400, True)


@pytest.mark.parametrize("depth", [120, 900, 960, 980, 985, 990, 1500])
async def test_a_document_that_is_nested_too_deep_is_no_run(tmp_path, depth):
    """By the true keeper, which packs it: whether reading or packing gives up first is a matter of the stack."""
    store = Store(f"sqlite:///{tmp_path / 'mw.db'}", migrations=MIGRATIONS)
    await store.open()
    reporter = SimpleNamespace(problem=lambda *_told: None, settled=lambda *_told: None)
    kept = ChecksumFollowing(
        ChecksumHistory(store), [Flow("A", "B")], keep_s=4e7, clock=FakeClock(), reporter=reporter
    )
    body = json.dumps(run("r1") | {"x": 0}).replace('"x": 0', '"x": ' + "[" * depth + "]" * depth)
    app = application()
    http = HttpConfig(tokens={"audit": "t0ken"})
    app.add_routes(checksum_routes(kept, lambda: http, render=str, clock=FakeClock()))
    async with TestClient(TestServer(app)) as client:
        answer = await client.post(PATH, data=body.encode(), headers=OURS)
        assert answer.status == 400
    await store.close()
