"""Whether a topic that is read to its end, and on, is still the topic that it was when that began. Pure.

A consumer of a topic that was re-created reads nothing, and the numbers of its records begin again. Its id
tells that, which is asked for with those of mirrored topics. One that got more partitions has some that
nobody reads. The caller holds the lock of the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from lagmon.cluster.state import ClusterLag


class TopicIdentity:
    """Tells of one topic of a cluster whether it is another one; `host` knows that cluster's topics."""

    def __init__(self, host: ClusterLag, cluster: str, topic: str) -> None:
        self._host = host
        self._where = f"cluster {cluster}: topic {topic}"
        self._topic = topic
        self._id: str | None = None  # None: not read yet
        self._partitions = 0  # until it begins

    def begin(self, partitions: int) -> None:
        """Take it for the topic that is there now, with so many partitions."""
        self._id, self._partitions = self._host.ids.get(self._topic), partitions

    def check(self) -> None:
        """Raise UnavailableError where it is not the one that it was: it is to be opened anew."""
        said = self.changed()
        if said:
            raise UnavailableError(said)

    def changed(self) -> str:
        """Return how it is not the one that it was, and that it is opened anew; "" if it is the same."""
        now = self._host.ids.get(self._topic)
        self._id = self._id or now
        if now not in (None, self._id):
            return f"{self._where} was made anew: it is read again from its start"
        count = self._host.topics.get(self._topic, self._partitions)
        if not self._partitions or count in {0, self._partitions}:  # of one that is listed 0 is not known
            return ""
        return (
            f"{self._where} has {count} partitions now, and not {self._partitions}: it is read again from"
            " its start"
        )
