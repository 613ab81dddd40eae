from __future__ import annotations

import asyncio
import contextlib
import io
import json
import socket
from base64 import b64encode
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from fleet.errors import MalformedError
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.cli.status import Question, address_of, status
from mirrorwatch.cli.status_answer import answer_of
from mirrorwatch.cli.status_table import show
from mirrorwatch.service.recovery_point import RecoveryPoint
from mirrorwatch.service.view import MissingShard
from mirrorwatch.web.documents import flows_document
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.texts import NOTHING
from tests.mirrorwatch import views

V = Verdict


def _console(width=140, *, terminal=False):
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)


async def _ask(view, *, width=140, as_json=False, terminal=False):
    application = web.Application()
    application.add_routes(routes(lambda: view))
    console = _console(width, terminal=terminal)
    async with TestServer(application) as server:
        code = await status(
            Question(str(server.make_url("/")), as_json=as_json), console=console, errors=console
        )
    return code, console.file.getvalue()


async def _ask_handler(handler):
    application = web.Application()
    application.router.add_get("/api/v1/flows", handler)
    console = _console()
    async with TestServer(application) as server:
        code = await status(
            Question(str(server.make_url("/")), as_json=False), console=console, errors=console
        )
    return code, console.file.getvalue()


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([V.HEALTHY, V.HEALTHY], 0),
        ([V.HEALTHY, V.UNKNOWN], 3),
        ([V.UNKNOWN, V.LATE], 1),
        ([V.LOSING], 1),
        ([V.ALTERED], 1),
        ([V.STALLED], 1),
        ([V.REPEATING], 1),
        ([], 0),
    ],
)
async def test_the_exit_status_follows_the_worst_verdict(verdicts, code):
    view = views.service(*(views.flow(f"A{number}", "B", verdict) for number, verdict in enumerate(verdicts)))
    assert (await _ask(view))[0] == code


async def test_flows_that_nobody_answers_for_are_unknown():
    view = views.service(views.flow("A", "B", V.HEALTHY))
    missing = MissingShard("shard 2 of 2", "no replica watches this shard", ("B->A",), 0.0)
    assert (await _ask(replace(view, missing=(missing,))))[0] == 3


async def test_without_a_flow_the_exit_status_follows_the_clusters():
    assert (await _ask(views.service(down={"A": "nobody answers"})))[0] == 3


async def test_the_table_is_worst_first_with_reasons_below():
    view = views.service(
        views.flow(),
        views.flow("B", "A", V.STALLED),
        views.flow("A", "C", V.LOSING),
        down={"B": "Connection refused"},
        problems=(views.problem(),),
    )
    code, text = await _ask(view)
    assert code == 1
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "flow verdict since cause p50 p99 recovery point canary lost lost, 15 min" in lines
    rows = [line for line in lines if line.startswith(("A->", "B->")) and " is " not in line]
    assert rows == [
        "A->C losing 20:23:20 UTC (3 min 20 s) filtered 36 ms 46 ms 0.4 s 17 0",
        "B->A stalled 20:23:20 UTC (3 min 20 s) mirror_down 29 ms 67 ms 42 s 0 0",
        f"A->B healthy 18:26:06 UTC (2 h) {NOTHING} 36 ms 46 ms 0.4 s 0 0",
    ]
    assert any(line.startswith("A->C is losing: 17 canary records") for line in lines)
    assert "B is down: Connection refused" in lines
    assert "cluster B: the principal may not create topics" in lines


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (140, "A->B is stalled: No canary records replicated for 30 s on any partition."),
        (60, "stalled (recently losing) since 20:26:10 UTC (30 s) No canary records replicated for 30 s"),
    ],
)
async def test_what_holds_now_is_printed_before_what_was_found_earlier(width, said):
    _, text = await _ask(views.service(views.stalled_beside_losing()), width=width, terminal=True)
    assert said in " ".join(text.split())
    _, text = await _ask(views.service(views.flow(verdict=V.LOSING)), width=width, terminal=True)
    assert "also" not in text


@pytest.mark.parametrize("width", [140, 60])
async def test_a_recovery_point_that_is_a_bound_shows_so(width):
    view = views.service(replace(views.flow(), recovery_point=RecoveryPoint(7200.0, "at_least")))
    _, text = await _ask(view, width=width, terminal=True)
    assert "at least 2 h" in " ".join(text.split())


async def test_a_pipe_gets_whole_lines_without_colour():
    _, text = await _ask(views.service(views.flow(verdict=V.LOSING)), width=80)
    assert "recovery point" in text.splitlines()[1]
    assert "\x1b" not in text
    assert any("errors.tolerance=all." in line and "17 canary" in line for line in text.splitlines())


async def test_a_terminal_without_the_letters_shows_question_marks():
    raw = io.BytesIO()
    application = web.Application()
    view = views.service(views.flow("Zürich", "B", V.UNKNOWN))
    application.add_routes(routes(lambda: view))
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=140, color_system=None)
    async with TestServer(application) as server:
        assert (
            await status(Question(str(server.make_url("/")), as_json=False), console=console, errors=console)
            == 3
        )
    console.file.flush()
    assert b"Z?rich->B" in raw.getvalue()


@pytest.mark.parametrize("width", [20, 40, 79])
async def test_a_narrow_terminal_is_folded_not_cut(width):
    _, text = await _ask(views.service(views.flow(verdict=V.LOSING)), width=width, terminal=True)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "so the mirror drops records" in " ".join(text.split())
    assert "lost 17" in " ".join(text.split())


async def test_json_is_the_document_of_the_service():
    view = views.service(views.flow(verdict=V.LATE))
    code, text = await _ask(view, as_json=True)
    assert code == 1
    assert json.loads(text) == flows_document(view)


async def test_names_cannot_steer_the_terminal_or_the_markup():
    name = "\x1b]0;taken\x07[bold]x[/bold]\u202e"
    view = views.service(
        views.flow(name, "B", V.LOSING, sentence=name), problems=(views.problem(name, name),)
    )
    for width in (140, 60):
        _, text = await _ask(view, width=width)
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "[bold]x[/bold]" in text.replace("\n", "")
    _, text = await _ask(view, as_json=True)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


async def test_no_service_is_a_sentence_with_what_to_do():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    console = _console()
    assert (
        await status(Question(f"http://127.0.0.1:{port}", as_json=False), console=console, errors=console)
        == 4
    )
    text = console.file.getvalue()
    assert (
        f"http://127.0.0.1:{port}/api/v1/flows: no service answers (Connection refused); start it with"
        in text
    )
    assert "mirrorwatch run CONFIG" in text


@pytest.mark.parametrize(
    "url",
    [
        "nosuch.yml",
        "mm2.properties",
        "ftp://x",
        "http://",
        "http://[",
        "http://a:99999",
        "",
        "http://a b/",
        "//",
    ],
)
async def test_what_is_no_address_is_a_sentence(url):
    console = _console()
    assert await status(Question(url, as_json=False), console=console, errors=console) == 2
    assert console.file.getvalue().strip()
    assert "Traceback" not in console.file.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"",
        b"[]",
        b"{}",
        b'{"flows": 3}',
        b'{"flows": [3]}',
        b'{"flows": [{"flow": "A->B"}]}',
        b'{"flows": NaN}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
async def test_an_answer_of_something_else_is_a_sentence(body):
    async def handler(_):
        return web.Response(body=body)

    code, text = await _ask_handler(handler)
    assert code == 4
    assert "so this is not mirrorwatch" in text
    assert ("an HTML page" in text) == (b"<html>" in body)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (404, "HTTP status 404, so this is not mirrorwatch"),
        (302, "HTTP status 302, a redirect"),
        (500, "HTTP status 500, the service or a proxy failed; read its log"),
        (401, "a user is required (HTTP status 401)"),
    ],
)
async def test_a_refusal_is_a_sentence(answer, said):
    async def handler(_):
        return web.Response(status=answer)

    code, text = await _ask_handler(handler)
    assert code == 4
    assert said in text


async def test_an_endless_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr("mirrorwatch.cli.status._MOST_BYTES", 10_000)

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" " * 1000)
        return response

    code, text = await _ask_handler(handler)
    assert code == 4
    assert "the answer is larger than" in text


async def test_a_server_that_speaks_another_protocol_is_a_sentence():
    async def speak(reader, writer):
        await reader.readline()
        writer.write(b"220 mail.example.net ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        console = _console()
        assert (
            await status(Question(f"127.0.0.1:{port}", as_json=False), console=console, errors=console) == 4
        )
    assert "is not valid HTTP" in console.file.getvalue()


async def test_https_to_a_service_without_tls_shows_so():
    application = web.Application()
    application.add_routes(routes(lambda: views.service(views.flow())))
    console = _console()
    async with TestServer(application) as server:
        url = str(server.make_url("/")).replace("http:", "https:")
        assert await status(Question(url, as_json=False), console=console, errors=console) == 4
    text = console.file.getvalue()
    assert "TLS handshake failed" in text
    assert "write http://" in text
    assert "not permitted" not in text


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("kafka1", "http://kafka1:9699/api/v1/flows"),
        ("kafka1:9700", "http://kafka1:9700/api/v1/flows"),
        ("http://kafka1", "http://kafka1:9699/api/v1/flows"),
        ("http://kafka1:80", "http://kafka1/api/v1/flows"),
        ("https://kafka1", "https://kafka1:9699/api/v1/flows"),
        ("https://kafka1:443/watch/", "https://kafka1/watch/api/v1/flows"),
        ("http://kafka1/api/v1/flows", "http://kafka1:9699/api/v1/flows"),
        ("10.0.0.7", "http://10.0.0.7:9699/api/v1/flows"),
        ("[::1]", "http://[::1]:9699/api/v1/flows"),
        ("[::1]:9700", "http://[::1]:9700/api/v1/flows"),
        ("::1", "http://[::1]:9699/api/v1/flows"),
        ("fe80::a:b", "http://[fe80::a:b]:9699/api/v1/flows"),
        ("http://[::1]", "http://[::1]:9699/api/v1/flows"),
        ("https://user:pw@kafka1", "https://user:pw@kafka1:9699/api/v1/flows"),
        (" kafka1 ", "http://kafka1:9699/api/v1/flows"),
    ],
)
def test_a_host_is_asked_at_9699_unless_a_port_is_written(url, asked):
    assert str(address_of(url)) == asked


LET_IN = {"MIRRORWATCH_USER": "anna", "MIRRORWATCH_PASSWORD": "zürich"}


@pytest.mark.parametrize(
    ("environ", "in_address", "code", "said"),
    [
        (
            {},
            "",
            4,
            "a user is required (HTTP status 401); set MIRRORWATCH_USER and MIRRORWATCH_PASSWORD, or",
        ),
        (LET_IN, "", 0, "healthy"),
        ({}, "anna:z%C3%BCrich@", 0, "healthy"),
        (LET_IN, "bert:wrong@", 4, "user bert or the password is not accepted (HTTP status 401)"),
        (LET_IN | {"MIRRORWATCH_PASSWORD": "geheim"}, "", 4, "user anna or the password is not accepted"),
        ({"MIRRORWATCH_USER": "anna"}, "", 4, "user anna or the password is not accepted"),
        ({"MIRRORWATCH_USER": "a:b"}, "", 2, "user 'a:b': a user's name must not contain a colon"),
    ],
)
async def test_credentials_come_from_the_address_or_the_environment(environ, in_address, code, said):
    async def guard(request):
        if request.headers.get("Authorization") != "Basic " + b64encode("anna:zürich".encode()).decode():
            return web.Response(status=401)
        return web.json_response(flows_document(views.service(views.flow())))

    application = web.Application()
    application.router.add_get("/api/v1/flows", guard)
    console = _console()
    async with TestServer(application) as server:
        url = str(server.make_url("/")).replace("http://", f"http://{in_address}")
        assert (
            await status(Question(url, as_json=False, environ=environ), console=console, errors=console)
            == code
        )
    text = console.file.getvalue()
    assert said in text
    assert not any(word in text for word in ("wrong", "geheim", "zürich"))


@pytest.mark.parametrize(
    "url",
    ["https://ops:s3cr/et@h:9", "http://o:s3cr#et@h", "http://o:s3cr et@h", "ftp://o:s3cret@h", "o:s3cret@"],
)
async def test_a_password_in_what_is_no_address_is_never_shown(url):
    console = _console()
    assert await status(Question(url, as_json=False), console=console, errors=console) == 2
    assert "s3cr" not in console.file.getvalue()
    assert "%2F" in console.file.getvalue()


async def test_what_the_environment_shows_may_be_any_bytes():
    console = _console()
    environ = {"MIRRORWATCH_USER": "z\udcfcrich", "MIRRORWATCH_PASSWORD": "\udcff"}
    assert (
        await status(
            Question("http://127.0.0.1:1", as_json=False, environ=environ), console=console, errors=console
        )
        == 4
    )


async def test_a_password_in_the_address_is_never_shown():
    console = _console()
    assert (
        await status(Question("http://me:secret@127.0.0.1:1", as_json=False), console=console, errors=console)
        == 4
    )
    assert "secret" not in console.file.getvalue()
    assert "127.0.0.1:1" in console.file.getvalue()


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
_KEYS = ("since", "sentence", "cause", "latency", "counters", "recovery_point_age_s", "losses", "evidence")


@given(
    st.dictionaries(st.sampled_from(_KEYS), _JSON),
    _JSON,
    _JSON,
    _JSON,
)
@settings(max_examples=150, deadline=None)
def test_any_document_is_read_or_refused(decoration, clusters, problems, now):
    document = {
        "flows": [{"flow": "A->B", "verdict": "late", **decoration}],
        "clusters": clusters,
        "problems": problems,
        "now": now,
    }
    answer = answer_of(document)
    assert answer.flows[0].verdict == "late"


@given(_JSON)
def test_any_json_is_read_or_refused_by_name(document):
    with contextlib.suppress(MalformedError):
        assert isinstance(answer_of(document).flows, tuple)


def test_what_offsets_know_to_be_lost_is_shown_and_a_dash_where_no_one_can_know():
    for lost, kind in (
        (Bounds(1505, None), "at_least"),
        (Bounds(5, 8), "between"),
        (Bounds(0, 0), "exact"),
        (None, "none"),
    ):
        document = flows_document(views.service(views.unprobed(lost_records=lost)))
        assert document["flows"][0]["lost_records_kind"] == kind
        (answer,) = answer_of(document).flows
        assert (answer.canary_lost, answer.lost) == (None, lost)


def test_a_number_of_lost_records_shows_that_it_is_a_bound():
    view = views.service(views.unprobed(Verdict.LOSING, lost_records=Bounds(1505, None)))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    show(answer_of(flows_document(view)), console)
    assert "at least 1,505" in console.file.getvalue()


def test_what_the_verdict_reports_is_not_reported_again_below():
    view = views.flow(verdict=Verdict.STALLED, sentence="orders stands.")
    told = replace(view.verdict, parts=(("lag", "orders stands. users was made anew."),))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    show(answer_of(flows_document(views.service(replace(view, verdict=told)))), console)
    text = console.file.getvalue()
    assert text.count("orders stands.") == 1
    assert "A->B: users was made anew." in text
