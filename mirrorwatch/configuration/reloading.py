"""Apply another configuration while the service runs: all of it at once, or nothing.

A request during a reload gets the result of the next one, which reads the file again. A service that stops
finishes the current reload and starts no other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.persistence.inherited import InheritedState
from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from mirrorwatch.configuration.changes import Changes, at_the_next_start, in_effect, what_changes
from runtime.process import logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from canary.config import CanaryConfig
    from canary.prober import Prober
    from canary.report import Reporter
    from canary.site.probing import Probing
    from canary.site.site import Site
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.service.keeping import SiteKeeper

WHERE = "reload"


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The result of a reload: the changes, or the problems that prevented it."""

    sentences: tuple[str, ...] = ()
    later: tuple[str, ...] = ()  # changes that take effect at the next start
    problems: tuple[str, ...] = ()
    unavailable: bool = False  # the configuration is not the problem: trying again may help


@dataclass(frozen=True, slots=True)
class LastReload:
    """Whether the last reload succeeded, and the time of the last one that did (epoch s)."""

    ok: bool
    ok_at: float


@dataclass(frozen=True, slots=True)
class _Cleanup:
    """What takes a while after a reload: old senders and readers to stop, clusters that get new clients."""

    config: Configuration
    idle: tuple[Probing, ...]
    closed: tuple[Site, ...]
    reconnected: tuple[str, ...]


_STOPPING = Reloaded(problems=("reload refused: the service is stopping",), unavailable=True)


class Reloading:
    """Reloads whenever `asked` is set, as by SIGHUP.

    `read` returns the configuration of the file, with topic and mode of the given canary section if any;
    `running` returns the running one. `load` returns the stored state of flows. `use` is called in the same
    step in which flows and clusters change, `removed` after a cluster is closed for good, and `note` after
    each reload with whether it succeeded.
    """

    def __init__(
        self,
        asked: asyncio.Event,
        *,
        read: Callable[[CanaryConfig | None], Configuration],
        running: Callable[[], Configuration],
        load: Callable[[], Awaitable[Mapping[str, InheritedState]]],
        use: Callable[[Configuration, Changes], None],
        removed: Callable[[str], None],
        note: Callable[[bool], None],
        keeper: SiteKeeper,
        reporter: Reporter,
    ) -> None:
        self._asked = asked
        self._read = read
        self._running = running
        self._load = load
        self._use = use
        self._removed = removed
        self._note = note
        self._keeper = keeper
        self._reporter = reporter
        self._log = logs.get("reload")
        self._waiting: list[asyncio.Future[Reloaded]] = []
        self._turn = asyncio.Lock()
        self._ended = False

    async def ask(self) -> Reloaded:
        """Reload the configuration, and return the result."""
        if self._ended:
            return _STOPPING
        answer: asyncio.Future[Reloaded] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._asked.set()
        return await answer

    async def keep(self, prober: Prober, group: asyncio.TaskGroup) -> None:
        """Reload whenever requested, until `end`."""
        while not self._ended:
            await self._asked.wait()
            self._asked.clear()
            async with self._turn:
                waiting, self._waiting = self._waiting, []
                outcome, cleanup = _STOPPING, None
                if not self._ended:
                    outcome, cleanup = await self._reload(prober, group)
                    self._note(not outcome.problems)
                _answer(waiting, outcome)
            if cleanup is not None:
                await self._finish(cleanup, prober, group)

    async def end(self) -> None:
        """Finish the current reload, and refuse those that wait."""
        async with self._turn:
            self._ended = True
            self._asked.set()
            waiting, self._waiting = self._waiting, []
            _answer(waiting, _STOPPING)

    async def _reload(self, prober: Prober, group: asyncio.TaskGroup) -> tuple[Reloaded, _Cleanup | None]:
        running = self._running()
        try:
            asked = await asyncio.to_thread(self._read, None)
            later = at_the_next_start(running, asked)
            fits = (asked.canary.topic, asked.canary.mode) == (running.canary.topic, running.canary.mode)
            new = in_effect(running, asked if fits else await asyncio.to_thread(self._read, running.canary))
            changes = what_changes(running, new)
            inherited = await self._load() if changes.started else {}
        except ConfigurationError as error:
            return self._refuse(tuple(str(problem) for problem in error.problems)), None
        except (UnavailableError, RefusedError) as error:
            return self._refuse((str(error),), unavailable=True), None
        except Exception as error:  # noqa: BLE001 - a bug in reading must not stop the service
            self._log.exception("configuration cannot be read because of a bug")
            sentence = f"bug in mirrorwatch: {type(error).__name__}; see the log"
            return self._refuse((sentence,)), None
        cleanup = await self._apply(prober, group, new, changes, inherited)
        self._reporter.settled(WHERE)
        for sentence in (*changes.sentences, *later):
            self._log.info(sentence)
        seen = set(running.worth_reading)
        for warning in new.worth_reading:
            if warning not in seen:
                self._log.warning(str(warning))
        return Reloaded(changes.sentences, later), cleanup

    def _refuse(self, problems: tuple[str, ...], *, unavailable: bool = False) -> Reloaded:
        for sentence in problems:
            self._log.error(sentence)
        more = f" (and {len(problems) - 1} more, see the log)" if len(problems) > 1 else ""
        self._reporter.problem(
            WHERE, f"configuration not reloaded, the previous one stays in effect: {problems[0]}{more}"
        )
        return Reloaded(problems=problems, unavailable=unavailable)

    async def _apply(
        self,
        prober: Prober,
        group: asyncio.TaskGroup,
        new: Configuration,
        changes: Changes,
        inherited: Mapping[str, InheritedState],
    ) -> _Cleanup:
        """Change flows and clusters; everything that is visible from outside changes in one step."""
        roster, idle = prober.roster, []
        if changes.all_restarted:  # no sequence number must be used twice
            await asyncio.gather(*(probing.finish() for probing in prober.probings.values()))
        for name in changes.stopped:
            held = roster.drop(name)
            self._log.info("final counters", flow=name, **held.watch.counters.as_dict())
        if changes.all_restarted:
            idle += roster.take_idle()
        roster.use(new.canary)
        closed = [roster.drop_site(alias) for alias in changes.closed]
        for alias in changes.opened:
            roster.add_site(alias, new.clients[alias])
            self._keeper.begin(prober.sites[alias], prober, group)
        for flow in changes.started:
            roster.add(flow, inherited.get(flow.name, InheritedState()))
        idle += roster.take_idle()
        self._use(new, changes)
        return _Cleanup(new, tuple(idle), tuple(closed), changes.reconnected)

    async def _finish(self, cleanup: _Cleanup, prober: Prober, group: asyncio.TaskGroup) -> None:
        await asyncio.gather(
            *(_end(probing) for probing in cleanup.idle),
            *(self._close(site) for site in cleanup.closed),
            *(self._reconnect(alias, cleanup.config, prober, group) for alias in cleanup.reconnected),
        )

    async def _close(self, site: Site) -> None:
        await self._keeper.end(site.alias)
        await site.reader.stop()
        self._removed(site.alias)

    async def _reconnect(
        self, alias: str, config: Configuration, prober: Prober, group: asyncio.TaskGroup
    ) -> None:
        """Re-create a cluster's clients with its new settings, but not during a shutdown."""
        if self._ended:
            return
        await self._keeper.end(alias)
        if not self._ended:
            await prober.roster.leave(alias)
        if not self._ended:
            prober.roster.add_site(alias, config.clients[alias])
            self._keeper.begin(prober.sites[alias], prober, group)


def _answer(waiting: Iterable[asyncio.Future[Reloaded]], outcome: Reloaded) -> None:
    for answer in waiting:
        if not answer.done():  # the request may be cancelled
            answer.set_result(outcome)


async def _end(probing: Probing) -> None:
    await probing.finish()
    await probing.stop()
