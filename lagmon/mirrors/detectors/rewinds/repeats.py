"""Records that a mirror replicated again: its steps back, and how many records were repeated. Pure.

A step back is an offset, or an offset sync, below the one that was written before it. It comes from a worker
that restarted without its offsets, that takes partitions over, or that was frozen and resumes. Steps of one
partition within `QUIET_MS` of each other are one *repeat*. A repeat is an event, whatever the verdict is:
at-least-once delivery allows it, and an operator should know.

The number of repeated records is by how much the target is longer than the mirror's offsets explain. Offset
syncs show that to the record: each is a pair of a source offset and its target offset. Without them, polls of
both log ends give bounds (target_ends/distance.py). For a group, and for equal offsets, nothing shows it. If
transactions or compaction remove records from the log, the number is a lower bound.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.quantity import between_text, count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.metadata.topics import ids_within_ms
from lagmon.mirrors.partitions.steps_back import MOST_STEPS, StepBack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

QUIET_MS = 60_000  # after its last step a repeat is over
SETTLED_MS = 30_000  # polls and syncs show repeated records within this time
KEPT_MS = 86_400_000
MOST_KEPT = 1000  # repeats of partitions


@dataclass(frozen=True, slots=True)
class Repeat:
    """Records of one partition that were replicated again; offsets are next offsets (N + 1)."""

    topic: str
    partition: int
    at_ms: int  # of the first step back
    last_ms: int  # of the newest
    from_offset: int
    to_offset: int
    times: int = 1
    records: int = 0  # at least
    most: int | None = None  # at most; None if unknown
    from_start: bool = False  # it went back to the log start


@dataclass(slots=True)
class _Open:
    """A repeat that may grow, and the bounds of the distance from offsets to the target's end before it."""

    repeat: Repeat
    bounds: tuple[int, int] | None
    exact: bool  # measured by a sync
    steps: Counter[bool] = field(default_factory=Counter)  # by syncs or not: both show the same steps

    def join(self, step: StepBack) -> None:
        """Count one more step back."""
        was = self.repeat
        self.steps[step.distance is not None] += 1
        self.repeat = replace(
            was,
            at_ms=min(was.at_ms, step.at_ms),
            last_ms=max(was.last_ms, step.at_ms),
            from_offset=max(was.from_offset, step.peak),
            to_offset=min(was.to_offset, step.back),
            times=max(self.steps.values()),
        )
        if step.distance is not None and not self.exact:
            self.bounds, self.exact = (step.distance, step.distance), True


@dataclass(slots=True)
class Repeats(Detector):
    """Follows the steps back of one flow, and keeps recent repeats."""

    known: tuple[Repeat, ...] = ()  # recent ones, oldest first
    _polled_ms: int = -1
    _waiting: list[StepBack] = field(default_factory=list)  # until their log is known
    _open: dict[Name, _Open] = field(default_factory=dict)
    _past: deque[Repeat] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Take in the steps since the last time."""
        now_ms = partitions.now_ms
        by_syncs = [
            replace(step, at_ms=now_ms, peak=max(step.peak, self._written(flow, step)))
            for step in flow.syncs.take_steps_back()
        ]
        self._polled_ms = now_ms
        steps = flow.windows.take_steps_back()
        if flow.order.progress.resumes:  # else they are steps of the target, or of syncs
            self._waiting += steps
        self._waiting += by_syncs
        if self._waiting:
            waiting = self._waiting[-MOST_STEPS:]
            self._waiting = [one for one in waiting if not self._settle(flow, one, now_ms)]
        for name, one in list(self._open.items()):
            _count(flow, one, now_ms)
            if now_ms - one.repeat.last_ms > QUIET_MS:
                del self._open[name]
                self._past.append(one.repeat)
        while self._past and not 0 <= now_ms - self._past[0].last_ms <= KEPT_MS:
            self._past.popleft()
        self.known = tuple(one for one in self.kept() if _is_shown(one, now_ms))

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:
        """Return the repeats as findings if the mirror delivers exactly once: it must not repeat."""
        return findings_of(self.known, flow.order.flow.target, now_ms) if flow.order.flow.exactly_once else []

    def _written(self, flow: FlowView, step: StepBack) -> int:
        """Return the next offset that was surely written before the step; -1 if none."""
        commits = flow.windows.commits(flow.windows.slot(step.topic, step.partition))
        return next((offset for offset, at_ms in reversed(commits) if at_ms <= self._polled_ms), -1)

    def kept(self) -> list[Repeat]:
        """Return what is kept over a restart."""
        return [*self._past, *(one.repeat for one in self._open.values())]

    def restore(self, kept: Iterable[Repeat]) -> None:
        """Restore what an earlier process found: these numbers no longer grow."""
        self._past.extendleft(reversed(list(kept)))

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:  # noqa: ARG002 - needs no facts
        """Close the repeats of topics that are removed or re-created."""
        for name in [name for name in self._open if is_gone(name[0])]:
            self._past.append(self._open.pop(name).repeat)

    def _settle(self, flow: FlowView, step: StepBack, now_ms: int) -> bool:
        """Count a step once it is known to belong to the same log; return whether that is decided."""
        read_ms = flow.topics.ids_at_ms.get((step.topic, "source"), -1)
        if read_ms < step.at_ms and now_ms - step.at_ms <= ids_within_ms(len(flow.source.topics)):
            return False
        if flow.topics.recreated_ms.get((step.topic, "source"), -1) >= step.at_ms - QUIET_MS:
            return True  # it went back with its source's log
        name = step.topic, step.partition
        known = self._open.get(name)
        if known is None:
            known = self._open[name] = _started(flow, step)
        known.join(step)
        place = flow.source.places.of(step.topic)[step.partition : step.partition + 1]
        starts = flow.source.heads.start[place].tolist()
        if starts and known.repeat.to_offset <= starts[0]:
            known.repeat = replace(known.repeat, from_start=True)
        if len(self._open) > MOST_KEPT:
            self._past.append(self._open.pop(next(iter(self._open))).repeat)
        return True


def _started(flow: FlowView, step: StepBack) -> _Open:
    repeat = Repeat(step.topic, step.partition, step.at_ms, step.at_ms, step.peak, step.back)
    if step.distance is not None:
        return _Open(repeat, (step.distance, step.distance), exact=True)
    slot = flow.windows.slot(step.topic, step.partition)
    bounds = None if slot is None else flow.distance.before(flow, slot, step.at_ms - QUIET_MS)
    return _Open(repeat, bounds, exact=False)


def _count(flow: FlowView, known: _Open, now_ms: int) -> None:
    """Update the number of repeated records; the upper bound only when settled, as more may be under way."""
    repeat = known.repeat
    name = repeat.topic, repeat.partition
    slot = flow.windows.slot(*name)
    newest = flow.syncs.newest(*name) if known.exact else None
    place = -1 if newest is None else newest.last
    if slot is not None and (newest is None or int(flow.windows.committed_ms[slot]) > repeat.last_ms):
        place = max(place, int(flow.windows.next_offset[slot]))
    recreated_ms = flow.topics.recreated_ms.get((repeat.topic, "target"), -1)
    if recreated_ms >= 0 and recreated_ms >= repeat.at_ms - KEPT_MS:
        return  # the old target was removed, so a repeated record may exist only once
    high: int | None
    if flow.order.flow.exactly_once:  # the target has markers of the mirror's own transactions
        low = high = repeat.from_offset - repeat.to_offset
    elif known.bounds is None or not flow.order.progress.is_mirror_maker:
        return
    else:
        low, high = _grown(flow, slot, known, None if newest is None else newest.distance)
    is_past = place >= repeat.from_offset
    so_far = low if is_past else min(low, max(0, place - repeat.to_offset))
    is_settled = is_past and now_ms - repeat.last_ms > SETTLED_MS
    bounded = is_settled and high is not None and repeat.topic not in flow.gapped
    most = max(high or 0, low, repeat.records) if bounded else None
    known.repeat = replace(repeat, records=max(repeat.records, so_far), most=most)


def _grown(flow: FlowView, slot: int | None, known: _Open, distance: int | None) -> tuple[int, int | None]:
    """Return by how much the target grew more than the offsets, at least and at most."""
    assert known.bounds is not None
    low, high = known.bounds
    span = None if slot is None else flow.distance.of(flow, slot)
    least = [one for one in (distance, None if span is None else span.low) if one is not None]
    if not least:
        return 0, None
    more = max(0, max(least) - high)
    if distance is not None:
        return more, more
    return more, None if span is None else max(more, span.high - low)


def _is_shown(repeat: Repeat, now_ms: int) -> bool:
    """Return whether records were repeated, or may have been and nothing will show it soon."""
    return repeat.records > 0 or (repeat.most != 0 and now_ms - repeat.last_ms > SETTLED_MS)


def repeated_text(records: int, most: int | None, where: str, target: str) -> str:
    """Return how many records MirrorMaker replicated again, as a clause."""
    if most is None and not records:
        return f"MirrorMaker may have copied records of {where} to {target} again"
    if most is None:
        count = f"at least {count_text(records, 'record')}"
    elif records:
        count = between_text(records, most, "record")
    else:
        count = f"at most {count_text(most, 'record')}"
    return f"MirrorMaker copied {count} of {where} to {target} again"


def findings_of(repeats: Iterable[Repeat], target: str, now_ms: int) -> list[MirrorFinding]:
    """Return the repeats as findings, for a mirror that delivers exactly once."""
    return [
        MirrorFinding(
            code=Cause.DUPLICATING,
            topic=one.topic,
            partition=one.partition,
            at_ms=one.last_ms,
            records=one.records,
            records_most=one.most,
            first_offset=one.to_offset,
            last_offset=one.from_offset - 1,
            sentence=(
                f"{repeated_text(one.records, one.most, f'{one.topic}-{one.partition}', target)}, though it"
                f" is set to deliver exactly once: its next offset went back from {one.from_offset} to"
                f" {one.to_offset} at {instant_text(one.at_ms)}."
            ),
        )
        for one in repeats
        if now_ms - one.last_ms <= HELD_MS and (one.records or now_ms - one.last_ms > SETTLED_MS)
    ]
