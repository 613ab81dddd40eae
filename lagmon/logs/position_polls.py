"""Poll one cluster's positions: topics, their ids, log starts and ends. Blocking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.cluster.given_names import GivenNames
from lagmon.cluster.late_ids import in_time
from lagmon.ingest.commits import TOPIC
from runtime.kafka.positions import Partitions, Which
from runtime.process.memory import give_back

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from runtime.kafka.positions import Listed, Positions
    from runtime.process.clock import Clock

TOPICS_EVERY = 6  # polls: then also topics and log starts
STARTS_AT_ONCE = 5_000  # partitions that mirrors read; requesting 1,000 takes about 10 ms of CPU


class PositionPolls:
    """The polls of one cluster; `lock` guards the state that they are added to."""

    def __init__(self, alias: str, lag: ClusterLag, lock: threading.Lock, *, clock: Clock) -> None:
        self._alias = alias
        self._lag = lag
        self._lock = lock
        self._clock = clock
        self.listed: dict[str, Listed] = {}
        self.polled_at: float | None = None  # when all ends were read last, epoch s
        self.took_s = 0.0
        # Called with the cluster's id and its topics as soon as they are listed, before the first poll.
        self.on_reached: Callable[[str, str, Mapping[str, int]], None] | None = None
        # Called with ids and when they were requested, without the lock: mirrors must get them first.
        self.note_ids: Callable[[dict[str, str], int], None] = self._note_ids
        self._given = GivenNames()
        self._count = 0
        self._places = np.zeros(0, np.int32)  # of the partitions with a leader
        self._partitions = Partitions()  # and their names, in the same order
        self._led_of: dict[str, Listed] = {}  # the list of topics that these are from
        self._lacking: set[str] = set()  # topics missing in the last list, but not in the one before
        self._unanswered = False  # whether a partition did not answer the last poll

    def look(self, positions: Positions, expect: Callable[[Mapping[int, int], int], bool] | None) -> None:
        """Read the ends of all partitions; now and then, also topics, ids and log starts.

        `expect` is called with the ends of TOPIC's partitions and the time of the poll; it returns whether
        TOPIC may have been re-created. Raises RefusedError or UnavailableError from the cluster.
        """
        began_at = self._clock.wall_s()
        rarely, back = self._count % TOPICS_EVERY == 0, False
        # Topics that were never listed may be hidden for good: they wait for their turn.
        lacking = not self._lacking.isdisjoint(self._lag.topics)
        if rarely or self._unanswered or lacking or self._lag.list_awaited or TOPIC not in self.listed:
            self.listed = positions.topics()
            give_back()
            partitions = {name: len(topic.leaders) for name, topic in self.listed.items()}
            if self.on_reached is not None:
                self.on_reached(self._alias, positions.cluster_id, partitions)
            back = bool(self._lacking & partitions.keys())  # perhaps as another topic of the same name
            with self._lock:
                # A broker that has just started may list no topics, and a topic may be newer than the list:
                # commits
                # are forgotten only after a second list without the topic.
                self._lacking = self._lag.lacking(partitions) - self._lacking
                self._lag.note_topics(partitions, int(began_at * 1000), lacking=self._lacking)
            self._places, self._partitions, self._led_of = *self._asked(), self.listed
        places, asked = self._places, self._partitions
        # Without an answer the leader may have changed, or the client knows it by an old epoch: only metadata
        # shows that, which the client requests by itself every five minutes.
        self._unanswered = True
        # Before, not after: a commit during the poll may be beyond an end without a contradiction.
        at_ms = self._begin_asking()
        ends = np.array(positions.read(asked, Which.END), np.int64)
        stables = self._read_stables(positions, ends, everywhere=rarely)
        self._unanswered = bool((np.minimum(ends, stables) < 0).any())
        with self._lock:
            heads = self._lag.heads
            late, fallen = heads.forgotten(places), heads.fallen
            ends[late] = stables[late] = -1
            self._lag.note_polled(places, ends, stables, at_ms, read_ms=int(self._clock.wall_s() * 1000))
            fell = heads.fallen > fallen  # perhaps re-created: its start and id are needed soon
        self._count += 1  # what fails from here on is repeated in its turn, and delays nothing else
        lost = expect is not None and expect(_of_commits(asked, ends.tolist()), at_ms)
        # Ids first: log starts must be read after a re-creation is known.
        self._look_at_ids(positions, everywhere=rarely or back or fell or lost)
        self._look_at_starts(positions, places, asked, everywhere=rarely or fell)
        self.polled_at = self._clock.wall_s()
        self.took_s = self.polled_at - began_at
        give_back()  # each step fragments a tenth of our memory

    def _begin_asking(self) -> int:
        """Start to record which places are forgotten during the poll; return the instant."""
        with self._lock:
            self._lag.heads.begin_asking()
        return int(self._clock.wall_s() * 1000)

    def _read_stables(
        self, positions: Positions, ends: NDArray[np.int64], *, everywhere: bool
    ) -> NDArray[np.int64]:
        """Read the last stable offsets; a log that has not grown and was stable keeps its end.

        Now and then all are read: a re-created topic may have the same end as the old one.
        """
        places, asked = self._places, self._partitions
        with self._lock:
            heads = self._lag.heads
            still = (heads.end[places] == ends) & (heads.stable[places] == ends)
        if everywhere or 2 * np.count_nonzero(still) < len(still):
            return np.array(positions.read(asked, Which.STABLE), np.int64)
        stables = ends.copy()
        moved = np.flatnonzero(~still & (ends >= 0))
        if len(moved):
            stables[moved] = positions.read([asked[row] for row in moved.tolist()], Which.STABLE)
        return stables

    def _look_at_starts(
        self,
        positions: Positions,
        places: NDArray[np.int32],
        asked: Sequence[tuple[str, int]],
        *,
        everywhere: bool,
    ) -> None:
        """Read log starts: of all partitions, or of mirrored ones, whose records may expire.

        Of more than STARTS_AT_ONCE of these, a part at each poll.
        """
        if not everywhere:
            with self._lock:
                mirrored = {topic for topics in self._lag.mirrored.values() for topic in topics}
            near = [row for row, (topic, _) in enumerate(asked) if topic in mirrored]
            if len(near) > STARTS_AT_ONCE:
                turns = -(-len(near) // STARTS_AT_ONCE)
                near = near[self._count % turns :: turns]
            places, asked = places[near], [asked[row] for row in near]
        if asked:
            self._begin_asking()
            starts = np.array(positions.read(asked, Which.START), np.int64)
            with self._lock:
                starts[self._lag.heads.forgotten(places)] = -1
                self._lag.heads.note_starts(places, starts, read_ms=int(self._clock.wall_s() * 1000))

    def _look_at_ids(self, positions: Positions, *, everywhere: bool) -> None:
        """Read the ids of TOPIC and of topics with commits: of all, or of those without a known id."""
        membership = self._lag.membership
        with self._lock:
            watched = [one for one in sorted({*self._lag.watched_topics(), TOPIC}) if one in self.listed]
            wanted = [one for one in watched if everywhere or one not in self._lag.ids]
            given = self._given.due(membership, self.listed, without=set(watched)) if everywhere else []
        asked_ms = int(self._clock.wall_s() * 1000)
        ids = positions.ids(wanted)
        if ids:
            self.note_ids(ids, asked_ms)
        named = positions.ids(given) if given else {}
        if ids or named:
            with self._lock:
                self._given.note(named, membership)
                known = {one: topic for topic, one in self._lag.ids.items()}
                membership.name_topics(self._given.found | known)

    def _note_ids(self, ids: dict[str, str], asked_ms: int) -> None:
        with self._lock:
            for topic, topic_id in in_time(self._lag, ids, asked_ms).items():
                self._lag.note_id(topic, topic_id, asked_ms)

    def _asked(self) -> tuple[NDArray[np.int32], Partitions]:
        """Return the places of the partitions with a leader, and their names."""
        asked = self._partitions
        if self.listed != self._led_of:  # an unchanged list keeps its offsets request in the client
            asked = Partitions(
                (name, number)
                for name, topic in self.listed.items()
                for number, leader in enumerate(topic.leaders)
                if leader is not None
            )
        with self._lock:
            of = {name: self._lag.places.of(name) for name in self.listed}
        places = (of[name][number] for name, number in asked)
        return np.fromiter(places, np.int32, len(asked)), asked


def _of_commits(asked: Partitions, ends: list[int]) -> dict[int, int]:
    """Return the known ends of TOPIC's partitions."""
    both = zip(asked, ends, strict=True)
    return {number: end for (name, number), end in both if name == TOPIC and end >= 0}
