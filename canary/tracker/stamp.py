"""Content of a probe: encode and decode.

Key, value and one header hold the same identity, so that a change to any of them is detected. The value is
JSON, so that you can check a probe with any console consumer. Objects of every probe are named tuples, which
take a third of the time of a frozen dataclass.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from dataclasses import dataclass
from typing import NamedTuple

VERSION = 2
MAX_VALUE_BYTES = 4096  # a probe has about 300 bytes
HEADER = "mirrorwatch-canary"
# Headers that mirrors are known to add to replicated records.
PROVENANCE_HEADERS = frozenset({"__replicator_id"})

MAX_KEY_BYTES = 512  # a probe's key is below 110; a converter adds quotes, or a third for base64
_KEY = re.compile(rb"mirrorwatch-([0-9a-f]{16})-([0-9]{1,6})-([0-9]{1,18})-([A-Za-z0-9+/=_-]{1,64})")
_KEY_BASE64 = re.compile(rb"bWlycm9yd2F0Y2gt[A-Za-z0-9+/]*={0,2}")  # twelve bytes are sixteen characters
_INCARNATION = re.compile(r"[0-9a-f]{16}")
_TOPIC_ID = re.compile(r"[A-Za-z0-9+/=_-]{1,64}")
_CRC = b',"crc32":"'
# A value exactly as `encode` writes it without escapes: nearly every probe.
_CANONICAL = re.compile(
    rb'(\{"mirrorwatch":%d,"installation":"([ !#-\[\]-~]*)","incarnation":"([0-9a-f]{16})"'
    rb',"sequence":(0|[1-9][0-9]{0,17}),"topic_id":"([A-Za-z0-9+/=_-]{1,64})","topic":"([ !#-\[\]-~]*)"'
    rb',"partition":(0|[1-9][0-9]{0,17}),"due_at_ms":(0|[1-9][0-9]{0,17})),"crc32":"([0-9a-f]{8})"\}'
    % VERSION
)


class Stamp(NamedTuple):
    """The identity of one probe.

    `due_at_ms` is the scheduled instant on the sender's wall clock. It selects the minute of the counters and
    is never subtracted from another clock.
    """

    installation: str
    incarnation: str  # 16 hexadecimal digits
    sequence: int  # from 0 per incarnation and partition
    topic_id: str
    topic: str
    partition: int
    due_at_ms: int


class ProbeRecord(NamedTuple):
    """A stamp as a Kafka record."""

    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


class Intact(NamedTuple):
    """A record that is exactly as it was sent."""

    stamp: Stamp


class Identity(NamedTuple):
    """Identity of a probe within one installation."""

    topic_id: str
    incarnation: str
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Corrupted:
    """A record of a probe that was changed on the way; `identity` if value or key still shows it.

    `installation` is known only if the value is whole, and empty otherwise.
    """

    identity: Identity | None
    sentence: str
    installation: str = ""


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A record that is not a probe: another program writes into the canary's topic."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A record that is being compared with the source; its final reading follows."""


Reading = Intact | Corrupted | ForeignRecord | Compared


def encode(stamp: Stamp) -> ProbeRecord:
    """Return the probe with this stamp."""
    body = json.dumps(
        {
            "mirrorwatch": VERSION,
            "installation": stamp.installation,
            "incarnation": stamp.incarnation,
            "sequence": stamp.sequence,
            "topic_id": stamp.topic_id,
            "topic": stamp.topic,
            "partition": stamp.partition,
            "due_at_ms": stamp.due_at_ms,
        },
        separators=(",", ":"),
    ).encode()
    crc = f"{zlib.crc32(body):08x}".encode()
    return ProbeRecord(
        key=f"mirrorwatch-{stamp.incarnation}-{stamp.partition}-{stamp.sequence}-{stamp.topic_id}".encode(),
        value=body[:-1] + _CRC + crc + b'"}',
        headers=((HEADER, crc),),
    )


class Stamper:
    """Encodes the probes of one topic as `encode` does, from parts that are built once."""

    def __init__(self, *, installation: str, incarnation: str, topic_id: str, topic: str) -> None:
        def text(name: str, value: str) -> bytes:
            return f'"{name}":{json.dumps(value)}'.encode()

        self._head = b'{"mirrorwatch":%d,%b,%b,"sequence":' % (
            VERSION,
            text("installation", installation),
            text("incarnation", incarnation),
        )
        self._middle = b',%b,%b,"partition":' % (text("topic_id", topic_id), text("topic", topic))
        self._key_head, self._key_tail = f"mirrorwatch-{incarnation}".encode(), topic_id.encode()

    def encode(self, partition: int, sequence: int, due_at_ms: int) -> ProbeRecord:
        """Return this probe."""
        body = b'%b%d%b%d,"due_at_ms":%d' % (self._head, sequence, self._middle, partition, due_at_ms)
        crc = b"%08x" % zlib.crc32(b"}", zlib.crc32(body))
        return ProbeRecord(
            key=b"%b-%d-%d-%b" % (self._key_head, partition, sequence, self._key_tail),
            value=b'%b,"crc32":"%b"}' % (body, crc),
            headers=((HEADER, crc),),
        )


def decode(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]] | None,
    *,
    ignored_headers: frozenset[str] = frozenset(),
) -> Reading:
    """Decode a record of the canary's topic; any bytes give a reading, none raises.

    The mirror may add `ignored_headers`, besides those that mirrors are known to add.
    """
    return _intact(key, value, headers) or _decode_closely(key, value, headers, ignored_headers)


def _intact(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None
) -> Intact | None:
    """Decode a record that is exactly as `encode` writes it, the fast way; None: use the slow way."""
    if value is None or len(value) > MAX_VALUE_BYTES or headers is None or len(headers) != 1:
        return None
    found = _CANONICAL.fullmatch(value)
    if found is None:
        return None
    body, installation, incarnation, sequence, topic_id, topic, partition, due_at_ms, crc = found.groups()
    if headers[0] != (HEADER, crc) or int(crc, 16) != zlib.crc32(b"}", zlib.crc32(body)):
        return None
    if key != b"mirrorwatch-%b-%b-%b-%b" % (incarnation, partition, sequence, topic_id):
        return None
    return Intact(
        Stamp(
            installation.decode(),
            incarnation.decode(),
            int(sequence),
            topic_id.decode(),
            topic.decode(),
            int(partition),
            int(due_at_ms),
        )
    )


def _decode_closely(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]] | None,
    ignored_headers: frozenset[str] = frozenset(),
) -> Reading:
    """Decode any record, and describe what is wrong with it."""
    fields = _fields_of(value)
    if _of_another_version(fields):
        return ForeignRecord("a probe of another version")
    stamp = _stamp_from(fields)
    if stamp is None:
        if _looks_like_probe(key, value, headers):
            return Corrupted(_identity_of(key), "the value differs from the value sent")
        return ForeignRecord("its key, value and headers are not a probe's")
    sent = encode(stamp)
    changed = []
    if value != sent.value:
        changed.append("the value differs from the value sent")
    if key != sent.key:
        changed.append("the key is missing" if key is None else "the key differs from the key sent")
    ignored = (PROVENANCE_HEADERS | ignored_headers) - {HEADER}
    kept = tuple((name, text) for name, text in headers or () if name not in ignored)
    if kept != sent.headers and [name for name, _ in kept] == [HEADER]:
        changed.append(f"the header {HEADER} differs from the header sent")
    elif kept != sent.headers:
        names = ", ".join(name[:60] for name, _ in kept[:5]) or "none"
        changed.append(f"the headers differ from those sent (now: {names})")
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


def _fields_of(value: bytes | None) -> object:
    """Return the fields of a value whose checksum is right, else None."""
    if value is None or len(value) > MAX_VALUE_BYTES:
        return None
    body, mark, crc = value.rpartition(_CRC)
    if not mark or f"{zlib.crc32(body + b'}'):08x}".encode() + b'"}' != crc:
        return None
    try:
        return json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None


def _of_another_version(fields: object) -> bool:
    """Return whether an older or newer Mirrorwatch sent these fields."""
    version = fields.get("mirrorwatch") if isinstance(fields, dict) else None
    return type(version) is int and version > 0 and version != VERSION


def _stamp_from(fields: object) -> Stamp | None:
    if not isinstance(fields, dict) or fields.get("mirrorwatch") != VERSION:
        return None
    texts = [fields.get(name) for name in ("installation", "incarnation", "topic_id", "topic")]
    numbers = [fields.get(name) for name in ("sequence", "partition", "due_at_ms")]
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
        due_at_ms=fields["due_at_ms"],
    )
