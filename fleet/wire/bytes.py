"""Primitive types of Kafka's record schemas, big-endian and bounded.

The types are those of org.apache.kafka.common.protocol.types.Type: INT16, INT32, INT64, and STRING, which
is an INT16 length in bytes followed by that many bytes of UTF-8.
"""

from __future__ import annotations

import struct

from fleet.errors import MalformedError

MAX_FIELD_BYTES = 1 << 17
"""No key or value of these formats is longer: three strings of 32,767 bytes and a few numbers fit well."""

MAX_STRING_BYTES = (1 << 15) - 1

_MAX_INT32 = (1 << 31) - 1
_MAX_INT64 = (1 << 63) - 1


def present(data: bytes | None, what: str) -> bytes:
    """Return `data` if it is not null and within bounds; raise MalformedError otherwise."""
    if data is None:
        raise MalformedError(f"The {what} is null, and a record of this kind always has one.")
    if len(data) > MAX_FIELD_BYTES:
        raise MalformedError(
            f"The {what} has {len(data)} bytes, more than the {MAX_FIELD_BYTES} that one can have."
        )
    return data


class FieldReader:
    """Reads fields in order from a key or a value; ignores bytes after the last."""

    __slots__ = ("_data", "_position", "_what")

    def __init__(self, data: bytes | None, what: str) -> None:
        self._what = what
        self._data = present(data, what)
        self._position = 0

    def version(self, known: int) -> None:
        """Take the INT16 version and raise MalformedError unless it is the known one."""
        found = int.from_bytes(self._take(2, "version"), "big", signed=True)
        if found != known:
            raise MalformedError(f"The {self._what} has version {found}, and only version {known} is known.")

    def count32(self, field: str) -> int:
        """Take an INT32 that must not be negative, such as a partition."""
        return self._not_negative(int.from_bytes(self._take(4, field), "big", signed=True), field)

    def count64(self, field: str) -> int:
        """Take an INT64 that must not be negative, such as an offset."""
        return self._not_negative(int.from_bytes(self._take(8, field), "big", signed=True), field)

    def text(self, field: str) -> str:
        """Take a STRING."""
        length = int.from_bytes(self._take(2, f"length of its {field}"), "big", signed=True)
        raw = self._take(self._not_negative(length, f"length of its {field}"), field)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedError(f"The {field} in the {self._what} is not UTF-8.") from error

    def _take(self, size: int, field: str) -> bytes:
        start, end = self._position, self._position + size
        if end > len(self._data):
            raise MalformedError(
                f"The {self._what} ends too early: its {field} takes {size} bytes from byte {start} on, "
                f"and the whole has {len(self._data)}."
            )
        self._position = end
        return self._data[start:end]

    def _not_negative(self, number: int, field: str) -> int:
        if number < 0:
            raise MalformedError(f"The {field} in the {self._what} is {number}, and it cannot be negative.")
        return number


def put_version(version: int) -> bytes:
    """Write an INT16 version."""
    return struct.pack(">h", version)


def put_count32(number: int, field: str) -> bytes:
    """Write an INT32; raises ValueError if it is negative or does not fit."""
    return struct.pack(">i", _fitting(number, _MAX_INT32, field))


def put_count64(number: int, field: str) -> bytes:
    """Write an INT64; raises ValueError if it is negative or does not fit."""
    return struct.pack(">q", _fitting(number, _MAX_INT64, field))


def put_text(text: str, field: str) -> bytes:
    """Write a STRING; raises ValueError if it is too long or not Unicode text."""
    raw = text.encode("utf-8")
    if len(raw) > MAX_STRING_BYTES:
        raise ValueError(f"The {field} has {len(raw)} bytes; the format holds at most {MAX_STRING_BYTES}.")
    return struct.pack(">h", len(raw)) + raw


def _fitting(number: int, largest: int, field: str) -> int:
    if not 0 <= number <= largest:
        raise ValueError(f"The {field} is {number}; the format holds 0 to {largest}.")
    return number
