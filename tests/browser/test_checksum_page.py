"""The page of a checksum run in a real browser: it fits, in light and dark, and asks for nothing."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from mirrorwatch.web.pages.checksums import page_of
from tests.checksum.report.test_page import HOSTILE, poisoned
from tests.checksum.reported import document, finding, some, with_everything

pytestmark = pytest.mark.real


@pytest.fixture
def file(tmp_path):
    """Write a document's page, and give its address."""

    def write(found):
        path = tmp_path / "page.html"
        path.write_text(page_of(found), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture
async def look(browser):
    """Open an address; whatever a page asks for beside itself, or has its console say, is a failure."""
    said, asked = [], []

    async def open_(address, **how):
        page = await browser.new_page(**how)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        await page.goto(address)
        assert asked.pop() == address
        return page

    yield open_
    assert said == []
    assert asked == []


async def test_it_is_read_from_the_headline_to_the_record(file, look):
    page = await look(file(with_everything()), viewport={"width": 1280, "height": 900})
    await expect(page.get_by_role("heading", level=1)).to_contain_text("FAILED: A → B, 1 lost")
    await expect(page.get_by_role("row", name="orders [3]").first).to_contain_text("filtered")
    field = await page.locator("svg.coverage-field").bounding_box()
    assert field["width"] > 500
    names = page.locator(".coverage-names li")
    row = await names.get_by_text("orders").nth(3).bounding_box()
    # The difference stands in the row of its name, in the middle of the day.
    mark = await page.locator("path.of-difference").first.bounding_box()
    assert abs((mark["y"] + mark["height"] / 2) - (row["y"] + row["height"] / 2)) <= 6
    assert 0.45 < (mark["x"] - field["x"]) / field["width"] < 0.65
    assert 8 <= mark["height"] <= 16


async def test_each_row_shows_what_it_shows(file, look):
    page = await look(file(with_everything()))
    titles = await page.locator("svg.coverage-field title").all_text_contents()
    assert len(titles) == 13
    (told,) = [one for one in titles if one.startswith("orders [3]")]
    assert "difference: 13 Nov 2025" in told
    summary = await page.locator("svg.coverage-field").get_attribute("aria-label")
    assert "1 row with difference" in summary
    assert "9 rows with verified equal" in summary


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_kinds_are_distinguished_in_light_and_dark(file, look, scheme):
    page = await look(file(with_everything()), color_scheme=scheme)
    colours = set()
    for kind in ("equal", "expected", "difference", "not-verified", "left-out"):
        swatch = page.locator(f".legend .cells.of-{kind}")
        await expect(swatch).to_be_visible()
        colours.add(await swatch.evaluate("path => getComputedStyle(path).fill"))
        shape = await swatch.evaluate("path => [path.getBBox().y, path.getBBox().height].join()")
        colours.add(shape)
    assert len(colours) == 10  # neither a colour nor a shape is there twice
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in ground.strip("rgb()").split(",")) / 3
    assert (lightness > 200) == (scheme == "light")


@pytest.mark.parametrize("width", [320, 390, 500, 1280, 2560])
async def test_no_width_makes_it_scroll_sideways(file, look, width):
    found = with_everything()
    found["findings"] = some([finding("x" * 249, 1, 3), *found["findings"]["shown"]])
    found["partitions"]["shown"][0]["topic"] = "y." * 124
    page = await look(file(found), viewport={"width": width, "height": 844})
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    field = await page.locator("svg.coverage-field").bounding_box()
    assert field["width"] > 0.3 * width


async def test_no_name_becomes_markup(file, look):
    found = poisoned(with_everything())
    page = await look(file(found))
    assert await page.locator("img, script").count() == 0
    assert HOSTILE.split("\u202e", maxsplit=1)[0] in await page.locator("h1").inner_text()


async def test_a_huge_run_is_laid_out_soon(file, look):
    topics = [f"topic-{number:03d}" for number in range(500)]
    found = document(topics=topics, partitions=100, buckets=1)
    found["findings"] = some(
        [finding(topics[number % 7], number % 100, offset=number) for number in range(10_000)]
    )
    page = await look(file(found))
    await expect(page.locator("#findings-0")).to_be_visible()
    took_ms = await page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert took_ms < 5000
    assert await page.locator("tbody tr").count() < 2500
