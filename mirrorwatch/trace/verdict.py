"""Where a record is on the target of a flow, or why it is not there. Pure.

Rules in order; the first that holds decides:

found          a record with the same content was read within the wanted offsets, or else around them
uncommitted    it is of a transaction that the mirror does not read
recreated      the target topic was re-created after it was replicated
no_room        no offset is left between its neighbors, or between two offset syncs: dropped
deleted        the mirror has passed it, and all offsets where it can be are deleted
changed        another content is at its offset or between its neighbors; or the mirror has passed it, and
               another content has its timestamp and key or value
open           it may be in a transaction that the mirror has not committed: not there yet
not_passed     the mirror has not passed it: not there yet, or unknown without an offset of the mirror
older          offsets where it can be are deleted, and the oldest record on the target is newer: deleted
partly_read    offsets where it can be are deleted, or were not all read: unknown
before_mirror  the mirror starts at the newest records, and may be younger: unknown
another        offset syncs give an offset that holds another record: unknown
compacted      offsets are free, the topic is compacted, and a later record has the key
unclear        other records where it can be have the same timestamp, or the same key and value: unknown
dropped        all offsets where it can be were read
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from fleet.quantity import between_text, count_text
from mirrorwatch.trace.arrival import arrival_of
from mirrorwatch.trace.content import differences, has_other_time, is_same
from mirrorwatch.trace.facts import Basis, HopVerdict, Searched, Status
from mirrorwatch.trace.neighbors import Around, alike, around, may_be, unclaimed

if TYPE_CHECKING:
    from collections.abc import Callable

    from mirrorwatch.trace.content import Part
    from mirrorwatch.trace.facts import HopFacts
    from runtime.kafka.picking import PickedRecord

_SHOWN_OFFSETS = 5
_BASIS_TEXT = {
    Basis.OFFSET_SYNC: "offset syncs prove this offset",
    Basis.EQUAL_OFFSETS: "the mirror keeps offsets",
    Basis.BETWEEN_SYNCS: "by its content, within the bounds of offset syncs",
    Basis.TIMESTAMP: "by its timestamp and content",
    Basis.WHOLE_LOG: "by its content, in the whole partition",
}


@dataclass(frozen=True, slots=True)
class _Case:
    """The facts, what the neighbors prove, and whether the mirror has passed the record."""

    facts: HopFacts
    near: Around
    passed: bool

    @property
    def target(self) -> str:
        return self.facts.flow.target

    @property
    def first(self) -> Searched:
        """Return the partition searched; a mirror that does not keep partitions has several."""
        return self.facts.searched[0]

    @property
    def place(self) -> str:
        return f"{self.facts.remote}-{self.first.partition}"

    def verdict(self, status: Status, sentence: str) -> HopVerdict:
        return _verdict(self.facts, status, sentence)


def found_in(facts: HopFacts) -> tuple[Searched, list[PickedRecord]] | None:
    """Return the target partition with records of the same content, and these; None without any."""
    for one in facts.searched:
        equal = [each for each in one.records if is_same(facts.record, each)]
        wanted = one.wanted
        first, last = wanted.first, wanted.last
        if wanted.exact is not None:
            first, last = wanted.exact, wanted.exact + 1
        inside = [each for each in equal if first <= each.offset < last]
        if equal:
            return one, inside or equal
    return None


def judge(facts: HopFacts) -> HopVerdict:
    """Return the verdict on one flow; the record is replicated by its filters and has a target partition."""
    found = found_in(facts)
    if found is not None:
        return _found(facts, *found)
    near = around(facts.record, facts.before, facts.after, facts.searched[0])
    case = _Case(facts, near, _has_passed(facts, near))
    return next(verdict for rule in _RULES if (verdict := rule(case)) is not None)


def _found(facts: HopFacts, one: Searched, records: list[PickedRecord]) -> HopVerdict:
    offsets = tuple(each.offset for each in records)
    place = f"{facts.remote}-{one.partition}"
    if len(offsets) == 1:
        where = f"at offset {offsets[0]} of {place}"
    else:
        more = ", ..." if len(offsets) > _SHOWN_OFFSETS else ""
        shown = ", ".join(map(str, offsets[:_SHOWN_OFFSETS])) + more
        where = f"at one of {len(offsets)} offsets of {place} with equal records: {shown}"
    proven = one.wanted.exact is not None and offsets == (one.wanted.exact,)
    if all(one.wanted.first <= each < one.wanted.last for each in offsets):
        how = _BASIS_TEXT[one.basis if proven or one.basis is not Basis.OFFSET_SYNC else Basis.BETWEEN_SYNCS]
    else:
        how = "by its content, outside of the bounds of offset syncs"
    if not proven and not one.is_whole:
        how += "; equal records elsewhere are possible"
    sentence = f"On {facts.flow.target} {where} ({how})."
    return _verdict(facts, Status.FOUND, sentence, one=one, offsets=offsets, record=records[0])


def _has_passed(facts: HopFacts, near: Around) -> bool:
    """Return whether the mirror has read the source past the record."""
    if facts.replicated is not None and facts.offset < facts.replicated:
        return True
    return near.passed or any(one.wanted.by is not None for one in facts.searched)


def _uncommitted(case: _Case) -> HopVerdict | None:
    facts = case.facts
    if facts.committed is not False:
        return None
    reads = f"{facts.flow.name} reads committed records only"
    if facts.open:
        return case.verdict(
            Status.NOT_YET, f"Not on {case.target} yet: its transaction is open, and {reads}."
        )
    return case.verdict(Status.NOT_REPLICATED, f"Not replicated: its transaction was aborted, and {reads}.")


def _recreated(case: _Case) -> HopVerdict | None:
    if not case.facts.recreated:
        return None
    why = f"topic {case.facts.remote} was re-created after the record was replicated"
    return case.verdict(Status.DELETED, f"Deleted on {case.target}: {why}.")


def _no_room(case: _Case) -> HopVerdict | None:
    wanted = case.first.wanted
    if case.near.adjacent:
        sentence = (
            f"the records around it are next to each other on {case.target}, the later at offset"
            f" {case.near.later}"
        )
    elif not case.passed or wanted.first < wanted.last:
        return None
    elif case.first.end == 0:
        sentence = f"the log of {case.place} is empty, unless the topic was re-created"
    else:
        sentence = f"offset syncs leave no offset for it on {case.target}"
    return _dropped_verdict(case, sentence)


def _deleted(case: _Case) -> HopVerdict | None:
    one, wanted = case.first, case.first.wanted
    last = min(wanted.last if wanted.exact is None else wanted.exact + 1, one.end)
    if not case.passed or one.start < last:
        return None
    there = f"the log start offset of {case.place} is {one.start}"
    if wanted.exact is not None:
        where = f"it was at offset {wanted.exact}"
    elif last - 1 <= wanted.first:
        where = f"if it was replicated, it was at offset {wanted.first}"
    else:
        where = f"if it was replicated, it was between offsets {wanted.first} and {last - 1}"
    return case.verdict(Status.DELETED, f"Deleted on {case.target}: {where}; {there}.")


def _changed(case: _Case) -> HopVerdict | None:
    facts, one = case.facts, case.first
    there = next((each for each in one.records if each.offset == one.wanted.exact), None)
    if there is not None and (one.basis is Basis.EQUAL_OFFSETS or may_be(facts.record, there)):
        return _changed_verdict(case, one, there, _BASIS_TEXT[one.basis])
    if case.near.changed is not None:
        return _changed_verdict(case, one, case.near.changed, "the records around it are around this offset")
    if not case.passed:  # it may be another event with the same timestamp and key
        return None
    here = [*chain.from_iterable(each.records for each in facts.searched)]
    like = alike(facts.record, facts.known, here)
    if like is None:
        return None
    one = next(each for each in facts.searched if like in each.records)
    return _changed_verdict(case, one, like, "it has the same timestamp, and the same key or value")


def _changed_verdict(case: _Case, one: Searched, there: PickedRecord, proof: str) -> HopVerdict:
    facts = case.facts
    parts = differences(facts.record, there)
    names = _joined(parts)
    verb = "differ" if len(parts) > 1 or names == "headers" else "differs"
    sentence = (
        f"Changed by {facts.flow.name}: {names} {verb} at offset {there.offset} of"
        f" {facts.remote}-{one.partition} on {case.target} ({proof})."
    )
    return _verdict(
        facts, Status.CHANGED, sentence, one=one, offsets=(there.offset,), differs=parts, record=there
    )


def _open(case: _Case) -> HopVerdict | None:
    one = next((each for each in case.facts.searched if each.may_be_open), None)
    if one is None or case.near.later is not None:
        return None
    where = f"a transaction of the mirror is open from offset {one.stable} of {case.facts.remote}"
    return case.verdict(Status.NOT_YET, f"Not on {case.target} yet: {where}-{one.partition}.")


def _not_passed(case: _Case) -> HopVerdict | None:
    facts = case.facts
    if case.passed:
        return None
    if facts.replicated is None:
        why = facts.progress_problem or "no offset of the mirror is known for this partition"
        return case.verdict(
            Status.UNKNOWN, f"Not found on {case.target}, and the mirror's progress is unknown: {why}."
        )
    lag = facts.offset + 1 - facts.replicated
    sentence = (
        f"Not on {case.target} yet: the mirror has to replicate {between_text(0, lag, 'record')} to reach it,"
        f" from offset {facts.replicated} on; the log end offset is {facts.source_end}"
    )
    return _verdict(facts, Status.NOT_YET, f"{sentence}{_drop_reasons(facts)}.", lag_records=lag)


def _older(case: _Case) -> HopVerdict | None:
    one = case.first
    oldest = next(iter(one.records), None)
    if not _is_partly_deleted(one) or oldest is None or one.first != one.start:
        return None
    source = case.facts.record
    is_newer = has_other_time(source, oldest) and oldest.timestamp_ms > source.timestamp_ms
    if not is_newer:
        return None
    why = f"the log start offset of {case.place} is {one.start}, and the oldest record there is newer"
    return case.verdict(Status.DELETED, f"Deleted on {case.target}: {why}.")


def _partly_read(case: _Case) -> HopVerdict | None:
    one = case.first
    proven = case.near.later is not None
    if _is_partly_deleted(one) and not (proven and one.by_time):
        why = f"it was dropped, or deleted with the offsets before {one.start} of {case.place}"
        return case.verdict(Status.UNKNOWN, f"Not found on {case.target}: {why}.")
    searched = case.facts.searched
    if all(each.is_whole for each in searched) and (proven or not any(each.by_time for each in searched)):
        return None
    sentence = (
        f"Not found on {case.target}: {_read_text(case)}, and it may be at other offsets; run the service,"
        " which keeps offset syncs"
    )
    return case.verdict(Status.UNKNOWN, f"{sentence}.")


def _before_mirror(case: _Case) -> HopVerdict | None:
    if case.facts.flow.offset_reset != "latest" or case.near.later is not None:
        return None
    why = "it was dropped, or is older than the mirror, which starts at the newest records"
    return case.verdict(Status.UNKNOWN, f"Not found on {case.target}: {why}.")


def _another(case: _Case) -> HopVerdict | None:
    exact = case.first.wanted.exact
    if exact is None or not any(each.offset == exact for each in case.first.records):
        return None
    sentence = (
        f"Not found on {case.target}: offset {exact} of {case.place}, where offset syncs put it,"
        " holds another record; the topic was re-created, or the mirror changes every part"
    )
    return case.verdict(Status.UNKNOWN, f"{sentence}.")


def _compacted(case: _Case) -> HopVerdict | None:
    facts, place = case.facts, case.place
    if facts.compacts is False or all(one.is_dense for one in facts.searched):
        return None
    missing = f"Not found on {case.target}"
    if facts.compacts is None:
        why = f"it was dropped or compacted; no permission to read cleanup.policy of {facts.remote}"
        return case.verdict(Status.UNKNOWN, f"{missing}: {why}.")
    if facts.newer_of_key is not None:
        why = f"{place} has a later record of its key at offset {facts.newer_of_key}"
        return case.verdict(Status.COMPACTED, f"Compacted on {case.target}: {why}.")
    if facts.record.value is None:
        why = f"it is a tombstone, which {place} keeps for delete.retention.ms"
        return case.verdict(Status.COMPACTED, f"Compacted on {case.target}: {why}.")
    why = f"{place} is compacted, and no later record of its key was read there"
    return case.verdict(Status.UNKNOWN, f"{missing}: {why}.")


def _unclear(case: _Case) -> HopVerdict | None:
    facts = case.facts
    free = [
        each
        for one in facts.searched
        for each in unclaimed(facts.known, one.records)
        if one.wanted.first <= each.offset < one.wanted.last and may_be(facts.record, each)
    ]
    if not free:
        return None
    sentence = (
        f"Not found on {case.target}: it was dropped or changed; {count_text(len(free), 'record')} there may"
        f" be it, such as offset {free[0].offset} of {case.place}"
    )
    return case.verdict(Status.UNKNOWN, f"{sentence}.")


def _dropped(case: _Case) -> HopVerdict:
    if case.near.later is not None:
        proof = f"{_read_text(case)}, and a later record is at offset {case.near.later}"
    else:
        proof = f"{_read_text(case)}, and the mirror has passed source offset {case.facts.offset}"
    return _dropped_verdict(case, proof)


_RULES: tuple[Callable[[_Case], HopVerdict | None], ...] = (
    _uncommitted,
    _recreated,
    _no_room,
    _deleted,
    _changed,
    _open,
    _not_passed,
    _older,
    _partly_read,
    _before_mirror,
    _another,
    _compacted,
    _unclear,
    _dropped,
)


def _dropped_verdict(case: _Case, proof: str) -> HopVerdict:
    facts = case.facts
    sentence = f"Dropped by {facts.flow.name}: {proof}{_drop_reasons(facts)}."
    return case.verdict(Status.DROPPED, sentence)


def _is_partly_deleted(one: Searched) -> bool:
    return one.wanted.first < one.start and one.wanted.exact is None


def _read_text(case: _Case) -> str:
    count = sum(len(one.records) for one in case.facts.searched)
    return f"it is not among the {count_text(count, 'record')} read there"


def _drop_reasons(facts: HopFacts) -> str:
    """Return the mirror's settings by which it may drop a record, as the end of a sentence."""
    handling = facts.flow.handling
    found = [f"transform '{name}' may drop records" for name in handling.drops]
    if handling.skips_failed:
        found.append("errors.tolerance=all skips records that fail")
    return f"; {', '.join(found)}" if found else ""


def _joined(parts: tuple[Part, ...]) -> str:
    *others, last = (part.value for part in parts)
    return f"{', '.join(others)} and {last}" if others else last


def _verdict(
    facts: HopFacts,
    status: Status,
    sentence: str,
    *,
    one: Searched | None = None,
    offsets: tuple[int, ...] = (),
    differs: tuple[Part, ...] = (),
    lag_records: int | None = None,
    record: PickedRecord | None = None,
) -> HopVerdict:
    """Return the verdict; `one` is the target partition with the record."""
    by = None if one is None else one.wanted.by
    return HopVerdict(
        flow=facts.flow,
        topic=facts.topic,
        partition=facts.partition,
        status=status,
        sentence=sentence,
        remote=facts.remote,
        remote_partition=None if one is None else one.partition,
        offsets=offsets,
        basis=None if one is None else one.basis,
        differs=differs,
        lag_records=lag_records,
        arrival=arrival_of(facts.record, record if len(offsets) == 1 else None, by),
        record=record,
    )
