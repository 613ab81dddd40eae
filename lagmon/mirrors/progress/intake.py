"""Take in records of a Connect offsets topic, for the flows that they belong to. Pure.

One offsets topic may hold the offsets of several flows and of other connectors (a shared worker). A flow's
offsets are those of its source's alias, and of its connector's name if that is known. If it is not, offsets
of an earlier connector with another name may be read last, although they are older.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.connect import decode_source_offset
from fleet.wire.records import NotMirrored, SourceOffset, Tombstone
from lagmon.ingest.malformed import MalformedNotice, sample_of
from lagmon.logs.writer_clocks import WriterClocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.wire.records import SourceOffsetKey
    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.mirrors.partitions.window import MirrorWindows

    _Record = SourceOffset | Tombstone[SourceOffsetKey]


@dataclass(slots=True)
class OffsetsTaken:
    """Counters of records: each record is counted in exactly one of these."""

    offsets: int = 0
    resets: int = 0
    others: int = 0  # of other connectors and other flows
    malformed: int = 0
    sample: str = ""  # the first malformed record


@dataclass(slots=True)
class OffsetsIntake:
    """Takes in the records of one offsets topic, for the flows whose offsets it holds."""

    flows: Sequence[tuple[MirrorOrder, MirrorWindows]]
    taken: OffsetsTaken = field(default_factory=OffsetsTaken)
    notice: MalformedNotice = field(default_factory=lambda: MalformedNotice("Kafka Connect"))
    _clocks: WriterClocks = field(default_factory=WriterClocks)
    _written_by: dict[tuple[int, str, int], str] = field(
        default_factory=dict
    )  # only while the backlog is read

    def take(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        times_ms: Sequence[int],
        *,
        read_ms: int,
        live: bool,
    ) -> None:
        """Take in records in the order in which they were read, with their own timestamps (-1: none).

        A worker's clock may be wrong, and another worker may write each offset.
        """
        if live:
            self._written_by.clear()
        found = [
            (record, told_ms)
            for key, value, told_ms in zip(keys, values, times_ms, strict=True)
            if (record := self._decoded(key, value)) is not None
        ]
        if live:
            self._clocks.note_all(((record.key, told_ms) for record, told_ms in found), read_ms)
        for record, told_ms in found:
            self._take(record, self._clocks.at_ms(record.key, told_ms, read_ms), live=live)

    def _decoded(self, key: bytes | None, value: bytes | None) -> _Record | None:
        """Return the record if it belongs to a flow; count anything else."""
        try:
            record = decode_source_offset(key, value)
        except MalformedError as error:
            self.taken.malformed += 1
            if not self.taken.sample:
                self.taken.sample = sample_of(str(error), key)  # a value may be another connector's
            return None
        if isinstance(record, NotMirrored) or not any(_is_of(order, record.key) for order, _ in self.flows):
            self.taken.others += 1
            return None
        return record

    def _take(self, record: _Record, at_ms: int, *, live: bool) -> None:
        about = record.key
        windows = [
            windows
            for number, (order, windows) in enumerate(self.flows)
            if _is_of(order, about) and (live or self._is_newest(number, windows, about, at_ms))
        ]
        if not windows:
            self.taken.others += 1
            return
        match record:
            case SourceOffset():
                self.taken.offsets += 1
                for one in windows:
                    slot = one.slot(about.topic, about.partition) if live else None
                    # A later record was written later, whatever its timestamp.
                    since_ms = at_ms if slot is None else max(at_ms, int(one.committed_ms[slot]))
                    one.take(about.topic, about.partition, record.offset, since_ms, live=live)
            case Tombstone():
                self.taken.resets += 1
                self._clocks.forget(about)
                for one in windows:
                    if live:
                        one.reset(about.topic, about.partition, at_ms)
                    else:
                        one.forget(about.topic, about.partition)

    def _is_newest(self, number: int, windows: MirrorWindows, about: SourceOffsetKey, at_ms: int) -> bool:
        """Return whether a record of the backlog is no older than another connector's offset."""
        name = number, about.topic, about.partition
        slot, before = windows.slot(about.topic, about.partition), self._written_by.get(name, about.connector)
        if slot is not None and before != about.connector and at_ms < windows.committed_ms[slot]:
            return False
        self._written_by[name] = about.connector
        return True


def _is_of(order: MirrorOrder, about: SourceOffsetKey) -> bool:
    return about.cluster == order.flow.named_source and order.connector in ("", about.connector)
