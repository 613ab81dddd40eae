"""Whether a topic is still the one that is being read. Pure.

A consumer of a re-created topic gets no records, as their offsets start again; the topic id shows it, which
is read together with those of mirrored topics. New partitions would have no reader. The caller holds the
cluster's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from lagmon.cluster.state import ClusterLag


class TopicIdentity:
    """Detects a change of one topic of a cluster; `host` knows that cluster's topics."""

    def __init__(self, host: ClusterLag, cluster: str, topic: str) -> None:
        self._host = host
        self._where = f"cluster {cluster}: topic {topic}"
        self._topic = topic
        self._id: str | None = None  # None: not read yet
        self._partitions = 0  # set by `begin`

    def begin(self, partitions: int) -> None:
        """Take the current topic as the one that is being read, with this many partitions."""
        self._id, self._partitions = self._host.ids.get(self._topic), partitions

    def check(self) -> None:
        """Raise UnavailableError if the topic has changed, so that it is opened again."""
        said = self.changed()
        if said:
            raise UnavailableError(said)

    def changed(self) -> str:
        """Return how the topic has changed; "" if it has not."""
        now = self._host.ids.get(self._topic)
        self._id = self._id or now
        if now not in (None, self._id):
            return f"{self._where}: re-created; reading it again from its start"
        count = self._host.topics.get(self._topic, self._partitions)
        if not self._partitions or count in {0, self._partitions}:  # 0 in a list means not known
            return ""
        return (
            f"{self._where}: {count} partitions instead of {self._partitions}; reading it again from its"
            " start"
        )
