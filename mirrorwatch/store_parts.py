"""What one store holds: every program that opens it takes all these steps, and refuses one that it lacks."""

from __future__ import annotations

from alerts import incident_tables
from alerts.minutes import tables as minute_tables
from canary import bookkeeper, latches
from checksum import book_tables
from lagmon import snapshot_store, sync_id_tables, sync_tables

MIGRATIONS = (
    *bookkeeper.MIGRATIONS,
    *latches.MIGRATIONS,
    *sync_tables.MIGRATIONS,
    *sync_id_tables.MIGRATIONS,
    *snapshot_store.MIGRATIONS,
    *book_tables.MIGRATIONS,
    *incident_tables.MIGRATIONS,
    *minute_tables.MIGRATIONS,
)
