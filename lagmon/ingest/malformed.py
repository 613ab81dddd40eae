"""Log message about records that cannot be read, with one sample. Pure.

Readers count such records; a message for each would let one foreign writer fill the log.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_BYTES = 200  # of a key, and of a value
AGAIN_MS = 3_600_000


def sample_of(why: str, key: bytes | None, value: bytes | None = None) -> str:
    """Return the error of a record with the beginnings of its key and value, escaped if not ASCII.

    Not in hexadecimal digits, so that known secrets are recognised and redacted in the log.
    """
    shown = [
        f"{what} {_escaped(part)}" for what, part in (("key", key), ("value", value)) if part is not None
    ]
    return f"{why} ({', '.join(shown)})" if shown else f"{why} (it has no key)"


def _escaped(part: bytes) -> str:
    text = repr(part[:SAMPLE_BYTES])[1:]
    return text if len(part) <= SAMPLE_BYTES else f"{text}, the first {SAMPLE_BYTES} of {len(part)} bytes"


@dataclass(slots=True)
class MalformedNotice:
    """When to log unreadable records of a topic: at the first, then once an hour if there are more.

    `writer` is the only program that should write there.
    """

    writer: str
    _told: int = 0
    _told_ms: int = 0

    def due(self, count: int, now_ms: int) -> str:
        """Return the message for this total of unreadable records, "" if none is due."""
        again = self._told > 0
        if count <= self._told or (again and 0 <= now_ms - self._told_ms < AGAIN_MS):
            return ""
        more, self._told, self._told_ms = count - self._told, count, now_ms
        what = "1 record of this topic" if count == 1 else f"{count:,} records of this topic"
        since = f" ({more:,} since the last message)" if again else ""
        return (
            f"cannot read {what}{since}; {'its' if count == 1 else 'their'} content is missing here. If only "
            f"{self.writer} should write to it, please report this with the sample"
        )
