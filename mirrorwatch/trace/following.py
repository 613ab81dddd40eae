"""All flows from a record's cluster on, hop by hop. Blocks.

Replication policies end cycles by the names of topics. Policies that keep names cannot, so no path returns
to a topic of a cluster.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mirrorwatch.failover.mirror_topics import MirrorTopics
from mirrorwatch.trace.facts import Status
from mirrorwatch.trace.searching import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.trace.choosing import Chosen
    from mirrorwatch.trace.clusters import Clusters
    from mirrorwatch.trace.facts import HopVerdict
    from runtime.kafka.picking import PickedRecord, Place

    Kept = Callable[[str, Place], Mapping[Place, Sequence[SyncPair]]]

OK, FINDING, INCOMPLETE, UNAVAILABLE = 0, 1, 3, 4


@dataclass(frozen=True, slots=True)
class Trace:
    """The record on its source, and the verdict on each flow, in the order of the hops."""

    chosen: Chosen
    hops: tuple[HopVerdict, ...]
    now_ms: int

    @property
    def exit_status(self) -> int:
        """Return 0 if it is everywhere it should be, 1 missing or changed, 4 unavailable, 3 not known."""
        statuses = {one.status for one in self.hops}
        if any(one.is_missing for one in statuses):
            return FINDING
        if Status.UNAVAILABLE in statuses:
            return UNAVAILABLE
        if statuses & {Status.UNKNOWN, Status.NOT_YET} or Status.FOUND not in statuses:
            return INCOMPLETE
        return OK


class _Stop(NamedTuple):
    """A place of the record: offsets of equal records in a partition; `path`: clusters and topics so far."""

    cluster: str
    place: Place
    offsets: tuple[int, ...]
    record: PickedRecord
    path: frozenset[tuple[str, str | None]]


def follow(
    chosen: Chosen, orders: Sequence[MirrorOrder], clusters: Clusters, kept: Kept, *, now_ms: int
) -> Trace:
    """Return the verdict on each flow that may replicate the record, and on those after it."""
    if chosen.record is None:
        return Trace(chosen, (), now_ms)
    hops: list[HopVerdict] = []
    path = frozenset({(chosen.cluster, chosen.place[0])})
    due = deque([_Stop(chosen.cluster, chosen.place, (chosen.offset,), chosen.record, path)])
    while due:
        here = due.popleft()
        for order in orders:
            flow = order.flow
            step = flow.target, flow.decide(here.place[0]).remote_topic
            if flow.source != here.cluster or step in here.path:
                continue
            mirror = MirrorTopics(order, kept=kept(flow.name, here.place))
            search = Search(mirror, here.place, here.offsets, here.record, clusters)
            found = search.verdict(now_ms=now_ms)
            hops.append(found)
            if found.record is not None and found.remote is not None and found.remote_partition is not None:
                place = found.remote, found.remote_partition
                due.append(_Stop(flow.target, place, found.offsets, found.record, here.path | {step}))
    return Trace(chosen, tuple(hops), now_ms)
