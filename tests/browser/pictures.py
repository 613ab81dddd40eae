"""Draw the pictures of the documentation: `python -m tests.browser.pictures docs/images`.

The pages are the product's own, over the flows, groups and incidents that the tests of pages use.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from aiohttp import web
from playwright.async_api import async_playwright

from alerts.objectives import Exclusion, defaults_of
from alerts.reports import BadMinute, ObjectiveReport, Report, Tally, figures_of
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.groups import GroupCounts, group_routes
from mirrorwatch.web.routes.incidents import Aims, incident_pages
from mirrorwatch.web.routes.lag import lag_routes
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.mirrors import mirror_routes
from tests.lagmon.mirror_flows import Mirrored
from tests.mirrorwatch import views
from tests.mirrorwatch.monitored import Monitored
from tests.mirrorwatch.stored_incidents import ENDED, OPEN, Incidents
from tests.mirrorwatch.web.pages.test_mirrors import Monitor

_FIRST_DAY = 20_756  # since the epoch
_DAYS = 28


class _Ended(Incidents):
    def __init__(self):
        super().__init__()
        self.all = (OPEN, ENDED)


def _groups():
    made = Monitored("A", "B")
    for alias in "AB":
        made.topic(alias, "orders", 6)
    made.group("A", "billing", "orders", "stopped", "growing", "rewound", "moving", "stalled", "moving")
    made.group("A", "search-index", "orders", "growing")
    made.group("B", "reports", "orders", "moving")
    made.group("B", "audit", "orders", "moving")
    return made


def _mirror():
    """Return a mirror that stopped and was overtaken by retention in one partition."""
    flow = Mirrored({"orders": 2, "page-views": 3, "payments": 2})
    names = [(topic, number) for topic, count in flow.flow.source.topics.items() for number in range(count)]

    def running():
        for topic, number in names:
            flow.write(70, topic, partition=number)
            flow.commit(topic, partition=number)

    def stopped():
        for topic, number in names:
            flow.write(70, topic, partition=number, copied=False)

    flow.go(300, each=running)
    flow.go(260, each=stopped)
    flow.starts["page-views", 1] = flow.ends["page-views", 1] - 12_900
    return flow.go(20, each=stopped)


def _report():
    """Return a report of 28 days with an outage and three lost records."""
    found, start = [], _FIRST_DAY * 1440
    for one in defaults_of("A->B", "A", "B", has_canary=True):
        per_minute = 60
        bad = {"availability": (20, 600), "freshness": (20, 1400), "loss": (25, 3)}.get(str(one.kind))
        tallies = []
        for day in range(_DAYS):
            minutes = ()
            if bad is not None and day == bad[0]:
                what = "records lost" if bad[1] == 3 else "stalled: mirror_down"
                spread = min(10, bad[1])
                at = (_FIRST_DAY + day) * 1440 + 998
                minutes = tuple(BadMinute(at + n, bad[1] // spread, what) for n in range(spread))
            count = sum(each.bad for each in minutes)
            valid = 1440 * per_minute
            tallies.append(Tally(_FIRST_DAY + day, 1440.0, valid - count, valid, 0, minutes))
        found.append(ObjectiveReport(one, figures_of(one, tallies, [(start, start + _DAYS * 1440)])))
    left_out = Exclusion(1, "A->B", start + 20_000, start + 20_100, "Ann Lee", "broker upgrade")
    return Report(start, start + _DAYS * 1440, tuple(found), (left_out,), ())


async def _serve(*parts):
    application = web.Application()
    for each in parts:
        application.add_routes(each)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


def _whole(flow):
    return replace(flow, bars=views.bars(), objectives=views.objectives(flow), failover=views.failover())


async def _draw(folder: Path) -> None:
    waits = (views.evidence("a canary record has waited on A for 42 s"),)
    stalled = views.flow(verdict=Verdict.STALLED, evidence_rows=waits)
    stalled = _whole(replace(stalled, incident=OPEN, recent=(OPEN, ENDED)))
    healthy = views.flow("B", "A", sentence="Canary records arrive on 6 of 6 partitions.")
    losing = replace(views.flow(verdict=Verdict.LOSING), lost_records=Bounds(270, 420), bars=views.bars())
    links = PageLinks(grafana="https://grafana.example.com")
    groups, mirror, page = _groups(), _mirror(), Page()
    facts = (SimpleNamespace(name="A->B", probes_per_s=6.0),)
    aims = Aims(defaults_of("A->B", "A", "B", has_canary=True), facts)

    def look(*flows):
        return lambda: replace(views.service(*flows), links=links)

    first, first_url = await _serve(
        routes(
            look(losing, replace(healthy, bars=views.bars(bad=Verdict.LATE))),
            groups=GroupCounts(groups, clock=groups).view,
        )
    )
    second, second_url = await _serve(
        [
            *routes(look(stalled), page=page),
            *incident_pages(look(stalled), _Ended(), page=page, aims=lambda: aims),
        ]
    )
    third, third_url = await _serve(
        [
            *lag_routes(groups),
            *group_routes(groups, page=page, clock=groups),
            *routes(look(views.flow()), page=page),
        ]
    )
    monitor = Monitor(mirror)
    fourth, fourth_url = await _serve(
        [
            *mirror_routes(monitor, page=page, clock=monitor),
            *routes(lambda: views.service(views.flow()), page=page),
        ]
    )
    report = folder / "report.html"
    report.write_text(Page().report(_report()), encoding="utf-8")
    pictures = {
        "page.png": (first_url, 1240, 1600),
        "flow.png": (f"{second_url}/flows/A:B", 1100, None),
        "incident.png": (f"{second_url}/incidents/{ENDED.incident}", 1100, None),
        "groups.png": (f"{third_url}/groups", 1180, None),
        "group.png": (f"{third_url}/groups/A/billing", 1180, 1120),
        "mirror.png": (f"{fourth_url}/flows/A-%3EB/offsets", 1280, 1500),
        "report.png": (report.as_uri(), 1300, None),
    }
    path = os.environ.get("MIRRORWATCH_CHROMIUM") or shutil.which("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, (address, width, height) in pictures.items():
            sheet = await browser.new_page(viewport={"width": width, "height": height or 600})
            await sheet.goto(address)
            await sheet.screenshot(path=folder / name, full_page=height is None)
        await browser.close()
    report.unlink()
    for runner in (first, second, third, fourth):
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_draw(Path(sys.argv[1])))
