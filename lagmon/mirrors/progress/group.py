"""The progress of a mirror that reads as a consumer group: its groups' commits on the source. Pure.

MirrorMaker 1, uReplicator, Brooklin and Confluent's Replicator read so. A mirror may have several groups, for
example one for each topic. If several commit to a partition, one of them counts: a group with active members
if there is one. Another group takes its place only after it has committed for HOLD_MS after the last commit
of the first. A window never mixes two groups, so that switching makes no step back.

Times are by Mirrorwatch's clock, corrected from those of the broker that takes a group's commits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.writer_clocks import WriterClocks
from lagmon.mirrors.answers.orders import COMMITS_TOPIC
from lagmon.mirrors.progress.group_sentences import close_to, none_ever, none_matches, none_of_topics, shared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts

    Slots = NDArray[np.intp]

HOLD_MS = 120_000  # two of the longest usual gaps between commits
TOGETHER_MS = 600_000  # groups with newest commits this close are both active
CLOSE_EVERY_MS = 60_000  # between two searches for similar names
_FIRST = 64


@dataclass(frozen=True, slots=True)
class _Held:
    """The group that counts for a partition, its slot, and its newest commit that was taken in."""

    group: str
    slot: int
    turn: int
    offset: int
    committed_ms: int


class GroupProgress:
    """Feeds the windows of one flow from the commits of its source."""

    def __init__(self, flow: FlowFacts) -> None:
        self._flow = flow
        self._lag = flow.source
        self._held: dict[tuple[str, int], _Held] = {}
        self._follows: dict[str, bool] = {}  # by name of a group
        self._seen = np.full((3, _FIRST), -1, np.int64)  # by slot: its turn and newest commit
        self._usual: list[tuple[int, int, int]] = []  # of the windows: slot, next offset and when
        self._clocks = WriterClocks()  # of the brokers that take the groups' commits
        self._searched_ms = -CLOSE_EVERY_MS
        self._close: tuple[str, ...] = ()

    def follow(self, now_ms: int) -> None:
        """Take in the commits since the last time; the caller holds the lock of the source."""
        flow, lag = self._flow, self._lag
        if lag.topics:
            flow.topics.note_source(lag.topics)
        if lag.read_to_ms < 0:  # not all commits are known: keep what was taken in
            no_commits = bool(lag.topics) and COMMITS_TOPIC not in lag.topics
            flow.problem = none_ever(flow.order) if no_commits else ""
            return
        following = self._matching()
        rows = np.flatnonzero(np.isin(lag.slots.group[: len(lag.slots)], list(following)))
        self._find_again(rows, following)
        for slot in self._changed(rows).tolist():
            self._take(slot, following[int(lag.slots.group[slot])], now_ms)
        self._take_usual()
        flow.groups = tuple(sorted({held.group for held in self._held.values()}))
        flow.note = self._shared(rows)
        flow.problem = "" if flow.groups else self._no_group(following, now_ms)
        flow.read_to_ms = self._read_to_ms(following)

    def _matching(self) -> dict[int, str]:
        """Return the groups that are the mirror's, by number."""
        known, there = self._follows, dict(self._lag.slots.every_group())
        self._follows = {
            name: known[name] if name in known else self._flow.order.follows(name) for name in there.values()
        }
        return {number: name for number, name in there.items() if self._follows[name]}

    def _read_to_ms(self, following: Mapping[int, str]) -> int:
        """Return up to when the commits of all of these groups are known."""
        lag = self._lag
        if not lag.asking:
            return lag.read_to_ms
        return min(
            (lag.asked_ms[name] for name in following.values() if name in lag.asked_ms),
            default=lag.read_to_ms,
        )

    def _find_again(self, rows: Slots, following: Mapping[int, str]) -> None:
        """Follow partitions whose slot changed; forget those whose group no longer has an offset."""
        slots = self._lag.slots
        moved = {
            key: held
            for key, held in self._held.items()
            if held.slot >= len(slots) or slots.generations[held.slot] != held.turn
        }
        if not moved:
            return
        self._seen[:] = -1
        there = {
            (following[int(slots.group[slot])], self._lag.places.name(int(slots.place[slot]))): slot
            for slot in rows.tolist()
        }
        for key, held in moved.items():
            slot = there.get((held.group, key))
            if slot is None:
                del self._held[key]
                self._flow.windows.forget(*key)
            else:
                self._held[key] = replace(held, slot=slot, turn=int(slots.generations[slot]))

    def _newest(self, rows: Slots | int) -> NDArray[np.int64]:
        """Return turn and newest commit of slots, a row each."""
        slots, rings = self._lag.slots, self._lag.rings
        return np.array(
            (slots.generations[rows], rings.offset[rows, -1], rings.committed_ms[rows, -1]), np.int64
        )

    def _changed(self, rows: Slots) -> Slots:
        """Return the slots with a new commit."""
        lacking = len(self._lag.slots) - self._seen.shape[1]
        if lacking > 0:
            more = np.full((3, max(lacking, self._seen.shape[1] // 4)), -1, np.int64)
            self._seen = np.concatenate((self._seen, more), axis=1)
        seen = (self._seen[:, rows] == self._newest(rows)).all(axis=0)
        found: Slots = rows[~seen & (self._lag.rings.filled[rows] > 0)]
        return found

    def _take(self, slot: int, group: str, now_ms: int) -> None:
        """Take in what is new of one slot."""
        lag = self._lag
        key = lag.places.name(int(lag.slots.place[slot]))
        if key[0] not in self._flow.topics.remote:
            return
        newest = self._newest(slot)
        self._seen[:, slot] = newest
        held = self._held.get(key)
        if held is not None and held.group != group:
            if not self._is_better(slot, group, held):
                return
            self._take_usual()
            self._flow.windows.forget(*key)
            held = None
        self._feed(key, slot, group, held, now_ms)
        self._held[key] = _Held(group, slot, *newest.tolist())

    def _take_usual(self) -> None:
        """Take in all slots with one new commit at once."""
        if self._usual:
            taken = np.array(self._usual, np.int64).T
            self._flow.windows.take_polls(taken[0].astype(np.intp), taken[1], taken[2])
            self._usual.clear()

    def _is_better(self, slot: int, group: str, held: _Held) -> bool:
        lag = self._lag
        active, was_active = (lag.membership.members(one) > 0 for one in (group, held.group))
        if active != was_active:
            return active
        return int(lag.rings.committed_ms[slot, -1]) > held.committed_ms + HOLD_MS

    def _feed(self, key: tuple[str, int], slot: int, group: str, held: _Held | None, now_ms: int) -> None:
        """Take in the commits of a slot that are newer than the last one."""
        rings, filled = self._lag.rings, int(self._lag.rings.filled[slot])
        live = int(rings.live[slot])
        offsets, times = (
            array[slot, rings.length - filled :].tolist() for array in (rings.offset, rings.committed_ms)
        )
        if live:
            self._clocks.note(group, times[-1], int(self._lag.intake.seen_ms[slot]))
        skew_ms = self._clocks.difference_ms(group)
        first = _first_new(offsets, times, held)
        if first == filled - 1 and live and held is not None:
            at_ms = min(times[-1] + skew_ms, now_ms)
            self._usual.append((self._flow.windows.ensure_slot(*key), offsets[-1], at_ms))
            return
        for column in range(first, filled):
            at_ms = min(times[column] + skew_ms, now_ms)
            self._flow.windows.take(*key, offsets[column] - 1, at_ms, live=filled - column <= live)

    def _shared(self, rows: Slots) -> str:
        """Return a remark on a partition to which several active groups commit."""
        lag = self._lag
        places = lag.slots.place[rows]
        if len(np.unique(places)) == len(places):
            return ""
        committed_ms = lag.rings.committed_ms[rows, -1]
        newest_ms = np.full(int(places.max()) + 1, -1, np.int64)
        np.maximum.at(newest_ms, places, committed_ms)
        at_work = rows[committed_ms >= newest_ms[places] - TOGETHER_MS]
        for place in np.flatnonzero(np.bincount(lag.slots.place[at_work]) > 1).tolist():
            topic, partition = lag.places.name(place)
            held = self._held.get((topic, partition))
            if held is not None:
                of_it = at_work[lag.slots.place[at_work] == place].tolist()
                groups = [lag.slots.group_name(int(lag.slots.group[one])) for one in of_it]
                return shared(self._flow.order, f"{topic}-{partition}", groups, held.group)
        return ""

    def _no_group(self, following: Mapping[int, str], now_ms: int) -> str:
        order = self._flow.order
        if following:
            return none_of_topics(order, following.values())
        if not 0 <= now_ms - self._searched_ms < CLOSE_EVERY_MS:
            self._searched_ms = now_ms
            self._close = close_to(order.group, [name for _, name in self._lag.slots.every_group()])
        return none_matches(order, self._close)


def _first_new(offsets: list[int], times: list[int], held: _Held | None) -> int:
    """Return the first column after the last one taken in, or the newest if it is not found."""
    if held is None:
        return 0
    newest = len(offsets) - 1
    for column in range(newest, -1, -1):
        if (offsets[column], times[column]) == (held.offset, held.committed_ms):
            return min(column + 1, newest)
    return next((column for column, at_ms in enumerate(times) if at_ms > held.committed_ms), newest)
