"""Names of topics that members were given by id and on which no group commits: which ids to ask for. Pure.

In groups of KIP-848 members have topics by their ids, and nothing tells what has an id: only what id a topic
has. Of topics that groups commit on ids are known anyway; where others were given, those of all topics are
asked for, some at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lagmon.cluster.membership import Membership

ASKED_AT_ONCE = 500


class GivenNames:
    """The names that were found, by id, of topics that are given still."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._next = 0

    def due(self, membership: Membership, topics: Iterable[str], *, without: Collection[str]) -> list[str]:
        """Return of which topics to ask for the ids; of none where every id that was given has its name."""
        if membership.given_ids() <= membership.names.keys():
            return []
        others = [one for one in topics if one not in without]
        first = self._next if self._next < len(others) else 0
        self._next = first + ASKED_AT_ONCE
        return others[first : self._next]

    def note(self, ids: Mapping[str, str], membership: Membership) -> None:
        """Take ids by topic, and forget those that nobody has any more."""
        given = membership.given_ids()
        found = self.found | {topic_id: topic for topic, topic_id in ids.items()}
        self.found = {topic_id: topic for topic_id, topic in found.items() if topic_id in given}
