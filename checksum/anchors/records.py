"""Compare the two records of a pair, the original and the replicated one. Pure.

A pair is verified by its two records. Records that are equal except for what a transform changed still prove
that the offsets belong together: a mirror that alters every record must not look like one without pairs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DIGEST_BYTES = 16


class Agreement(Enum):
    """How well two records of a pair agree, best first."""

    EQUAL = "equal"
    ALTERED = "altered"  # the same record, partly changed
    PARTLY = "partly"  # only one part agrees, which proves little
    DIFFERENT = "different"
    UNREADABLE = "unreadable"  # one of the two offsets has no record


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """A record that was read: digests of its parts, None for a null; `size_bytes` is of all parts.

    `headers` is the digest of all headers except the excluded ones; none and an empty list are equal.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: bytes
    has_headers: bool
    size_bytes: int


def seen_record(
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    *,
    excluded: Iterable[str] = (),
) -> SeenRecord:
    """Return the digests of a record."""
    left_out = frozenset(excluded)
    size = len(key or b"") + len(value or b"")
    parts: list[bytes | None] = []
    for name, held in headers:
        text = name.encode("utf-8", "surrogatepass")
        size += len(text) + len(held or b"")
        if name not in left_out:
            parts += [text, held]
    return SeenRecord(
        offset=offset,
        timestamp_ms=timestamp_ms,
        key=key_digest(key),
        value=None if value is None else _digest([value]),
        headers=_digest(parts),
        has_headers=bool(headers),
        size_bytes=size,
    )


def key_digest(key: bytes | None) -> bytes | None:
    """Return the 16-byte digest of a key."""
    return None if key is None else _digest([key])


def agreement(source: SeenRecord | None, target: SeenRecord | None, *, timestamps: bool) -> Agreement:
    """Return how well two records of a pair agree; None: the record could not be read.

    `timestamps` is false if the target sets timestamps itself.
    """
    if source is None or target is None:
        return Agreement.UNREADABLE
    alike = equal_parts(source, target, timestamps=timestamps)
    whole = (source.key, source.value, source.headers) == (target.key, target.value, target.headers)
    if whole and (not timestamps or source.timestamp_ms == target.timestamp_ms):
        return Agreement.EQUAL
    if len(alike) > 1:
        return Agreement.ALTERED
    return Agreement.PARTLY if alike else Agreement.DIFFERENT


def equal_parts(source: SeenRecord, target: SeenRecord, *, timestamps: bool) -> tuple[bytes, ...]:
    """Return the parts in which two records agree; nulls prove nothing."""
    found = [key for key in (source.key,) if key is not None and key == target.key]
    found += [value for value in (source.value,) if value is not None and value == target.value]
    if timestamps and source.timestamp_ms == target.timestamp_ms:
        found.append(b"%d" % source.timestamp_ms)
    return tuple(found)


def _digest(parts: Iterable[bytes | None]) -> bytes:
    found = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        found.update(b"-" if part is None else b"+%d:" % len(part))
        found.update(part or b"")
    return found.digest()
