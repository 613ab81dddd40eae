"""The running service: it wires the canary to store, judge, page and metrics, and ends them in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING

from aiohttp import web

from canary.prober import Prober
from canary.tables import MIGRATIONS, carried_of, keep_carried
from canary.watch import Instant
from fleet.errors import UnavailableError
from fleet.judgement import follow
from fleet.series import STORE_OPERATIONS
from mirrorwatch.metrics import Exposition
from mirrorwatch.numbers import ClusterNumbers, FlowNumbers, ServiceNumbers
from mirrorwatch.routes import routes
from mirrorwatch.viewing import cluster_state, service_view
from runtime import logs
from runtime.clock import SystemClock
from runtime.complaints import Complaints
from runtime.http import HttpServer, application
from runtime.store import Store, installation_id
from runtime.supervision import Phase, State, supervise

if TYPE_CHECKING:
    from fleet.vocabulary import FlowVerdict
    from mirrorwatch.configuration import Configuration
    from mirrorwatch.view import ServiceView
    from runtime.shutdown import Shutdown

JUDGE_S = 0.25
CLOSE_S = 20.0
STORE_AGAIN_S = 5.0
MAX_UNWRITTEN = 10_000


class Service:
    """One process of Mirrorwatch. `run` returns when it was told to stop."""

    def __init__(self, config: Configuration) -> None:
        self._config = config
        self._clock = SystemClock()
        self._log = logs.get("service")
        self._version = version_of("mirrorwatch")
        self._started_at = self._clock.wall_s()
        self._complaints = Complaints(logs.get("problems"))
        self._store_errors: Counter[str] = Counter(dict.fromkeys(STORE_OPERATIONS, 0))
        self._verdicts: dict[str, FlowVerdict] = {}
        self._states: dict[str, tuple[State, float]] = {}
        self._tried: set[str] = set()
        self._unwritten: deque[tuple[str, str, int]] = deque()  # a row goes once it is in the store
        self._store = Store(
            config.store.database_url(config.directory),
            migrations=MIGRATIONS,
            on_error=self._note_store_error,
            clock=self._clock,
        )
        self._prober: Prober | None = None
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait

    async def run(self, shutdown: Shutdown) -> None:
        """Serve until the first signal; raises UnavailableError where port or store can't be had."""
        server = HttpServer()
        await self._store.open()
        try:
            installation = await installation_id(self._store)
            carried = await self._store.read(carried_of)
            self._prober = Prober(
                self._config.canary_flows,
                self._config.clients,
                self._config.canary,
                installation=installation,
                carried=carried,
                clock=self._clock,
                reporter=self,
                on_carried=self._note_carried,
            )
            self._judge(self._prober)
            await server.start(self._application(), self._config.http, web_config=self._config.web_config)
            self._log.info("mirrorwatch is up", version=self._version, url=server.url)
            for warning in self._config.warnings:
                self._log.warning(str(warning))
            await self._watch(self._prober, shutdown)
        finally:
            await server.stop()
            await self._store.close()
        self._log.info("mirrorwatch has stopped")

    async def _watch(self, prober: Prober, shutdown: Shutdown) -> None:
        closing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            judging = group.create_task(self._keep_judging(prober))
            endless = [
                group.create_task(prober.pump()),
                group.create_task(prober.doubts.watch()),
                group.create_task(self._keep_writing()),
            ]
            sites = [
                group.create_task(self._keep_site(prober, alias, closing)) for alias in self._config.clients
            ]
            sending = group.create_task(prober.send(shutdown.stopping))
            await shutdown.stopping.wait()
            self._log.info("stopping: no more probes are sent; waiting for those on their way")
            judging.cancel()  # what is not sent any more says nothing about the flows
            closing.set()  # the readers go on without their sites, until the prober is closed
            await sending
            await prober.drain_flights()
            await prober.close()
            await asyncio.wait(sites, timeout=CLOSE_S)
            for task in (*endless, *sites):
                task.cancel()
        await self._write_rest()
        for name, held in prober.flows.items():
            self._log.info("the books at the end", flow=name, **held.watch.books.as_dict())

    async def _keep_site(self, prober: Prober, alias: str, closing: asyncio.Event) -> None:
        site = prober.sites[alias]

        def tell(state: State) -> None:
            before = self._states.get(alias)
            failed = state.phase in (Phase.DOWN, Phase.REFUSED)
            if before is not None and state.phase is Phase.RUNNING and state.failures:
                return  # one more try: until it succeeds, all that is known is why the last one failed
            known = before is not None and before[0].phase is state.phase
            since_at = before[1] if known and before is not None else self._clock.wall_s()
            self._states[alias] = (state, since_at)
            if failed:
                self._tried.add(alias)
                self.problem(alias, state.sentence)

        async def work() -> None:
            await site.run(prober, closing)

        await supervise(
            alias, work, clock=self._clock, random=random.SystemRandom(), on_state=tell, stopping=closing
        )

    # --- verdicts

    async def _keep_judging(self, prober: Prober) -> None:
        while True:
            self._judge(prober)
            await self._clock.wait(self._never, timeout_s=JUDGE_S)

    def _judge(self, prober: Prober) -> None:
        now_at = self._clock.wall_s()
        for name in prober.flows:
            before = self._verdicts.get(name)
            verdict = follow(before, prober.evidence(name), now_at=now_at)
            self._verdicts[name] = verdict
            if before is None or (before.verdict, before.cause) != (verdict.verdict, verdict.cause):
                self._log.info(
                    verdict.sentence,
                    flow=name,
                    verdict=verdict.verdict.value,
                    cause=verdict.cause.value if verdict.cause else "none",
                )
        for alias, site in prober.sites.items():
            if site.reached:
                self._tried.add(alias)
                self.settled(alias)

    # --- the reporter of the canary's loops

    def problem(self, where: str, sentence: str) -> None:
        """Tell of something that needs a person: once, and again at a decent interval."""
        self._complaints.say(where, sentence, self._clock.wall_s())

    def settled(self, where: str) -> None:
        """Tell that it is over."""
        self._complaints.clear(where, self._clock.wall_s())

    def event(self, sentence: str, **facts: object) -> None:
        """Tell of something that happened."""
        self._log.info(sentence, **facts)

    # --- the store

    def _note_store_error(self, operation: str) -> None:
        self._store_errors[operation] += 1

    def _note_carried(self, flow: str, topic_id: str, partition: int) -> None:
        if len(self._unwritten) < MAX_UNWRITTEN:
            self._unwritten.append((flow, topic_id, partition))

    async def _keep_writing(self) -> None:
        while True:
            await self._write_rest()
            await self._clock.wait(self._never, timeout_s=STORE_AGAIN_S if self._unwritten else JUDGE_S)

    async def _write_rest(self) -> None:
        while self._unwritten and await self._write(self._unwritten[0]):
            self._unwritten.popleft()

    async def _write(self, row: tuple[str, str, int]) -> bool:
        flow, topic_id, partition = row
        at = self._clock.wall_s()
        try:
            await self._store.write(
                lambda connection: keep_carried(connection, flow, topic_id, partition, at)
            )
        except UnavailableError as error:
            self.problem("store", str(error))
            return False
        self.settled("store")
        return True

    # --- HTTP

    def _application(self) -> web.Application:
        app = application(log=logs.get("http"))
        exposition = Exposition(self.numbers)

        async def metrics(request: web.Request) -> web.Response:
            body, content_type = exposition.render(request.headers.get("Accept", ""))
            return web.Response(body=body, headers={"Content-Type": content_type})

        async def healthy(_request: web.Request) -> web.Response:
            return web.Response(text="mirrorwatch is running\n")

        async def ready(_request: web.Request) -> web.Response:
            missing = sorted(set(self._config.clients) - self._tried)
            if missing:
                text = f"not ready: {', '.join(missing)} not tried yet\n"
                return web.Response(status=503, text=text)
            return web.Response(text="ready\n")

        app.add_routes(
            [
                web.get("/metrics", metrics),
                web.get("/-/healthy", healthy),
                web.get("/-/ready", ready),
                *routes(self.view),
            ]
        )
        return app

    def view(self) -> ServiceView:
        """Return what the page shows."""
        assert self._prober is not None
        return service_view(
            self._config,
            self._prober,
            version=self._version,
            clock=self._clock,
            started_at=self._started_at,
            verdicts=self._verdicts,
            states=self._states,
            complaints=self._complaints.active(),
        )

    def numbers(self) -> ServiceNumbers:
        """Return what Prometheus is told."""
        prober = self._prober
        assert prober is not None
        now = Instant(self._clock.monotonic_ns(), self._clock.wall_s())
        clusters = []
        for alias, site in prober.sites.items():
            state, _, _ = cluster_state(site, self._states.get(alias), now.at)
            clusters.append(
                ClusterNumbers(
                    alias,
                    state == "up",
                    site.counts.last_success_at,
                    site.counts.errors,
                    site.control.counts,
                )
            )
        flows = []
        for name, held in prober.flows.items():
            verdict, arrival_ns = self._verdicts[name], held.watch.last_arrival_ns
            flows.append(
                FlowNumbers(
                    labels=(name, held.flow.source, held.flow.target),
                    policy=self._config.topology.flow(name).policy.kind.value,
                    verdict=verdict.verdict,
                    cause=verdict.cause,
                    books=held.watch.books.as_dict(),
                    histograms={stage.value: one for stage, one in held.watch.histograms.items()},
                    threshold_s=held.flow.threshold_s,
                    recovery_point_age_s=held.watch.recovery_point_age_s(now.ns),
                    last_arrival_at=None if arrival_ns is None else now.wall_of(arrival_ns),
                    partition_outcomes=(
                        held.watch.partition_outcomes if self._config.canary.per_partition else None
                    ),
                    partitions=tuple(one.partition for one in held.watch.standings),
                )
            )
        return ServiceNumbers(
            self._version, prober.doubts.loop_delay, self._store_errors, tuple(clusters), tuple(flows)
        )
