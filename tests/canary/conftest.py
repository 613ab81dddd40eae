"""What tests of the canary's memory share."""

from __future__ import annotations

import contextlib

import pytest

from tests.canary.desk import Desk
from tests.databases import DATABASES, address_of
from tests.runtime.fake_clock import FakeClock


@contextlib.asynccontextmanager
async def opening(address):
    """Give a function that opens one more desk on the same store; all share one clock."""
    clock = FakeClock()
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(**options):
            return await stack.enter_async_context(Desk(address, clock=clock, **options))

        open_one.clock = clock
        yield open_one


@pytest.fixture(params=DATABASES)
async def desks(request, tmp_path):
    """Give what opens desks on a store of either kind."""
    async with opening(address_of(request, tmp_path)) as open_one:
        yield open_one


@pytest.fixture
async def file_desks(tmp_path):
    """Give what opens desks on a store in a file, which is its `path`."""
    path = tmp_path / "mw.db"
    async with opening(f"sqlite:///{path}") as open_one:
        open_one.path = path
        yield open_one
