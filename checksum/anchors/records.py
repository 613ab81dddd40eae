"""Two records that a pair of offsets says are one, the original and its copy: are they? Pure.

A pair is believed by what stands at its two offsets. Records that are the same but for what a transform
changed still prove that the offsets belong together: the audit is there to find such changes, so a mirror
that alters every record must not look like one without anchors.
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
    """What two records say of a pair, from the best on."""

    EQUAL = "equal"
    ALTERED = "altered"  # the same record, and some of it was changed
    PARTLY = "partly"  # one part alone agrees: little by itself
    DIFFERENT = "different"
    UNREADABLE = "unreadable"  # one of the two offsets holds no record (any more)


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """A record as it was read: digests of its parts, None for a null; `size_bytes` is of all its parts.

    `headers` is the digest of all headers but the excluded ones; none and an empty list are the same.
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
    """Return what is kept of a record that was read."""
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
    """Return what is kept of a record's key: 16 bytes of any."""
    return None if key is None else _digest([key])


def agreement(source: SeenRecord | None, target: SeenRecord | None, *, timestamps: bool) -> Agreement:
    """Say what two records, read at a pair's offsets, tell of it; None: nothing could be read there.

    `timestamps` is false where the target stamps records itself.
    """
    if source is None or target is None:
        return Agreement.UNREADABLE
    alike = telling(source, target, timestamps=timestamps)
    whole = (source.key, source.value, source.headers) == (target.key, target.value, target.headers)
    if whole and (not timestamps or source.timestamp_ms == target.timestamp_ms):
        return Agreement.EQUAL
    if len(alike) > 1:
        return Agreement.ALTERED
    return Agreement.PARTLY if alike else Agreement.DIFFERENT


def telling(source: SeenRecord, target: SeenRecord, *, timestamps: bool) -> tuple[bytes, ...]:
    """Return the parts in which two records agree; a null agrees with that of every other record: no part."""
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
