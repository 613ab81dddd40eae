"""Ask Kafka Connect again and again how the mirrors' connectors and tasks are, where one is configured.

What it says of tasks goes to the lag monitor, as evidence beside the worker's topic of states: which have
failed, and which somebody has halted. That it is away, refuses, or that a connector is halted or gone is told
to a person; none of it is a verdict by itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.connect.states import told_states
from fleet.errors import MalformedError, RefusedError, UnavailableError
from mirrorwatch.configuration.connect_asking import answer_of, no_connect
from mirrorwatch.service.connect_looks import ConnectLook, look_of, sentence_of
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from canary.report import Reporter
    from fleet.connect.connectors import Connector
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.sections import ConnectSection
    from runtime.process.clock import WaitingClock
    from runtime.process.supervision import Jitter

LOOK_S = 30.0  # between two looks, a fifth more or less
REFUSED_S = 120.0  # where it lets nobody in: a person has to act, and every try fills its log
STALE_S = 120.0  # what was told longer ago is not believed any more
WHERE = "Kafka Connect"
_STATUS = {"expand": ["status"]}


class ConnectWatch:
    """Looks at the connectors of a configuration; `tell` gets what is known of them whenever that is new."""

    def __init__(
        self,
        config: Configuration,
        *,
        clock: WaitingClock,
        random: Jitter,
        reporter: Reporter,
        tell: Callable[[ConnectLook], None],
    ) -> None:
        self._clock = clock
        self._random = random
        self._reporter = reporter
        self._tell = tell
        self._changed = asyncio.Event()
        self._looked_ns: int | None = None  # when it last answered
        self._before: ConnectLook | None = None  # the last look that told anything
        self._told: set[str] = set()  # connectors of which something is complained
        self._take(config)

    def use(self, config: Configuration) -> None:
        """Look at what another configuration names from now on."""
        if (config.connect, _without_states(config)) != (self._section, self._connectors):
            self._take(config)
            self._forget()
            self._changed.set()
        self._clean = Redactor(config.secrets).foreign

    async def keep(self) -> None:
        """Look until cancelled."""
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
        """Know nothing, and complain of nothing: something else is watched."""
        self._looked_ns, self._before = None, None
        for where in (WHERE, *map(_where, self._told)):
            self._reporter.settled(where)
        self._told.clear()
        self._tell(ConnectLook(self._now_ms()))

    async def _look_and_tell(self) -> float | None:
        """Look once and tell of it; return after how many seconds to look again."""
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
        at_ms = self._now_ms()  # before it is asked: what it then tells is not older
        answer = await answer_of(section, "/connectors", _STATUS)
        if self._section is not section:
            return  # it was another configuration's
        connectors = self._connectors
        try:
            told = told_states(answer, {each.name for each in connectors}, clean=self._clean)
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
            self._tell(ConnectLook(self._now_ms()))

    def _now_ms(self) -> int:
        return int(self._clock.wall_s() * 1000)


def _without_states(config: Configuration) -> tuple[Connector, ...]:
    """Return the connectors without the states that they had when the configuration was read."""
    return tuple(replace(each, state="", tasks=()) for each in config.connectors)


def _where(name: str) -> str:
    return f"{WHERE}: {name}"
