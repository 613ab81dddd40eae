"""Names of topics that members were assigned by id and on which no group commits. Pure.

In groups of KIP-848 assignments have topic ids, and Kafka only returns the id of a topic, not the topic of an
id. Ids of topics with commits are known anyway. If other ids were assigned, the ids of all topics are
requested, some at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lagmon.cluster.membership import Membership

ASKED_AT_ONCE = 500


class GivenNames:
    """The names that were found, by id, of topics that are assigned now."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._next = 0

    def due(self, membership: Membership, topics: Iterable[str], *, without: Collection[str]) -> list[str]:
        """Return the topics whose ids to request; none if every assigned id has its name."""
        if membership.given_ids() <= membership.names.keys():
            return []
        others = [one for one in topics if one not in without]
        first = self._next if self._next < len(others) else 0
        self._next = first + ASKED_AT_ONCE
        return others[first : self._next]

    def note(self, ids: Mapping[str, str], membership: Membership) -> None:
        """Add ids by topic, and forget those that are no longer assigned."""
        given = membership.given_ids()
        found = self.found | {topic_id: topic for topic, topic_id in ids.items()}
        self.found = {topic_id: topic for topic_id, topic in found.items() if topic_id in given}
