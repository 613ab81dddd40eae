"""The whole API over faked clusters: the lag monitor's own answers, and runs and latches that a test makes up."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from lagmon.mirrors.answers.flows import MirrorAnswers
from mirrorwatch.service.view import ChecksumRunView, ChecksumView, EventView, UnreachedView
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.about import about_routes
from mirrorwatch.web.routes.checksums import checksum_routes
from mirrorwatch.web.routes.counts import counts_routes
from mirrorwatch.web.routes.failover import failover_routes
from mirrorwatch.web.routes.incidents import incident_pages
from mirrorwatch.web.routes.lag_monitor import lag_monitor_routes
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.operator import operator_routes
from runtime.config.sections import HttpConfig
from runtime.config.web import WebConfig
from runtime.http.server import HttpServer, application
from tests.lagmon.mirror_flows import Mirrored
from tests.mirrorwatch import views
from tests.mirrorwatch.failover.audit.audited import Process
from tests.mirrorwatch.monitored import Monitored
from tests.mirrorwatch.stored_incidents import Incidents
from tests.mirrorwatch.told_runs import run
from tests.mirrorwatch.web.routes import test_checksums as test_routes_checksums
from tests.mirrorwatch.web.routes import test_counts as test_routes_counts
from tests.mirrorwatch.web.routes import test_operator as test_routes_operator
from tests.runtime.fake_clock import FakeClock

AUDIT, OPERATOR = "t0ken", "0perator"
HTTP = HttpConfig(listen="127.0.0.1:0", tokens={"audit": AUDIT, "operator": OPERATOR})
RUN = ChecksumRunView("r1", 1.0, 2.0, 0, 1.0, 10, 10, {"match": 10}, 0, 0, 0, 0, 1, not_due=3)


class Hurried(FakeClock):
    """A clock on which a minute passes between two requests, so that none comes too soon."""

    def monotonic_ns(self):
        self.advance(60)
        return super().monotonic_ns()


class LagMonitor:
    """The lag monitor: groups of two clusters, and a flow whose mirror left records out."""

    on = True

    def __init__(self):
        self.groups = Monitored("A", "B")
        for alias in "AB":
            self.groups.topic(alias, "orders")
        self.groups.group(
            "A", "billing", "orders", "moving", "stopped", "growing", "overtaken", "absurd", "once"
        )
        self.groups.group("A", "a/b", "orders", "moving")
        self.flow = Mirrored({"orders": 2, "wide": 20})
        self.flow.go(120, each=self._move)
        self.flow.target_ends["A.wide", 0] += 450
        self.flow.a.note_topics({**self.flow.a.topics, "new": 1})
        self.flow.go(200, each=self._move)
        self._flows = MirrorAnswers([self.flow.flow], [threading.Lock()], clock=self)

    def wall_s(self):
        return self.flow.now / 1000

    async def ask(self, question, **details):
        if question != "flow":
            return await self.groups.ask(question, **details)
        answer = self._flows.answer_flow(details)
        return answer.head, b"".join(answer.pieces)

    def _move(self):
        for partition in (0, 1):
            self.flow.write(10, partition=partition)
            self.flow.commit(partition=partition)


class Runs(test_routes_counts.Kept):
    """What keeps runs and counts."""

    def __init__(self):
        super().__init__()
        self.kept = test_routes_checksums.Kept()
        self.kept.documents["r1"] = run("r1", findings=[test_routes_checksums.finding()])
        self.take, self.settle, self.document = self.kept.take, self.kept.settle, self.kept.document


class Orders(test_routes_operator.Service):
    """What lifts latches; there is always one more."""

    def __init__(self):
        super().__init__()
        self.http = HTTP

    async def resume(self, source, topic):
        return self.latches.get((source, topic))


def view():
    """Return every shape that a flow may have."""
    event = EventView(
        "went_back",
        1.0,
        2.0,
        "orders",
        1,
        5,
        None,
        "again",
        (
            {
                "partition": 0,
                "from_offset": 5,
                "to_offset": 1,
                "times": 1,
                "records": 4,
                "records_most": 4,
            },
        ),
    )
    unreached = (UnreachedView("target", "B", (3,)),)
    losing = views.stalled_beside_losing()
    healthy = views.flow("B", "A", unreached=unreached)
    return views.service(
        views.replace(losing, events=(event,), checksum=ChecksumView(RUN, (RUN,)), failover=views.failover()),
        healthy,
        views.unprobed(),
        views.flow("C", "A", views.Verdict.UNKNOWN),
        down={"B": "no answer"},
        problems=(views.problem(),),
    )


def whole_application():
    """Return an application with all routes of the API, registered as the service does it."""
    app, clock, lagging, runs = application(), Hurried(), LagMonitor(), Runs()
    app.add_routes(
        [
            *about_routes("0.1.0"),
            *lag_monitor_routes(lagging, page=Page(), clock=clock),
            *failover_routes(Process()),
            *counts_routes(runs, clock=clock),
            *routes(view),
            *incident_pages(view, Incidents(), page=Page()),
            *operator_routes(Orders(), clock=clock),
            *checksum_routes(runs, lambda: HTTP, render=str, clock=clock),
        ]
    )
    return app


@contextlib.contextmanager
def served():
    """Serve it from a thread with a loop of its own; gives its address."""
    ready, found, loop = threading.Event(), [], asyncio.new_event_loop()

    async def start():
        server = HttpServer()
        await server.start(whole_application(), HTTP, web_config=WebConfig())
        found.append(server)
        ready.set()

    def work():
        asyncio.set_event_loop(loop)
        loop.create_task(start())
        loop.run_forever()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0].url
    finally:
        asyncio.run_coroutine_threadsafe(found[0].stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
