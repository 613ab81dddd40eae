"""Replicas of a group on loopback: each an application with all routes, over the flows and groups of its shard."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from types import SimpleNamespace

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from canary.persistence.latches import Latch
from fleet.shards import Shard
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Verdict
from lagmon.burrow.api import BurrowCluster
from lagmon.burrow.api import answer as burrow_answer
from mirrorwatch.configuration.reloading import Reloaded
from mirrorwatch.failover.audit.rounds import FlowAudit
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.checksums import checksum_routes
from mirrorwatch.web.routes.counts import counts_routes
from mirrorwatch.web.routes.failover import failover_routes
from mirrorwatch.web.routes.groups import GroupCounts
from mirrorwatch.web.routes.health import health_routes
from mirrorwatch.web.routes.incidents import incident_pages
from mirrorwatch.web.routes.lag_monitor import lag_monitor_routes
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.operator import operator_routes
from mirrorwatch.web.routes.replicas import Replicas
from runtime.config.sections import HttpConfig
from runtime.http.guards import sign_in
from runtime.http.server import application
from tests.mirrorwatch import views
from tests.mirrorwatch.failover.audit.audited import AT, Process
from tests.mirrorwatch.failover.test_text import FOUND
from tests.mirrorwatch.monitored import NOW_S, Monitored
from tests.mirrorwatch.stored_incidents import Incidents
from tests.mirrorwatch.web.routes import test_checksums as test_routes_checksums
from tests.mirrorwatch.web.routes import test_counts as test_routes_counts
from tests.runtime.fake_clock import FakeClock

TOKEN = "0perator"
OURS = {"Authorization": f"Bearer {TOKEN}"}
# Flows and groups by shard; each group with its kinds of partitions, see `monitored`.
FLOWS = {1: ("A->B", "D->A"), 2: ("A->C", "B->C"), 3: ("C->A",)}
GROUPS = {
    1: {("A", "billing"): ("moving", "stopped"), ("A", "shipping"): ("moving",), ("B", "x"): ("growing",)},
    2: {("A", "reports"): ("overtaken",), ("B", "billing"): ("moving",), ("A", "a/b"): ("stopped", "moving")},
    3: {("A", "late"): ("growing", "moving"), ("B", "y"): ("stopped",)},
}
VERDICTS = {"D->A": Verdict.LATE, "B->C": Verdict.LOSING}


class Peers:
    """The replicas by shard, as each of them knows them; a test changes the addresses."""

    def __init__(self, number, urls, flows=FLOWS):
        self.count = len(flows)
        self.shard = Shard(number, self.count)
        self.replica = f"replica-{number}"
        self.urls = urls
        self._flows = flows

    def url(self, number):
        return self.urls.get(number, "")

    def number_of(self, flow):
        return next((number for number, flows in self._flows.items() if flow in flows), None)

    def flows_of(self, number):
        return self._flows[number]


class Lagging(Monitored):
    """The lag monitor of a shard, or of several."""

    def __init__(self, *shards):
        super().__init__("A", "B")
        for alias in "AB":
            self.topic(alias, "orders")
        for shard in shards:
            for (alias, group), kinds in GROUPS[shard].items():
                self.group(alias, group, "orders", *kinds)

    async def ask(self, question, **details):
        if question == "flow":
            return {"status": 200}, json.dumps(
                {"flow": details["flow"], "from": sorted(self.shards)}
            ).encode()
        if question != "burrow":
            return await super().ask(question, **details)
        clusters = {alias: BurrowCluster(alias, watch.lag) for alias, watch in self.watches.items()}
        path = details["path"]
        status, document = burrow_answer(path, clusters, host="h", url=path, now_ms=NOW_S * 1000)
        return {"status": int(status)}, json.dumps(document).encode()


class Orders:
    """Reloads, and lifts the latch of A's canary topic."""

    def __init__(self, number, flows):
        self.http = HttpConfig(tokens={"operator": TOKEN, "audit": "aud1t"}, reload=True)
        self.flows = flows
        self.latched = True
        self.reloads = 0
        self.outcome = Reloaded(
            (f"flows of shard {number}: changed", "http.tokens: changed"), ("http.listen: later",)
        )

    def view(self):
        return _view(self.flows)

    async def resume(self, source, topic):
        latched, self.latched = self.latched, False
        return Latch(source, topic, "one", 5.0, "it came back") if latched else None

    async def reload(self):
        self.reloads += 1
        return self.outcome


class Runs(test_routes_counts.Kept):
    """Runs and counts of the flows of a shard; the store of runs is shared."""

    def __init__(self, flows, documents):
        super().__init__()
        self.flows = flows
        self.kept = test_routes_checksums.Kept()
        self.kept.documents = documents
        self.take, self.settle = self.kept.take, self.kept.settle

    def knows(self, flow):
        return flow in self.flows

    async def document(self, name):
        found = await self.kept.document(name)
        return found if found is not None and found["flow"] in self.flows else None


class Replica:
    """One replica, or one service that watches all shards."""

    def __init__(self, page, documents, *shards, peers=None, users=None):
        self.clock = FakeClock(wall_s=views.NOW_AT)
        flows = [flow for shard in shards for flow in FLOWS[shard]]
        self.flows, self.peers = flows, peers
        self.problems = ()
        self.lagging = Lagging(*shards)
        self.lagging.shards = shards
        self.audit = Process({flow: _audited(flow) for flow in flows})
        self.orders = Orders(shards[0], flows)
        self.runs = Runs(flows, documents)
        self.users = users
        self.tokens = {"operator": TOKEN}
        self.requests = []
        self.app = self._application(page)
        self.server = TestServer(self.app)
        self.client = TestClient(self.server)

    def view(self):
        return replace(_view(self.flows), problems=self.problems)

    @property
    def url(self):
        return str(self.server.make_url("")).rstrip("/")

    async def get(self, path, status=200, **more):
        answer = await self.client.get(path, allow_redirects=False, **more)
        text = await answer.text()
        assert answer.status == status, text
        return text

    async def json(self, path, status=200, **more):
        return json.loads(await self.get(path, status, **more))

    def _application(self, page):
        app, lagging, audit = application(), self.lagging, self.audit
        complete, self.replicas = None, None
        more = {}
        if self.peers is not None:
            self.replicas = Replicas(self.peers, clock=self.clock)
            lagging, audit = self.replicas.lag_monitor(lagging), self.replicas.failover_audit(audit)
            complete = self.replicas.complete
            more = {"reload_others": self.replicas.reload}
        view = {} if complete is None else {"complete": complete}
        app.add_routes(
            [
                *health_routes(lambda: None, tuple),
                *lag_monitor_routes(lagging, page=page, clock=self.clock),
                *failover_routes(audit),
                *counts_routes(self.runs, clock=self.clock),
                *routes(self.view, page=page, groups=GroupCounts(lagging, clock=self.clock).view, **view),
                *incident_pages(self.view, Incidents(), page=page, **view),
                *operator_routes(self.orders, clock=self.clock, **more),
                *checksum_routes(
                    self.runs,
                    lambda: self.orders.http,
                    render=str,
                    clock=self.clock,
                    elsewhere=(lambda _flow: False) if self.replicas is None else self.replicas.knows,
                ),
            ]
        )
        app.middlewares.append(sign_in(lambda: self.users, lambda: self.tokens))

        @web.middleware
        async def note(request, handler):
            self.requests.append((request.method, request.raw_path, dict(request.headers)))
            return await handler(request)

        app.middlewares.append(note)
        if self.replicas is not None:
            app.add_routes(self.replicas.routes(self.view, lagging=self.lagging, audit=self.audit))
            app.middlewares.append(self.replicas.middleware(page, groups_on=lambda: self.lagging.on))
            app.on_cleanup.append(self.replicas.close)
        return app


@contextlib.asynccontextmanager
async def group(*numbers, users=None, one=True):
    """Give replicas with these shards (all by default), and one service that watches all of them."""
    page, urls, documents = Page(), {}, {}
    replicas = {
        number: Replica(page, documents, number, peers=Peers(number, urls), users=users)
        for number in numbers or FLOWS
    }
    single = Replica(page, documents, *FLOWS)
    async with contextlib.AsyncExitStack() as stack:
        for each in (*replicas.values(), single):
            await stack.enter_async_context(each.client)
        urls |= {number: each.url for number, each in replicas.items()}
        yield SimpleNamespace(replicas=replicas, single=single, urls=urls, documents=documents)


def _view(flows):
    shown = []
    for flow in sorted(flows):
        source, target = flow.split("->")
        shown.append(views.flow(source, target, VERDICTS.get(flow, Verdict.HEALTHY)))
    return views.service(*shown, down={"E": "no answer"})


def _audited(flow):
    """Return the audit of a flow, with the groups of every shard."""
    source, target = flow.split("->")
    return FlowAudit(Flow(source, target), replace(FOUND, flow=Flow(source, target)), AT)
