"""The parts of a record, compared and described without its payload. Pure.

A timestamp is compared only if both are the producer's: with `message.timestamp.type=LogAppendTime` the
broker replaces it.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.kafka.picking import PickedRecord

_HASH_CHARACTERS = 12
_NULL = b"\xff" * 4


class Part(StrEnum):
    """A part of a record."""

    KEY = "key"
    VALUE = "value"
    HEADERS = "headers"
    TIMESTAMP = "timestamp"


def differences(source: PickedRecord, target: PickedRecord) -> tuple[Part, ...]:
    """Return the parts in which two records differ; none if their content is the same."""
    found = []
    if source.key != target.key:
        found.append(Part.KEY)
    if source.value != target.value:
        found.append(Part.VALUE)
    if source.headers != target.headers:
        found.append(Part.HEADERS)
    if has_other_time(source, target):
        found.append(Part.TIMESTAMP)
    return tuple(found)


def is_same(source: PickedRecord, target: PickedRecord) -> bool:
    """Return whether two records have no differences."""
    return (
        source.value == target.value
        and source.key == target.key
        and source.headers == target.headers
        and not has_other_time(source, target)
    )


def has_other_time(source: PickedRecord, target: PickedRecord) -> bool:
    """Return whether the timestamps differ; the broker's own, and one that is missing, are not compared."""
    if target.stamped or source.timestamp_ms < 0:
        return False
    return source.timestamp_ms != target.timestamp_ms


def shares(source: PickedRecord, target: PickedRecord) -> frozenset[Part]:
    """Return the parts that two records have in common and that say something: no nulls, no empty ones."""
    found = set()
    if source.key and source.key == target.key:
        found.add(Part.KEY)
    if source.value and source.value == target.value:
        found.add(Part.VALUE)
    if source.headers and source.headers == target.headers:
        found.add(Part.HEADERS)
    if not target.stamped and source.timestamp_ms >= 0 and source.timestamp_ms == target.timestamp_ms:
        found.add(Part.TIMESTAMP)
    return frozenset(found)


def short_hash(record: PickedRecord) -> str:
    """Return the start of the hash of a record, hexadecimal."""
    return content_hash(record).hex()[:_HASH_CHARACTERS]


def content_hash(record: PickedRecord) -> bytes:
    """Return the SHA-256 of key, value and headers; null is not as empty."""
    digest = hashlib.sha256()
    for name, value in (("key", record.key), ("value", record.value), *record.headers):
        for each in (name.encode(errors="surrogateescape"), value):
            digest.update(_NULL if each is None else len(each).to_bytes(4, "big") + each)
    return digest.digest()
