"""The pages of flows and incidents in a real browser: at every width, light and dark, current by themselves."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from aiohttp import web
from playwright.async_api import expect

from alerts.objectives import defaults_of
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.incidents import Aims, incident_pages
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
from tests.mirrorwatch.stored_incidents import ENDED, HOSTILE, OPEN, Incidents

pytestmark = pytest.mark.real

_SOON_MS = 15_000
_LONG = "production-" * 12
_PATHS = (
    "/",
    "/flows",
    "/flows/A:B",
    "/incidents",
    f"/incidents/{OPEN.incident}",
    f"/incidents/{HOSTILE.incident}",
    "/checksums",
)


@pytest.fixture
async def service():
    """A service whose flows and incidents a test sets; each view is a second later than the one before."""
    service = SimpleNamespace(incidents=Incidents(), now_at=views.NOW_AT, url="")
    stalled = replace(views.flow("A", "B", Verdict.STALLED), incident=OPEN, recent=(OPEN, ENDED))
    hostile = views.flow(views.HOSTILE, _LONG, sentence=views.HOSTILE)
    service.flows = [
        replace(one, bars=views.bars(), objectives=views.objectives(one), failover=views.failover(group))
        for one, group in ((stalled, "reports"), (hostile, views.HOSTILE + _LONG))
    ]

    def look():
        service.now_at += 1
        view = views.service(*service.flows, now_at=service.now_at)
        return replace(view, links=PageLinks(grafana="https://g.example.org"))

    page = Page()
    objectives = defaults_of("A->B", "A", "B", has_canary=True)
    application = web.Application()
    application.add_routes(
        [
            *routes(look, page=page),
            *incident_pages(look, service.incidents, page=page, aims=lambda: Aims(objectives)),
        ]
    )
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield service
    await runner.cleanup()


@pytest.fixture
async def page(browser):
    """A page whose console stays empty: a refused style, script or connection would be said there."""
    page = await browser.new_page()
    said = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    yield page
    # The browser itself writes a line for each answer 503.
    assert [one for one in said if "503 (Service Unavailable)" not in one] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
async def test_every_page_fits_and_hostile_names_are_inert(service, page, width, scheme):
    await page.emulate_media(color_scheme=scheme)
    await page.set_viewport_size({"width": width, "height": 900})
    for path in _PATHS:
        answer = await page.goto(service.url + path)
        assert answer.status == 200
        overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, path
        assert await page.locator("#view script, #view img").count() == 0
        assert await page.title() != "taken"
        assert await page.get_by_role("heading", level=1).inner_text()


async def test_a_bar_distinguishes_states_by_height(service, page):
    await page.goto(service.url + "/flows/A:B")
    bar = page.locator(".bar-field").first
    tops = {
        look: (await bar.locator(f".bar-{look}").bounding_box())["height"]
        for look in ("watched", "healthy", "late", "stalled")
    }
    assert tops["healthy"] < tops["late"] < tops["stalled"]
    assert tops["watched"] >= tops["stalled"]
    # What nobody watched is hatched, and nothing is drawn there.
    assert "gradient" in await bar.evaluate("bar => getComputedStyle(bar).backgroundImage")
    assert "not watched" in await bar.get_attribute("aria-label")


async def test_an_incident_ends_on_its_page_by_itself_and_what_was_opened_stays_open(service, page):
    await page.goto(service.url + "/flows/A:B/incident")
    assert page.url.endswith(f"/incidents/{OPEN.incident}")
    await expect(page.locator(".notes").first).to_contain_text("Open since")
    await page.locator("#evidence-2 summary").click()
    await page.locator("#to-do summary").click()
    over = replace(OPEN, ended=True, healthy_at=OPEN.bad_until_at + 1, notes=())
    service.incidents.all, service.incidents.open = (over, ENDED), ()
    await expect(page.locator(".notes").first).to_contain_text("duration 40 s", timeout=_SOON_MS)
    assert await page.locator("#evidence-2").evaluate("details => details.open")
    assert not await page.locator("#to-do").evaluate("details => details.open")


async def test_a_store_that_does_not_answer_is_shown_and_comes_back(service, page):
    await page.goto(service.url + "/incidents")
    service.incidents.failing = True
    heading = page.get_by_role("heading", level=1)
    await expect(heading).to_have_text("? Not available", timeout=_SOON_MS)
    await expect(page.locator(".notes")).to_contain_text("the store mw.db is closed")
    service.incidents.failing = False
    await expect(heading).to_have_text("✕ 1 incident open", timeout=_SOON_MS)


async def test_many_flows_and_none(service, page):
    await page.set_viewport_size({"width": 390, "height": 900})
    service.flows = [
        replace(views.flow(f"{_LONG}{number}", f"{_LONG}standby"), bars=views.bars()) for number in range(200)
    ]
    await page.goto(service.url + "/flows")
    await expect(page.locator(".flow-list tbody tr")).to_have_count(200)
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    service.flows, service.incidents.all, service.incidents.open = [], (), ()
    for path in ("/flows", "/incidents", "/checksums", "/"):
        assert (await page.goto(service.url + path)).status == 200
        assert await page.locator("section.empty").count() == 1
