"""Topic ids that are not outdated: after a re-creation, an answer with the old id may arrive late. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.cluster.state import ClusterLag


def in_time(lag: ClusterLag, ids: Mapping[str, str], asked_ms: int) -> dict[str, str]:
    """Return the ids that are known already, or were requested after their topic was last re-created.

    Two components request ids, each at its own times. A late answer with the old id would look like a second
    re-creation, and the next answer like a third.
    """
    return {
        topic: topic_id
        for topic, topic_id in ids.items()
        if lag.ids.get(topic) == topic_id or _remade_ms(lag, topic) < asked_ms
    }


def _remade_ms(lag: ClusterLag, topic: str) -> int:
    remade, _ = lag.marks(lag.places.of(topic))
    return max(remade, default=-1)
