"""The page of a flow's offsets in a real browser: at every width, light and dark, and names that stay names."""

from __future__ import annotations

import re

import pytest
from aiohttp import web
from playwright.async_api import expect

from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.mirrors import mirror_routes
from tests.lagmon.mirror_flows import Mirrored
from tests.mirrorwatch import views
from tests.mirrorwatch.web.pages.test_mirrors import Monitor

pytestmark = pytest.mark.real

_SOON_MS = 10_000
_HOSTILE = "<img src=x onerror=\"document.title='taken'\">" + views.HOSTILE
_LONG = "x" * 249  # Kafka's longest topic
_ADDRESS = "/flows/A-%3EB/offsets"
_WIDTHS = [390, 900, 1270, 1280, 2560]  # from 1280 on rows are a table


@pytest.fixture
def flow():
    """A mirror that keeps up with one partition, is behind on another, and has names to be shown."""
    flow = Mirrored({"orders": 2, _HOSTILE: 1, _LONG: 1, "wide": 120})

    def each():
        for topic in (_HOSTILE, _LONG):
            flow.write(10, topic)
            flow.commit(topic, to=max(1, flow.ends[topic, 0] - 20))
        flow.write(100)
        flow.commit()
        flow.write(10, partition=1)
        flow.commit(partition=1, to=max(1, flow.ends["orders", 1] - 500))

    return flow.go(120, each=each)


@pytest.fixture
def overtaken(flow):
    """The same, when it has stood for a while, retention has overtaken it and a topic was made anew."""
    flow.write(500, copied=False)
    flow.starts["orders", 0] = flow.ends["orders", 0] - 200
    flow.go(100)
    flow.flow.note_ids("B", {f"A.{_HOSTILE}": "before"}, flow.now)
    flow.go(20)
    flow.flow.note_ids("B", {f"A.{_HOSTILE}": "after"}, flow.now)
    flow.target_ends[f"A.{_HOSTILE}", 0] = 0
    return flow.go(20)


@pytest.fixture
async def url(flow):
    application, monitor, page = web.Application(), Monitor(flow), Page()
    application.add_routes(
        [
            *mirror_routes(monitor, page=page, clock=monitor),
            *routes(lambda: views.service(views.flow()), page=page),
        ]
    )
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def page(browser):
    """A page whose console stays empty: a refused style or script would be said there."""
    page = await browser.new_page()
    said = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    yield page
    assert said == []


async def test_it_shows_how_each_partition_moves_and_leads_to_the_next_page(url, page):
    await page.goto(url + _ADDRESS)
    await expect(page.get_by_role("heading", level=1)).to_have_text("✓ healthy: A → B, by offsets")
    field = page.locator("article.card", has_text="partition 1").locator(".field")
    box = await field.bounding_box()
    assert box["width"] > 200
    assert box["height"] == 180
    # What is seen: both rise, the mirror's offsets below the log's end all the time.
    log, copied = [
        await field.locator(part).first.evaluate("path => [path.getBBox().y, path.getBBox().height]")
        for part in (".line.of-log-end", ".line.of-committed")
    ]
    assert log[1] > 100
    assert copied[1] > 10
    assert copied[0] > log[0] + 20
    await expect(page.locator("tbody tr")).to_have_count(100)
    await page.get_by_role("link", name="Next").first.click()
    await expect(page).to_have_url(url + _ADDRESS + "?offset=100")
    await expect(page.locator("tbody tr")).to_have_count(24)


async def test_what_is_found_comes_by_itself_worst_first(url, page, flow):
    flow.rest(partitions=[0])
    await page.goto(url + _ADDRESS)
    flow.write(500, copied=False)
    flow.starts["orders", 0] = flow.ends["orders", 0] - 200
    flow.go(100)
    heading = page.get_by_role("heading", level=1)
    await expect(heading).to_have_text("■ stalled: A → B, by offsets", timeout=_SOON_MS)
    await expect(page.locator("#found")).to_contain_text("300 records of orders 0")
    await expect(page.locator("article.card").first).to_contain_text("ERR")
    await expect(page.locator("tbody tr").first).to_contain_text("ERR")


@pytest.mark.usefixtures("overtaken")
async def test_names_are_shown_and_inert(url, page):
    await page.goto(url + _ADDRESS)
    await expect(page.locator("#found")).to_contain_text("was re-created")
    for place in ("#found", "#pictured", "#listed"):
        await expect(page.locator(place)).to_contain_text("<img src=x onerror=")
    assert await page.locator("#view script, #view img").count() == 0
    assert await page.title() == "stalled · A->B by offsets · mirrorwatch"


@pytest.mark.parametrize("width", _WIDTHS)
async def test_no_width_makes_the_page_scroll_sideways(browser, url, overtaken, width):
    overtaken.ends["wide", 0] = overtaken.target_ends["A.wide", 0] = 4_123_456_789
    overtaken.commit("wide", to=2_888_900_222)
    overtaken.go(10)
    page = await browser.new_page(viewport={"width": width, "height": 844})
    await page.goto(url + _ADDRESS)
    await expect(page.locator("tbody tr")).to_have_count(100)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_a_phone_is_spared_the_numbers_that_there_are_not(browser, url):
    for width, shown in ((390, 0), (1280, 6)):
        page = await browser.new_page(viewport={"width": width, "height": 844})
        await page.goto(url + _ADDRESS)
        for place, count in ((r"^\s*wide\s+0\s*$", shown), (r"^\s*orders\s+1\s*$", 6)):
            row = page.locator("tbody tr", has=page.locator("th", has_text=re.compile(place)))
            numbers = row.locator("td[data-label]")
            await expect(numbers).to_have_count(6)
            assert sum([await one.is_visible() for one in await numbers.all()]) == count, place


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.usefixtures("overtaken")
async def test_it_can_be_read_in_either_scheme(browser, url, scheme):
    context = await browser.new_context(color_scheme=scheme)
    page = await context.new_page()
    await page.goto(url + _ADDRESS)
    for read in ("h1", ".known-from", "#found p", ".reason", ".said", "td.number", "figcaption", ".status"):
        assert await page.locator(read).first.evaluate(_CONTRAST) >= 4.5, read  # WCAG 2.2, level AA
    for drawn in (".line.of-log-end", ".line.of-committed"):
        assert await page.locator(f".field {drawn}").first.evaluate(_CONTRAST) >= 3, drawn


async def test_it_works_without_script(browser, url):
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url + _ADDRESS)
    await expect(page.locator("article.card .line.of-committed").first).to_be_visible()
    await page.get_by_role("link", name="Next").first.click()
    await expect(page.locator("tbody tr")).to_have_count(24)


# How a text or a line stands out against what is behind it, as WCAG counts it.
_CONTRAST = """element => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const light = colors => {
        canvas.clearRect(0, 0, 1, 1);
        for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
        const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map(part => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = [];
    for (let one = element; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
    const style = getComputedStyle(element);
    const front = element instanceof SVGElement ? style.stroke : style.color;
    const [ground, mark] = [light(behind), light([...behind, front])];
    return (Math.max(ground, mark) + 0.05) / (Math.min(ground, mark) + 0.05);
}"""
