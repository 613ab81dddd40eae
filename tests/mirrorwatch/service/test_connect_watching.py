"""Connect asked while the service runs, at a real HTTP server: what is evidence, and what a person is told."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fleet.connect.kinds import Connector, Task
from fleet.connect.states import MOST_TASKS
from fleet.wire.status import MAX_TRACE_CHARS, TaskState
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.service.connect_states import NEXT_MS, look_of
from mirrorwatch.service.connect_watching import LOOK_S, REFUSED_S, STALE_S, WHERE, ConnectWatch
from runtime.process.channel import MAX_TEXT_BYTES
from tests.mirrorwatch.configuration.test_connect import BOTH, RECORDED, chosen, recorded
from tests.runtime.fake_clock import FakeClock

WHOLE = RECORDED[BOTH]["body"]

NO_CONNECT = "URL: not Kafka Connect"
WRITE = "write the address of a worker, such as http://connect:8083"


class Scene:
    """A worker that answers with `states`, or with what `other` makes, and a watch over it."""

    def __init__(self):
        self.asked, self.said, self.told = [], {}, []
        self.clock = FakeClock()
        self.states = {name: one["status"] for name, one in json.loads(WHOLE).items()}
        self.other = None
        self.config = self.watch = None

    async def answer(self, request):
        self.asked.append((request.path_qs, request.headers.get("Authorization", "")))
        if request.path == "/":
            return recorded("GET /")
        if request.query.getall("expand") == ["info", "status"]:
            return recorded(BOTH)
        if self.other is not None:
            return self.other()
        return web.json_response({name: {"status": one} for name, one in self.states.items()})

    async def look(self):
        return await self.watch._look_and_tell()

    @property
    def states_told(self):
        return {
            flow: (name, [(one.task, one.state) for one in states])
            for flow, (name, states) in self.told[-1].flows.items()
        }


@pytest.fixture
async def scene(tmp_path):
    made = Scene()
    application = web.Application()
    application.router.add_route("*", "/{any:.*}", made.answer)
    async with TestServer(application) as server:
        url = str(server.make_url("/")).rstrip("/")
        path = tmp_path / "mirrorwatch.yaml"
        names = chosen(
            "mirror-source", "mirror-heartbeat", more="  username: mw\n  password: hunter2secret\n"
        )
        path.write_text(names.replace("URL", url), encoding="utf-8")
        made.url, made.path = url, path
        made.config = await asyncio.to_thread(read_configuration, path, environ={})
        made.asked.clear()
        made.watch = ConnectWatch(
            made.config,
            clock=made.clock,
            random=random.Random(7),
            reporter=SimpleNamespace(
                problem=made.said.__setitem__, settled=lambda where: made.said.pop(where, None)
            ),
            tell=made.told.append,
        )
        made.server = server
        yield made


async def test_one_request_reports_how_every_task_is(scene):
    assert await scene.look() == LOOK_S
    ((path, user),) = scene.asked
    assert path == "/connectors?expand=status"
    assert user.startswith("Basic ")
    assert scene.states_told == {
        "A->B": ("mirror-source", [(None, "RUNNING"), (0, "RUNNING"), (1, "RUNNING")])
    }
    assert scene.told[-1].at_ms == int(scene.clock.wall_s() * 1000)
    assert scene.said == {}


def trace_of(scene):
    return scene.told[-1].flows["A->B"][1][1].trace


async def test_a_failed_task_is_evidence_with_its_reason_and_no_secret_in_it(scene):
    failed = {"id": 0, "state": "FAILED", "trace": "Bad login of mw with hunter2secret\n\tat org.apache"}
    scene.states["mirror-source"]["tasks"][0] = failed
    await scene.look()
    assert trace_of(scene) == "Bad login of mw with ***"
    assert scene.said == {
        f"{WHERE}: mirror-source": "has 1 of its 2 tasks that is FAILED, as its worker reports;"
        " check its status and log."
    }
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "RUNNING"}
    await scene.look()
    assert scene.said == {}


async def test_a_password_that_is_a_word_is_none_of_a_traces_own(scene):
    scene.watch.use(replace(scene.config, secrets=frozenset({"Sommer"})))
    failed = {"id": 0, "state": "FAILED", "trace": "user mw with Sommer was refused"}
    scene.states["mirror-source"]["tasks"][0] = failed
    await scene.look()
    assert trace_of(scene) == "user mw with *** was refused"


async def test_a_secret_shows_not_even_in_part_where_a_trace_is_cut(scene):
    long = "x" * (MAX_TRACE_CHARS - len("hunter2")) + "hunter2secret"
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "FAILED", "trace": long}
    await scene.look()
    assert trace_of(scene) == "x" * (MAX_TRACE_CHARS - len("hunter2")) + "***"


async def test_one_that_is_paused_or_of_another_kind_is_reported_in_the_words_of_the_start(scene):
    scene.states["mirror-source"]["connector"]["state"] = "PAUSED"
    scene.states["mirror-heartbeat"]["connector"]["state"] = "FAILED"
    await scene.look()
    assert scene.said == {
        f"{WHERE}: mirror-source": "is PAUSED: it replicates nothing until it is resumed.",
        f"{WHERE}: mirror-heartbeat": "is FAILED, as its worker reports; check its status and log.",
    }


async def test_a_connector_that_is_gone_is_reported_until_it_is_there_again(scene):
    gone = scene.states.pop("mirror-source")
    await scene.look()
    assert scene.told[-1].flows == {}
    assert scene.said == {
        f"{WHERE}: mirror-source": f"A->B has no connector any more: {scene.url} does not know this name;"
        " re-create it there, or remove it from the configuration and reload"
    }
    scene.states["mirror-source"] = gone
    await scene.look()
    assert scene.said == {}


@pytest.mark.parametrize(
    ("other", "pause_s", "sentence"),
    [
        (
            lambda: web.Response(status=401),
            REFUSED_S,
            "URL: refuses user mw (HTTP 401); check connect.username and connect.password",
        ),
        (
            lambda: web.Response(status=409),
            LOOK_S,
            "URL: Connect is rebalancing (HTTP 409); try again",
        ),
        (
            lambda: web.Response(status=429),
            LOOK_S,
            "URL: HTTP 429; check Connect, and a proxy in front of it if any",
        ),
        (
            lambda: web.Response(text="<html>", content_type="text/html"),
            LOOK_S,
            f"{NO_CONNECT} (the answer is HTML); {WRITE}",
        ),
        (
            lambda: web.json_response({"mirror-source": {"status": {"tasks": 7}}}),
            LOOK_S,
            f"{NO_CONNECT} (not a list of connectors with their status); {WRITE}",
        ),
    ],
)
async def test_an_answer_that_is_none_is_a_problem_and_takes_nothing_back_at_once(
    scene, other, pause_s, sentence
):
    await scene.look()
    scene.other = other
    assert await scene.look() == pause_s
    assert scene.said == {WHERE: f"states of tasks unknown: {sentence.replace('URL', scene.url)}"}
    assert len(scene.told) == 1
    scene.other = None
    await scene.look()
    assert scene.said == {}


async def test_what_was_reported_long_ago_is_believed_no_more(scene):
    await scene.look()
    await scene.server.close()
    scene.clock.advance(STALE_S - 1)
    await scene.look()
    assert "cannot be reached" in scene.said[WHERE]
    assert "hunter2secret" not in str(scene.said)
    assert len(scene.told) == 1
    scene.clock.advance(2)
    await scene.look()
    await scene.look()
    assert len(scene.told) == 2
    assert scene.told[-1].flows == {}


async def test_another_configuration_is_looked_at_at_once_and_what_was_reported_is_taken_back(scene):
    scene.states.pop("mirror-heartbeat")
    working = asyncio.create_task(scene.watch.keep())
    await reaches(lambda: len(scene.told) >= 1)
    assert list(scene.said) == [f"{WHERE}: mirror-heartbeat"]
    text = scene.path.read_text("utf-8").replace(", mirror-heartbeat", "")
    scene.path.write_text(text, encoding="utf-8")
    config = await asyncio.to_thread(read_configuration, scene.path, environ={})
    before = len(scene.told)
    scene.watch.use(config)
    assert scene.told[before].flows == {}
    await reaches(lambda: len(scene.told) >= before + 2)
    assert scene.said == {}
    assert list(scene.told[-1].flows) == ["A->B"]
    working.cancel()


async def test_the_same_configuration_read_while_a_task_has_failed_changes_nothing(scene):
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "FAILED", "trace": "Bad login"}
    await scene.look()
    said, told = dict(scene.said), len(scene.told)
    assert said
    source = next(one for one in scene.config.connectors if one.name == "mirror-source")
    failed = replace(source, tasks=(Task(0, "FAILED"), *source.tasks[1:]))
    assert failed != source
    read = tuple(failed if one is source else one for one in scene.config.connectors)
    scene.watch.use(replace(scene.config, connectors=read))
    assert (scene.said, len(scene.told)) == (said, told)


async def test_since_when_a_task_has_failed_is_known_but_for_what_came_in_a_silence(scene):
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "FAILED", "trace": "Bad login"}
    await scene.look()
    first_ms = scene.told[-1].at_ms
    scene.clock.advance(STALE_S + 1)
    scene.other = lambda: web.Response(status=503)
    await scene.look()
    assert scene.told[-1].flows == {}  # for that long it was away
    scene.other = None
    await scene.look()
    # What runs is no evidence, and not handed on; what the first look finds may be so for longer.
    again_ms = scene.told[-1].at_ms
    rows = [[0, "FAILED", "Bad login", again_ms, False]]
    assert scene.told[-1].document()["flows"] == {"A->B": {"connector": "mirror-source", "states": rows}}
    assert again_ms > first_ms
    scene.clock.advance(30)
    await scene.look()
    assert scene.told[-1].document()["flows"] == {"A->B": {"connector": "mirror-source", "states": rows}}
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "RUNNING"}
    await scene.look()
    scene.states["mirror-source"]["tasks"][0] = {"id": 0, "state": "FAILED", "trace": "Bad login"}
    scene.clock.advance(30)
    await scene.look()
    ((*_, since_ms, is_seen),) = scene.told[-1].document()["flows"]["A->B"]["states"]
    assert (since_ms, is_seen) == (scene.told[-1].at_ms, True)


def test_whatever_an_address_reports_of_tasks_can_be_handed_on():
    letter = "\N{PILE OF POO}"  # twelve bytes, as JSON has it
    failed = [TaskState("mirror", task, "FAILED", MAX_TRACE_CHARS * letter) for task in range(MOST_TASKS)]
    told = {"mirror": tuple(failed)}
    mirror = Connector("mirror", {"connector.class": "MirrorSourceConnector", "source.cluster.alias": "A"})
    look = look_of([mirror], told, at_ms=5, before=None)
    assert len(look.document()["flows"]["A->target"]["states"]) == MOST_TASKS
    assert len(json.dumps(look.document())) < MAX_TEXT_BYTES / 10


def look_at(state, at_ms, before=None, *, task=None, name="mirror"):
    source = Connector(name, {"connector.class": "MirrorSourceConnector", "source.cluster.alias": "A"})
    return look_of([source], {name: (TaskState(name, task, state),)}, at_ms=at_ms, before=before)


def rows_of(look):
    return look.document()["flows"]["A->target"]["states"]


@pytest.mark.parametrize("state", ["FAILED", "UNASSIGNED", "PAUSED", "STOPPED"])
def test_since_when_it_is_so_is_known_where_the_look_before_found_another_state(state):
    first = look_at(state, 1_000)
    assert rows_of(first) == [[None, state, "", 1_000, False]]
    assert rows_of(look_at(state, 9_000, first)) == [[None, state, "", 1_000, False]]
    runs = look_at("RUNNING", 20_000, first)
    assert rows_of(runs) == []
    seen = look_at(state, 20_000 + NEXT_MS, runs)
    assert rows_of(seen) == [[None, state, "", 20_000 + NEXT_MS, True]]
    still = look_at(state, 20_000 + 2 * NEXT_MS, seen)
    assert rows_of(still) == [[None, state, "", 20_000 + NEXT_MS, True]]
    # In a silence it may have run, and come again.
    later_ms = 20_001 + 3 * NEXT_MS
    assert rows_of(look_at(state, later_ms, still)) == [[None, state, "", later_ms, False]]
    # Too long ago, by a clock that was set back, or of another connector: it may be so for longer.
    assert rows_of(look_at(state, 20_001 + NEXT_MS, runs))[0][-1] is False
    assert rows_of(look_at(state, 19_999, runs))[0][-1] is False
    assert rows_of(look_at(state, 20_001, runs, name="other"))[0][-1] is False


async def test_one_that_is_halted_is_evidence(scene):
    await scene.look()
    scene.states["mirror-source"]["connector"]["state"] = "PAUSED"
    await scene.look()
    (row,) = scene.told[-1].document()["flows"]["A->B"]["states"]
    assert row == [None, "PAUSED", "", scene.told[-1].at_ms, True]


async def test_what_was_asked_for_another_configuration_is_not_reported(scene):
    scene.watch._section = scene.config.connect
    asked = asyncio.Event()

    def other():
        scene.watch._section = None
        asked.set()
        return web.json_response({name: {"status": one} for name, one in scene.states.items()})

    scene.other = other
    await scene.look()
    assert asked.is_set()
    assert scene.told == []


async def reaches(true):
    async with asyncio.timeout(5):
        while True:
            if true():
                return
            await asyncio.sleep(0.005)
