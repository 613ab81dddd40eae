"""One reader for each place that holds the progress of mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lagmon.ingest.worker_topic import WorkerTopic
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from lagmon.mirrors.flow import MirrorFlow
from lagmon.mirrors.progress.connect import MirrorOffsets
from lagmon.mirrors.progress.equal import EqualProgress
from lagmon.mirrors.progress.following import MirrorFollowing
from lagmon.mirrors.progress.group import GroupProgress
from lagmon.mirrors.tasks.worker import AssignmentsIntake, StatesIntake
from lagmon.syncs.sources import sync_readers
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    import asyncio
    import threading
    from collections.abc import Sequence

    from lagmon.ingest.orders import Orders
    from lagmon.ingest.watching import ClusterWatch
    from lagmon.ingest.worker_topic import Told
    from runtime.process.clock import WaitingClock


class Source(Protocol):
    """Reads how far one or several mirrors are, and feeds their flows' windows under `turn`."""

    turn: threading.Lock
    cluster: str  # where it reads
    topic: str  # what it reads there, "" where that is no topic

    @property
    def name(self) -> str:
        """Return its name in states and logs."""
        ...

    async def run(self, stopping: asyncio.Event) -> None:
        """Read until stopped; raises a MirrorwatchError if the progress is unavailable or refused."""
        ...

    def tell(self, problem: str) -> None:
        """Set why the flows' progress is not read; an empty text if it is."""
        ...


def mirrors(
    orders: Orders, watches: Sequence[ClusterWatch], clock: WaitingClock
) -> tuple[list[MirrorFlow], list[Source]]:
    """Make a flow for each order, and their readers."""
    watched = {watch.alias: watch for watch in watches}
    flows = [
        MirrorFlow(order, watched[order.flow.source].lag, watched[order.flow.target].lag)
        for order in orders.mirrors
    ]
    return flows, [
        *_of_workers(orders, flows, watched, clock),
        *_of_tasks(orders, flows, watched, clock),
        *_of_watches(flows, watches, clock),
        *sync_readers(orders.syncs, flows, orders.clients, watched, clock),
    ]


def _of_workers(
    orders: Orders, flows: Sequence[MirrorFlow], watched: dict[str, ClusterWatch], clock: WaitingClock
) -> list[MirrorOffsets]:
    """Make one reader for each offsets topic of a Connect worker."""
    topics: dict[tuple[str, str], list[MirrorFlow]] = {}
    for flow in flows:
        if flow.order.lag_from != CONNECT_OFFSETS or not flow.order.offsets_topic:
            continue  # without a topic the verdict explains it
        topics.setdefault((flow.order.offsets_cluster, flow.order.offsets_topic), []).append(flow)
    return [
        MirrorOffsets(
            orders.clients[alias], found, host=watched[alias].lag, lock=watched[alias].lock, clock=clock
        )
        for (alias, _), found in topics.items()
    ]


def _of_tasks(
    orders: Orders, flows: Sequence[MirrorFlow], watched: dict[str, ClusterWatch], clock: WaitingClock
) -> list[WorkerTopic]:
    """Make one reader for each topic in which a Connect worker writes about its tasks."""
    states: dict[tuple[str, str], list[MirrorFlow]] = {}
    assignments: dict[tuple[str, str], list[MirrorFlow]] = {}
    for flow in flows:
        order = flow.order
        for topic, found in ((order.status_topic, states), (order.config_topic, assignments)):
            if topic:
                found.setdefault((order.offsets_cluster, topic), []).append(flow)
    clean = Redactor(orders.secrets).foreign
    readers: list[tuple[tuple[str, str], Told]] = [
        *((at, StatesIntake(found, clean)) for at, found in states.items()),
        *((at, AssignmentsIntake(found)) for at, found in assignments.items()),
    ]
    return [
        WorkerTopic(
            orders.clients[alias],
            one,
            cluster=alias,
            topic=topic,
            host=watched[alias].lag,
            lock=watched[alias].lock,
            clock=clock,
        )
        for (alias, topic), one in readers
    ]


def _of_watches(
    flows: Sequence[MirrorFlow], watches: Sequence[ClusterWatch], clock: WaitingClock
) -> list[MirrorFollowing]:
    """Follow each flow whose progress is in what its clusters' watches read anyway."""
    found = []
    for flow in flows:
        order = flow.order.flow
        match flow.order.lag_from:
            case "group":
                follow, read = GroupProgress(flow).follow, {order.source}
            case "equal-offsets":
                follow, read = EqualProgress(flow).follow, {order.source, order.target}
            case _:
                continue
        locks = [watch.lock for watch in watches if watch.alias in read]
        found.append(MirrorFollowing(flow, follow, locks=locks, clock=clock))
    return found
