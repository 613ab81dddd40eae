"""Take over another configuration while the service runs: read wholly and applied at once, or not at all.

Whoever asks while a reload is under way is answered by the next one, which reads the file anew. Once the
service stops nothing is taken over any more; what was taken over by then is complete.
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
    """How a reload went: what changed, or the problems for which nothing did."""

    sentences: tuple[str, ...] = ()
    later: tuple[str, ...] = ()  # what takes effect at the next start only
    problems: tuple[str, ...] = ()
    unavailable: bool = False  # the problem is none of the configuration: trying again may help


@dataclass(frozen=True, slots=True)
class LastReload:
    """Whether the configuration was taken over when it was last read, and when one last was (epoch s)."""

    ok: bool
    ok_at: float


@dataclass(frozen=True, slots=True)
class _Leaving:
    """What takes a while after a reload: old senders and readers end, changed clusters get new clients."""

    config: Configuration
    idle: tuple[Probing, ...]
    closed: tuple[Site, ...]
    renewed: tuple[str, ...]


_STOPPING = Reloaded(problems=("reload refused: the service is stopping",), unavailable=True)


class Reloading:
    """Reloads whenever `asked` is set, which SIGHUP does too.

    `read` gives the configuration of the file, with the canary's topic and mode of a section where one is
    given; `running` the one that runs. `load` gives what the store knows of flows. `use` is called in the
    same step in which flows and clusters change, `left` when a cluster is left for good, and `note` after
    each reload with whether it went well.
    """

    def __init__(
        self,
        asked: asyncio.Event,
        *,
        read: Callable[[CanaryConfig | None], Configuration],
        running: Callable[[], Configuration],
        load: Callable[[], Awaitable[Mapping[str, InheritedState]]],
        use: Callable[[Configuration, Changes], None],
        left: Callable[[str], None],
        note: Callable[[bool], None],
        keeper: SiteKeeper,
        reporter: Reporter,
    ) -> None:
        self._asked = asked
        self._read = read
        self._running = running
        self._load = load
        self._use = use
        self._left = left
        self._note = note
        self._keeper = keeper
        self._reporter = reporter
        self._log = logs.get("reload")
        self._waiting: list[asyncio.Future[Reloaded]] = []
        self._turn = asyncio.Lock()
        self._ended = False

    async def ask(self) -> Reloaded:
        """Have the configuration read and taken over, and return how that went."""
        if self._ended:
            return _STOPPING
        answer: asyncio.Future[Reloaded] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._asked.set()
        return await answer

    async def keep(self, prober: Prober, group: asyncio.TaskGroup) -> None:
        """Reload as often as that is asked for, until the end."""
        while not self._ended:
            await self._asked.wait()
            self._asked.clear()
            async with self._turn:
                waiting, self._waiting = self._waiting, []
                outcome, leaving = _STOPPING, None
                if not self._ended:
                    outcome, leaving = await self._reload(prober, group)
                    self._note(not outcome.problems)
                _answer(waiting, outcome)
            if leaving is not None:
                await self._finish(leaving, prober, group)

    async def end(self) -> None:
        """Take over nothing more; what is being taken over is finished first. Who waits still is told so."""
        async with self._turn:
            self._ended = True
            self._asked.set()
            waiting, self._waiting = self._waiting, []
            _answer(waiting, _STOPPING)

    async def _reload(self, prober: Prober, group: asyncio.TaskGroup) -> tuple[Reloaded, _Leaving | None]:
        running = self._running()
        try:
            asked = await asyncio.to_thread(self._read, None)
            later = at_the_next_start(running, asked)
            fits = (asked.canary.topic, asked.canary.mode) == (running.canary.topic, running.canary.mode)
            new = in_effect(running, asked if fits else await asyncio.to_thread(self._read, running.canary))
            changes = what_changes(running, new)
            inherited = await self._load() if changes.begun else {}
        except ConfigurationError as error:
            return self._refuse(tuple(str(problem) for problem in error.problems)), None
        except (UnavailableError, RefusedError) as error:
            return self._refuse((str(error),), unavailable=True), None
        except Exception as error:  # noqa: BLE001 - a fault of ours in reading must not end what runs well
            self._log.exception("configuration cannot be read because of a bug")
            sentence = f"bug in mirrorwatch: {type(error).__name__}; see the log"
            return self._refuse((sentence,)), None
        leaving = await self._apply(prober, group, new, changes, inherited)
        self._reporter.settled(WHERE)
        for sentence in (*changes.sentences, *later):
            self._log.info(sentence)
        seen = set(running.worth_reading)
        for warning in new.worth_reading:
            if warning not in seen:
                self._log.warning(str(warning))
        return Reloaded(changes.sentences, later), leaving

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
    ) -> _Leaving:
        """Change flows and clusters; all that can be seen from outside changes in one step."""
        roster, idle = prober.roster, []
        if changes.anew:  # the same sequence numbers are not to be given out twice
            await asyncio.gather(*(probing.finish() for probing in prober.probings.values()))
        for name in changes.ended:
            held = roster.drop(name)
            self._log.info("final counters", flow=name, **held.watch.counters.as_dict())
        if changes.anew:
            idle += roster.take_idle()
        roster.use(new.canary)
        closed = [roster.drop_site(alias) for alias in changes.closed]
        for alias in changes.opened:
            roster.add_site(alias, new.clients[alias])
            self._keeper.begin(prober.sites[alias], prober, group)
        for flow in changes.begun:
            roster.add(flow, inherited.get(flow.name, InheritedState()))
        idle += roster.take_idle()
        self._use(new, changes)
        return _Leaving(new, tuple(idle), tuple(closed), changes.renewed)

    async def _finish(self, leaving: _Leaving, prober: Prober, group: asyncio.TaskGroup) -> None:
        await asyncio.gather(
            *(_end(probing) for probing in leaving.idle),
            *(self._close(site) for site in leaving.closed),
            *(self._renew(alias, leaving.config, prober, group) for alias in leaving.renewed),
        )

    async def _close(self, site: Site) -> None:
        await self._keeper.end(site.alias)
        await site.reader.stop()
        self._left(site.alias)

    async def _renew(
        self, alias: str, config: Configuration, prober: Prober, group: asyncio.TaskGroup
    ) -> None:
        """Have a cluster's clients made anew, by its new settings; not in the middle of a shutdown."""
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
        if not answer.done():  # whoever asked may have gone away
            answer.set_result(outcome)


async def _end(probing: Probing) -> None:
    await probing.finish()
    await probing.stop()
