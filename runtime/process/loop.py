"""Run a coroutine in its own event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, and return its result.

    At its end `asyncio.run` makes the `repr` of its task twice (`signal.getsignal` fails to convert the
    handler), which for a large result takes longer than the work. Here the task itself returns nothing.
    """
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    asyncio.run(keep())
    return results[0]
