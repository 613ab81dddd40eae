"""Bounded polling for tests against real processes: look until it holds, never longer than a deadline."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def eventually(condition: Callable[[], T], deadline_s: float, *, what: str = "", every_s: float = 0.05) -> T:
    """Return the first true value of `condition()`; fail the test with the last value after `deadline_s`."""
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() - begun > deadline_s:
            raise AssertionError(
                f"not within {deadline_s:g} s: {what or condition}; the last value was {value!r}"
            )
        time.sleep(every_s)


async def eventually_async(
    condition: Callable[[], T], deadline_s: float, *, what: str = "", every_s: float = 0.02
) -> T:
    """Do what `eventually` does without holding up the event loop."""
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() - begun > deadline_s:
            raise AssertionError(
                f"not within {deadline_s:g} s: {what or condition}; the last value was {value!r}"
            )
        await asyncio.sleep(every_s)
