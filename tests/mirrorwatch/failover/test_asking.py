"""Offset syncs and topic ids out of the store."""

from __future__ import annotations

import asyncio

from lagmon.syncs.id_tables import SeenId, write_ids
from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.queue import WaitingSync
from lagmon.syncs.tables import write_syncs
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.failover.asking import mirrors_of, orders_named
from mirrorwatch.service.store_parts import opened
from runtime.store.store import Store
from tests.mirrorwatch.failover.test_commands import CONFIG


def test_a_mirror_starts_with_what_the_store_has(tmp_path):
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(CONFIG)
    config = read_configuration(path, environ={})
    orders = orders_named(config, "A->B")
    assert mirrors_of(config, orders)[0].pairs == {}  # there is no store

    def write(connection):
        sync = WaitingSync(3, "orders", 0, 100, 90, 7)
        write_syncs(connection, "A->B", [sync], topic_id="syncs", next_number=4, known={})
        write_ids(
            connection, "A->B", [SeenId("orders", "target", one, at, at) for one, at in (("x", 5), ("y", 9))]
        )

    async def fill():
        async with opened(config, Store.open) as store:
            await store.write(write)

    asyncio.run(fill())
    (mirror,) = mirrors_of(config, orders)
    assert mirror.pairs == {("orders", 0): [SyncPair(0, 3, 100, 90, 7)]}
    assert (mirror.recreation("orders"), mirror.recreation("other")) == ((9, "target"), (0, ""))
