"""Read records before which consumers are idle. On the watch's thread.

Three kinds: tails of logs (whether anything is left to read), records older than all polls of a log (when
they were written), and single offsets (whether they hold a record).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import MirrorwatchError
from lagmon.logs.readable import MOST_PLACES
from lagmon.logs.readable_gaps import Seen
from runtime.kafka.gaps import LONGEST_S, Gaps
from runtime.process import logs

if TYPE_CHECKING:
    import threading

    from lagmon.cluster.state import ClusterLag
    from lagmon.logs.readable import Stretch
    from runtime.kafka.gaps import Found
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

LEAST_S = 0.2  # for one read, or it is left to the next time
IDLE_LOOKS = 6  # the client is closed after this many turns without work
REFUSED_S = 600.0  # until a topic without permission is tried again
MOST_TOLD = 100  # topics of one cluster that are logged one by one


@dataclass(slots=True)
class _Kind:
    committed: bool
    gaps: Gaps
    idle: int = 0  # turns in sequence
    failed: bool = False  # the newest turn


class TailReads:
    """Reads of one cluster; `problem` names topics that may not be read, and the missing permission."""

    def __init__(
        self,
        alias: str,
        settings: ClientSettings,
        lag: ClusterLag,
        lock: threading.Lock,
        *,
        clock: Clock,
    ) -> None:
        self.alias = alias
        self.problem = ""
        self._kinds = tuple(
            _Kind(committed, Gaps(settings, cluster=alias, name=name, clock=clock, committed=committed))
            for committed, name in ((True, f"{alias}-tails"), (False, f"{alias}-tails-uncommitted"))
        )
        self._lag = lag
        self._lock = lock
        self._clock = clock
        self._log = logs.get("ingest")
        self._refused_until: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self) -> None:
        """Read what is due, for about a second with each kind of client."""
        failed = [self._look_on(kind) for kind in self._kinds]
        if not self._refused_until and not any(failed):
            self.problem = ""

    def close(self) -> None:
        """Close the clients."""
        for kind in self._kinds:
            kind.gaps.close()

    def _look_on(self, kind: _Kind) -> bool:
        """Read with one kind of client until nothing is due or a second is over; return if that failed.

        So several thousand partitions that become due together, as after a start, are read within a minute.
        """
        began_s, left_s = self._clock.wall_s(), LONGEST_S
        while self._look(kind, longest_s=left_s):
            left_s = LONGEST_S - max(0.0, self._clock.wall_s() - began_s)
            if left_s < LEAST_S:
                break
        return kind.failed

    def _look(self, kind: _Kind, *, longest_s: float) -> bool:
        """Read once with one kind of client; return whether more may be due."""
        now_s = self._clock.wall_s()
        now_ms, kind.failed = int(now_s * 1000), False
        with self._lock:
            without = self._refused_places(now_s)
            wanted = [
                one
                for one in self._lag.tails_due(now_ms, committed=kind.committed, without=without)
                if self._lag.places.name(one.place)[0]  # the place of a removed topic has no name
            ]
            questions = self._lag.tails.questions[kind.committed]
            firsts = questions.due(lambda place: self._may_read(self._lag.places.name(place)[0], now_s))
            firsts |= self._records_due(now_s, without) if kind.committed else {}
            firsts |= {one.place: one.first for one in wanted}
            names = {place: self._lag.places.name(place) for place in firsts}
        if not firsts:
            kind.idle += 1
            if kind.idle == IDLE_LOOKS:
                kind.gaps.close()
            return False
        kind.idle = 0
        try:
            found = kind.gaps.look(
                {names[place]: first for place, first in firsts.items()}, longest_s=longest_s
            )
        except MirrorwatchError as error:
            self._tell(str(error))
            kind.failed = True
            return False
        with self._lock:
            readable = self._lag.readable if kind.committed else self._lag.readable_uncommitted
            readable.note_asked((one.place for one in wanted), now_ms)
            # A topic that was removed meanwhile has freed its places.
            still = {place for place, name in names.items() if self._lag.places.name(place) == name}
            readable.note(_seen([one for one in wanted if one.place in still], names, found))
            self._note_times({place: firsts[place] for place in still}, names, found)
            questions.note(_answers({at: firsts[at] for at in still}, names, found))
            self._note_refused(found, now_s)
        return len(wanted) >= MOST_PLACES

    def _refused_places(self, now_s: float) -> set[int]:
        refused = [topic for topic, until in self._refused_until.items() if until > now_s]
        return {place for topic in refused for place in self._lag.places.of(topic)}

    def _records_due(self, now_s: float, without: set[int]) -> dict[int, int]:
        """Return place and offset of old records whose timestamps to read."""
        due = self._lag.records_due(int(now_s * 1000), without=without)
        return {place: first for place, first in due if self._lag.places.name(place)[0]}

    def _note_times(self, firsts: dict[int, int], names: dict[int, tuple[str, int]], found: Found) -> None:
        told = [place for place in firsts if names[place] in found.times]
        if told:
            self._lag.heads.note_records(
                np.array(told, np.int32),
                np.array([firsts[place] for place in told], np.int64),
                np.array([found.records[names[place]] for place in told], np.int64),
                np.array([found.times[names[place]] for place in told], np.int64),
            )

    def _may_read(self, topic: str, now_s: float) -> bool:
        # The place of a removed topic has no name.
        return topic != "" and self._refused_until.get(topic, 0.0) <= now_s

    def _note_refused(self, found: Found, now_s: float) -> None:
        # Log again after a permission was granted and revoked; forget topics that no longer exist.
        answered = {topic for topic, _ in (*found.records, *found.empty_to)}
        self._told -= answered
        self._told &= self._lag.topics.keys()
        refused = self._lag.tails.refused
        refused -= answered
        refused |= found.refused.keys()
        refused &= self._lag.topics.keys()
        for topic, why in found.refused.items():
            self._refused_until[topic] = now_s + REFUSED_S
            if topic not in self._told and len(self._told) < MOST_TOLD:
                self._told.add(topic)
                self._tell(
                    f"{why} Grant READ on the topic {topic}: without it, transaction markers after the last "
                    "record count as lag of groups and leave the lag of mirrors unknown, and the age of "
                    "records from before Mirrorwatch's start is unknown."
                )
        self._refused_until = {topic: until for topic, until in self._refused_until.items() if until > now_s}

    def _tell(self, sentence: str) -> None:
        if sentence != self.problem:
            self._log.warning(sentence, kafka_cluster=self.alias)
        self.problem = sentence


def _seen(asked: list[Stretch], names: dict[int, tuple[str, int]], found: Found) -> list[Seen]:
    seen = []
    for one in asked:
        name = names[one.place]
        if name in found.records:
            seen.append(Seen(one.place, one.first, found.records[name], is_record=True))
        elif found.empty_to.get(name, -1) > one.first:
            seen.append(Seen(one.place, one.first, found.empty_to[name], is_record=False))
    return seen


def _answers(
    firsts: dict[int, int], names: dict[int, tuple[str, int]], found: Found
) -> dict[int, tuple[int, int]]:
    """Return by place the offset read from, and the offset of its first record or of a later log end.

    If the log ends at that offset there is no result: its record may still come, or was lost.
    """
    told = {}
    for place, first in firsts.items():
        name = names[place]
        at = found.records.get(name, found.empty_to.get(name, -1))
        if name in found.records or at > first:
            told[place] = first, at
    return told
