"""Requests that are no HTTP: one sentence a minute, and nothing of what was sent."""

from __future__ import annotations

import asyncio

import pytest

from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig
from runtime.http.refusals import EVERY_S, Refusals
from runtime.http.server import HttpServer, application
from tests.runtime.fake_clock import FakeClock

SECRET = b"Authorization: Basic Ym9iOmh1bnRlcjI="


class Log:
    def __init__(self):
        self.lines = []

    def warning(self, sentence, **values):
        self.lines.append((sentence, values))

    error = warning


@pytest.mark.parametrize(
    "broken", [SECRET + b"\x01", SECRET + b"\x00", SECRET + b"\nX: y", SECRET + b"a" * 9000]
)
async def test_what_was_sent_is_not_told(broken, caplog, monkeypatch):
    log = Log()
    monkeypatch.setattr("runtime.http.server.get", lambda _part: log)
    server = HttpServer()
    await server.start(
        application(), HttpConfig.model_validate({"listen": "127.0.0.1:0"}), web_config=WebConfig()
    )
    try:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + broken + b"\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            assert b" 400 " in answer
    finally:
        await server.stop(0.1)
    assert log.lines == [("refused a request: not HTTP, or its headers are too long", {"untold_before": 0})]
    assert not caplog.records


def test_the_first_of_each_minute_is_told_with_how_many_went_before():
    log, clock = Log(), FakeClock()
    refusals = Refusals(log, clock)

    def fail(error):
        refusals.exception("what the library says: %s", "hunter2", exc_info=error)

    for _ in range(3):
        fail(ValueError("hunter2"))
    clock.advance(EVERY_S)
    fail(KeyError("hunter2"))
    assert log.lines == [
        (
            "a request failed before it reached its page: a bug",
            {"error": "ValueError", "untold_before": 0},
        ),
        (
            "a request failed before it reached its page: a bug",
            {"error": "KeyError", "untold_before": 2},
        ),
    ]
    refusals.debug("not told")
    assert len(log.lines) == 2
