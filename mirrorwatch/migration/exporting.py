"""The command `migrate export`: the positions of a mirror, read from both clusters. Blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.dialect import moment_ms_text
from fleet.errors import RefusedError
from fleet.quantity import count_text
from lagmon.failover.places import runs_of
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.failover.asking import orders_named
from mirrorwatch.migration.mirror import read_mirror, worker_group
from mirrorwatch.migration.positions import (
    MirrorPositions,
    Position,
    Sync,
    TopicPositions,
    write_positions,
)
from mirrorwatch.trace.clusters import Clusters
from runtime.process.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.migration.mirror import MirrorState


def export_positions(config: Configuration, *, flow: str, out: Path) -> int:
    """Write the positions of a mirror into a file; return the exit status."""
    (order,) = orders_named(config, flow)
    clock = SystemClock()
    with Clusters(config.clients, clock) as clusters:
        now_ms = round(clock.wall_s() * 1000)
        mirror = read_mirror(config, order, clusters, now_ms=now_ms)
        if mirror.committed is None:
            click.echo(f"{order.name}: {mirror.problem}", err=True)
            return 3
        if mirror.runs:
            click.echo(f"The mirror runs ({mirror.evidence}). Stop it first; nothing was written.")
            return 1
        file = positions_of(mirror, clusters, now_ms=now_ms)
    partitions = file.places
    if wrong := [f"{topic}-{number}" for (topic, number), one in partitions.items() if not one.fits]:
        some = f"{', '.join(wrong[:FIRST])}{rest(wrong, joined=True)}"
        click.echo(
            f"The mirror's offset is after the log end on {order.flow.source}: {some}. It was re-created"
            " or lost its end. Delete the mirror's offsets of it, or exclude it; nothing was written."
        )
        return 1
    write_positions(out, file)
    held = sum(one.offset is not None for one in partitions.values())
    click.echo(
        f"{out}: {count_text(len(file.topics), 'topic')} of {order.name}, {held} of"
        f" {count_text(len(partitions), 'partition')} with an offset."
    )
    if mirror.runs is None:
        click.echo(f"Make sure that the mirror is stopped: {mirror.evidence}.")
        return 3
    click.echo(f"The mirror is stopped: {mirror.evidence}.")
    return 0


def positions_of(mirror: MirrorState, clusters: Clusters, *, now_ms: int) -> MirrorPositions:
    """Return the positions of a mirror in all partitions that its flow replicates."""
    order, committed = mirror.topics.order, mirror.committed or {}
    flow = order.flow
    source, target = clusters[flow.source], clusters[flow.target]
    remote = {
        topic: decision.remote_topic
        for topic in source.topics
        if (decision := flow.decide(topic)).replicated and decision.remote_topic is not None
    }
    if not remote:
        raise RefusedError(
            f"cluster {flow.source}: no topic that the mirror replicates is visible; check the mirror's"
            " topics, and whether the principal has Describe on them"
        )
    # After the committed offsets, and the target before the source: each is within the next.
    there = [(name, number) for name in remote.values() for number in range(target.topics.get(name, 0))]
    target_ends = target.logs(there)[1]
    here = [(topic, number) for topic in remote for number in range(source.topics[topic])]
    starts, ends = source.logs(here)
    ids = source.reader.topic_ids(list(remote))
    target_ids = target.reader.topic_ids([name for name in remote.values() if name in target.topics])

    def position(place: Place, there: Place) -> Position:
        held = committed.get(place)
        pairs = _current(mirror.topics.pairs.get(place, ()), ends=(ends[place], target_ends.get(there, 0)))
        offset = _replicated(pairs, held, in_transactions=flow.exactly_once)
        return Position(
            partition=place[1],
            offset=offset,
            committed=held,
            source_start=starts[place],
            source_end=ends[place],
            target_end=target_ends.get(there),
            sync=_sync(pairs, offset),
        )

    return MirrorPositions(
        at=moment_ms_text(now_ms) or "",
        flow=flow.name,
        source_cluster_id=source.reader.cluster_id,
        target_cluster_id=target.reader.cluster_id,
        stopped=None if mirror.runs is None else not mirror.runs,
        worker_group=worker_group(order),
        worker_cluster=order.offsets_cluster if worker_group(order) else None,
        topics=[
            TopicPositions(
                topic=topic,
                topic_id=ids.get(topic),
                target_topic=name,
                target_topic_id=target_ids.get(name),
                partitions=[position((topic, one), (name, one)) for one in range(source.topics[topic])],
            )
            for topic, name in remote.items()
        ],
    )


def _current(pairs: Sequence[SyncPair], *, ends: tuple[int, int]) -> Sequence[SyncPair]:
    """Return the offset syncs since the mirror last went back; none if a topic was re-created since."""
    newest = next(iter(runs_of(pairs)), ())
    if not newest or newest[-1].upstream >= ends[0] or newest[-1].downstream >= ends[1]:
        return ()
    return newest


def _replicated(pairs: Sequence[SyncPair], committed: int | None, *, in_transactions: bool) -> int | None:
    """Return the last source offset that is on the target.

    MirrorMaker writes an offset sync once the target has acknowledged the record, and commits later. In a
    transaction the record may be aborted after that.
    """
    if not pairs or in_transactions:
        return committed
    newest = pairs[-1].upstream
    return newest if committed is None else max(newest, committed)


def _sync(pairs: Sequence[SyncPair], offset: int | None) -> Sync | None:
    """Return the newest offset sync up to an offset."""
    found = next((one for one in reversed(pairs) if offset is not None and one.upstream <= offset), None)
    return None if found is None else Sync(source_offset=found.upstream, target_offset=found.downstream)
