"""What no topic gives back of a flow, as one frame: ids, overtaken records, re-created topics. Pure.

A frame is trusted only if both clusters are those that it was kept for, and if the mirror has the same
progress and the same names of target topics. Everything goes by topic names on the source, so a changed name
would compare the ids of different target topics. Ids come first: only they show a topic that was re-created
while Mirrorwatch was down.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.errors import MalformedError
from lagmon.logs.heads import LAST_MS
from lagmon.mirrors.detectors.retention.losses import MOST_KEPT
from lagmon.mirrors.detectors.retention.overtaken import NO_OFFSET, Overtaken
from lagmon.mirrors.metadata.topics import Recreation
from lagmon.snapshots.frames import seal, unseal
from lagmon.snapshots.holding import KeptHolding, holding_document, read_holding
from lagmon.snapshots.losses import CopiedLosses, KeptLosses, losses_document, read_losses
from lagmon.snapshots.reading import (
    MOST_LONG,
    MOST_ROWS,
    instant,
    number,
    numbers,
    rows,
    short_text,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.mirrors.flow import MirrorFlow

    Since = tuple[tuple[str, str | None], int]  # verdict and cause, and since when

_MOST_RECREATIONS = 100
_MOST_KEY_PARTS = 20
_SIDES = ("source", "target")


@dataclass(frozen=True, slots=True)
class KeptFlow:
    """What was known of a flow at an instant; topics by their names on the source."""

    cluster_ids: tuple[str, str]  # of source and target
    taken_ms: int
    told: Since | None
    ids: dict[tuple[str, str], tuple[str, int]]  # by topic and side, with when each was read last
    recreations: list[Recreation]
    recreated_total: dict[tuple[str, str], int]
    missing_since: dict[tuple[str, str], int]
    overtaken_total: dict[str, int]
    overtaken: list[Overtaken]
    settled: list[Overtaken]
    retention_ms: dict[str, int]
    losses: KeptLosses
    rests: dict[tuple[str, int], tuple[int, int]]  # quiet tails: the next offset, and up to where they reach
    confirmed: dict[tuple[str, int], int]  # when an offset was known to be of the log that was there
    progress_key: tuple[str, ...] = ()  # () of an earlier program
    holding: KeptHolding = field(default_factory=KeptHolding)
    ids_since_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # when each id was read first
    gapped: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))  # as of CopiedFlow
    first_starts: dict[tuple[str, int], int] = field(default_factory=dict)  # FirstOffsets.starts


@dataclass(frozen=True, slots=True)
class CopiedFlow:
    """The content of a flow's frame, copied under its locks: 7 ms of work for 25,000 topics."""

    ids: dict[tuple[str, str], str]
    ids_at_ms: dict[tuple[str, str], int]
    recreations: list[Recreation]
    recreated_total: dict[tuple[str, str], int]
    missing_since: dict[tuple[str, str], int]
    overtaken_total: dict[str, int]
    overtaken: list[Overtaken]
    settled: list[Overtaken]
    retention_ms: dict[str, int]
    losses: CopiedLosses
    resting: list[tuple[str, int]]
    offsets: list[int]
    rests: list[int]
    confirmed: dict[tuple[str, int], int]
    progress_key: tuple[str, ...]
    holding: KeptHolding
    ids_since_ms: dict[tuple[str, str], int]
    gapped: tuple[set[str], set[str]]  # topics that have had transactions, and compacted ones
    first_starts: dict[tuple[str, int], int]

    @classmethod
    def of(cls, flow: MirrorFlow) -> CopiedFlow:
        """Copy it; call it under the locks of the flow."""
        topics, windows = flow.topics, flow.windows
        slots = np.flatnonzero(windows.rest[: len(windows)] >= 0)
        return cls(
            dict(topics.ids),
            dict(topics.ids_at_ms),
            topics.recreations[-_MOST_RECREATIONS:],
            dict(topics.recreated_total),
            dict(topics.missing_since),
            dict(flow.detectors.retention.total),
            list(flow.detectors.retention.open.values()),
            list(flow.detectors.retention.settled),
            dict(flow.retention_ms),
            CopiedLosses.of(flow),
            [windows.name(slot) for slot in slots.tolist()],
            windows.next_offset[slots].tolist(),
            windows.rest[slots].tolist(),
            windows.confirmed(),
            progress_key(flow.order),
            KeptHolding.of(flow),
            dict(topics.known_since_ms),
            (set(flow.transactions.topics), set(flow.settings.compacted)),
            dict(flow.first_offsets.starts),
        )


def progress_key(order: MirrorOrder) -> tuple[str, ...]:
    """Return what identifies a flow in addition to its clusters: its offsets, and its target names."""
    policy = order.flow.policy
    offsets = order.lag_from, order.offsets_cluster, order.offsets_topic, order.connector, order.group
    return (*offsets, str(policy.kind), policy.separator)


def frame_of(copied: CopiedFlow, *, cluster_ids: tuple[str, str], now_ms: int, told: Since | None) -> bytes:
    """Return a flow's frame."""
    known_ms = {topic: at_ms for (topic, side), at_ms in copied.ids_at_ms.items() if side == "target"}
    return seal(
        {
            "kind": "flow",
            "cluster_ids": cluster_ids,
            "taken_ms": now_ms,
            "told": None if told is None else [*told[0], told[1]],
            "ids": [(*key, one, copied.ids_at_ms.get(key, -1)) for key, one in copied.ids.items()],
            "recreations": [astuple(one) for one in copied.recreations],
            "recreated_total": [(*key, count) for key, count in copied.recreated_total.items()],
            "missing_since": [(*key, at_ms) for key, at_ms in copied.missing_since.items()],
            "overtaken_total": list(copied.overtaken_total.items()),
            "overtaken": [astuple(one) for one in copied.overtaken],
            "settled": [astuple(one) for one in copied.settled],
            "retention_ms": list(copied.retention_ms.items()),
            "losses": losses_document(copied.losses, known_ms),
            "rests": [
                (*name, offset, rest)
                for name, offset, rest in zip(copied.resting, copied.offsets, copied.rests, strict=True)
            ],
            "confirmed": [(*name, at_ms) for name, at_ms in copied.confirmed.items()],
            "told_by": copied.progress_key,
            "holding": holding_document(copied.holding),
            "ids_since": [(*key, at_ms) for key, at_ms in copied.ids_since_ms.items()],
            "gapped": [sorted(topics) for topics in copied.gapped],
            "first_starts": [(*name, start) for name, start in copied.first_starts.items()],
        }
    )


def read_flow(payload: bytes) -> KeptFlow:
    """Return what was kept of a flow; raises MalformedError, in words, for anything else."""
    frames = list(unseal(payload))
    found = frames[0][0]
    if found.get("kind") != "flow" or len(frames) != 1:
        raise MalformedError("snapshot: not of a flow")
    source_id, target_id = (short_text(one) for one in rows(found.get("cluster_ids"), least=2, most=2))
    return KeptFlow(
        (source_id, target_id),
        instant(found.get("taken_ms")),
        _told(found.get("told")),
        {
            (short_text(topic), _side(side)): (short_text(one), instant(at_ms))
            for topic, side, one, at_ms in table(found, "ids", 4)
        },
        [
            Recreation(short_text(topic), _side(side), instant(at_ms), short_text(before), short_text(after))
            for topic, side, at_ms, before, after in table(found, "recreations", 5, most=_MOST_RECREATIONS)
        ],
        {
            (short_text(topic), _side(side)): number(count, least=0, most=MOST_LONG)
            for topic, side, count in table(found, "recreated_total", 3)
        },
        {
            (short_text(code), short_text(topic)): instant(at_ms)
            for code, topic, at_ms in table(found, "missing_since", 3)
        },
        {
            short_text(topic): number(count, least=0, most=MOST_LONG)
            for topic, count in table(found, "overtaken_total", 2)
        },
        _every_overtaken(rows(found.get("overtaken"), most=MOST_ROWS)),
        _every_overtaken(rows(found.get("settled"), most=MOST_KEPT)),
        {
            short_text(topic): number(kept_ms, least=-1, most=MOST_LONG)
            for topic, kept_ms in table(found, "retention_ms", 2)
        },
        read_losses(_part(found, "losses")),
        {
            (short_text(topic), number(partition, least=0, most=MOST_ROWS)): (offset, rest)
            for topic, partition, *told in table(found, "rests", 4)
            for offset, rest in [numbers(told, count=2, least=0, most=MOST_LONG)]
        },
        {
            (short_text(topic), number(partition, least=0, most=MOST_ROWS)): instant(at_ms)
            for topic, partition, at_ms in table({"confirmed": []} | found, "confirmed", 3)
        },
        tuple(short_text(one) for one in rows(found.get("told_by", []), most=_MOST_KEY_PARTS)),
        read_holding(_part(found, "holding")) if "holding" in found else KeptHolding(),
        {
            (short_text(topic), _side(side)): instant(at_ms)
            for topic, side, at_ms in table({"ids_since": []} | found, "ids_since", 3)
        },
        _gapped(found.get("gapped", [[], []])),
        {
            (short_text(topic), number(partition, least=0, most=MOST_ROWS)): number(
                start, least=0, most=MOST_LONG
            )
            for topic, partition, start in table({"first_starts": []} | found, "first_starts", 3)
        },
    )


def restore(flow: MirrorFlow, kept: KeptFlow, *, now_ms: int) -> bool:
    """Restore what was kept of a flow; under its locks. Ids that were read meanwhile are compared.

    Return whether it is trusted: not if the flow has other progress now, or other target topics.
    """
    if kept.progress_key and kept.progress_key != progress_key(flow.order):
        return False
    topics, order = flow.topics, flow.order.flow
    read, read_ms = dict(topics.ids), dict(topics.ids_at_ms)
    topics.ids |= {key: one for key, (one, _) in kept.ids.items()}
    topics.ids_at_ms |= {key: at_ms for key, (_, at_ms) in kept.ids.items()}
    topics.known_since_ms |= kept.ids_since_ms
    topics.recreations = [*kept.recreations, *topics.recreations][-_MOST_RECREATIONS:]
    topics.recreated_ms = {(one.topic, one.side): one.at_ms for one in kept.recreations} | topics.recreated_ms
    topics.recreated_total = kept.recreated_total | topics.recreated_total
    topics.missing_since = kept.missing_since | topics.missing_since
    flow.detectors.retention.total.update(kept.overtaken_total)
    flow.detectors.retention.settled.extendleft(reversed(kept.settled))
    flow.settings.compacted |= {topic for topic in kept.gapped[1] if topic not in flow.retention_ms}
    flow.retention_ms = kept.retention_ms | flow.retention_ms
    # Before ids are compared: a re-created topic has no transactions yet, and another log start.
    flow.transactions.topics |= kept.gapped[0]
    flow.first_offsets.starts |= kept.first_starts
    # Before ids are compared: of what was removed with the old one.
    flow.detectors.recreated.ends.restore(kept.losses.ends)
    for (topic, side), topic_id in read.items():
        if topics.ids[topic, side] == topic_id:
            topics.ids_at_ms[topic, side] = read_ms[topic, side]
        else:
            alias = order.source if side == "source" else order.target
            name = topic if side == "source" else topics.remote.get(topic, "")
            flow.note_ids(alias, {name: topic_id}, now_ms)
    flow.detectors.filtered.restore(kept.holding.filtered)
    flow.when_read = partial(_restore_windows, kept=kept)
    return True


def _restore_windows(flow: MirrorFlow, kept: KeptFlow) -> None:
    """Have the windows, read anew, tell what they told before: nothing of older logs, and quiet tails."""
    windows = flow.windows
    # Not before: without an offset it would seem that the mirror has passed them.
    flow.detectors.retention.restore(flow, kept.overtaken)
    losses = kept.losses
    flow.detectors.recreated.restore(losses.copies, losses.passed_over, losses.sent_to, losses.undecided)
    flow.detectors.cuts.restore(flow, kept.holding.cuts)
    flow.detectors.rewinds.restore(kept.holding.again)
    flow.detectors.repeats.restore(kept.holding.repeats)
    flow.detectors.retimed.restore(flow, kept.holding.stamped)
    recreated = {one.topic: one.at_ms for one in kept.recreations if one.side == "source"}
    windows.note_recreated({one.topic for one in losses.undecided})
    for topic, partition, slot in list(windows.slots()):
        if topic in recreated:
            _leave_older_log(flow, slot, recreated[topic])
        confirmed_ms = kept.confirmed.get((topic, partition), -1)
        if confirmed_ms >= recreated.get(topic, 0):
            windows.confirm(slot, confirmed_ms)
        offset, rest = kept.rests.get((topic, partition), (-1, -1))
        if windows.next_offset[slot] == offset and rest > offset:
            windows.settle(np.array([slot]), np.array([rest]))


def _leave_older_log(flow: MirrorFlow, slot: int, recreated_ms: int) -> None:
    """Forget the offsets before the fall that a re-created topic caused: that is no step back."""
    rings, filled = flow.windows.rings, int(flow.windows.rings.filled[slot])
    first = rings.length - filled
    offsets, times = (array[slot, first:].tolist() for array in (rings.offset, rings.committed_ms))
    falls = [at for at in range(1, filled) if offsets[at] < offsets[at - 1] and times[at - 1] <= recreated_ms]
    if falls:
        flow.windows.keep_newest(slot, filled - falls[-1])
        flow.windows.confirm(slot, recreated_ms)


def _part(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    told = found.get(name)
    if not isinstance(told, dict):
        raise MalformedError("snapshot: missing list of losses")
    return told


def _gapped(value: object) -> tuple[set[str], set[str]]:
    transactions, compacted = (
        {short_text(topic) for topic in rows(topics, most=MOST_ROWS)}
        for topics in rows(value, least=2, most=2)
    )
    return transactions, compacted


def _side(value: object) -> str:
    if value not in _SIDES:
        raise MalformedError("snapshot: unknown side of a flow")
    return str(value)


def _every_overtaken(found: list[Any]) -> list[Overtaken]:
    """Return what can be read of these: one that can not must not cost all else that is kept of a flow."""
    every = []
    for row in found:
        with suppress(MalformedError):
            every.append(_overtaken(row))
    return every


def _overtaken(row: object) -> Overtaken:
    topic, *told = rows(row, least=6, most=11)  # of an older process it does not tell the last ones
    partition, offset, start, first_at_ms, at_ms = numbers(told[:5], count=5, least=0, most=MOST_LONG)
    (written,) = numbers(told[5:6] or [-1], count=1, least=NO_OFFSET, most=MOST_LONG)
    (within,) = numbers(told[6:7] or [0], count=1, least=0, most=MOST_LONG)
    (counted,) = numbers(told[7:8] or [0], count=1, least=0, most=MOST_LONG)
    (gap,) = numbers(told[8:9] or [0], count=1, least=0, most=MOST_LONG)
    (empty,) = numbers(told[9:] or [0], count=1, least=0, most=max(0, start - offset))
    if partition > MOST_ROWS or not written <= offset <= start or max(first_at_ms, at_ms) > LAST_MS:
        raise MalformedError("snapshot: invalid range of deleted records")
    return Overtaken(
        short_text(topic), partition, offset, start, first_at_ms, at_ms, written, within, counted, gap, empty
    )


def _told(value: object) -> Since | None:
    if value is None:
        return None
    verdict, cause, since_ms = rows(value, least=3, most=3)
    return (short_text(verdict), None if cause is None else short_text(cause)), instant(since_ms)
