"""What is said of records that could not be read: one sample of them, and when it is time to say so. Pure.

Whoever reads a topic counts such records. A log that tells of each would be filled by one foreign writer.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_BYTES = 200  # of a key, and of a value
AGAIN_MS = 3_600_000


def sample_of(why: str, key: bytes | None, value: bytes | None = None) -> str:
    """Return what is wrong with a record, with the beginnings of its key and value, escaped where no ASCII.

    Not as hexadecimal digits: a secret that we know is found and taken out of the text where it is written.
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
    """When to say that records of a topic could not be read: at the first, and once an hour while more come.

    `writer` is who alone is to write there.
    """

    writer: str
    _told: int = 0
    _told_ms: int = 0

    def due(self, count: int, now_ms: int) -> str:
        """Return what to say now that so many could not be read, "" if nothing is to be said."""
        again = self._told > 0
        if count <= self._told or (again and 0 <= now_ms - self._told_ms < AGAIN_MS):
            return ""
        more, self._told, self._told_ms = count - self._told, count, now_ms
        what = "1 record of this topic" if count == 1 else f"{count:,} records of this topic"
        since = f", {more:,} of them since this was last said" if again else ""
        return (
            f"{what} could not be read{since}: what {'it tells' if count == 1 else 'they tell'} is missing"
            f" here. Where nobody but {self.writer} writes there, please report that with the sample"
        )
