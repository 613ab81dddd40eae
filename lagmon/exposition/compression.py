"""One gzip member from parts that different processes compressed.

RFC 1952 allows several members, and Prometheus, aiohttp and urllib3 read all of them; curl 7.88 reads the
first and fails. So the parts are raw deflate (RFC 1951), each flushed to a whole byte and not ended, inside
one member. Its checksum is computed from those of the parts, without their texts.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEVEL = 1
"""The level of compression: the next ones cost more than they save in text as repetitive as this."""

_HEAD = bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])  # deflate; no name, no time, unknown system
_POLYNOMIAL = 0xEDB88320  # CRC-32's, with the lowest power in the highest bit
_ONE = 1 << 31  # x^0 in this bit order
_EIGHT = 1 << 23  # x^8: the shift by one byte


@dataclass(frozen=True, slots=True)
class Checksum:
    """The CRC-32 of a text and its length in bytes."""

    crc: int = 0
    size: int = 0

    def of_more(self, text: bytes) -> Checksum:
        """Return the checksum of this text followed by another."""
        return Checksum(zlib.crc32(text, self.crc), self.size + len(text))

    def then(self, other: Checksum) -> Checksum:
        """Return the checksum of both texts in sequence, from their checksums only."""
        return Checksum(_times(_shift(other.size), self.crc) ^ other.crc, self.size + other.size)


class Deflated:
    """A text to be compressed. `checksum` is that of the whole text once all of it was yielded."""

    def __init__(self, chunks: Iterable[bytes], *, level: int = LEVEL) -> None:
        """Prepare; the chunks are compressed as they are read."""
        self._chunks = chunks
        self._level = level
        self.checksum = Checksum()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces of raw deflate, once."""
        deflate = zlib.compressobj(self._level, zlib.DEFLATED, -zlib.MAX_WBITS)
        for chunk in self._chunks:
            self.checksum = self.checksum.of_more(chunk)
            if piece := deflate.compress(chunk):
                yield piece
        yield deflate.flush(zlib.Z_SYNC_FLUSH)


def member_head() -> bytes:
    """Return the header of a member."""
    return _HEAD


def member_end(checksum: Checksum) -> bytes:
    """Return the end of a member; `checksum` is that of all its parts together."""
    last = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS).flush()
    return last + checksum.crc.to_bytes(4, "little") + (checksum.size % 2**32).to_bytes(4, "little")


def _shift(size: int) -> int:
    """Return x^(8 size) modulo the polynomial, by squaring."""
    result, square = _ONE, _EIGHT
    while size:
        if size & 1:
            result = _times(square, result)
        square = _times(square, square)
        size >>= 1
    return result


def _times(one: int, other: int) -> int:
    """Return the product of two polynomials over the field of two elements, modulo CRC-32's."""
    product = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = (other >> 1) ^ (_POLYNOMIAL if other & 1 else 0)
    return product
