"""Records that a mirror passed and did not replicate, seen in its offset syncs while a topic is busy. Pure.

If downstream - upstream falls from one sync to a later one, fewer records reached the target than offsets
were passed (mm2.md, Seen on 4.3.0, 6). Transaction markers and compaction do the same. So the source is asked
whether it has a record right before the one of the later sync: MirrorMaker writes a sync with the first
record after a gap. If there is none, the topic has gaps of its own, and nothing is reported. If there is one,
it is a suspicion: a delayed sync may show a marker later.

If the target's end itself fell, its log is shorter, which nothing on the source explains. That is reported as
a lost log end, without a question to the source.

A mirror that goes back replicates again from there. If another one runs on the same flow, from its own
offset, the syncs of both are mixed: no two in sequence need be of one mirror. So nothing is reported of a
partition until its syncs have continued for a while.

Records that were deleted before they were replicated are no gap: the source has no answer for them, and
retention/overtaken.py reports them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.lost_ends.target import CopyEnd, end_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy as np
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.sight import MirrorSight
    from lagmon.mirrors.view import FlowView
    from lagmon.syncs.runs import SyncRun

    Name = tuple[str, int]  # topic and partition

ANSWERED_MS = 60_000  # without an answer by then, once the source was read, nothing is reported
AGAIN_MS = 60_000  # for a partition that is already reported
GOES_ON_MS = 60_000  # after syncs went back
MOST_TOLD = 100
MOST_OF_TOPIC = 5  # partitions: what drops records of one topic does so in all of them


class _Asked(NamedTuple):
    """A question to the source: whether it has a record at `offset`, between two runs."""

    base: SyncRun
    run: SyncRun
    place: int
    offset: int
    at_ms: int
    handed_ms: int = -1  # when the question was passed on


class _Told(NamedTuple):
    """A shown finding, and the distance that the syncs had by then."""

    finding: MirrorFinding
    distance: int


class _Copied(NamedTuple):
    """A run without records deleted unread, and the newest run then, seen at `seen_ms`."""

    run: SyncRun
    newer: SyncRun
    seen_ms: int


class _View(NamedTuple):
    """The data of one poll; `transactional` are topics with transactions, whose markers are gaps."""

    flow: FlowView
    sight: MirrorSight
    transactional: Collection[str]
    looked_ms: NDArray[np.int64]  # when the source's logs were polled, by place
    concerned: Counter[str]  # reported or asked partitions by topic


class LeftOut:
    """Compares each partition's newest sync with the last one before which nothing was skipped."""

    def __init__(self) -> None:
        self._bases: dict[Name, SyncRun] = {}
        self._copied: dict[Name, _Copied] = {}  # where something was skipped since
        self._asked: dict[Name, _Asked] = {}
        self._gapped: set[str] = set()  # topics with gaps of their own
        self._found: dict[Name, _Told] = {}
        self._shorter: dict[Name, MirrorFinding] = {}  # targets that lost their end
        self._back_ms: dict[Name, int] = {}  # when syncs last went back

    def look(self, flow: FlowView, sight: MirrorSight, transactional: Collection[str]) -> list[MirrorFinding]:
        """Take in the syncs since the last time, and return what may have been skipped."""
        concerned = Counter(topic for topic, _ in self._found.keys() | self._asked.keys())
        view = _View(flow, sight, transactional, flow.source.heads.sampled_ms, concerned)
        self._gapped |= {topic for topic, _ in self._found if topic in transactional}
        self._back_ms |= dict.fromkeys(flow.syncs.take_back(), sight.now_ms)
        for name in flow.syncs.take_fresh():
            run = flow.syncs.newest(*name)
            if run is None:
                continue
            if self._went_back(name, sight.now_ms):
                if name in self._asked:
                    self._let_go(flow, name)
                self._begin(name, run)
            elif not self._may_be_left_out(view, name, run):
                self._begin(name, run)
        for name in list(self._asked):
            self._hear(view, name)
        for name, told in list(self._found.items()):
            if not _holds(told.finding, sight.now_ms) or name[0] in self._gapped:
                del self._found[name]
                self._bases.pop(name, None)
                self._copied.pop(name, None)
        self._shorter = {name: one for name, one in self._shorter.items() if _holds(one, sight.now_ms)}
        found = [told.finding for told in self._found.values()]
        return [*found[-MOST_TOLD:], *list(self._shorter.values())[-MOST_TOLD:]]

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""
        for name in [name for name in self._asked if is_gone(name[0])]:
            self._let_go(flow, name)
        self._bases = {name: one for name, one in self._bases.items() if not is_gone(name[0])}
        self._copied = {name: one for name, one in self._copied.items() if not is_gone(name[0])}
        self._found = {name: one for name, one in self._found.items() if not is_gone(name[0])}
        self._shorter = {name: one for name, one in self._shorter.items() if not is_gone(name[0])}
        self._gapped = {topic for topic in self._gapped if not is_gone(topic)}
        self._back_ms = {name: at_ms for name, at_ms in self._back_ms.items() if not is_gone(name[0])}

    def _went_back(self, name: Name, now_ms: int) -> bool:
        """Return whether syncs of a partition went back recently, as those of two mirrors do in turn."""
        if name not in self._back_ms:
            return False
        self._back_ms[name] = min(self._back_ms[name], now_ms)  # the clock may be set back
        return now_ms - self._back_ms[name] < GOES_ON_MS

    def _begin(self, name: Name, run: SyncRun) -> None:
        """Use a run as base: nothing was skipped up to it that is not reported."""
        self._bases[name] = run
        self._copied.pop(name, None)

    def _may_be_left_out(self, view: _View, name: Name, run: SyncRun) -> bool:
        """Tell whether a sync shows a fall that may be of records; the source is asked for one of them."""
        flow, sight, base = view.flow, view.sight, self._bases.get(name)
        if base is None or run.distance >= base.distance or run.first <= base.last:
            return False
        before = flow.syncs.before(*name, run.first - 1) or base
        if before.distance <= run.distance:
            return False  # second copies came since, and where it fell is not known any more
        longest = max(base, before, key=_end)
        if run.first + run.distance < _end(longest):
            self._tell_shorter(flow, sight.now_ms, name, longest, run)
            return False
        if before.distance == base.distance:
            base = self._bases[name] = before
        place = self._place(view, name)
        if place is None:
            return False
        if self._is_deleted(view, name, place, base, run):
            if name in self._asked:
                self._let_go(flow, name)
            return False
        self._ask(view, name, place, base, run)
        return True

    def _place(self, view: _View, name: Name) -> int | None:
        """Return where the source is asked about a partition, None where that has gaps, or is not there."""
        flow, sight, topic = view.flow, view.sight, name[0]
        if topic in self._gapped or topic in view.transactional or topic in flow.settings.compacted:
            return None
        slot = flow.windows.slot(*name)
        if slot is None or slot >= len(sight.used) or not sight.used[slot] or sight.places[slot] < 0:
            return None
        return int(sight.places[slot])

    def _ask(self, view: _View, name: Name, place: int, base: SyncRun, run: SyncRun) -> None:
        """Ask the source, unless enough is known of the partition, or of its topic."""
        told, now_ms = self._found.get(name), view.sight.now_ms
        if told is None:
            known = view.concerned[name[0]] >= MOST_OF_TOPIC
        else:
            known = run.distance >= told.distance or now_ms - told.finding.at_ms < AGAIN_MS
        # The run begins behind the record that was copied after the gap.
        if name not in self._asked and not known and view.flow.questions.ask(place, run.first - 2):
            self._asked[name] = _Asked(base, run, place, run.first - 2, now_ms)
            view.concerned[name[0]] += told is None

    def _is_deleted(self, view: _View, name: Name, place: int, base: SyncRun, newest: SyncRun) -> bool:
        """Tell whether the source deleted records of a gap before they could be copied.

        What goes on being left out began long ago: the start of the log is compared with where the mirror
        was when the start had been looked at last.
        """
        flow = view.flow
        copied = self._copied.get(name) or _Copied(base, newest, view.sight.now_ms)
        run = flow.syncs.before(*name, copied.run.first)  # as it went on since
        is_same = run is not None and run[:2] == copied.run[:2]
        if flow.source.heads.start[place] > (run if run is not None and is_same else copied.run).last:
            return True
        if view.looked_ms[place] > copied.seen_ms:
            copied = _Copied(copied.newer, newest, view.sight.now_ms)
        self._copied[name] = copied
        return False

    def _tell_shorter(self, flow: FlowView, now_ms: int, name: Name, before: SyncRun, run: SyncRun) -> None:
        """Report that a target's end fell; the source has nothing to do with it, so it is not asked."""
        if name in self._asked:
            self._let_go(flow, name)
        was, now = CopyEnd(before.last, _end(before)), CopyEnd(run.first, run.first + run.distance)
        seen = f"ended at {was.end} by an offset sync, and at {now.end} by a later one"
        self._shorter[name] = end_lost(flow, name, was, now, seen=seen, at_ms=now_ms)

    def _hear(self, view: _View, name: Name) -> None:
        flow, now_ms, asked = view.flow, view.sight.now_ms, self._asked[name]
        is_record = flow.questions.answer(asked.place, asked.offset)
        if is_record is None:
            if flow.questions.waits(asked.place, asked.offset):
                return
            if asked.handed_ms < 0:
                asked = self._asked[name] = asked._replace(handed_ms=now_ms)
            if 0 <= now_ms - asked.handed_ms < ANSWERED_MS:
                return
        if is_record and view.looked_ms[asked.place] <= asked.at_ms <= now_ms:
            return  # the log start at the time of the question is not known yet
        self._let_go(flow, name)
        newest = flow.syncs.newest(*name) or asked.run
        if is_record and self._is_deleted(view, name, asked.place, asked.base, newest):
            self._begin(name, newest)
        elif is_record:
            self._found[name] = _Told(_finding(flow, name, asked, now_ms), asked.run.distance)
        else:
            self._begin(name, asked.run)
            if is_record is False:
                self._gapped.add(name[0])

    def _let_go(self, flow: FlowView, name: Name) -> None:
        asked = self._asked.pop(name)
        flow.questions.take_back(asked.place, asked.offset)


def _holds(finding: MirrorFinding, now_ms: int) -> bool:
    return 0 <= now_ms - finding.at_ms <= HELD_MS


def _end(run: SyncRun) -> int:
    """Return the target's end at a run's last sync."""
    return run.last + run.distance


def _finding(flow: FlowView, name: Name, asked: _Asked, now_ms: int) -> MirrorFinding:
    (topic, partition), base, run, ends = name, asked.base, asked.run, flow.order.flow
    remote = flow.topics.remote.get(topic, topic)
    passed, records = run.first - base.last, base.distance - run.distance
    return MirrorFinding(
        code=Cause.FILTERED,
        topic=topic,
        partition=partition,
        at_ms=now_ms,
        records=records,
        first_offset=base.last,
        last_offset=run.first - 1,
        proved=False,
        sentence=(
            f"At least {count_text(records, 'record')} of {topic}-{partition} may be missing on "
            f"{ends.target}: by its offset syncs the mirror passed {count_text(passed, 'offset')} "
            f"({base.last} to {run.first - 1}), and {remote} grew by {passed - records:,} "
            f"({base.last + base.distance} to {run.first + run.distance}). {ends.source} has a record at "
            f"{asked.offset}, right before the gap. A transform may drop records, or the target lost its log "
            "end; run mirrorwatch checksum to list what is missing."
        ),
    )
