"""A flow's checksum on the status page in a real browser, and the page of its run behind the link."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from aiohttp import web
from playwright.async_api import expect

from checksum.report import page as report_page
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.checksums import checksum_routes
from mirrorwatch.web.routes.main import routes
from runtime.config.sections import HttpConfig
from tests.mirrorwatch import views
from tests.mirrorwatch.audits.test_views import ENDED_AT, view_of
from tests.mirrorwatch.told_runs import finding, partition, run
from tests.runtime.fake_clock import FakeClock

pytestmark = pytest.mark.real

RUN = run("night-1", ended_at=ENDED_AT, partitions=[partition(lost=1)], findings=[finding()])


class Kept:
    async def document(self, name):
        return RUN if name == "night-1" else None


@pytest.fixture
async def url():
    page, flow = Page(), replace(views.flow(), checksum=view_of(RUN))
    render = partial(report_page.render, sheet=page.sheet("page.css", "report.css"))
    app = web.Application()
    app.add_routes(
        [
            *checksum_routes(Kept(), HttpConfig, render=render, clock=FakeClock()),
            *routes(lambda: views.service(flow), page=page),
        ]
    )
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_block_of_a_flow_leads_to_the_page_of_its_run(browser, url, width):
    page = await browser.new_page(viewport={"width": width, "height": 900})
    said = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    await page.goto(url + "/")
    card = page.locator("article.card")
    await expect(card.get_by_role("heading", name="Checksum", exact=True)).to_be_visible()
    block = card.locator(".checksum-run")
    await expect(block).to_contain_text("(6 h ago), duration 10 min: 100 records of 1 topic compared")
    await expect(block.locator("strong")).to_contain_text("1 finding")
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await page.evaluate(over) <= 0
    await block.get_by_role("link").click()
    await expect(page).to_have_url(url + "/checksums/night-1")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("1 lost in 100 records")
    await expect(page.get_by_text("record at offset 41 on A").first).to_be_visible()
    # The sheet that the page carries is let in by its hash: without it the body would have a margin.
    assert await page.evaluate("getComputedStyle(document.body).marginTop") == "0px"
    assert await page.evaluate(over) <= 0
    assert said == []
    await page.close()
