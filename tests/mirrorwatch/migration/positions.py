"""Positions of a mirror as tests write them."""

from __future__ import annotations

from mirrorwatch.migration.positions import MirrorPositions, Position, Sync, TopicPositions

AT = "2026-11-28T10:00:00Z"


def position(partition=0, offset=99, *, start=0, end=150, target_end=100, sync=(99, 99), committed=None):
    return Position(
        partition=partition,
        offset=offset,
        committed=offset if committed is None else committed,
        source_start=start,
        source_end=end,
        target_end=target_end,
        sync=None if sync is None else Sync(source_offset=sync[0], target_offset=sync[1]),
    )


def positions(*partitions, topic="orders", target="A.orders", stopped=True, **more):
    one = TopicPositions(
        topic=topic,
        topic_id="source-topic",
        target_topic=target,
        target_topic_id="target-topic",
        partitions=[*(partitions or (position(),))],
    )
    return MirrorPositions(
        at=AT,
        flow="A->B",
        source_cluster_id="source-id",
        target_cluster_id="target-id",
        stopped=stopped,
        topics=[one],
        **more,
    )
