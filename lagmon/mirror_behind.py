"""Records that may have stayed behind: the mirror passed them, and the target has grown by less. Pure.

The distance between a partition's end on the target and the mirror's offset stays as it is while each record
is copied once. It falls where a transform drops records - and where transactions leave markers, aborted
records stay out or compaction leaves gaps. So a fall is a suspicion that only the audit can settle: it leaves
the verdict alone, and is not told of compacted topics or of those on which a transaction was seen open.

None of these takes anything from a copy's end. Where that has fallen, the target lost the end of its log: it
is a suspicion as well, of any topic, until its id tells that it was made anew.

Both ends are read at different instants, so a distance is taken only where nothing moved around the look: the
mirror has read all that there is, and two looks at the target's end and one at the source's agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import between_text, count_text
from fleet.vocabulary import Cause
from lagmon.mirror_findings import HELD_MS, MirrorFinding
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorSight

    Name = tuple[str, int]  # topic and partition

EVERY_MS = 4_000  # ends are read each ten seconds
MOST_TOLD = 100


class _Rows:
    """What is kept of each slot: a state (offset and both ends) with the look that showed it, and a rest."""

    def __init__(self, count: int) -> None:
        self.state = np.full(
            (3, count), -1, np.int64
        )  # the mirror's next offset, the source's end, the target's
        self.shown_ms = np.full(count, -1, np.int64)
        self.rest = np.full((3, count), -1, np.int64)  # next offset, the target's end, and when


class LeftBehind:
    """Keeps each partition's last moment at rest, and what has stayed behind since the one before."""

    def __init__(self) -> None:
        self._rows = _Rows(0)
        self._version = (-1, -1)  # of the windows' slots
        self.transactional: set[str] = set()  # topics on which a transaction was seen open
        self._found: dict[Name, MirrorFinding] = {}
        self._noted_ms = -EVERY_MS

    def look(self, flow: MirrorFlow, sight: MirrorSight) -> list[MirrorFinding]:
        """Take note of what is known now, and return what may have stayed behind."""
        if not 0 <= sight.now_ms - self._noted_ms < EVERY_MS:
            self._noted_ms = sight.now_ms
            if flow.windows.version != self._version or len(sight.used) != len(self._rows.shown_ms):
                # A slot may be another partition's by now: all begin anew.
                self._version, self._rows = flow.windows.version, _Rows(len(sight.used))
            self._note(flow, sight)
        self._found = {name: one for name, one in self._found.items() if sight.now_ms - one.at_ms <= HELD_MS}
        return list(self._found.values())[-MOST_TOLD:]

    def _note(self, flow: MirrorFlow, sight: MirrorSight) -> None:
        source, target, rows = flow.source.heads, flow.target.heads, self._rows
        slots = np.flatnonzero(sight.used & (sight.target_places >= 0) & (sight.tail == 0))
        places, there = sight.places[slots], sight.target_places[slots]
        ends, copies, stable = source.end[places], target.end[there], source.stable[places]
        undecided = (stable >= 0) & (stable < ends)
        self.transactional |= {flow.windows.name(slot)[0] for slot in slots[undecided].tolist()}
        state = np.stack((flow.windows.next_offset[slots], ends, copies))
        same = (state == rows.state[:, slots]).all(axis=0)
        looked_ms = target.sampled_ms[there]
        shown_ms = np.where(same, rows.shown_ms[slots], looked_ms)
        rows.state[:, slots], rows.shown_ms[slots] = state, shown_ms
        rests = same & (shown_ms < looked_ms) & (state[0] == state[1]) & (copies >= 0)
        now, before = state[:, rests][[0, 2]], rows.rest[:, slots[rests]]
        shorter = (before[0] >= 0) & (now[0] >= before[0]) & (now[1] < before[1])
        fell = (before[0] >= 0) & (now[0] > before[0]) & (now[1] - now[0] < before[1] - before[0])
        for row in np.flatnonzero(fell | shorter).tolist():
            name = flow.windows.name(int(slots[rests][row]))
            was, state_now = before[:, row].tolist(), [*now[:, row].tolist(), sight.now_ms]
            if shorter[row]:
                self._found[name] = _end_lost(flow, name, was, state_now)
            elif name[0] not in self.transactional and name[0] not in flow.settings.compacted:
                self._found[name] = _finding(flow, name, was, state_now)
        rows.rest[:2, slots[rests]] = now
        rows.rest[2, slots[rests]] = sight.now_ms

    def begin_anew(self, topics: Container[str]) -> None:
        """Forget topics that were made anew on either side, and all that was at rest with them."""
        self._version = (-1, -1)
        self._found = {name: one for name, one in self._found.items() if name[0] not in topics}


def _finding(flow: MirrorFlow, name: Name, before: Sequence[int], now: Sequence[int]) -> MirrorFinding:
    """Return what stayed behind between two rests, each told as next offset, target's end and instant."""
    topic, partition = name
    passed, came = now[0] - before[0], now[1] - before[1]
    remote, target = flow.topics.remote.get(topic, topic), flow.order.flow.target
    return MirrorFinding(
        code=Cause.FILTERED,
        topic=topic,
        partition=partition,
        at_ms=now[2],
        records=passed - came,
        first_offset=before[0],
        last_offset=now[0] - 1,
        proved=False,
        sentence=(
            f"Of {topic}-{partition} the mirror passed {count_text(passed, 'offset')} "
            f"({before[0]} to {now[0] - 1}) since {instant_text(before[2])}, and {remote} on {target} "
            f"grew by {came:,}: {passed - came:,} stayed behind. Markers of transactions, aborted records "
            "and gaps of compaction do so too; an audit (mirrorwatch checksum) tells whether records are"
            " missing."
        ),
    )


def _end_lost(flow: MirrorFlow, name: Name, before: Sequence[int], now: Sequence[int]) -> MirrorFinding:
    """Return that a copy's log is shorter: it lacks the difference at least, and what came since at most."""
    topic, partition = name
    remote, target = flow.topics.remote[topic], flow.order.flow.target
    least = before[1] - now[1]
    most = least + now[0] - before[0]
    return MirrorFinding(
        code=Cause.UNEXPLAINED,
        topic=topic,
        partition=partition,
        at_ms=now[2],
        records=least,
        records_most=most if most > least else None,
        side="target",
        proved=False,
        sentence=(
            f"Partition {partition} of {remote} on {target} ended at {before[1]}, seen at "
            f"{instant_text(before[2])}, and ends at {now[1]} now: the end of its log is lost, as by an "
            f"unclean election of a leader, and {between_text(least, most, 'record')} with it, which the "
            "mirror does not copy again. An audit (mirrorwatch checksum) tells which are missing."
        ),
    )
