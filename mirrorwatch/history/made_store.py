"""Opens the store of a configuration only if the service has made it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fleet.errors import UnavailableError
from mirrorwatch.service.store_parts import opened
from runtime.store.store import LIMIT_S, Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mirrorwatch.configuration.configuration import Configuration


@asynccontextmanager
async def made_store(
    config: Configuration, how: Callable[[Store], Awaitable[bool]], *, limit_s: float = LIMIT_S
) -> AsyncIterator[Store]:
    """Open the store as `opened` does; raises UnavailableError if it is not made yet, and makes no file."""
    async with opened(config, how, limit_s=limit_s) as store:
        if store is not None:
            yield store
            return
    where = Store(config.store.database_url(config.directory)).where
    raise UnavailableError(
        f"the store {where} is not made yet; start the service first, or check the path of {config.path} and"
        " its store.url"
    )
