"""What tests of the canary's memory share."""

from __future__ import annotations

import contextlib

import pytest

from tests.canary.desk import Desk
from tests.runtime.fake_clock import FakeClock


@pytest.fixture
async def desks(tmp_path):
    """Give a function that opens one more desk on the same store; all share one clock."""
    clock = FakeClock()
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(**options):
            return await stack.enter_async_context(Desk(tmp_path / "mw.db", clock=clock, **options))

        open_one.clock, open_one.path = clock, tmp_path / "mw.db"
        yield open_one
