"""A real Chromium for the tests of pages."""

from __future__ import annotations

import os
import shutil

import pytest
from playwright.async_api import async_playwright

_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture
async def browser():
    path = os.environ.get("MIRRORWATCH_CHROMIUM") or shutil.which("chromium")
    assert path, "Chromium is missing: install the package chromium, or name it in MIRRORWATCH_CHROMIUM"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        await browser.close()
