"""The running service: connects canary, store, judging, pages and metrics, and shuts them down in order."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING

from canary.persistence.bookkeeper import Bookkeeper
from canary.persistence.leases import incarnations
from canary.prober import Prober
from canary.watch.watch import Instant
from checksum.history.history import ChecksumHistory
from checksum.report import page as report_page
from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from fleet.series.catalogue import STORE_OPERATIONS
from mirrorwatch.audits.following import ChecksumFollowing
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.configuration.reloading import LastReload, Reloading
from mirrorwatch.failover.audit.watch import FailoverAudit
from mirrorwatch.history.budget_keeping import BudgetKeeping
from mirrorwatch.history.incident_keeping import IncidentKeeping
from mirrorwatch.history.incident_samples import samples_of
from mirrorwatch.history.minute_keeping import MinuteKeeping, measured_of
from mirrorwatch.history.tallying import last_final_minute
from mirrorwatch.lag.keeping import LagKeeping
from mirrorwatch.lag.monitor import LagMonitor
from mirrorwatch.lag.sync_following import follow_syncs
from mirrorwatch.service.connect_watching import ConnectWatch
from mirrorwatch.service.duplicate_processes import duplicate_warning
from mirrorwatch.service.flow_status import flow_status
from mirrorwatch.service.judging import Judging
from mirrorwatch.service.keeping import SiteKeeper
from mirrorwatch.service.latching import Latching
from mirrorwatch.service.leading import Leading, facts_of
from mirrorwatch.service.resolved_problems import about_cluster, about_unused_topics
from mirrorwatch.service.samples import Sampled, service_samples, standby_samples
from mirrorwatch.service.store_parts import MIGRATIONS
from mirrorwatch.service.viewing import service_view
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.replicas.certificate import OwnCertificate, presented_files
from mirrorwatch.web.replicas.peers import Alone
from mirrorwatch.web.routes.about import about_routes
from mirrorwatch.web.routes.checksums import checksum_routes
from mirrorwatch.web.routes.counts import counts_routes
from mirrorwatch.web.routes.failover import failover_routes
from mirrorwatch.web.routes.groups import GroupCounts
from mirrorwatch.web.routes.health import health_routes
from mirrorwatch.web.routes.incidents import Aims, incident_pages
from mirrorwatch.web.routes.lag_monitor import lag_monitor_routes
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.operator import operator_routes
from mirrorwatch.web.routes.replicas import Replicas
from mirrorwatch.web.routes.standby import standby_answers
from runtime.build import revision, version
from runtime.http.server import HttpServer, application
from runtime.process import logs
from runtime.process.clock import SystemClock
from runtime.process.complaints import Complaints
from runtime.process.limits import allow_many_files, use_enough_threads
from runtime.store.store import Store, installation_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from aiohttp import web

    from alerts.incidents import Sample
    from alerts.minutes import Sample as MinuteSample
    from canary.config import CanaryConfig
    from canary.persistence.latches import Latch
    from mirrorwatch.configuration.changes import Changes
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.reloading import Reloaded
    from mirrorwatch.service.flow_status import FlowState
    from mirrorwatch.service.samples import ServiceSamples
    from mirrorwatch.service.view import ServiceView
    from runtime.config.sections import HttpConfig
    from runtime.process.shutdown import Shutdown

JUDGE_S = 0.25
SWITCH_S = 0.0005  # the tap threads must not wait longer for the thread that judges


class Service:
    """One Mirrorwatch process; `run` returns after a shutdown signal."""

    def __init__(
        self,
        config: Configuration,
        *,
        learn: Callable[[frozenset[str]], None] = lambda _secrets: None,
        logged: tuple[str, str] = ("text", "info"),
    ) -> None:
        """Create a service; `learn` gets the secrets of a new configuration before its use.

        `logged` is the log format and level for child processes.
        """
        self._config = config
        self._learn = learn
        self._clock = SystemClock()
        self._log = logs.get("service")
        self._version, self._revision = version(), revision()
        self._started_at = self._clock.wall_s()
        self._last_reload = LastReload(ok=True, ok_at=self._started_at)
        self._complaints = Complaints(logs.get("problems"))
        self._store_errors: Counter[str] = Counter(dict.fromkeys(STORE_OPERATIONS, 0))
        self._keeper = SiteKeeper(clock=self._clock, reporter=self)
        self._store = Store(
            config.store.database_url(config.directory),
            migrations=MIGRATIONS,
            on_error=self._note_store_error,
            clock=self._clock,
        )
        # A connection of its own: the lease waits for one write at most, and for no queue of operations.
        self._lease_store = Store(
            config.store.database_url(config.directory),
            migrations=MIGRATIONS,
            on_error=self._note_store_error,
            clock=self._clock,
        )
        self._works = False
        self._next_config: Configuration | None = None  # valid on standby, and used after it
        self._bookkeeper = Bookkeeper(
            self._store,
            replica=config.store.replica,
            minutes_s=config.store.keep.minutes,
            findings_s=config.store.keep.findings,
            clock=self._clock,
            reporter=self,
        )
        self._minutes = MinuteKeeping(
            self._store,
            replica=config.store.replica,
            incarnation=self._bookkeeper.incarnation,
            keep_s=config.store.keep.minutes,
            clock=self._clock,
            reporter=self,
            samples=self._measured,
        )
        self._budgets = BudgetKeeping(
            self._store,
            objectives=config.objectives,
            until=lambda now_at: last_final_minute(self._config, now_at),
            clock=self._clock,
            reporter=self,
        )
        self._latching = Latching(self._store, clock=self._clock, reporter=self)
        form, level = logged
        self._lagging = LagMonitor(
            config,
            clock=self._clock,
            reporter=self,
            log_format=form,
            log_level=level,
            keeping=LagKeeping(
                self._store,
                replica=self._kept_as,
                clock=self._clock,
                reporter=self,
            ),
            on_offsets=self._note_offsets,
        )
        self._audit = FailoverAudit(
            config, clock=self._clock, reporter=self, log_format=form, log_level=level
        )
        self._connect = ConnectWatch(
            config, clock=self._clock, random=SystemRandom(), reporter=self, tell=self._lagging.note_states
        )
        self._checksums = ChecksumFollowing(
            ChecksumHistory(self._store),
            config.topology.flows,
            keep_s=config.store.keep.findings,
            clock=self._clock,
            reporter=self,
        )
        self._judging = Judging(
            lag_of=self._lagging.evidence,
            checksum_of=self._checksums.evidence,
            unanswered=self._lagging.unanswered,
            tell=lambda line: getattr(self._log, line.level)(line.sentence, **line.facts),
        )
        self._incidents = IncidentKeeping(
            self._store,
            samples=self._samples,
            observer=self._bookkeeper.incarnation,
            incidents_s=config.store.keep.findings,
            minutes_s=config.store.keep.minutes,
            clock=self._clock,
            reporter=self,
        )
        self._server = HttpServer(self._clock, problem=self.problem, settled=self.settled)
        self._leading = self._make_leading()
        peers = self._leading or Alone(config.store.replica)
        self._replicas = Replicas(
            peers, clock=self._clock, works=lambda: self._works, tls=OwnCertificate(self._certificate_files)
        )
        self._prober: Prober | None = None
        self._reloading: Reloading | None = None
        self._never = asyncio.Event()  # for waits that end only by timeout

    async def run(self, shutdown: Shutdown) -> None:
        """Serve until the first signal; raises UnavailableError if port or store is unavailable."""
        sys.setswitchinterval(SWITCH_S)
        allow_many_files()
        use_enough_threads()
        # The port first: without it, this process must not take over the state of a running one.
        await self._server.bind(self._config.http)
        try:
            await self._store.open()
            if self._leading is None:
                await self._work(shutdown)
            elif await self._stand_by(self._leading, shutdown):
                await self._lead(self._leading, shutdown)
        finally:
            await self._server.stop()
            await self._store.close()
            await self._lease_store.close()
        self._log.info("mirrorwatch has stopped")

    async def _lead(self, leading: Leading, shutdown: Shutdown) -> None:
        """Work the shard; the lease is renewed from now until it is released."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(leading.keep(self._never))
            await self._work(shutdown)
            keeping.cancel()

    async def _work(self, shutdown: Shutdown) -> None:
        """Take over what the store has, and watch until the first signal."""
        installation = await installation_id(self._store)
        await self._bookkeeper.begin(
            (flow.name for flow in self._config.canary_flows),
            dead="" if self._leading is None else self._leading.former,
            alive=() if self._leading is None else self._leading.holders,
            others=(flow.name for flow in self._config.flows_elsewhere),
        )
        await self._warn_of_duplicates()
        self._prober = prober = Prober(
            self._config.canary_flows,
            self._config.touched,
            self._config.canary,
            installation=installation,
            memory=self._bookkeeper,
            inherited=await self._bookkeeper.load(),
            clock=self._clock,
            reporter=self,
            latches=await self._latching.read(),
            on_latched=self._latching.note,
        )
        prober.self_check.on_clock_set.append(self._move_instants)
        self._judge(prober)
        self._reloading = self._make_reloading(prober, shutdown.reload)
        if self._leading is None:
            await self._serve(self._application())
        self._works = True
        self._log.info("mirrorwatch is up", version=self._version, url=self._server.url)
        for warning in self._config.warnings:
            self._log.warning(str(warning))
        # Freeze the imported objects: a full collection over them would stop the event loop and the taps
        # for a tenth of a second, and for seconds on a slow machine.
        gc.collect()
        gc.freeze()
        await self._watch(prober, self._reloading, shutdown)

    async def _serve(self, app: web.Application) -> None:
        config = self._config
        await self._server.start(app, config.http, web_config=config.web_config)

    async def _stand_by(self, leading: Leading, shutdown: Shutdown) -> bool:
        """Answer until this replica leads its group; return False if it is to stop before."""
        await self._lease_store.open()
        app = self._application()
        app.middlewares.append(
            standby_answers(
                leading,
                self._replicas.forwarder,
                works=lambda: self._works,
                sees=lambda: leading.sees,
                samples=self._standby_samples,
            )
        )
        await self._serve(app)
        async with asyncio.TaskGroup() as group:
            checking = group.create_task(self._check_reloads(shutdown.reload))
            leads = await leading.stand_by(shutdown.stopping)
            checking.cancel()
        if not leads:
            return False
        self._store.guard = leading.guard
        assert leading.shard is not None
        self._use(self._config.of_shard(leading.shard))
        shutdown.reload.set()  # the file may have changed while it waited
        return True

    async def _check_reloads(self, asked: asyncio.Event) -> None:
        """Report whether the file is valid, whenever asked to reload while on standby."""
        while True:
            await asked.wait()
            asked.clear()
            try:
                found = await asyncio.to_thread(read_configuration, self._config.path, environ=os.environ)
            except (ConfigurationError, UnavailableError, RefusedError) as error:
                self._note_reload(ok=False)
                self._log.error(
                    "the configuration cannot be used when this replica leads", problems=str(error)
                )
            else:
                self._learn(found.secrets)
                self._note_reload(ok=True)
                self._next_config = found
                self._log.info("the configuration is valid; it is used when this replica leads")

    def _make_leading(self) -> Leading | None:
        config = self._config
        if config.store.group is None:
            return None
        return Leading(
            self._lease_store,
            group=config.store.group,
            count=config.store.shards,
            holder=self._bookkeeper.incarnation,
            replica=config.store.replica,
            facts=lambda: facts_of(
                self._next_config or self._config,
                running=self._config.canary,
                url=config.http.url_for_replicas(self._server.url),
                version=self._version,
            ),
            flow_shards=lambda: self._config.flow_shards,
            clock=self._clock,
            reporter=self,
        )

    async def _watch(self, prober: Prober, reloads: Reloading, shutdown: Shutdown) -> None:
        async with asyncio.TaskGroup() as group:
            judging = group.create_task(self._keep_judging(prober))
            writing = [
                group.create_task(self._bookkeeper.keep(prober.flows)),
                group.create_task(self._latching.keep(prober)),
                group.create_task(self._minutes.keep()),
                group.create_task(self._incidents.keep()),
            ]
            endless = [
                *writing,
                group.create_task(prober.pump()),
                group.create_task(prober.self_check.watch()),
                group.create_task(self._budgets.keep()),
                group.create_task(self._keep_syncs()),
                group.create_task(self._connect.keep()),
                group.create_task(self._checksums.keep()),
            ]
            for site in prober.sites.values():
                self._keeper.begin(site, prober, group)
            reloading = group.create_task(reloads.keep(prober, group))
            group.create_task(self._lagging.keep(shutdown.stopping))
            group.create_task(self._audit.keep(shutdown.stopping))
            sending = group.create_task(prober.send(shutdown.stopping))
            await shutdown.stopping.wait()
            await reloads.end()
            rest = "waiting for those in flight" if self._leading is None else "the next leader takes over"
            self._log.info(f"stopping: no more probes; {rest}")
            judging.cancel()  # probes that are not sent any more must not look like a fault
            self._keeper.close()  # the taps read on until the prober is closed
            await sending
            if self._leading is None:
                await prober.drain_flights()
            else:
                await _ended(writing)  # a write after the last one would undo it
                await self._write_last(prober)
                await self._leading.release()
                self._works = False  # the next leader has the flows
            await prober.close()
            await self._keeper.end_all()
            for task in (*endless, reloading):
                task.cancel()
        if self._leading is None:
            await self._write_last(prober)
        for name, held in prober.flows.items():
            self._log.info("final counters", flow=name, **held.watch.counters.as_dict())

    async def _write_last(self, prober: Prober) -> None:
        await self._bookkeeper.end(prober.flows)
        await self._minutes.end()
        await self._latching.look(prober)
        await self._incidents.end()

    async def _keep_syncs(self) -> None:
        keep_s = self._config.store.keep.syncs
        await follow_syncs(self._store, self._lagging, keep_s=keep_s, clock=self._clock, reporter=self)

    def _measured(self) -> dict[str, MinuteSample]:
        """Return the values of each flow for reports."""
        assert self._prober is not None
        return measured_of(
            self._prober,
            self._lagging.recovery_points(),
            self._checksums.audits,
            now=Instant(self._clock.monotonic_ns(), self._clock.wall_s()),
        )

    async def _warn_of_duplicates(self) -> None:
        warning = duplicate_warning(
            await self._store.read(incarnations),
            replica=self._config.store.replica,
            incarnation=self._bookkeeper.incarnation,
            now_at=self._clock.wall_s(),
            probing=any(not flow.off for flow in self._config.canary_flows),
        )
        if warning is not None:
            self._log.warning(warning, store=self._store.where)

    # --- reload

    def _make_reloading(self, prober: Prober, asked: asyncio.Event) -> Reloading:
        def read(running: CanaryConfig | None) -> Configuration:
            found = read_configuration(self._config.path, environ=os.environ, running=running)
            self._learn(found.secrets)
            return found.of_shard(self._config.shard)

        def use(config: Configuration, changes: Changes) -> None:
            former = self._config
            self._use(config)
            self._server.use_tokens(config.http)
            self._server.use_tls(config.web_config)
            if config.web_config.users != former.web_config.users:  # otherwise keep verified passwords
                self._server.use_users(config.web_config)
            self._judging.forget(changes.stopped)
            for where in about_unused_topics(self._complaints.active(), prober):
                self.settled(where)
            self._judge(prober)

        def note(ok: bool) -> None:
            self._next_config = None
            self._note_reload(ok)

        return Reloading(
            asked,
            read=read,
            running=lambda: self._config,
            load=self._bookkeeper.load,
            use=use,
            removed=self._forget,
            note=note,
            keeper=self._keeper,
            reporter=self,
        )

    def _use(self, config: Configuration) -> None:
        """Use another configuration in all parts but the canary."""
        self._config = config
        self._lagging.use(config)
        self._audit.use(config)
        self._connect.use(config)
        self._checksums.use(config.topology.flows)
        self._budgets.use(config.objectives)

    def _kept_as(self) -> str:
        """Return under which name the store has the state of the lag monitor."""
        store, shard = self._config.store, self._config.shard
        if store.group is None:
            return store.replica
        return store.group if shard.count == 1 else f"{store.group}/{shard.number}/{shard.count}"

    def _note_reload(self, ok: bool) -> None:
        self._last_reload = LastReload(ok, self._clock.wall_s() if ok else self._last_reload.ok_at)

    def _forget(self, alias: str) -> None:
        """Clear the problems of a removed cluster."""
        for where in about_cluster(self._complaints.active(), alias):
            self.settled(where)

    # --- operator requests

    @property
    def http(self) -> HttpConfig:
        """Return the current section `http`."""
        return self._config.http

    async def reload(self) -> Reloaded:
        """Read the configuration again and apply it."""
        assert self._reloading is not None
        return await self._reloading.ask()

    async def resume(self, source: str, topic: str) -> Latch | None:
        """Lift the latch of this topic; None if there is none. Raises UnavailableError."""
        assert self._prober is not None
        return await self._latching.lift(self._prober, source, topic)

    # --- verdicts

    async def _keep_judging(self, prober: Prober) -> None:
        while True:
            self._judge(prober)
            await self._clock.wait(self._never, timeout_s=JUDGE_S)

    def _judge(self, prober: Prober) -> None:
        prober.self_check.notice()  # before reading the time: it detects a changed clock
        self._judging.judge(prober, now_at=self._clock.wall_s())
        for alias, site in prober.sites.items():
            if site.reached:
                self._keeper.note_reached(alias)

    def _samples(self) -> dict[tuple[str, str, str], Sample]:
        """Return the state of each flow for incidents."""
        assert self._prober is not None
        return samples_of(self._prober, self._judging.verdicts, self._lagging, clock=self._clock)

    def _note_offsets(
        self, flow: str, topic_id: str, next_offsets: Mapping[int, int], settles_s: float
    ) -> None:
        """Pass the mirror's committed offsets of the canary topic to the prober."""
        if self._prober is not None:
            self._prober.note_positions(flow, topic_id, next_offsets, settles_s=settles_s)

    def _move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        self._lagging.move_instants(by_s)
        self._keeper.move_instants(by_s)
        self._complaints.move_instants(by_s)
        self._started_at += by_s
        self._last_reload = replace(self._last_reload, ok_at=self._last_reload.ok_at + by_s)
        self._judging.move_instants(by_s)
        self._incidents.move_instants(by_s)
        self._minutes.move_instants(by_s)

    # --- reporter of the canary's loops

    def problem(self, where: str, sentence: str) -> None:
        """Report a problem that a user must fix: once, and again at long intervals."""
        self._complaints.say(where, sentence, self._clock.wall_s())

    def settled(self, where: str) -> None:
        """Report that a problem is solved."""
        self._complaints.clear(where, self._clock.wall_s())

    def event(self, sentence: str, **facts: object) -> None:
        """Log an event."""
        self._log.info(sentence, **facts)

    # --- the store

    def _note_store_error(self, operation: str) -> None:
        self._store_errors[operation] += 1

    # --- HTTP

    def _application(self) -> web.Application:
        app = application(log=logs.get("http"))
        page, replicas = Page(), self._replicas
        lagging = replicas.lag_monitor(self._lagging)
        groups, complete = GroupCounts(lagging, clock=self._clock).view, replicas.complete
        app.add_routes(
            [
                *health_routes(self.samples, self._untried, self._lagging, self._audit),
                *about_routes(self._version),
                *lag_monitor_routes(lagging, page=page, clock=self._clock, now_of=self._now_of),
                *failover_routes(replicas.failover_audit(self._audit)),
                *counts_routes(self._checksums, clock=self._clock),
                *routes(self.view, page=page, groups=groups, complete=complete),
                *incident_pages(self.view, self._incidents, page=page, aims=self._aims, complete=complete),
                *operator_routes(self, clock=self._clock, reload_others=replicas.reload),
                *checksum_routes(
                    self._checksums,
                    lambda: self._config.http,
                    render=partial(report_page.render, sheet=page.sheet("page.css", "report.css")),
                    clock=self._clock,
                    elsewhere=replicas.knows,
                ),
                *replicas.routes(self.view, lagging=self._lagging, audit=self._audit),
            ]
        )
        app.middlewares.append(replicas.middleware(page, groups_on=lambda: self._lagging.on))
        app.on_cleanup.append(replicas.close)
        return app

    def _certificate_files(self) -> tuple[Path, Path] | None:
        """Return the certificate and the key that requests to other replicas present, if any."""
        config = self._config
        path = config.http.web_config_path(config.directory)
        return None if path is None else presented_files(config.web_config.tls_settings, path.parent)

    def _now_of(self, flow: str) -> FlowState | None:
        verdict = self._judging.verdicts.get(flow)
        return None if verdict is None else flow_status(verdict).now

    def _aims(self) -> Aims:
        whole = self._config.whole
        return Aims(whole.objectives, whole.flow_facts)

    def _links(self, service: str = "") -> PageLinks:
        return PageLinks(service, grafana=self._config.links.grafana, runbooks=self._config.links.runbooks)

    def _untried(self) -> set[str]:
        """Return the clusters that were neither reached nor failed yet."""
        config = self._config
        return (set(config.touched) - self._keeper.tried) | self._lagging.untried(config.lone)

    def view(self) -> ServiceView:
        """Return the view for the pages."""
        assert self._prober is not None
        view = service_view(
            self._config,
            self._prober,
            version=self._version,
            clock=self._clock,
            started_at=self._started_at,
            verdicts=self._judging.verdicts,
            by_offsets=self._lagging.recovery_points(),
            lost=self._lagging.lost(),
            events=self._lagging.events(),
            unanswered=self._lagging.unanswered,
            standing=self._lagging.standing,
            states=self._keeper.states,
            complaints=self._complaints.active(),
            checksums=self._checksums.audits,
            failover=self._audit.flows,
        )
        flows = tuple(self._budgets.shown(self._incidents.shown(flow)) for flow in view.flows)
        outside = self._links(self._config.http.external_url or "")
        return replace(view, flows=flows, links=self._links(), outside=outside)

    def samples(self) -> ServiceSamples:
        """Return what Prometheus scrapes of the service itself."""
        assert self._prober is not None
        return service_samples(self._config, self._prober, self._sampled(), self._clock)

    def _standby_samples(self) -> ServiceSamples:
        return standby_samples(self._sampled())

    def _sampled(self) -> Sampled:
        return Sampled(
            version=self._version,
            revision=self._revision,
            last_reload=self._last_reload,
            verdicts=self._judging.verdicts,
            states=self._keeper.states,
            store_errors=self._store_errors,
            by_offsets=self._lagging.recovery_points(),
            lag_collected=self._lagging.collected,
            unanswered=self._lagging.unanswered,
            standing=self._lagging.standing,
            checksums=self._checksums.series,
            incidents={one.flow for one in self._incidents.open},
            objectives=self._budgets.objectives,
            leading=self._leading,
        )


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
