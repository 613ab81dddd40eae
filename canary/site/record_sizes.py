"""Size of a probe in a partition's log. Pure.

Each probe is sent alone, so it has its own record batch: 61 bytes of header (KIP-98, message format 2), and a
few bytes for the record within it. Brokers compare the whole batch with max.message.bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.stamp import Stamp, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH_HEADER_BYTES = 61
_MILLION = 10**6  # a sequence of seven digits, as after some days at one probe a second
_MOST = 10**15  # of more digits than any sequence will have


def probe_bytes(topic: str, partitions: int, *, sequence: int = _MILLION) -> int:
    """Return the size of one probe in a partition's log, uncompressed."""
    probe = encode(
        Stamp(
            installation="0" * 32,
            incarnation="0" * 16,
            sequence=sequence,
            topic_id="A" * 22,
            topic=topic,
            partition=partitions - 1,
            due_at_ms=10**12,
        )
    )
    return batch_bytes(probe.key, probe.value, probe.headers)


def largest_probe_bytes(topic: str, partitions: int) -> int:
    """Return the largest size of a probe, for any sequence number."""
    return probe_bytes(topic, partitions, sequence=_MOST)


def control_probe_bytes() -> int:
    """Return the size of one control probe in the control topic's log."""
    return batch_bytes(None, b"0" * 16 + b":" + str(_MILLION).encode(), ())


def batch_bytes(key: bytes | None, value: bytes, headers: Sequence[tuple[str, bytes]]) -> int:
    """Return the size of a record batch with this one record."""
    record = 3  # attributes, and the distances in time and offset from the batch's, which are 0
    record += _counted(key) + _counted(value) + _varint_bytes(len(headers))
    record += sum(_counted(name.encode()) + _counted(content) for name, content in headers)
    return BATCH_HEADER_BYTES + _varint_bytes(record) + record


def _counted(content: bytes | None) -> int:
    return _varint_bytes(-1) if content is None else _varint_bytes(len(content)) + len(content)


def _varint_bytes(number: int) -> int:
    """Return the bytes of a zigzag varint, seven bits in each."""
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return max(1, (zigzag.bit_length() + 6) // 7)
