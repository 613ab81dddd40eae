"""The schema of the store: every program applies all migrations, and refuses a store with unknown ones."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alerts import incident_tables
from alerts.minutes import tables as minute_tables
from alerts.rehearsals import tables as rehearsal_tables
from canary.persistence import bookkeeper, latches
from checksum.history import tables as checksum_tables
from lagmon.snapshots import store as snapshot_store
from lagmon.syncs import id_tables as sync_id_tables
from lagmon.syncs import tables as sync_tables
from runtime.store import leases
from runtime.store.store import LIMIT_S, Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mirrorwatch.configuration.configuration import Configuration

MIGRATIONS = (
    *bookkeeper.MIGRATIONS,
    *latches.MIGRATIONS,
    *sync_tables.MIGRATIONS,
    *sync_id_tables.MIGRATIONS,
    *snapshot_store.MIGRATIONS,
    *checksum_tables.MIGRATIONS,
    *incident_tables.MIGRATIONS,
    *minute_tables.MIGRATIONS,
    *rehearsal_tables.MIGRATIONS,
    *leases.MIGRATIONS,
)


@asynccontextmanager
async def opened(
    config: Configuration, how: Callable[[Store], Awaitable[bool | None]], *, limit_s: float = LIMIT_S
) -> AsyncIterator[Store | None]:
    """Open the store of a configuration with one of Store's methods; None if there is no store."""
    store = Store(config.store.database_url(config.directory), migrations=MIGRATIONS, limit_s=limit_s)
    made = await how(store)
    try:
        yield None if made is False else store
    finally:
        await store.close()
