"""Clients of both clusters.

A digest may take hours: no client stays open meanwhile, and the comparison opens its own.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from checksum.inventory.inventory import Admin, Cluster
from checksum.plan.building import isolations
from checksum.plan.shape import READ_COMMITTED
from checksum.recheck.recheck import Readers
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.picking import Picker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from checksum.anchors.reading import Reader
    from fleet.verdicts.flow import Flow
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock


class Connects(Protocol):
    """Provides clients of one cluster, which close with the stack; a `Wire`, or a fake in tests."""

    async def admin(self, alias: str, stack: AsyncExitStack) -> Admin:
        """Return an admin client of the cluster."""
        ...

    async def reader(self, alias: str, stack: AsyncExitStack, *, committed: bool) -> Reader:
        """Return a consumer of the cluster, with or without aborted transactions."""
        ...

    def settings(self, alias: str) -> ClientSettings:
        """Return the cluster's client settings."""
        ...


class Wire:
    """Real clients, all with the client id on which brokers set quotas."""

    def __init__(self, settings: dict[str, ClientSettings], *, client_id: str, clock: Clock) -> None:
        self._settings = settings
        self._client_id = client_id
        self._clock = clock

    async def admin(self, alias: str, stack: AsyncExitStack) -> Admin:
        """Return an admin client of the cluster."""
        client = ClusterAdmin(self._settings[alias], cluster=alias)
        stack.push_async_callback(client.close)
        await client.open()
        return client

    async def reader(self, alias: str, stack: AsyncExitStack, *, committed: bool) -> Reader:
        """Return a consumer of the cluster."""
        picker = Picker(
            self._settings[alias],
            cluster=alias,
            name=self._client_id,
            clock=self._clock,
            committed=committed,
        )
        stack.push_async_callback(asyncio.to_thread, picker.close)
        await asyncio.to_thread(picker.open)
        return picker

    def settings(self, alias: str) -> ClientSettings:
        """Return the cluster's client settings."""
        return self._settings[alias]


@dataclass(frozen=True, slots=True)
class BothSides:
    """Both clusters of a flow, and their readers."""

    source: Cluster
    target: Cluster
    readers: Readers


@asynccontextmanager
async def both_sides(flow: Flow, connects: Connects) -> AsyncIterator[BothSides]:
    """Open clients of both sides, with the isolation levels of the flow's plan."""
    async with AsyncExitStack() as stack:
        source, target = await connects.admin(flow.source, stack), await connects.admin(flow.target, stack)
        everything = await connects.reader(flow.source, stack, committed=False)
        committed = await connects.reader(flow.source, stack, committed=True)
        here, there = (isolation == READ_COMMITTED for isolation in isolations(flow))
        copies = await connects.reader(flow.target, stack, committed=there)
        originals = committed if here else everything
        yield BothSides(
            Cluster(source, originals),
            Cluster(target, copies),
            Readers(originals, copies, everything, committed),
        )
