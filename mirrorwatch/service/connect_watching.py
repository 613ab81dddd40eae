"""Polls Kafka Connect for the states of the mirrors' connectors and tasks, if it is configured.

The lag monitor uses the states as evidence, together with the worker's status topic. The service reports as
problems that Connect is unavailable or refuses access, and that a connector is paused, stopped or missing.
None of these is a verdict by itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.connect.states import parse_states
from fleet.errors import MalformedError, RefusedError, UnavailableError
from mirrorwatch.configuration.connect_rest import answer_of, no_connect
from mirrorwatch.service.connect_states import ConnectStates, look_of, sentence_of
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from canary.report import Reporter
    from fleet.connect.connectors import Connector
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.sections import ConnectSection
    from runtime.process.clock import WaitingClock
    from runtime.process.supervision import Jitter

LOOK_S = 30.0  # between two polls, a fifth more or less
REFUSED_S = 120.0  # after a refusal: a user must act, and every try fills Connect's log
STALE_S = 120.0  # older states are not used
WHERE = "Kafka Connect"
_STATUS = {"expand": ["status"]}


class ConnectWatch:
    """Polls the connectors of a configuration; `tell` gets the states after each change."""

    def __init__(
        self,
        config: Configuration,
        *,
        clock: WaitingClock,
        random: Jitter,
        reporter: Reporter,
        tell: Callable[[ConnectStates], None],
    ) -> None:
        self._clock = clock
        self._random = random
        self._reporter = reporter
        self._tell = tell
        self._changed = asyncio.Event()
        self._looked_ns: int | None = None  # when it last answered
        self._before: ConnectStates | None = None  # the last look that told anything
        self._told: set[str] = set()  # connectors of which something is complained
        self._take(config)

    def use(self, config: Configuration) -> None:
        """Poll the connectors of another configuration from now on."""
        if (config.connect, _without_states(config)) != (self._section, self._connectors):
            self._take(config)
            self._forget()
            self._changed.set()
        self._clean = Redactor(config.secrets).foreign

    async def keep(self) -> None:
        """Poll until cancelled."""
        while True:
            self._changed.clear()
            pause_s = await self._look_and_tell() if self._section is not None else None
            if pause_s is None:
                await self._changed.wait()
            else:
                spread_s = pause_s * (0.8 + 0.4 * self._random.random())
                await self._clock.wait(self._changed, timeout_s=spread_s)

    def _take(self, config: Configuration) -> None:
        self._section: ConnectSection | None = config.connect
        self._connectors = _without_states(config)
        self._clean = Redactor(config.secrets).foreign

    def _forget(self) -> None:
        """Forget all states and clear all problems."""
        self._looked_ns, self._before = None, None
        for where in (WHERE, *map(_where, self._told)):
            self._reporter.settled(where)
        self._told.clear()
        self._tell(ConnectStates(self._now_ms()))

    async def _look_and_tell(self) -> float | None:
        """Poll once; return the seconds until the next poll."""
        section = self._section
        assert section is not None
        try:
            await self._look(section)
        except (UnavailableError, RefusedError, MalformedError) as error:
            if self._section is section:
                self._reporter.problem(WHERE, f"states of tasks unknown: {error}")
                self._let_go_stale()
            return REFUSED_S if isinstance(error, RefusedError) else LOOK_S
        return LOOK_S

    async def _look(self, section: ConnectSection) -> None:
        at_ms = self._now_ms()  # before the request: the states are not older than this
        answer = await answer_of(section, "/connectors", _STATUS)
        if self._section is not section:
            return  # the configuration changed meanwhile
        connectors = self._connectors
        try:
            told = parse_states(answer, {each.name for each in connectors}, clean=self._clean)
        except MalformedError as error:
            raise no_connect(section, str(error)) from error
        self._looked_ns = self._clock.monotonic_ns()
        self._reporter.settled(WHERE)
        for each in connectors:
            self._complain(each.name, sentence_of(each, told, address=section.url))
        look = look_of(connectors, told, at_ms=at_ms, before=self._before)
        self._before = look
        self._tell(look)

    def _complain(self, name: str, sentence: str) -> None:
        if sentence:
            self._told.add(name)
            self._reporter.problem(_where(name), sentence)
        elif name in self._told:
            self._told.discard(name)
            self._reporter.settled(_where(name))

    def _let_go_stale(self) -> None:
        if self._looked_ns is not None and self._clock.monotonic_ns() - self._looked_ns > STALE_S * 1e9:
            self._looked_ns = None
            self._tell(ConnectStates(self._now_ms()))

    def _now_ms(self) -> int:
        return int(self._clock.wall_s() * 1000)


def _without_states(config: Configuration) -> tuple[Connector, ...]:
    """Return the connectors without the states from the time of reading."""
    return tuple(replace(each, state="", tasks=()) for each in config.connectors)


def _where(name: str) -> str:
    return f"{WHERE}: {name}"
