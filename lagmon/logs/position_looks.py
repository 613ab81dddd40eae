"""Look at one cluster's positions: which topics there are, their ids, where logs begin and end. It blocks."""

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

TOPICS_EVERY = 6  # looks: at the list of topics, and at log starts
STARTS_AT_ONCE = 5_000  # partitions, of those that mirrors read; asking for 1,000 takes about 10 ms of CPU


class PositionLooks:
    """The looks at one cluster, one after the other; `lock` guards what they are taken into."""

    def __init__(self, alias: str, lag: ClusterLag, lock: threading.Lock, *, clock: Clock) -> None:
        self._alias = alias
        self._lag = lag
        self._lock = lock
        self._clock = clock
        self.listed: dict[str, Listed] = {}
        self.looked_at: float | None = None  # when all ends were read last, epoch s
        self.took_s = 0.0
        # Called with the cluster's id and its topics as soon as they are listed, before any look at them.
        self.on_reached: Callable[[str, str, Mapping[str, int]], None] | None = None
        # Called with ids and when they were asked for, without the lock: mirrors have to hear of them first.
        self.note_ids: Callable[[dict[str, str], int], None] = self._note_ids
        self._given = GivenNames()
        self._count = 0
        self._places = np.zeros(0, np.int32)  # of the partitions with a leader
        self._partitions = Partitions()  # and their names, in the same order
        self._led_of: dict[str, Listed] = {}  # the list that these are of
        self._lacking: set[str] = set()  # topics that the last list was the first in a row to lack
        self._unanswered = False  # whether a partition did not answer at the last look

    def look(self, positions: Positions, expect: Callable[[Mapping[int, int], int], bool] | None) -> None:
        """Read the ends of all partitions; now and then, what topics there are and where logs begin.

        `expect` is told of the ends of TOPIC's partitions, and when those were looked at; it tells whether
        TOPIC may be another one by these. Raises our own error where the cluster is away or refuses.
        """
        began_at = self._clock.wall_s()
        rarely, back = self._count % TOPICS_EVERY == 0, False
        # Those that no list ever showed wait for their turn: they may be hidden for good.
        lacking = not self._lacking.isdisjoint(self._lag.topics)
        if rarely or self._unanswered or lacking or self._lag.list_awaited or TOPIC not in self.listed:
            self.listed = positions.topics()
            give_back()
            partitions = {name: len(topic.leaders) for name, topic in self.listed.items()}
            if self.on_reached is not None:
                self.on_reached(self._alias, positions.cluster_id, partitions)
            back = bool(self._lacking & partitions.keys())  # perhaps as another topic of the same name
            with self._lock:
                # A broker that has just begun may tell of none, and a topic be newer than the list: what
                # groups have read is only forgotten once a second list lacks the topic too.
                self._lacking = self._lag.lacking(partitions) - self._lacking
                self._lag.note_topics(partitions, int(began_at * 1000), lacking=self._lacking)
            self._places, self._partitions, self._led_of = *self._asked(), self.listed
        places, asked = self._places, self._partitions
        # What does not answer has another leader, or the client still knows it under an old epoch: it learns
        # that from metadata alone, which it asks for by itself every five minutes.
        self._unanswered = True
        # Before, not after: what is committed while ends are read may be past an end, and no contradiction.
        at_ms = self._begin_asking()
        ends = np.array(positions.read(asked, Which.END), np.int64)
        stables = self._read_stables(positions, ends, everywhere=rarely)
        self._unanswered = bool((np.minimum(ends, stables) < 0).any())
        with self._lock:
            heads = self._lag.heads
            late, fallen = heads.forgotten(places), heads.fallen_below_start
            ends[late] = stables[late] = -1
            self._lag.note_looked(places, ends, stables, at_ms, read_ms=int(self._clock.wall_s() * 1000))
            fell = heads.fallen_below_start > fallen  # of a topic re-created start and id are soon known too
        self._count += 1  # what fails from here on is asked again in its turn, and holds up nothing else
        lost = expect is not None and expect(_of_commits(asked, ends.tolist()), at_ms)
        # Ids first: what they tell of a topic re-created, its starts are to be known after.
        self._look_at_ids(positions, everywhere=rarely or back or fell or lost)
        self._look_at_starts(positions, places, asked, everywhere=rarely or fell)
        self.looked_at = self._clock.wall_s()
        self.took_s = self.looked_at - began_at
        give_back()  # each step leaves holes of a tenth of all that we hold

    def _begin_asking(self) -> int:
        """Have kept of which places all is forgotten while they are asked about; return the instant."""
        with self._lock:
            self._lag.heads.begin_asking()
        return int(self._clock.wall_s() * 1000)

    def _read_stables(
        self, positions: Positions, ends: NDArray[np.int64], *, everywhere: bool
    ) -> NDArray[np.int64]:
        """Read the last stable offsets; of a log that does not grow and ended there before, that is its end.

        Everywhere now and then: a topic that was re-created may end where the old one did.
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
        """Read where logs begin: everywhere, or those that mirrors read, which retention may overtake.

        Of more than STARTS_AT_ONCE of these, some at each look in turn.
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
        """Read the ids of TOPIC and of those that groups read: of all, or where none is known yet."""
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
        if self.listed != self._led_of:  # else they stay what they are: who is asked again keeps in mind how
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
