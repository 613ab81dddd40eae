"""Which ids of topics came in time: of one that was re-created, the old id may come after the new. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.cluster.state import ClusterLag


def in_time(lag: ClusterLag, ids: Mapping[str, str], asked_ms: int) -> dict[str, str]:
    """Return the ids that were asked for since their topics were last seen to be others, or that are known.

    Two ask for ids, each at its own times: an answer that was long on its way would make the old topic of the
    new one, and the next answer that one anew.
    """
    return {
        topic: topic_id
        for topic, topic_id in ids.items()
        if lag.ids.get(topic) == topic_id or _remade_ms(lag, topic) < asked_ms
    }


def _remade_ms(lag: ClusterLag, topic: str) -> int:
    remade, _ = lag.marks(lag.places.of(topic))
    return max(remade, default=-1)
