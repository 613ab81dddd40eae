"""Comparison of a compacted topic: the last record of each key on both sides. Pure.

Compaction may have removed any record except the last of its key, at different times on both sides, and also
the last one if it is a tombstone. So a missing tombstone is benign unless the other side still has a value
for its key (checksum.md, Alignment, 6).

A key's last record in the compared range may be replaced by one after it, and then be gone on either side. So
a side lacks it only if it does not have the key after the range either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.findings import Finding, Proof, RecordVerdict
from checksum.digest.cell_rows import Side
from checksum.plan.shape import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from checksum.recheck.block_differences import ReadRecord


class OfKey(NamedTuple):
    """A finding about the last record of a key; `key` is its digest."""

    key: bytes | None
    finding: Finding

    @property
    def lacks(self) -> Side | None:
        """Return the side that lacks the record, or None."""
        match self.finding.verdict:
            case RecordVerdict.LOST:
                return Side.TARGET
            case RecordVerdict.EXTRA:
                return Side.SOURCE
        return None


def keys_lacking(found: Iterable[OfKey]) -> dict[Side, set[bytes | None]]:
    """Return the keys of which each side lacks the last record."""
    keys: dict[Side, set[bytes | None]] = {side: set() for side in Side}
    for one in found:
        if one.lacks is not None:
            keys[one.lacks].add(one.key)
    return keys


def not_replaced(found: Iterable[OfKey], again: Mapping[Side, Collection[bytes | None]]) -> list[Finding]:
    """Return the findings that a later record of the key does not explain.

    `again` are the keys that were written again after the range, or may have been.
    """
    return [one.finding for one in found if one.lacks is None or one.key not in again[one.lacks]]


def latest_differences(
    topic: str,
    partition: int,
    source: Iterable[ReadRecord],
    target: Iterable[ReadRecord],
    *,
    timestamps: bool,
) -> list[OfKey]:
    """Return a finding for each key of which the last records differ; records are in order of offsets.

    If the target's last value is an earlier one of the source, the source's last is lost. If both have the
    same time, it was altered. Otherwise the source's last is lost and the target's is extra.
    """
    originals = list(source)
    held = {one.hash for one in originals}
    last_here = {one.seen.key: one for one in originals}
    last_there = {one.seen.key: one for one in target}
    findings: list[OfKey] = []
    for key in sorted(last_here.keys() | last_there.keys(), key=lambda one: one or b""):
        here, there = last_here.get(key), last_there.get(key)
        for verdict, original, copy in _judged(here, there, held, timestamps=timestamps):
            one = _finding(verdict, topic, partition, original, copy, timestamps=timestamps)
            findings.append(OfKey(key, one))
    return findings


def _judged(
    here: ReadRecord | None, there: ReadRecord | None, held: set[int], *, timestamps: bool
) -> list[tuple[RecordVerdict, ReadRecord | None, ReadRecord | None]]:
    """Return the verdicts for the last records of one key; a record is None if there is none."""
    live_here = here is not None and here.seen.value is not None
    live_there = there is not None and there.seen.value is not None
    if not live_here and not live_there:
        return []
    if here is None or there is None:
        return [(RecordVerdict.EXTRA if here is None else RecordVerdict.LOST, here, there)]
    if here.hash == there.hash:
        return []
    later_ms = here.seen.timestamp_ms - there.seen.timestamp_ms if timestamps else None
    if there.hash in held or (later_ms is not None and later_ms > 0):
        return [(RecordVerdict.LOST, here, None)]
    if later_ms == 0:
        return [(RecordVerdict.ALTERED, here, there)]
    return [(RecordVerdict.LOST, here, None), (RecordVerdict.EXTRA, None, there)]


def _finding(
    verdict: RecordVerdict,
    topic: str,
    partition: int,
    here: ReadRecord | None,
    there: ReadRecord | None,
    *,
    timestamps: bool,
) -> Finding:
    one = here or there
    assert one is not None
    altered = there if here is not None else None
    return Finding(
        verdict,
        topic,
        partition,
        1,
        one.hash,
        one.seen.timestamp_ms if timestamps else None,
        None if here is None else OffsetRange(here.seen.offset, here.seen.offset + 1),
        None if there is None else OffsetRange(there.seen.offset, there.seen.offset + 1),
        Proof.READING,
        target_hash=altered.hash if altered else None,
        target_timestamp_ms=altered.seen.timestamp_ms if altered and timestamps else None,
        # A tombstone is a finding only if the target's last record of the key is a value.
        tombstone=here is not None and here.seen.value is None,
    )
