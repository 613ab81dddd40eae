"""What a probe carries, and how a copy of it is read again.

The same identity stands in key, value and one header, so that a change to any of them is seen; the value
is JSON, so that a person can check a probe with any console consumer. Bytes in, record or reading out.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from dataclasses import dataclass

VERSION = 1
MAX_VALUE_BYTES = 4096  # a probe is about 300 bytes; anything far larger is not one of ours
HEADER = "mirrorwatch-canary"
# Headers that mirrors are known to add to what they copy, to know it again.
PROVENANCE_HEADERS = frozenset({"__replicator_id"})

MAX_KEY_BYTES = 512  # ours is below 110; a converter adds quotes, or a third where it writes base64
_KEY = re.compile(rb"mirrorwatch-([0-9a-f]{16})-([0-9]{1,6})-([0-9]{1,18})-([A-Za-z0-9+/=_-]{1,64})")
_KEY_BASE64 = re.compile(rb"bWlycm9yd2F0Y2gt[A-Za-z0-9+/]*={0,2}")  # twelve bytes are sixteen characters
_INCARNATION = re.compile(r"[0-9a-f]{16}")
_TOPIC_ID = re.compile(r"[A-Za-z0-9+/=_-]{1,64}")
_CRC = b',"crc32":"'


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity of one probe.

    `sent_at_ms` is the sender's wall clock, for people only: it is never subtracted from another clock.
    """

    installation: str
    incarnation: str  # 16 hexadecimal digits
    sequence: int  # from 0 per incarnation and partition
    topic_id: str
    topic: str
    partition: int
    sent_at_ms: int


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """A stamp as Kafka carries it."""

    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Intact:
    """A copy that says exactly what was sent."""

    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Identity:
    """Which probe it is within one installation."""

    topic_id: str
    incarnation: str
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Corrupted:
    """A copy of a probe that was changed on the way; `identity` where value or key still tells it.

    `installation` is known only where the value is whole, and empty otherwise.
    """

    identity: Identity | None
    sentence: str
    installation: str = ""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A record that is no probe: another program writes into the canary's topic."""

    sentence: str


Reading = Intact | Corrupted | Stranger


def encode(stamp: Stamp) -> ProbeRecord:
    """Return key, value and header of the probe that carries this stamp."""
    body = json.dumps(
        {
            "mirrorwatch": VERSION,
            "installation": stamp.installation,
            "incarnation": stamp.incarnation,
            "sequence": stamp.sequence,
            "topic_id": stamp.topic_id,
            "topic": stamp.topic,
            "partition": stamp.partition,
            "sent_at_ms": stamp.sent_at_ms,
        },
        separators=(",", ":"),
    ).encode()
    crc = f"{zlib.crc32(body):08x}".encode()
    return ProbeRecord(
        key=f"mirrorwatch-{stamp.incarnation}-{stamp.partition}-{stamp.sequence}-{stamp.topic_id}".encode(),
        value=body[:-1] + _CRC + crc + b'"}',
        headers=((HEADER, crc),),
    )


def decode(key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None) -> Reading:
    """Read a record of the canary's topic; any bytes give a reading, none raises."""
    stamp = _stamp_of(value)
    if stamp is None:
        if _looks_like_probe(key, value, headers):
            return Corrupted(_identity_of(key), "the value is not the one that was sent")
        return Stranger("no key, value or header of it is a probe's")
    sent = encode(stamp)
    changed = []
    if value != sent.value:
        changed.append("the value is not the one that was sent")
    if key != sent.key:
        changed.append("the key is missing" if key is None else "the key is not the one that was sent")
    kept = tuple((name, text) for name, text in headers or () if name not in PROVENANCE_HEADERS)
    if kept != sent.headers:
        names = ", ".join(name[:60] for name, _ in kept[:5]) or "none"
        changed.append(f"the headers are not those that were sent (now: {names})")
    if not changed:
        return Intact(stamp)
    identity = Identity(stamp.topic_id, stamp.incarnation, stamp.partition, stamp.sequence)
    return Corrupted(identity, "; ".join(changed), stamp.installation)


def _identity_of(key: bytes | None) -> Identity | None:
    """Return the identity in a key, as it was sent or as a String or Json converter writes it."""
    if key is None or len(key) > MAX_KEY_BYTES:
        return None
    found = _KEY.search(key) or _KEY.search(_out_of_base64(key))
    if found is None:
        return None
    return Identity(found[4].decode(), found[1].decode(), int(found[2]), int(found[3]))


def _out_of_base64(key: bytes) -> bytes:
    found = _KEY_BASE64.search(key)
    try:
        return base64.b64decode(found[0], validate=True) if found else b""
    except binascii.Error:
        return b""


def _looks_like_probe(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> bool:
    return (
        _identity_of(key) is not None
        or any(name == HEADER for name, _ in headers or ())
        or (value is not None and len(value) <= MAX_VALUE_BYTES and value.startswith(b'{"mirrorwatch":'))
    )


def _stamp_of(value: bytes | None) -> Stamp | None:
    """Return the stamp in a value whose own checksum holds, else None."""
    if value is None or len(value) > MAX_VALUE_BYTES:
        return None
    body, mark, crc = value.rpartition(_CRC)
    if not mark or f"{zlib.crc32(body + b'}'):08x}".encode() + b'"}' != crc:
        return None
    try:
        fields = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return _stamp_from(fields)


def _stamp_from(fields: object) -> Stamp | None:
    if not isinstance(fields, dict) or fields.get("mirrorwatch") != VERSION:
        return None
    texts = [fields.get(name) for name in ("installation", "incarnation", "topic_id", "topic")]
    numbers = [fields.get(name) for name in ("sequence", "partition", "sent_at_ms")]
    if not all(isinstance(text, str) for text in texts):
        return None
    if not (_INCARNATION.fullmatch(fields["incarnation"]) and _TOPIC_ID.fullmatch(fields["topic_id"])):
        return None
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        return None
    return Stamp(
        installation=fields["installation"],
        incarnation=fields["incarnation"],
        sequence=fields["sequence"],
        topic_id=fields["topic_id"],
        topic=fields["topic"],
        partition=fields["partition"],
        sent_at_ms=fields["sent_at_ms"],
    )
