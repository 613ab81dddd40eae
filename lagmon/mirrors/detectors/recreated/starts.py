"""Whether a mirror skipped the start of a re-created source topic. Pure.

A mirror reads the new log at N + 1. If the new log is shorter, the mirror starts at its start, and everything
is replicated: N falls. If the new log had grown longer while the mirror was idle, the mirror skips its
records up to N, and no source offset ever shows that (mm2.md, Seen on 4.3.0, 2). The target shows it: since N
was last written in the old log (the *base*), it has grown by everything before the new N, or only by N's own
growth.

N and the target's end are read at different instants. So for a poll of the target's end, N lies between the
newest offset written before that poll and what was written, or could be read, after it. If both explanations
fit, the next poll decides. A worker may write its position in the old log when the new one already exists, at
its next usual time. So an offset counts as one of the new log only after that time, once another one follows,
or if the new log ends there and is idle, so that none can follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.detectors.recreated.findings import finding, suspicion
from lagmon.mirrors.detectors.recreated.followed import Followed, RecreatedTopic
from lagmon.mirrors.detectors.recreated.outcome import Base, PartitionPoll, StartOutcome, judge_start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lagmon.logs.heads import Heads
    from lagmon.mirrors.answers.findings import MirrorFinding

    Places = tuple[int, int]  # of a partition on the source and on the target; -1: none

GROWS_MS, GROWN_TIMES = 20_000, 3  # an old log grew by at most so many times its growth in such a period
WRITING_MS = 2_000  # for writing offsets, and for the difference of two clocks
_FAR = np.iinfo(np.int64).max


def bases(
    topic: str, followed: Followed, places: Mapping[int, Places], *, known_ms: int, is_gone: bool = False
) -> dict[int, Base]:
    """Return by partition where the mirror was in a topic's log at `known_ms`, when that was last known.

    That is the log start if every known offset was written later. For a topic that was removed then, later
    offsets belong to another log.
    """
    found = {}
    for partition in places:
        slot = followed.windows.slot(topic, partition)
        commits = followed.windows.commits(slot)
        old = [one for one in commits if one[1] <= known_ms]
        commits = old if is_gone else commits
        if commits:
            next_offset, at_ms = old[-1] if old else (0, known_ms)
            found[partition] = Base(next_offset, at_ms, -1, sure=len(old) == len(commits))
    # All at once: a look-up of one end takes as long as one of hundreds.
    on_source, on_target = ([places[partition][side] for partition in found] for side in (0, 1))
    ends = _target_ends(followed.target, on_target, [base.at_ms for base in found.values()])
    mosts = _log_most(followed.source, on_source, known_ms, [base.next_offset for base in found.values()])
    return {
        partition: replace(base, target_end=end, log_most=most)
        for (partition, base), end, most in zip(found.items(), ends, mosts, strict=True)
    }


def start_following(
    topic: str, followed: Followed, places: Mapping[int, Places], *, known_ms: int, now_ms: int
) -> RecreatedTopic:
    """Note that a topic was re-created after `known_ms`, when its old id was last read (-1: unknown).

    A fall of N since then decides at once; the window's older offsets are forgotten.
    """
    recreated = RecreatedTopic(topic, now_ms, known_ms=known_ms)
    recreated.open |= bases(topic, followed, places, known_ms=known_ms)
    for partition in places:
        slot = followed.windows.slot(topic, partition)
        commits = followed.windows.commits(slot)
        fall = _fall(commits, known_ms)
        if slot is not None and fall is not None:
            recreated.open.pop(partition, None)
            recreated.decided[partition] = StartOutcome.REPLICATED
            followed.windows.keep_newest(slot, len(commits) - fall)
            followed.windows.confirm(slot, now_ms)
    return recreated


def start_from(
    recreated: RecreatedTopic, gone: Mapping[int, Base], followed: Followed, *, gone_ms: int
) -> None:
    """Use the positions in the old log that were kept when a list lacked the topic, at `gone_ms`.

    Everything in the windows was written later. If the mirror had no position before, it belongs to the new
    log.
    """
    recreated.gone_ms = recreated.known_ms = gone_ms
    for partition in recreated.open.keys() - gone.keys():
        slot = followed.windows.slot(recreated.topic, partition)
        if slot is not None:
            followed.windows.confirm(slot, recreated.at_ms)
    recreated.open = {
        partition: base for partition, base in gone.items() if partition not in recreated.decided
    }


def follow(
    recreated: RecreatedTopic, followed: Followed, places: Mapping[int, Places], *, cadence_ms: int
) -> None:
    """Decide what can be decided by now, for a mirror that writes its offsets so often."""
    if not recreated.open:
        return
    polls_ms = followed.source.sampled_ms, followed.target.sampled_ms
    for partition in list(recreated.open):
        at = places.get(partition, (-1, -1))
        if at[0] < 0:
            continue
        polled_ms = int(polls_ms[0][at[0]]), int(polls_ms[1][at[1]]) if at[1] >= 0 else -1
        outcome, found = _decide(recreated, partition, followed, at, polled_ms, cadence_ms=cadence_ms)
        if outcome is None:
            continue
        del recreated.open[partition]
        recreated.decided[partition] = outcome
        slot = followed.windows.slot(recreated.topic, partition)
        if slot is not None:
            followed.windows.confirm(slot, recreated.at_ms)
        if found is not None:
            recreated.found.append(found)


def _decide(
    recreated: RecreatedTopic,
    partition: int,
    followed: Followed,
    places: Places,
    polled_ms: tuple[int, int],
    *,
    cadence_ms: int,
) -> tuple[StartOutcome | None, MirrorFinding | None]:
    """Return the outcome for a partition's start, None if not known yet, and the finding."""
    slot = followed.windows.slot(recreated.topic, partition)
    base, commits = _advance(recreated, (partition, slot), followed, places, polled_ms=polled_ms[0])
    seen = _newest(followed, slot, places, polled_ms, base)
    went_back = any(offset < base.next_offset + followed.by_record for offset, _ in commits)
    outcome = StartOutcome.REPLICATED if went_back else None
    if seen is None:
        return outcome, None
    killed = None if went_back else _killed(recreated, base, seen, followed, places[1])
    base, outcome = killed or base, outcome or judge_start(killed or base, seen)
    if outcome is StartOutcome.REPLICATED:
        maybe_old = _maybe_of_old_log(recreated, base, followed, slot)
        if maybe_old > seen.start:
            outcome = _judge_uncertain(base, seen, maybe_old, end=int(followed.source.end[places[0]]))
        if outcome is StartOutcome.AMBIGUOUS:
            return outcome, suspicion(recreated, partition, seen, maybe_old, followed)
    if outcome is not StartOutcome.SKIPPED:
        return outcome, None
    is_new = _is_of_new_log(recreated, commits, cadence_ms)
    maybe_new = is_new or 0 <= base.log_most < max((offset for offset, _ in commits), default=-1)
    is_read = _target_id_is_read(recreated, partition, seen, followed)
    rests = _rests(seen, followed, places, cadence_ms)
    if not is_read or not (maybe_new or rests):
        return None, None
    most = seen.high if rests else None  # a mirror that reads beyond the end starts at the log start
    if is_new and commits[-1][0] > base.next_offset:
        most = commits[-1][0] - 1  # the record before it was replicated
    return outcome, finding(recreated, partition, base, seen, followed, place=places[1], most=most)


def _killed(
    recreated: RecreatedTopic, base: Base, seen: PartitionPoll, followed: Followed, place: int
) -> Base | None:
    """Return the base of a mirror that was killed, and continued in the new log at its written offset.

    The target grew by more than all of the new log. What it had received after that offset by the last poll
    before was of the old log, and since then it grew by N's own growth only. None if that is not so.
    """
    end, _ = followed.target.bounds_at(place, recreated.known_ms)
    grew = seen.target_end - end
    is_more = seen.target_end - base.target_end > seen.high - seen.start
    is_own = seen.low - base.next_offset <= grew <= seen.high - base.next_offset
    return replace(base, target_end=end) if end > base.target_end and is_more and is_own else None


def _newest(
    followed: Followed, slot: int | None, places: Places, polled_ms: tuple[int, int], base: Base
) -> PartitionPoll | None:
    if places[1] < 0:
        return None
    seen = partition_poll(followed, slot, places, polled_ms, base)
    return seen or _poll_at_end(followed, places, polled_ms[0], base)


def _advance(
    recreated: RecreatedTopic,
    which: tuple[int, int | None],
    followed: Followed,
    places: Places,
    *,
    polled_ms: int,
) -> tuple[Base, list[tuple[int, int]]]:
    """Return the newest base by now, and what was written since; `which` is a partition and its slot."""
    partition, slot = which
    base = recreated.open[partition]
    commits = [one for one in followed.windows.commits(slot) if one[1] > base.at_ms]
    old = _of_old_log(recreated, commits, int(followed.source.end[places[0]]), polled_ms)
    if old:
        next_offset, at_ms = old[-1]
        base = Base(next_offset, at_ms, _target_ends(followed.target, places[1:], [at_ms])[0], base.sure)
        commits = [one for one in commits if one[1] > base.at_ms]
    if slot is not None and 0 <= base.log_most < max((offset for offset, _ in commits), default=-1):
        followed.windows.confirm(
            slot, recreated.at_ms
        )  # it belongs to the new log, whatever was skipped there
    if base.target_end < 0 <= places[1]:
        base = _with_new_target(base, followed.target, places[1])
    if base.at_ms < followed.target_recreated_ms:
        base = replace(base, target_end=0)  # of another log: the new target was empty, or did not exist yet
    recreated.open[partition] = base
    return base, commits


def _of_old_log(
    recreated: RecreatedTopic, commits: list[tuple[int, int]], end: int, polled_ms: int
) -> list[tuple[int, int]]:
    """Return the offsets that were past the new log's end when it was polled after their writing."""
    if end < 0 or polled_ms < recreated.at_ms:
        return []
    return [one for one in commits if one[1] <= polled_ms and one[0] > end]


def _maybe_of_old_log(recreated: RecreatedTopic, base: Base, followed: Followed, slot: int | None) -> int:
    """Return the largest offset among the first ones that may be of the old log, -1 for none.

    That concerns a log without a known offset (the base is its start) that was re-created soon after.
    """
    if base.sure or base.next_offset > 0:
        return -1
    early = [offset for offset, at_ms in followed.windows.commits(slot) if at_ms <= recreated.at_ms]
    # A log that was empty at its last poll does not show how fast it grew.
    return max((one for one in early if base.log_most <= 0 or one <= base.log_most), default=-1)


def _judge_uncertain(base: Base, seen: PartitionPoll, maybe_old: int, *, end: int) -> StartOutcome | None:
    """Judge a start that seems replicated, of a log that ends at `end`.

    The mirror may have continued at `maybe_old`. It did not if the target has grown by what was written of
    the old log plus all of the new one.
    """
    if seen.high - seen.low >= maybe_old - seen.start:
        return None
    if seen.target_end - base.target_end >= seen.low - seen.start + maybe_old:
        return StartOutcome.REPLICATED
    return StartOutcome.AMBIGUOUS if seen.low > maybe_old or seen.low == end else None


def _target_id_is_read(
    recreated: RecreatedTopic, partition: int, seen: PartitionPoll, followed: Followed
) -> bool:
    """Return whether the target's id was read since its growth first showed a skipped start.

    A target that was re-created meanwhile has grown by less.
    """
    seemed_ms, read_ms = recreated.seemed_ms.setdefault(partition, seen.at_ms), followed.target_id_read_ms
    return read_ms is None or read_ms >= seemed_ms or seen.at_ms - seemed_ms > followed.ids_within_ms


def _is_of_new_log(recreated: RecreatedTopic, commits: list[tuple[int, int]], cadence_ms: int) -> bool:
    """Return whether the newest offset cannot be the last one of the old log, written late."""
    gone_ms = recreated.gone_ms if recreated.gone_ms >= 0 else recreated.at_ms
    since = [one for one in commits if one[1] > gone_ms]
    moved = len({offset for offset, _ in since}) > 1
    return moved or any(at_ms > gone_ms + cadence_ms + WRITING_MS for _, at_ms in since)


def _rests(seen: PartitionPoll, followed: Followed, places: Places, cadence_ms: int) -> bool:
    """Return whether the mirror is at the new log's end, and both ends have not moved for a cadence.

    If the mirror had read any of the new log, another offset would exist by now. So this one is of the new
    log, or it is the last of the old one and the mirror will read what follows: everything before it is
    skipped.
    """
    if seen.low != int(followed.source.end[places[0]]):
        return False
    logs = (followed.source, places[0], seen.low), (followed.target, places[1], seen.target_end)
    return all(end == _end_before(log, place, cadence_ms + WRITING_MS) for log, place, end in logs)


def _end_before(log: Heads, place: int, before_ms: int) -> int:
    """Return the log end so long before its last poll, -1 if unknown."""
    then_ms = log.sampled_ms[[place]] - before_ms
    return int(log.end_at(np.array([place], np.int32), then_ms)[0])


def _fall(commits: list[tuple[int, int]], known_ms: int) -> int | None:
    """Return the first column after which the offset belongs to a newer log: it fell after the old id."""
    steps = range(len(commits) - 1, 0, -1)
    return next(
        (at for at in steps if commits[at][0] < commits[at - 1][0] and commits[at][1] > known_ms), None
    )


def _target_ends(target: Heads, places: Sequence[int], at_ms: Sequence[int]) -> list[int]:
    """Return each target's end at its instant, -1 without a place."""
    there = np.array(places, np.int32)
    has_place, then_ms = there >= 0, np.array(at_ms, np.int64)
    found, there, then_ms = np.full(len(there), -1, np.int64), there[has_place], then_ms[has_place]
    ends = target.end_at(there, then_ms)
    oldest, oldest_ms = target.oldest_ms(there)
    # A target without a poll yet has been idle since before that.
    otherwise = np.where(oldest_ms >= then_ms, oldest, target.end[there])
    found[has_place] = np.where(ends < 0, otherwise, ends)
    values: list[int] = found.tolist()
    return values


def _with_new_target(base: Base, target: Heads, target_place: int) -> Base:
    """Count a target that did not exist when the mirror wrote the base as empty then."""
    if int(target.end[target_place]) < 0:
        return base
    return replace(base, target_end=max(0, int(target.start[target_place])))


def _log_most(source: Heads, places: Sequence[int], known_ms: int, next_offsets: Sequence[int]) -> list[int]:
    """Return the most that each old log can have held when it was removed, -1 if unknown.

    Its last poll was at `known_ms`; later records are estimated from the growth in a period before.
    """
    there = np.array(places, np.int32)
    at = np.maximum(there, 0)
    before, end = (source.end_at(at, np.full(len(at), ms)) for ms in (known_ms - GROWS_MS, known_ms))
    # Not polled then, or the data is of the new log.
    unknown = (there < 0) | (np.minimum(before, end) < np.array(next_offsets, np.int64))
    values: list[int] = np.where(unknown, -1, end + GROWN_TIMES * (end - before)).tolist()
    return values


def partition_poll(
    followed: Followed, slot: int | None, places: Places, polled_ms: tuple[int, int], base: Base
) -> PartitionPoll | None:
    """Return the newest poll of the target since the base, None if N is not known well enough for it.

    `places` and `polled_ms`, when their ends were last read, are of the source and the target. If the source
    leads, and nothing was written since, the target's poll before that is the newest one that counts.
    """
    commits = [one for one in followed.windows.commits(slot) if one[1] > base.at_ms]
    target_end, at_ms = int(followed.target.end[places[1]]), polled_ms[1]
    if polled_ms[0] < at_ms and not any(written_ms >= at_ms for _, written_ms in commits):
        target_end, at_ms = followed.target.look_until(places[1], polled_ms[0])
    before = [offset for offset, written_ms in commits if written_ms <= at_ms and offset > base.next_offset]
    if not before or min(target_end, base.target_end) < 0:
        return None
    # An offset does not include records that are replicated while it is written.
    after = [offset for offset, written_ms in commits if written_ms >= at_ms + WRITING_MS]
    end = int(followed.source.end[places[0]]) if polled_ms[0] >= at_ms else _FAR
    start = max(0, int(followed.source.start[places[0]]))
    high = max(min(end, *after[:1], _FAR), before[-1])
    return PartitionPoll(start, before[-1], high, target_end, at_ms)


def _poll_at_end(followed: Followed, places: Places, polled_ms: int, base: Base) -> PartitionPoll | None:
    """Return the same if the new log has grown to the mirror's offset: it has nothing to write."""
    start, end = max(0, int(followed.source.start[places[0]])), int(followed.source.end[places[0]])
    target_end, at_ms = followed.target.look_until(places[1], polled_ms)
    if not start < end == base.next_offset or min(target_end, base.target_end) < 0:
        return None
    return PartitionPoll(start, end, end, target_end, at_ms)
