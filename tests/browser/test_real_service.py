"""The page of a real service over a real mirror in a real browser: a stall and a loss show by themselves."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect

from tests.real.service.process import ServiceProcess

pytestmark = pytest.mark.real
_SOON_MS = 20_000


async def test_a_stall_and_a_loss_show_by_themselves(browser, kafka_pair, mirror, topic_name, tmp_path):
    topic = topic_name("canary")
    running = await asyncio.to_thread(mirror)
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as service:
        await asyncio.to_thread(service.is_healthy)
        page = await browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        await page.goto(service.url + "/")
        heading = page.get_by_role("heading", level=1)
        await expect(page).to_have_title("healthy · mirrorwatch")
        card = page.locator("article.card").first
        running.freeze()
        await expect(page).to_have_title("stalled 1/1 · mirrorwatch", timeout=_SOON_MS)
        await expect(heading).to_contain_text("stalled")
        await expect(card).to_contain_text("mirror_down")
        await expect(card).to_contain_text("both clusters are up")
        running.thaw()
        await expect(page).to_have_title("healthy · mirrorwatch", timeout=2 * _SOON_MS)
        running.switch.on("drop", topics=re.escape(topic), modulus=3)
        await expect(page).to_have_title("losing 1/1 · mirrorwatch", timeout=_SOON_MS)
        running.switch.off()
        await expect(card).to_contain_text("filtered")
        row = card.locator(".losses tbody tr").first
        await expect(row).to_contain_text("UTC", timeout=_SOON_MS)
        lost = {str(one["source_offset"]) for one in service.flow()["losses"]}
        told = await row.inner_text()
        assert any(offset in told.split() for offset in lost), (told, lost)
        assert said == []
        await asyncio.to_thread(service.end)
