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
from lagmon.mirrors.detectors.lost_ends.target import TargetEnd, end_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy as np
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView
    from lagmon.syncs.runs import SyncRun

    Name = tuple[str, int]  # topic and partition

ANSWERED_MS = 60_000  # without an answer by then, once the source was read, nothing is reported
AGAIN_MS = 60_000  # for a partition that is already reported
STEADY_MS = 60_000  # after syncs went back
MOST_SHOWN = 100
MOST_OF_TOPIC = 5  # partitions: what drops records of one topic does so in all of them


class _Question(NamedTuple):
    """A question to the source: whether it has a record at `offset`, between two runs."""

    base: SyncRun
    run: SyncRun
    place: int
    offset: int
    at_ms: int
    handed_ms: int = -1  # when the question was passed on


class _Shown(NamedTuple):
    """A shown finding, and the distance that the syncs had by then."""

    finding: MirrorFinding
    distance: int


class _Replicated(NamedTuple):
    """A run without records deleted unread, and the newest run then, seen at `seen_ms`."""

    run: SyncRun
    newer: SyncRun
    seen_ms: int


class _Context(NamedTuple):
    """The data of one poll; `transactional` are topics with transactions, whose markers are gaps."""

    flow: FlowView
    partitions: PartitionsSnapshot
    transactional: Collection[str]
    polled_ms: NDArray[np.int64]  # when the source's logs were polled, by place
    concerned: Counter[str]  # reported or asked partitions by topic


class MissingBySyncs:
    """Compares each partition's newest sync with the last one before which nothing was skipped."""

    def __init__(self) -> None:
        self._bases: dict[Name, SyncRun] = {}
        self._replicated: dict[Name, _Replicated] = {}  # where something was skipped since
        self._questions: dict[Name, _Question] = {}
        self._gapped: set[str] = set()  # topics with gaps of their own
        self._found: dict[Name, _Shown] = {}
        self._shorter: dict[Name, MirrorFinding] = {}  # targets that lost their end
        self._back_ms: dict[Name, int] = {}  # when syncs last went back

    def poll(
        self, flow: FlowView, partitions: PartitionsSnapshot, transactional: Collection[str]
    ) -> list[MirrorFinding]:
        """Take in the syncs since the last time, and return what may have been skipped."""
        concerned = Counter(topic for topic, _ in self._found.keys() | self._questions.keys())
        context = _Context(flow, partitions, transactional, flow.source.heads.sampled_ms, concerned)
        self._gapped |= {topic for topic, _ in self._found if topic in transactional}
        self._back_ms |= dict.fromkeys(flow.syncs.take_back(), partitions.now_ms)
        for name in flow.syncs.take_fresh():
            run = flow.syncs.newest(*name)
            if run is None:
                continue
            if self._went_back(name, partitions.now_ms):
                if name in self._questions:
                    self._withdraw(flow, name)
                self._set_base(name, run)
            elif not self._may_be_skipped(context, name, run):
                self._set_base(name, run)
        for name in list(self._questions):
            self._take_answer(context, name)
        for name, shown in list(self._found.items()):
            if not _holds(shown.finding, partitions.now_ms) or name[0] in self._gapped:
                del self._found[name]
                self._bases.pop(name, None)
                self._replicated.pop(name, None)
        self._shorter = {name: one for name, one in self._shorter.items() if _holds(one, partitions.now_ms)}
        found = [shown.finding for shown in self._found.values()]
        return [*found[-MOST_SHOWN:], *list(self._shorter.values())[-MOST_SHOWN:]]

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""
        for name in [name for name in self._questions if is_gone(name[0])]:
            self._withdraw(flow, name)
        self._bases = {name: one for name, one in self._bases.items() if not is_gone(name[0])}
        self._replicated = {name: one for name, one in self._replicated.items() if not is_gone(name[0])}
        self._found = {name: one for name, one in self._found.items() if not is_gone(name[0])}
        self._shorter = {name: one for name, one in self._shorter.items() if not is_gone(name[0])}
        self._gapped = {topic for topic in self._gapped if not is_gone(topic)}
        self._back_ms = {name: at_ms for name, at_ms in self._back_ms.items() if not is_gone(name[0])}

    def _went_back(self, name: Name, now_ms: int) -> bool:
        """Return whether syncs of a partition went back recently, as those of two mirrors do in turn."""
        if name not in self._back_ms:
            return False
        self._back_ms[name] = min(self._back_ms[name], now_ms)  # the clock may be set back
        return now_ms - self._back_ms[name] < STEADY_MS

    def _set_base(self, name: Name, run: SyncRun) -> None:
        """Use a run as base: nothing was skipped up to it that is not reported."""
        self._bases[name] = run
        self._replicated.pop(name, None)

    def _may_be_skipped(self, context: _Context, name: Name, run: SyncRun) -> bool:
        """Return whether a sync shows a fall that may be of records; the source is then asked for one."""
        flow, partitions, base = context.flow, context.partitions, self._bases.get(name)
        if base is None or run.distance >= base.distance or run.first <= base.last:
            return False
        before = flow.syncs.before(*name, run.first - 1) or base
        if before.distance <= run.distance:
            return False  # records were repeated since, so it is unknown where it fell
        longest = max(base, before, key=_end)
        if run.first + run.distance < _end(longest):
            self._note_shorter(flow, partitions.now_ms, name, longest, run)
            return False
        if before.distance == base.distance:
            base = self._bases[name] = before
        place = self._place(context, name)
        if place is None:
            return False
        if self._is_deleted(context, name, place, base, run):
            if name in self._questions:
                self._withdraw(flow, name)
            return False
        self._ask(context, name, place, base, run)
        return True

    def _place(self, context: _Context, name: Name) -> int | None:
        """Return where to ask the source about a partition, None if that has gaps or does not exist."""
        flow, partitions, topic = context.flow, context.partitions, name[0]
        if topic in self._gapped or topic in context.transactional or topic in flow.settings.compacted:
            return None
        slot = flow.windows.slot(*name)
        if (
            slot is None
            or slot >= len(partitions.used)
            or not partitions.used[slot]
            or partitions.places[slot] < 0
        ):
            return None
        return int(partitions.places[slot])

    def _ask(self, context: _Context, name: Name, place: int, base: SyncRun, run: SyncRun) -> None:
        """Ask the source, unless enough is known of the partition or of its topic."""
        shown, now_ms = self._found.get(name), context.partitions.now_ms
        if shown is None:
            known = context.concerned[name[0]] >= MOST_OF_TOPIC
        else:
            known = run.distance >= shown.distance or now_ms - shown.finding.at_ms < AGAIN_MS
        # The run starts after the record that was replicated after the gap.
        if name not in self._questions and not known and context.flow.questions.ask(place, run.first - 2):
            self._questions[name] = _Question(base, run, place, run.first - 2, now_ms)
            context.concerned[name[0]] += shown is None

    def _is_deleted(self, context: _Context, name: Name, place: int, base: SyncRun, newest: SyncRun) -> bool:
        """Return whether the source deleted records of a gap before they were replicated.

        The gap may have started long ago. So the log start is compared with where the mirror was at the
        previous poll of the log start.
        """
        flow = context.flow
        replicated = self._replicated.get(name) or _Replicated(base, newest, context.partitions.now_ms)
        run = flow.syncs.before(*name, replicated.run.first)  # as it went on since
        is_same = run is not None and run[:2] == replicated.run[:2]
        if flow.source.heads.start[place] > (run if run is not None and is_same else replicated.run).last:
            return True
        if context.polled_ms[place] > replicated.seen_ms:
            replicated = _Replicated(replicated.newer, newest, context.partitions.now_ms)
        self._replicated[name] = replicated
        return False

    def _note_shorter(self, flow: FlowView, now_ms: int, name: Name, before: SyncRun, run: SyncRun) -> None:
        """Report that a target's end fell; the source cannot explain that, so it is not asked."""
        if name in self._questions:
            self._withdraw(flow, name)
        was, now = TargetEnd(before.last, _end(before)), TargetEnd(run.first, run.first + run.distance)
        seen = f"ended at {was.end} by an offset sync, and at {now.end} by a later one"
        self._shorter[name] = end_lost(flow, name, was, now, seen=seen, at_ms=now_ms)

    def _take_answer(self, context: _Context, name: Name) -> None:
        flow, now_ms, question = context.flow, context.partitions.now_ms, self._questions[name]
        is_record = flow.questions.answer(question.place, question.offset)
        if is_record is None:
            if flow.questions.waits(question.place, question.offset):
                return
            if question.handed_ms < 0:
                question = self._questions[name] = question._replace(handed_ms=now_ms)
            if 0 <= now_ms - question.handed_ms < ANSWERED_MS:
                return
        if is_record and context.polled_ms[question.place] <= question.at_ms <= now_ms:
            return  # the log start at the time of the question is not known yet
        self._withdraw(flow, name)
        newest = flow.syncs.newest(*name) or question.run
        if is_record and self._is_deleted(context, name, question.place, question.base, newest):
            self._set_base(name, newest)
        elif is_record:
            self._found[name] = _Shown(_finding(flow, name, question, now_ms), question.run.distance)
        else:
            self._set_base(name, question.run)
            if is_record is False:
                self._gapped.add(name[0])

    def _withdraw(self, flow: FlowView, name: Name) -> None:
        question = self._questions.pop(name)
        flow.questions.take_back(question.place, question.offset)


def _holds(finding: MirrorFinding, now_ms: int) -> bool:
    return 0 <= now_ms - finding.at_ms <= HELD_MS


def _end(run: SyncRun) -> int:
    """Return the target's end at a run's last sync."""
    return run.last + run.distance


def _finding(flow: FlowView, name: Name, question: _Question, now_ms: int) -> MirrorFinding:
    (topic, partition), base, run, ends = name, question.base, question.run, flow.order.flow
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
            f"{question.offset}, right before the gap. A transform may drop records, or the target lost its "
            "log end; run mirrorwatch checksum to list what is missing."
        ),
    )
