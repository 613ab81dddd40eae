"""A part of a snapshot as bytes: a sequence of frames. Pure.

A frame is a small document and bytes. Layout, little-endian: "MWlag", the version (1 byte), the size of its
content (4 bytes), the compressed size (4 bytes), a CRC-32 of what follows (4 bytes); then the content,
compressed (zlib): the size of the document (4 bytes), the document (JSON), the bytes.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION = 1
MAX_CONTENT_BYTES = 1 << 29
_MAGIC = b"MWlag"
_HEADER = struct.Struct("<5sBIII")
_SIZE = struct.Struct("<I")
_LEVEL = 1  # higher levels take twice as long for a few per cent


def seal(document: Mapping[str, Any], body: bytes | bytearray = b"") -> bytes:
    """Return one frame."""
    text = json.dumps(document, separators=(",", ":")).encode()
    packing = zlib.compressobj(_LEVEL)
    packed = b"".join(
        [packing.compress(_SIZE.pack(len(text)) + text), packing.compress(body), packing.flush()]
    )
    size = _SIZE.size + len(text) + len(body)
    return _HEADER.pack(_MAGIC, VERSION, size, len(packed), zlib.crc32(packed)) + packed


def check(payload: bytes) -> None:
    """Raise MalformedError with a sentence unless these bytes are whole frames of this version."""
    for _ in _frames(payload):
        pass


def unseal(payload: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield document and bytes of each frame; raises MalformedError with a sentence."""
    for size, packed in _frames(payload):
        try:
            content = zlib.decompressobj().decompress(packed, size + 1)
        except zlib.error as error:
            raise MalformedError("snapshot: cannot be decompressed") from error
        if len(content) != size:
            raise MalformedError(f"snapshot: not the {size} bytes of its header")
        (length,) = _SIZE.unpack_from(content)
        yield _document(content[_SIZE.size : _SIZE.size + length]), content[_SIZE.size + length :]


def _frames(payload: bytes) -> Iterator[tuple[int, memoryview]]:
    """Yield for each frame the size of its content, and the compressed content."""
    at, whole = 0, memoryview(payload)
    if not payload:
        raise MalformedError("snapshot: empty")
    while at < len(whole):
        if len(whole) - at < _HEADER.size:
            raise MalformedError("snapshot: truncated")
        magic, version, size, packed_size, checksum = _HEADER.unpack_from(whole, at)
        at += _HEADER.size
        if magic != _MAGIC:
            raise MalformedError("snapshot: invalid header")
        if version != VERSION:
            raise MalformedError(f"snapshot: version {version}; this program reads {VERSION}")
        if not _SIZE.size <= size <= MAX_CONTENT_BYTES:
            raise MalformedError(f"snapshot: invalid frame of {size} bytes")
        packed = whole[at : at + packed_size]
        if len(packed) < packed_size:
            raise MalformedError("snapshot: truncated")
        if zlib.crc32(packed) != checksum:
            raise MalformedError("snapshot: damaged: its checksum differs")
        yield size, packed
        at += packed_size


def _document(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError("snapshot: no JSON document") from error
    if not isinstance(found, dict):
        raise MalformedError("snapshot: no JSON document")
    return found
