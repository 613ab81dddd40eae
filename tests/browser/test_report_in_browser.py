"""A report in a real browser: whole without a server, drawn, and readable on a phone, in the dark and printed."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from alerts.objectives import Exclusion
from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.reports import BadMinute, ObjectiveReport, Report, Tally, figures_of
from mirrorwatch.web.pages.page import Page

pytestmark = pytest.mark.real

DAY = 20_000
START = DAY * 1440


def report():
    """A week of two flows: one has spent its budget, the other was observed for a day."""
    spans = [(START, START + 7 * 1440)]
    found = []
    for flow, days, bad in (("A->B", 7, 900), ("north-east->south-west-of-the-country", 1, 3)):
        one = Objective(
            flow=flow, source="A", target="B", kind=ObjectiveKind.AVAILABILITY, target_ratio=0.999
        )
        tallies = [Tally(DAY + day, 1440, 86_400, 86_400, 0, ()) for day in range(days)]
        broken = tuple(BadMinute(START + 600 + n, bad // 3, "stalled") for n in range(3))
        tallies[0] = tallies[0]._replace(good=86_400 - bad, bad=broken)
        found.append(ObjectiveReport(one, figures_of(one, tallies, spans)))
    left_out = Exclusion(
        1, "A->B", START, START + 60, "<b>Ann</b>", "'; alert(1) //<script>alert(2)</script>"
    )
    return Report(START, START + 7 * 1440, tuple(found), (left_out,), ("A note.",))


@pytest.mark.parametrize(
    ("width", "how"),
    [
        (390, {"color_scheme": "light"}),
        (1280, {"color_scheme": "light"}),
        (1280, {"color_scheme": "dark"}),
        (1280, {"color_scheme": "dark", "media": "print"}),
    ],
)
async def test_it_is_whole_by_itself_and_readable(browser, tmp_path, width, how):
    file = tmp_path / "report.html"
    file.write_text(Page().report(report()))
    page = await browser.new_page(viewport={"width": width, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    await page.emulate_media(**how)
    await page.goto(file.as_uri())
    await expect(page.get_by_role("heading", level=1)).to_contain_text(
        "Partly covered: 1 of 2 objectives lack"
    )
    await expect(page.locator("figure.budget")).to_have_count(2)
    await expect(page.get_by_text("<b>Ann</b>")).to_be_visible()
    await expect(page.get_by_text("south-west-of-the-country").first).to_be_visible()
    assert (said, asked) == ([], [file.as_uri()])
    wider = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0
    ink, ground, line = await page.evaluate(
        """() => {
          const lightness = text => {
            const [r, g, b] = text.match(/[0-9.]+/g).map(Number);
            return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
          };
          const style = document.querySelector("figure.budget .line");
          return [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor,
                  getComputedStyle(style).stroke].map(lightness);
        }"""
    )
    assert abs(ink - ground) > 0.6
    assert abs(line - ground) > 0.25
    dark = how["color_scheme"] == "dark" and "media" not in how
    assert (ground < 0.3) == dark
