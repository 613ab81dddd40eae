"""The page in a real browser: it loads, keeps itself current, and lets no name become markup."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web
from playwright.async_api import expect

from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views

pytestmark = pytest.mark.real

_SOON_MS = 10_000  # two rounds of updating and a slow machine


@dataclass
class _Service:
    """A service whose state a test sets; each look is a second later than the one before."""

    flows: tuple = ()
    down: dict = field(default_factory=dict)
    now_at: float = views.NOW_AT
    failing: bool = False
    url: str = ""

    def look(self):
        self.now_at += 1
        return views.service(*self.flows, now_at=self.now_at, down=self.down)


@pytest.fixture
async def service():
    service = _Service(flows=(views.flow(), views.flow("B", "A")))

    @web.middleware
    async def fail(request, handler):
        if service.failing:
            raise web.HTTPBadGateway
        return await handler(request)

    application = web.Application(middlewares=[fail])
    application.add_routes(routes(service.look))
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield service
    await runner.cleanup()


@pytest.fixture
async def page(browser, service):
    """A page whose console stays empty: a refused style, script or connection would be said there."""
    page = await browser.new_page()
    said = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    yield page
    if not service.failing:
        assert said == []


async def test_it_loads_and_shows_every_flow(service, page):
    answer = await page.goto(service.url)
    assert answer.status == 200
    await expect(page.get_by_role("heading", level=1)).to_have_text("✓ Both flows are healthy")
    await expect(page).to_have_title("healthy · mirrorwatch")
    await expect(page.locator("article.card")).to_have_count(2)
    await expect(page.locator(".map .tag")).to_have_count(2)
    chart = await page.locator(".field").first.bounding_box()
    assert chart["width"] > 200
    assert chart["height"] == 160
    # The sheet was taken: the policy would have refused it silently otherwise.
    assert (
        await page.locator("article.card").first.evaluate("card => getComputedStyle(card).borderTopWidth")
        == "4px"
    )


async def test_it_shows_a_stall_by_itself(service, page):
    await page.goto(service.url)
    await expect(page.locator(".masthead .as-of")).not_to_have_text("as of 20:26:41 UTC", timeout=_SOON_MS)
    service.flows = (views.flow(verdict=Verdict.STALLED, now_at=service.now_at), views.flow("B", "A"))
    service.down = {"C": "Connection refused"}
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "■ 1 of 2 flows is stalled", timeout=_SOON_MS
    )
    await expect(page).to_have_title("stalled 1/2 · mirrorwatch")
    first = page.locator("article.card").first
    await expect(first).to_contain_text("No canary records replicated for 42 s on any partition")
    await expect(first).to_contain_text("mirror_down")
    await expect(page.locator(".notes")).to_have_text("Cluster C is down.")
    assert "icon-stalled.svg" in await page.locator("#icon").get_attribute("href")
    # And back again, without a trace of it.
    service.flows, service.down = (views.flow(), views.flow("B", "A")), {}
    await expect(page).to_have_title("healthy · mirrorwatch", timeout=_SOON_MS)
    await expect(page.locator(".notes")).to_have_count(0)


async def test_it_shows_a_loss_with_partition_and_time(service, page):
    await page.goto(service.url)
    service.flows = (views.flow(), views.flow("B", "A", Verdict.LOSING))
    await expect(page).to_have_title("losing 1/2 · mirrorwatch", timeout=_SOON_MS)
    first = page.locator("article.card").first
    await expect(first.get_by_role("heading", level=3)).to_have_text("B → A")
    await expect(first.locator(".losses tbody tr").first).to_contain_text("20:26:20 UTC")
    await expect(first.locator(".losses tbody tr").first).to_contain_text("918204")


async def test_updating_leaves_a_reader_where_he_is(service, page):
    service.flows = tuple(views.flow(f"A{number}", "B") for number in range(5))
    await page.set_viewport_size({"width": 800, "height": 600})
    await page.goto(service.url)
    card = page.locator("article.card").nth(3)
    await card.locator("summary").click()
    await card.locator("summary").focus()
    await card.evaluate("""card => card.scrollIntoView({ behavior: "instant" })""")
    name = await card.get_attribute("id")
    top = (await card.bounding_box())["y"]
    # Another flow goes bad: its card moves to the front and grows, above what is being read.
    service.flows = (views.flow("Z", "B", Verdict.LOSING), *service.flows)
    await expect(page).to_have_title("losing 1/6 · mirrorwatch", timeout=_SOON_MS)
    same = page.locator(f"#{name}")
    assert abs((await same.bounding_box())["y"] - top) < 3
    assert await same.locator("details.more").evaluate("details => details.open")
    assert await page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert await page.evaluate("document.activeElement.closest('article').id") == name


async def test_it_shows_when_the_connection_is_lost_and_recovers(service, page):
    await page.goto(service.url)
    service.failing = True
    note = page.locator("#lost-connection")
    await expect(note).to_be_visible(timeout=_SOON_MS)
    await expect(note).to_contain_text("Connection to Mirrorwatch lost since")
    await expect(page).to_have_title("connection lost · mirrorwatch")
    since = await note.inner_text()
    async with page.expect_response("**/view", timeout=_SOON_MS):
        pass
    assert await note.inner_text() == since
    service.failing = False
    await expect(note).to_be_hidden(timeout=_SOON_MS)
    await expect(page).to_have_title("healthy · mirrorwatch")
    # The browser itself writes a line for each answer 502; nothing else was said.
    service.failing = True


async def test_it_rests_while_the_tab_is_hidden(service, page):
    await page.goto(service.url)
    await page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => window.pretendHidden });
            window.pretendHidden = true;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    asked = []
    # What came just before may still change the icon, which is asked for then.
    page.on("request", lambda request: asked.append(request.url) if "/view" in request.url else None)
    await page.wait_for_timeout(4500)
    assert asked == []
    async with page.expect_response("**/view", timeout=_SOON_MS):
        await page.evaluate(
            """() => {
                window.pretendHidden = false;
                document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )


async def test_hostile_names_are_inert(service, page):
    hostile = "<img src=x onerror=\"document.title='taken'\">" + views.HOSTILE
    service.flows = (views.flow(hostile, "B", Verdict.LOSING, sentence=hostile),)
    service.down = {hostile: hostile}
    await page.goto(service.url)
    await expect(page.locator(".masthead .as-of")).not_to_have_text("as of 20:26:41 UTC", timeout=_SOON_MS)
    await expect(page).to_have_title("losing 1/1 · mirrorwatch")
    assert await page.locator("#view script, #view img").count() == 0
    assert await page.locator("article .reason").first.inner_text() != ""


async def test_it_works_without_script(browser, service):
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(service.url)
    await expect(page.locator("h1")).to_contain_text("Both flows are healthy")
    service.flows = (views.flow(verdict=Verdict.STALLED),)
    await expect(page.locator("h1")).to_contain_text("The flow is stalled", timeout=_SOON_MS)


@pytest.mark.parametrize("width", [320, 390, 1280, 2560])
async def test_no_width_makes_the_page_scroll_sideways(browser, service, width):
    losing = views.flow("a-rather-long-cluster-name-of-one-site", "B", Verdict.LOSING)
    service.flows = (
        replace(losing, lost_records=Bounds(120_000, 480_000)),
        *(views.flow("hub", f"edge-{number}") for number in range(11)),
    )
    page = await browser.new_page(viewport={"width": width, "height": 844})
    for path in ("", "runbooks/MirrorwatchCertificateExpires"):
        await page.goto(service.url + path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
