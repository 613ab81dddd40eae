"""State of one cluster that its topics do not hold: history of log ends, and topic ids. Pure.

The first frame names the cluster and the downtimes; each further one has a few thousand partitions as of one
instant. On reading, the state is used only for the same cluster (by its id), and log ends only while they are
recent enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.errors import MalformedError
from fleet.portions import portions
from lagmon.cluster.absence import STATE_NUMBERS
from lagmon.cluster.marks import NEVER
from lagmon.logs.head_history import HORIZON_MS
from lagmon.logs.heads import LAST_MS, MAX_AWAY
from lagmon.logs.heads_snapshot import MAX_ROWS, read_state, snapshot
from lagmon.snapshots.frames import seal, unseal
from lagmon.snapshots.marks import Marks, read_marks
from lagmon.snapshots.reading import instant, numbers, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from lagmon.cluster.state import ClusterLag
    from lagmon.logs.heads import HeadsState

PLACES_AT_ONCE = 4096  # copied under the lock: about 3 ms
MAX_TOPIC = 249  # characters, Kafka's limit


@dataclass(frozen=True, slots=True)
class _Topics:
    """Some topics with their partitions, in order; what follows `ids` is by partition."""

    names: list[str]
    counts: list[int]
    ids: list[str]
    state: HeadsState
    marks: Marks


@dataclass(frozen=True, slots=True)
class KeptCluster:
    """The state of a cluster at an instant."""

    cluster_id: str
    taken_ms: int
    away: tuple[tuple[int, int], ...]
    absence: list[int] | None  # None: stored by an older version
    topics: tuple[_Topics, ...]

    @property
    def names(self) -> set[str]:
        """Return the names of all topics."""
        return {name for part in self.topics for name in part.names}


def frames_of(
    lag: ClusterLag, lock: AbstractContextManager[Any], *, cluster_id: str, now_ms: int
) -> Iterator[bytes]:
    """Yield the frames of a cluster; the lock is held only while a block of partitions is copied."""
    with lock:
        away, absence = list(lag.heads.away), lag.absence.state()
    yield seal(
        {
            "kind": "cluster",
            "cluster_id": cluster_id,
            "taken_ms": now_ms,
            "away": away,
            "absence": absence,
        }
    )
    for names in portions(lag.topics.items(), most=PLACES_AT_ONCE):
        with lock:
            of = [lag.places.of(name) for name in names]
            places = [place for one in of for place in one]
            body = snapshot(lag.heads, np.array(places, np.int32))
            marks = Marks.of(lag, places)
            ids = [lag.ids.get(name) or lag.former_ids.get(name, "") for name in names]
        yield seal(
            {
                "names": names,
                "counts": [len(one) for one in of],
                "ids": ids,
            }
            | marks.document(),
            body,
        )


def read_cluster(payload: bytes) -> KeptCluster:
    """Return the stored state of a cluster; raises MalformedError with a sentence."""
    frames = unseal(payload)
    head, _ = next(frames)
    if head.get("kind") != "cluster":
        raise MalformedError("snapshot: not of a cluster")
    away = head.get("away")
    if not isinstance(away, list) or len(away) > MAX_AWAY:
        raise MalformedError("snapshot: invalid list of downtimes")
    spans = [numbers(one, count=2, least=0, most=LAST_MS) for one in away]
    absence = head.get("absence")
    topics, rows = [], 0
    for document, body in frames:
        topics.append(_read_topics(document, body))
        rows += sum(topics[-1].counts)
        if rows > MAX_ROWS:
            raise MalformedError(f"snapshot: more than {MAX_ROWS} partitions")
    return KeptCluster(
        text(head.get("cluster_id"), most=1000),
        instant(head.get("taken_ms")),
        tuple((span[0], span[1]) for span in spans),
        None if absence is None else numbers(absence, count=STATE_NUMBERS, least=-1, most=LAST_MS),
        tuple(topics),
    )


def take_up(lag: ClusterLag, kept: KeptCluster, *, partitions: Mapping[str, int], now_ms: int) -> int:
    """Restore the state of a cluster, and return the number of topics.

    Only partitions that it has now are restored; call it before any poll of them.
    """
    if now_ms - kept.taken_ms <= HORIZON_MS:
        lag.heads.away = list(kept.away)
        if kept.absence is not None:
            lag.absence.take_up(kept.absence)
    found = take_up_topics(lag, kept, partitions=partitions, now_ms=now_ms)
    lag.heads.note_away()
    return found


def take_up_topics(lag: ClusterLag, kept: KeptCluster, *, partitions: Mapping[str, int], now_ms: int) -> int:
    """Restore the state of these topics only, and return their number; call it before any poll of them."""
    found = 0
    heads_too = now_ms - kept.taken_ms <= HORIZON_MS
    for part in kept.topics:
        first = 0
        rows: list[int] = []
        places: list[int] = []
        for name, count, topic_id in zip(part.names, part.counts, part.ids, strict=True):
            here = min(count, partitions.get(name, 0))
            if here:
                found += 1
                lag.places.take(name, here - 1)
                places += lag.places.of(name)[:here]
                rows += range(first, first + here)
                if topic_id:
                    lag.former_ids[name] = topic_id
            first += count
        if heads_too and rows:
            lag.heads.take_up(np.array(places, np.int32), _rows_of(part.state, np.array(rows, np.intp)))
        held = [part.marks.held[row] if heads_too else NEVER for row in rows]
        lag.take_up_marks(places, [part.marks.remade_ms[row] for row in rows], held, now_ms=now_ms)
        for place, row in zip(places, rows, strict=True):
            lag.readable.take_up(place, part.marks.gaps[row], kept.taken_ms)
    return found


def _read_topics(document: Mapping[str, Any], body: bytes) -> _Topics:
    names, ids = document.get("names"), document.get("ids")
    if not isinstance(names, list) or not isinstance(ids, list) or len(ids) != len(names):
        raise MalformedError("snapshot: topics without names or ids")
    counts = numbers(document.get("counts"), count=len(names), least=0, most=MAX_ROWS)
    rows = sum(counts)
    if rows > MAX_ROWS:
        raise MalformedError(f"snapshot: more than {MAX_ROWS} partitions")
    return _Topics(
        [text(name, most=MAX_TOPIC) for name in names],
        counts,
        [text(one, most=MAX_TOPIC) for one in ids],
        read_state(body, rows),
        read_marks(document, rows),
    )


def _rows_of(state: HeadsState, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> HeadsState:
    return type(state)(
        origin_ms=state.origin_ms,
        ends=state.ends[:, rows],
        times=state.times[:, rows],
        start=state.start[rows],
        start_at_ms=state.start_at_ms[rows],
        stable=state.stable[rows],
    )
