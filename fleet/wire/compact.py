"""Fields of Kafka's record schemas, plain and flexible, big-endian and bounded.

Up to some version of a record its fields are plain; from the flexible version on (KIP-482) lengths are
varints and every structure ends with tagged fields:

    field          plain                                flexible
    text           INT16 bytes, -1 for null             varint of bytes + 1, 0 for null
    bytes          INT32 bytes, -1 for null             varint of bytes + 1, 0 for null
    array          INT32 elements, -1 for null          varint of elements + 1, 0 for null
    tagged fields  none                                 varint count, each: varint tag, varint bytes, bytes

A varint is of seven bits a byte, the lowest first; the top bit says that another byte follows. A topic id is
16 bytes; as text it is librdkafka's form, base64 without padding, so that it compares with
the ids of the client library. Kafka's own tools write `-` and `_` for `+` and `/`.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.bytes import MAX_FIELD_BYTES, MAX_STRING_BYTES, FieldReader

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_VARINT_BYTES = 5  # 32 bits, seven at a time
NO_TOPIC_ID = bytes(16)
_NULL = -1


class RecordReader(FieldReader):
    """Reads fields in order; `versions` decides between plain and flexible."""

    __slots__ = ("_flexible",)

    def __init__(self, data: bytes | None, what: str, *, longest: int = MAX_FIELD_BYTES) -> None:
        if data is not None and len(data) > longest:
            raise MalformedError(
                f"The {what} has {len(data)} bytes, more than the {longest} that one can have."
            )
        # The bound of the class below is that of small records: it sees no more than that.
        super().__init__(data if data is None else data[:MAX_FIELD_BYTES], what)
        self._data = data or b""
        self._flexible = False

    def versions(self, highest: int, *, flexible_from: int) -> int:
        """Take the INT16 version and raise MalformedError unless it is one of 0 to `highest`."""
        found = self.int16("version")
        if not 0 <= found <= highest:
            known = "only version 0 is" if highest == 0 else f"versions 0 to {highest} are"
            raise MalformedError(f"The {self._what} has version {found}, and {known} known.")
        self._flexible = found >= flexible_from
        return found

    def int16(self, field: str) -> int:
        """Take an INT16 as it is."""
        return int.from_bytes(self._take(2, field), "big", signed=True)

    def int32(self, field: str) -> int:
        """Take an INT32 as it is."""
        return int.from_bytes(self._take(4, field), "big", signed=True)

    def int64(self, field: str) -> int:
        """Take an INT64 as it is."""
        return int.from_bytes(self._take(8, field), "big", signed=True)

    def skip(self, size: int, field: str) -> None:
        """Skip a field of `size` bytes."""
        self._take(size, field)

    def text(self, field: str) -> str:
        """Take a text that is never null."""
        text = self.text_or_null(field)
        if text is None:
            raise MalformedError(f"The {field} in the {self._what} is null, and it cannot be.")
        return text

    def text_or_null(self, field: str) -> str | None:
        """Take a text, None where it is null."""
        length = self._length(field, 2)
        if length == _NULL:
            return None
        if length > MAX_STRING_BYTES:
            raise MalformedError(
                f"The {field} in the {self._what} has {length} bytes, more than {MAX_STRING_BYTES}."
            )
        try:
            return self._take(length, field).decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedError(f"The {field} in the {self._what} is not UTF-8.") from error

    def blob(self, field: str) -> bytes:
        """Take bytes that are never null."""
        return self._take(self.count(field), field)

    def count(self, field: str) -> int:
        """Take the length of bytes, or the number of elements of an array, that is never null.

        Only 32 bits bound it: read the elements one by one, do not allocate for it.
        """
        length = self._length(field, 4)
        if length == _NULL:
            raise MalformedError(f"The {field} in the {self._what} is null, and it cannot be.")
        return length

    def partitions(self, field: str) -> tuple[int, ...]:
        """Take an array of INT32 none of which is negative."""
        count = self.count(field)
        numbers: tuple[int, ...] = struct.unpack(f">{count}i", self._take(4 * count, field))
        if numbers and min(numbers) < 0:
            self._not_negative(min(numbers), field)
        return numbers

    def topic_id(self, field: str) -> str | None:
        """Take a topic id; None for the id of all zeros."""
        return topic_id_text(self._take(len(NO_TOPIC_ID), field))

    def tags(self) -> dict[int, bytes]:
        """Take the tagged fields at the end of a flexible structure; none in a plain one."""
        if not self._flexible:
            return {}
        found = {}
        for _ in range(self.varint("number of tagged fields")):
            tag = self.varint("tag")
            found[tag] = self._take(self.varint("length of a tagged field"), "tagged field")
        return found

    def varint(self, field: str) -> int:
        """Take an unsigned varint."""
        number = 0
        for place in range(MAX_VARINT_BYTES):
            byte = self._take(1, field)[0]
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return number
        raise MalformedError(
            f"The {field} in the {self._what} is a varint of more than {MAX_VARINT_BYTES} bytes."
        )

    def _length(self, field: str, size: int) -> int:
        if self._flexible:
            return self.varint(f"length of its {field}") - 1
        length = int.from_bytes(self._take(size, f"length of its {field}"), "big", signed=True)
        if length != _NULL:
            self._not_negative(length, f"length of its {field}")
        return length


def topic_id_text(raw: bytes) -> str | None:
    """Return a topic id in librdkafka's form, None for the id of all zeros."""
    if raw == NO_TOPIC_ID:
        return None
    return base64.b64encode(raw).decode("ascii").rstrip("=")


def topic_id_bytes(text: str | None) -> bytes:
    """Return the 16 bytes of a topic id, all zeros for None; raises ValueError if it is invalid."""
    if text is None:
        return NO_TOPIC_ID
    raw = base64.b64decode(f"{text}==".encode("ascii"), validate=True)
    if len(raw) != len(NO_TOPIC_ID):
        raise ValueError(f"The topic id {text} has {len(raw)} bytes; the format holds {len(NO_TOPIC_ID)}.")
    return raw


def put_number(number: int, size: int, field: str) -> bytes:
    """Write a signed number of `size` bytes; raises ValueError if it does not fit."""
    try:
        return number.to_bytes(size, "big", signed=True)
    except OverflowError:
        raise ValueError(f"The {field} is {number}; the format holds {size} bytes of it.") from None


def put_varint(number: int) -> bytes:
    """Write an unsigned varint."""
    raw = bytearray()
    while number > 0x7F:
        raw.append(number & 0x7F | 0x80)
        number >>= 7
    raw.append(number)
    return bytes(raw)


def put_length(length: int, size: int, *, flexible: bool) -> bytes:
    """Write the length of a text (`size` 2), or of bytes or an array (4); -1 is null."""
    return put_varint(length + 1) if flexible else put_number(length, size, "length")


def put_text_or_null(text: str | None, field: str, *, flexible: bool) -> bytes:
    """Write a text or null; raises ValueError if it is too long or not Unicode text."""
    if text is None:
        return put_length(_NULL, 2, flexible=flexible)
    raw = text.encode("utf-8")
    if len(raw) > MAX_STRING_BYTES:
        raise ValueError(f"The {field} has {len(raw)} bytes; the format holds at most {MAX_STRING_BYTES}.")
    return put_length(len(raw), 2, flexible=flexible) + raw


def put_blob(raw: bytes, *, flexible: bool) -> bytes:
    """Write bytes with their length."""
    return put_length(len(raw), 4, flexible=flexible) + raw


def put_partitions(partitions: Sequence[int], *, flexible: bool) -> bytes:
    """Write an array of INT32; raises ValueError if one does not fit."""
    head = put_length(len(partitions), 4, flexible=flexible)
    return head + b"".join(put_number(partition, 4, "partition") for partition in partitions)


def put_tags(tags: dict[int, bytes], *, flexible: bool) -> bytes:
    """Write the tagged fields of a flexible structure; a plain one ends without any."""
    if not flexible:
        return b""
    fields = (put_varint(tag) + put_varint(len(raw)) + raw for tag, raw in sorted(tags.items()))
    return put_varint(len(tags)) + b"".join(fields)
