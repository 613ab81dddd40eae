"""The table again and again: over itself on a terminal, one below the other elsewhere, and through an outage."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.cli.status import Question
from mirrorwatch.cli.status_watch import HOME, TO_SCREEN_END, watch
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
from tests.mirrorwatch.cli.test_main import command
from tests.runtime.fake_clock import FakeClock


class Rounds(FakeClock):
    """A clock whose waits do what a test has planned for each round, and then end the watching."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = list(steps)
        self.waited = []

    async def wait(self, _event, *, timeout_s):
        self.waited.append(timeout_s)
        if not self.steps:
            return True
        await self.steps.pop(0)()
        return False


async def nothing():
    pass


def console_of(*, terminal=False, height=200):
    return Console(
        file=io.StringIO(), width=140, height=height, force_terminal=terminal, color_system=None, _environ={}
    )


@pytest.fixture
async def service():
    """Return a service that a test changes, stops and starts."""

    class Service:
        view = views.service(views.flow(verdict=Verdict.HEALTHY))
        server = None
        port = None

        async def start(self):
            app = web.Application()
            app.add_routes(routes(lambda: self.view))
            self.server = TestServer(app, port=self.port)
            await self.server.start_server()
            self.port = self.server.port

        async def stop(self):
            await self.server.close()

        async def watched(self, *steps, terminal=False, as_json=False, height=200):
            console, errors = console_of(terminal=terminal, height=height), console_of()
            clock = Rounds(*steps)
            code = await watch(
                Question(f"127.0.0.1:{self.port}", as_json=as_json),
                console=console,
                errors=errors,
                interval_s=5.0,
                clock=clock,
                end=asyncio.Event(),
            )
            assert set(clock.waited) == {5.0}
            return code, console.file.getvalue(), errors.file.getvalue()

    service = Service()
    await service.start()
    yield service
    await service.stop()


async def test_elsewhere_tables_follow_one_another_and_an_outage_is_shown_in_between(service):
    async def losing():
        service.view = views.service(views.flow(verdict=Verdict.LOSING))

    code, text, errors = await service.watched(service.stop, service.start, losing)
    assert code == 1
    assert text.count("A->B ") >= 3
    assert len(re.findall(r"^\d{4}-\d\d-\d\dT\S+Z$", text, re.MULTILINE)) == 3
    assert "\x1b" not in text
    assert errors.count("no service answers") == 1
    assert errors.rstrip().endswith("; trying again.")


async def test_on_a_terminal_each_takes_the_place_of_the_former_one(service):
    code, text, errors = await service.watched(service.stop, service.start, terminal=True)
    assert (code, errors) == (0, "")
    drawn = text.split(HOME)[1:]
    assert [("no service answers" in one, "A->B" in one) for one in drawn] == [
        (False, True),
        (True, False),
        (False, True),
    ]
    assert all(one.endswith(TO_SCREEN_END) for one in drawn)
    assert all("every 5 s; Ctrl-C to stop" in one for one in drawn)


async def test_a_low_terminal_is_not_scrolled(service):
    service.view = views.service(*(views.flow(f"A{number}", "B") for number in range(60)))
    _, text, _ = await service.watched(nothing, terminal=True, height=20)
    for drawn in text.split(HOME)[1:]:
        assert drawn.count("\n") == 19
        assert re.search(r"and \d+ more lines", drawn)


async def test_json_is_a_line_for_each_answer(service):
    _, text, _ = await service.watched(nothing, nothing, as_json=True, terminal=True)
    documents = [json.loads(line) for line in text.splitlines()]
    assert [document["flows"][0]["flow"] for document in documents] == ["A->B"] * 3


async def test_what_is_no_address_is_not_tried_again():
    console = console_of()
    clock = Rounds()
    code = await watch(
        Question("http://["),
        console=console,
        errors=console,
        interval_s=2.0,
        clock=clock,
        end=asyncio.Event(),
    )
    assert code == 2
    assert clock.waited == []
    assert "invalid address" in console.file.getvalue()


def test_ctrl_c_ends_it_quietly_with_130():
    """On a terminal, where nothing answers: the sentence is drawn, and Ctrl-C leaves no traceback."""
    main, side = pty.openpty()
    with subprocess.Popen(
        command("status", "127.0.0.1:1", "--watch", "--interval", "500ms"),
        stdin=side,
        stdout=side,
        stderr=side,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200", "LINES": "30"},
        start_new_session=True,
    ) as process:
        os.close(side)
        seen, until = b"", time.monotonic() + 60
        while seen.count(b"no service answers") < 2 and time.monotonic() < until:
            if select.select([main], [], [], 1)[0]:
                seen += os.read(main, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    os.close(main)
    assert b"Traceback" not in seen
    assert seen.count(b"trying again") >= 2
