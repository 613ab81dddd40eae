"""The parts of a snapshot in one file, from the service to the lag monitor's process at its start. Pure.

Layout, little-endian: "MWparts", the version (1 byte), the number of parts (4 bytes); for each part the size
of its name (2 bytes), the name (UTF-8), the size of its frames (4 bytes), the frames.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from fleet.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 1 << 28
MAX_PARTS = 10_000
_MAGIC = b"MWparts"
_VERSION = 1
_HEADER = struct.Struct("<7sBI")
_NAME, _PART = struct.Struct("<H"), struct.Struct("<I")


def pack(parts: Mapping[str, bytes]) -> bytes:
    """Return the file with these parts by name."""
    found = [_HEADER.pack(_MAGIC, _VERSION, len(parts))]
    for name, payload in parts.items():
        told = name.encode()
        found += [_NAME.pack(len(told)), told, _PART.pack(len(payload)), payload]
    return b"".join(found)


def unpack(content: bytes) -> dict[str, bytes]:
    """Return the parts of a file by name; raises MalformedError with a sentence."""
    try:
        magic, version, count = _HEADER.unpack_from(content)
        if (magic, version) != (_MAGIC, _VERSION) or count > MAX_PARTS:
            raise MalformedError("snapshot: unknown file version")
        at, parts = _HEADER.size, {}
        for _ in range(count):
            (size,) = _NAME.unpack_from(content, at)
            at += _NAME.size
            name = content[at : at + size].decode()
            at += size
            (size,) = _PART.unpack_from(content, at)
            at += _PART.size
            parts[name] = content[at : at + size]
            at += size
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedError("snapshot: truncated") from error
    if at != len(content):
        raise MalformedError("snapshot: truncated")
    return parts
