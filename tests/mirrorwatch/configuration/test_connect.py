"""A mirror on Kafka Connect as a configuration, by what a real worker answered, and by bad answers."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from base64 import b64encode
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from mirrorwatch.check.configured import print_configured
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.cli.main import cli
from mirrorwatch.configuration.configuration import LagSource
from mirrorwatch.configuration.reading import read_configuration
from runtime.process.logs import Redactor

RECORDED = json.loads(
    (Path(__file__).parents[1] / "golden_connect" / "connect-4.3.0.json").read_text("utf-8")
)
BOTH = "GET /connectors?expand=info&expand=status"
WHOLE = ["mirror-source", "mirror-checkpoint", "mirror-heartbeat"]


def recorded(key):
    answer = RECORDED[key]
    return web.Response(status=answer["status"], text=answer["body"], content_type=answer["type"])


def connect(root="GET /", listed=BOTH, *, asked=None):
    """Return what plays a worker; an answer is the key of a recorded one, or what makes a response."""

    async def answer(request):
        if asked is not None:
            asked.append(f"{request.method} {request.path_qs}")
        chosen = {"/": root, "/connectors": listed}.get(request.path)
        if chosen is None:
            return recorded("GET /nothing")
        return recorded(chosen) if isinstance(chosen, str) else chosen(request)

    application = web.Application()
    application.router.add_route("*", "/{any:.*}", answer)
    return application


async def read(folder, application, text, environ=None):
    """Return the configuration with URL in its text replaced by the address of the server."""
    async with TestServer(application) as server:
        url = str(server.make_url("/")).rstrip("/")
        return await asyncio.to_thread(read_at, folder, url, text, environ)


def read_at(folder, url, text, environ=None):
    path = folder / "mirrorwatch.yaml"
    path.write_text(text.replace("URL", url), encoding="utf-8")
    try:
        return read_configuration(path, environ=environ or {})
    except ConfigurationError as refusal:
        told = [str(problem) for problem in refusal.problems]
        return [each.replace(f"{folder}/", "").replace(url, "URL") for each in told]


def chosen(*names, more=""):
    return f"connect:\n  url: URL\n  connectors: [{', '.join(names)}]\n{more}"


async def test_a_real_workers_mirror(tmp_path):
    asked = []
    offsets = "{topic: connect-offsets, status_topic: connect-status, config_topic: connect-configs}"
    text = chosen(*WHOLE, more=f"flows: {{A->B: {{offsets: {offsets}}}}}")
    config = await read(tmp_path, connect(asked=asked), text)
    (flow,) = config.topology.flows
    assert (flow.name, flow.connector, flow.mirror_version) == ("A->B", "mirror-source", "4.3.0")
    assert (flow.topic_filter.include, flow.tasks_max) == ("orders.*, heartbeats", 2)
    assert (flow.refresh_topics_interval_s, flow.emit_checkpoints_interval_s) == (30, 5)
    assert (flow.sync_group_offsets, flow.group_filter.include, flow.heartbeats_enabled) == (
        True,
        "shop-.*",
        True,
    )
    assert config.lag_sources == {
        "A->B": LagSource(
            "connect-offsets",
            None,
            "B",
            "connect-offsets",
            {"status_topic": "connect-status", "config_topic": "connect-configs"},
            topics_read=True,
        )
    }
    assert [warning for warning in config.warnings if "offsets" in warning.key] == []
    assert [(each.name, each.state, len(each.tasks)) for each in config.connectors] == [
        ("mirror-source", "RUNNING", 2),
        ("mirror-checkpoint", "RUNNING", 0),
        ("mirror-heartbeat", "RUNNING", 1),
    ]
    assert config.canary_flows[0].tasks_topic == ""
    assert config.mm2_path is None
    assert asked == ["GET /", "GET /connectors?expand=info&expand=status"]


async def test_passwords_that_a_worker_shows_in_clear_are_secret(tmp_path):
    config = await read(tmp_path, connect(), chosen(*WHOLE))
    assert any("shown-in-clear" in secret for secret in config.secrets)
    assert "shown-in-clear" not in repr(config)
    assert "shown-in-clear" not in str([each.config for each in config.connectors])


async def test_without_names_every_connector_of_the_mirror_is_read(tmp_path):
    config = await read(tmp_path, connect(), "connect: {url: URL}\n")
    assert sorted(flow.name for flow in config.topology.flows) == ["A->B", "C->B", "D->B"]
    told = [str(warning) for warning in config.warnings if "127.0.0.1" in warning.file]
    states = [each.split(": ", 1)[1] for each in told if "-source: " in each]
    assert states == [
        "failing-source: has 1 of its 1 tasks that is FAILED, as its worker reports; check its status and log.",
        "paused-source: is PAUSED: it replicates nothing until it is resumed.",
    ]
    unknown = [warning for warning in config.warnings if warning.key.endswith(".offsets")]
    assert len(unknown) == 3


async def test_where_offsets_are_kept_is_asked_for(tmp_path):
    config = await read(tmp_path, connect(), chosen(*WHOLE))
    (told,) = [warning for warning in config.warnings if warning.key == "flows.A->B.offsets"]
    assert told.sentence == (
        "unknown offsets topic: a connector's configuration does not name it; set the Connect worker's"
        " offset.storage.topic, for example offsets: {topic: connect-offsets}"
    )
    assert config.lag_sources == {"A->B": LagSource("connect-offsets", None, "B", None, topics_read=True)}


def lets_in(request):
    assert request.headers["Authorization"] == "Basic " + b64encode(b"mw:hunter2secret").decode()
    return recorded("GET /" if request.path == "/" else BOTH)


async def test_a_user_comes_with_a_password_from_the_environment(tmp_path):
    text = chosen(*WHOLE).replace(
        "  url: URL\n", '  url: URL/connectors\n  username: mw\n  password: "${env:P}"\n'
    )
    config = await read(tmp_path, connect(lets_in, lets_in), text, {"P": "hunter2secret"})
    assert [flow.name for flow in config.topology.flows] == ["A->B"]
    assert "hunter2secret" in config.secrets


def page(status=200):
    return lambda _request: web.Response(status=status, text="<html>hello</html>", content_type="text/html")


def elsewhere(_request):
    raise web.HTTPFound("https://login.example.org/")


NO_CONNECT = "mirrorwatch.yaml:2: connect.url: URL: not Kafka Connect"
MEND = "write the address of a worker, such as http://connect:8083"


@pytest.mark.parametrize(
    ("root", "listed", "said"),
    [
        (page(), BOTH, f"{NO_CONNECT} (the answer is HTML); {MEND}"),
        ("GET /", page(), f"{NO_CONNECT} (the answer is HTML); {MEND}"),
        (lambda _: web.Response(text="OK"), BOTH, f"{NO_CONNECT} (the answer is not JSON); {MEND}"),
        (page(404), BOTH, f"{NO_CONNECT} (HTTP 404); {MEND}"),
        ("GET /nothing", BOTH, f"{NO_CONNECT} (HTTP 404); {MEND}"),
        (elsewhere, BOTH, f"{NO_CONNECT} (redirect to https://login.example.org/); {MEND}"),
        (BOTH, BOTH, f"{NO_CONNECT} (the answer has no version); {MEND}"),
        ("GET /", "GET /connectors", f"{NO_CONNECT} (not a list of connectors); {MEND}"),
        ("GET /", "GET /", f"{NO_CONNECT} (not a list of connectors with their configuration); {MEND}"),
        (
            "GET /",
            "GET /connectors none",
            ("mirrorwatch.yaml:2: connect.url: URL: has no connector; a flow requires a"
            " MirrorSourceConnector."),
        ),
    ],
)  # fmt: skip
async def test_what_answers_is_no_connect(tmp_path, root, listed, said):
    assert await read(tmp_path, connect(root, listed), "connect:\n  url: URL\n") == [said]


async def test_connectors_that_are_not_there_are_told_all_at_once(tmp_path):
    said = await read(tmp_path, connect(), chosen("mirror-source", "mirror", "other"))
    there = "failing-source, mirror-checkpoint, mirror-heartbeat, mirror-source, paused-source"
    assert said == [
        f"mirrorwatch.yaml:3: connect.connectors.0: unknown connector '{name}'; MirrorMaker's connectors at URL: {there}"
        .replace(".0:", f".{number}:")
        for number, name in ((1, "mirror"), (2, "other"))
    ]  # fmt: skip


async def test_a_named_connector_of_another_kind(tmp_path):
    def sink(_request):
        return web.json_response({"sink": {"info": {"config": {"connector.class": "io.x.Sink"}}}})

    said = await read(tmp_path, connect(listed=sink), chosen("sink"))
    assert said == [
        (
            "mirrorwatch.yaml:3: connect.connectors.0: 'sink' is not a connector of MirrorMaker; remove it from"
            " the list"
        )
    ]


async def test_what_is_wrong_in_a_connector_is_told_with_its_name(tmp_path):
    def odd(_request):
        config = json.loads(RECORDED[BOTH]["body"])["mirror-source"]
        config["info"]["config"] |= {"tasks.max": "many", "source.cluster.sasl.jaas.config": "${vault:x:y}"}
        return web.json_response({"mirror-source": config})

    said = await read(tmp_path, connect(listed=odd), "connect: {url: URL}\ncanary: {interval: 5}\n")
    flow_overrides = "write clusters.A.sasl.jaas.config in Mirrorwatch's own configuration."
    assert said == [
        "mirrorwatch.yaml:2: canary.interval: invalid duration '5'; write a number with ms, s, m, h or d, for example 5s",
        "URL: mirror-source.tasks.max: must be a whole number; write digits only, without a unit.",
        f"URL: mirror-source.source.cluster.sasl.jaas.config: holds a variable that only the Connect worker can resolve; {flow_overrides}",
    ]  # fmt: skip


async def test_a_secret_that_stands_in_the_wrong_place_too_is_not_shown(tmp_path):
    def odd(_request):
        config = json.loads(RECORDED[BOTH]["body"])["mirror-source"]
        config["info"]["config"] |= {
            "topics": "topsecret[",
            "producer.override.ssl.key.password": "topsecret[",
        }
        return web.json_response({"mirror-source": config})

    (said,) = await read(tmp_path, connect(listed=odd), "connect: {url: URL}\n")
    assert said.startswith("URL: mirror-source.topics: '***' cannot be used as a Java regular expression")


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, RefusedError, "URL: requires a user (HTTP 401); set connect.username and connect.password"),
        (403, RefusedError, "URL: requires a user (HTTP 403); set connect.username and connect.password"),
        (409, UnavailableError, "URL: Connect is rebalancing (HTTP 409); try again"),
        (503, UnavailableError, "URL: HTTP 503; check Connect, and a proxy in front of it if any"),
    ],
)
async def test_what_trying_again_or_a_person_may_mend(tmp_path, status, error, said):
    with pytest.raises(error) as refusal:
        await read(tmp_path, connect(listed=page(status)), "connect:\n  url: URL\n")
    _, _, told = str(refusal.value).partition("connect.url: ")
    assert told.replace(told.split(": ")[0], "URL") == said


async def test_a_wrong_password_is_told_without_it(tmp_path):
    text = "connect:\n  url: URL\n  username: mw\n  password: hunter2secret\n"
    with pytest.raises(RefusedError) as refusal:
        await read(tmp_path, connect(page(401)), text)
    assert str(refusal.value).endswith(
        "refuses user mw (HTTP 401); check connect.username and connect.password"
    )
    assert "hunter2secret" not in str(refusal.value)


def nobody():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_nobody_there_is_told_with_file_and_key(tmp_path):
    url = nobody()
    with pytest.raises(UnavailableError) as refusal:
        read_at(tmp_path, url, "connect:\n  url: URL\n")
    assert str(refusal.value).removeprefix(f"{tmp_path}/") == (
        f"mirrorwatch.yaml:2: connect.url: {url}/ cannot be reached (Connection refused);"
        " check that it runs and is reachable from this host"
    )


def test_what_is_wrong_anyway_goes_before_what_cannot_be_reached(tmp_path):
    said = read_at(tmp_path, nobody(), "connect:\n  url: URL\nflows: {A->A: {}, A->B: {topics: 'a['}}\n")
    assert [each.split(": ")[1] for each in said] == ["flows.A->B.topics", "flows.A->A"]


def test_nobody_there_is_status_4_and_a_wrong_address_status_2(tmp_path, capsys):
    path = tmp_path / "mirrorwatch.yaml"
    for address, status in ((nobody(), 4), ("connect:8083", 2)):
        path.write_text(f"connect: {{url: '{address}'}}\n", encoding="utf-8")
        assert cli.main(["check", str(path)], prog_name="mirrorwatch", standalone_mode=False) == status
    assert "connect.url: " in capsys.readouterr().err


async def test_check_tells_connectors_and_tasks(tmp_path):
    config = await read(tmp_path, connect(), chosen("mirror-source", "failing-source", "mirror-checkpoint"))
    console = Console(file=io.StringIO(), width=100)
    print_configured(Sheet(console, Redactor(config.secrets)), config)
    said = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    begin = said.index("Connectors (3)")
    assert said[begin + 1 : begin + 16] == [
        "mirror-source", "kind MirrorSourceConnector", "flow A->B", "state RUNNING", "tasks 2 RUNNING",
        "failing-source", "kind MirrorSourceConnector", "flow C->B", "state RUNNING", "tasks 1 FAILED",
        "mirror-checkpoint", "kind MirrorCheckpointConnector", "flow A->B", "state RUNNING", "tasks none",
    ]  # fmt: skip
