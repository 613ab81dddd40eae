"""The pages about groups in a real browser: search, pages, pictures, and names that stay names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiohttp import web
from playwright.async_api import expect

from lagmon.ingest.commits import Progress
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.groups import GroupCounts, group_routes
from mirrorwatch.web.routes.lag import lag_routes
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
from tests.mirrorwatch.monitored import READY, Monitored

pytestmark = pytest.mark.real

_SOON_MS = 10_000
_HOSTILE = "<img src=x onerror=\"document.title='taken'\">" + views.HOSTILE
_MANY = 5_000


@pytest.fixture
async def monitored():
    made = Monitored("A", "B")
    for alias in "AB":
        made.topic(alias, "orders", 6)
    made.group("A", "billing", "orders", "stopped", "growing", "rewound", "overtaken", "far behind", "moving")
    made.group("B", _HOSTILE, "orders", "stalled")
    made.group("B", "..", "orders", "stopped")
    made.group("B", "x" * 32_000, "orders", "growing")
    return made


@pytest.fixture
async def url(monitored):
    application = web.Application()

    def look():
        return views.service(views.flow(), now_at=monitored.wall_s())

    application.add_routes(
        [
            *lag_routes(monitored),
            *group_routes(monitored, page=Page(), clock=monitored),
            *routes(look, groups=GroupCounts(monitored, clock=monitored).view),
        ]
    )
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def page(browser):
    """A page whose console stays empty: a refused style, script or form would be said there."""
    page = await browser.new_page()
    said = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    yield page
    assert said == []


async def test_from_the_main_page_to_a_groups_pictures(url, page):
    await page.goto(url)
    await page.get_by_role("link", name="4 groups: 1 ERR").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "✕ 4 groups: 1 ERR, 1 STOP, 1 STALL, 1 WARN"
    )
    await page.get_by_role("link", name="billing").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("✕ ERR: billing")
    await expect(page.locator("article.card")).to_have_count(4)
    field = page.locator("article.card", has_text="partition 0").locator(".field")
    box = await field.bounding_box()
    assert box["width"] > 200
    assert box["height"] == 180
    # What is seen: the log's end goes on rising while the committed offset stays below it.
    log, standing = [
        await field.locator(part).first.evaluate(
            "path => [path.getBBox().y, path.getBBox().height, getComputedStyle(path).stroke]"
        )
        for part in (".line.of-log-end", ".of-idle")
    ]
    assert log[1] > 100
    assert standing[1] == 0
    assert standing[0] > log[0] + 50
    assert log[2] != standing[2] != "none"


async def test_a_search_is_sent_and_stays_while_the_page_keeps_itself_current(url, page, monitored):
    await page.goto(url + "/groups")
    await page.get_by_role("searchbox").fill("BILL")
    await page.get_by_role("combobox").select_option("A")
    await page.get_by_role("button", name="Search").click()
    await expect(page).to_have_url(url + "/groups?search=BILL&kafka_cluster=A")
    await expect(page.locator("tbody tr")).to_have_count(1)
    # Another that is found comes by itself; what somebody is typing meanwhile stays.
    await page.get_by_role("searchbox").fill("half typed")
    monitored.group("A", "billing-2", "orders", "moving")
    await expect(page.locator("tbody tr")).to_have_count(2, timeout=_SOON_MS)
    await expect(page.get_by_role("searchbox")).to_have_value("half typed")


@pytest.mark.parametrize("place", [1, 2, 3])
async def test_a_group_of_any_name_is_opened_and_inert(url, page, place):
    await page.goto(url + "/groups")
    await page.locator("tbody tr").nth(place).locator("a").click()
    await expect(page.locator("article.card")).to_have_count(1)
    assert await page.locator("#view script, #view img").count() == 0
    assert await page.title() != "taken"
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


async def test_reading_is_shown_as_it_goes_on(url, browser, monitored):
    progress = Progress(total_records=2_000_000, read_records=0, began_at=1.0)
    for watch in monitored.watches.values():
        watch.reader = SimpleNamespace(progress=progress)
    page = await browser.new_page()
    await page.goto(url + "/groups")
    notes = page.locator(".notes")
    await expect(notes).to_contain_text("A: Reading commits of groups: 0 of 2,000,000")
    progress.read_records = 1_500_000
    await expect(notes).to_contain_text("1,500,000 of 2,000,000 records, 75 %", timeout=_SOON_MS)
    monitored.away = "the lag monitor ended by itself, with status 9"
    await expect(notes).to_have_text("The lag monitor ended by itself, with status 9.", timeout=_SOON_MS)
    await expect(page.locator("#lost-connection")).to_be_hidden()
    monitored.away = ""
    for watch in monitored.watches.values():
        watch.reader = SimpleNamespace(progress=READY)
    await expect(page.locator("tbody tr")).to_have_count(4, timeout=_SOON_MS)
    await expect(notes).to_have_count(0)


async def test_5000_groups_are_searched_without_a_stall(url, page, monitored):
    for number in range(_MANY):
        monitored.group("AB"[number % 2], f"group-{number:04d}", "orders", "once")
    await page.goto(url + "/groups")
    await expect(page.locator("tbody tr")).to_have_count(100)
    await page.get_by_role("searchbox").fill("group-4711")
    before_ms = await page.evaluate("performance.now()")
    await page.get_by_role("button", name="Search").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    took_ms = await page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert before_ms > 0
    assert took_ms < 1000
    await expect(page.locator("tbody tr a")).to_have_text("group-4711")


@pytest.mark.parametrize("width", [390, 500, 1280, 2560])
@pytest.mark.parametrize("address", ["/groups", "/groups/A/billing"])
async def test_no_width_makes_a_page_scroll_sideways(browser, url, width, address):
    page = await browser.new_page(viewport={"width": width, "height": 844})
    await page.goto(url + address)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_it_works_without_script(browser, url):
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url + "/groups")
    await page.get_by_role("searchbox").fill("billing")
    await page.get_by_role("searchbox").press("Enter")
    await expect(page.locator("tbody tr")).to_have_count(1)
