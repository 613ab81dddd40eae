"""Records that other programs write into a canary's topic: random, cut short, oversized and hostile ones."""

from __future__ import annotations

import json
import random
import zlib
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Headers = list[tuple[str, str | bytes | None]]
StrangeRecord = tuple[bytes | None, bytes | None, Headers]

_NAME = "mirrorwatch-canary"
_KEYS = (
    b"mirrorwatch-",
    b"mirrorwatch-00c0ffee00c0ffee-0-0-",
    b"mirrorwatch-00c0ffee00c0ffee-0-0-AAAAAAAAAAAAAAAAAAAAAA",
    b"mirrorwatch-00c0ffee00c0ffee-999999-999999999999999999-" + b"A" * 64,
    b"bWlycm9yd2F0Y2gt" + b"A" * 40,
    b"\xff\xfe mirrorwatch",
)
_VALUES = (
    b'{"mirrorwatch":',
    b'{"mirrorwatch":' + b"[" * 3000,
    b'{"mirrorwatch":2,"sequence":' + b"9" * 4000 + b"}",
    b'{"mirrorwatch":1e999}',
    b'{"mirrorwatch":2}',
    b"\x00" * 64,
    "\u202e<script>alert(1)</script>'; DROP TABLE rows; --".encode(),
)


def strange_records(seed: int) -> Iterator[StrangeRecord]:
    """Yield key, value and headers without end, the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311  (not a secret)
    while True:
        key = chance.choice((None, b"", chance.randbytes(chance.randrange(60)), chance.choice(_KEYS)))
        yield key, _value(chance), _headers(chance)


def _value(chance: random.Random) -> bytes | None:
    match chance.randrange(6):
        case 0:
            return chance.choice((None, b""))
        case 1:
            return chance.randbytes(chance.randrange(2000))
        case 2:
            return chance.choice(_VALUES)
        case 3:
            sealed = _sealed(chance)
            return sealed[: chance.randrange(len(sealed))]
        case 4:
            return _sealed(chance)
        case _:
            return b'{"mirrorwatch":2' + b" " * chance.choice((5000, 20_000))


def _sealed(chance: random.Random) -> bytes:
    """Return a value whose checksum holds although no canary sent it, with one field that cannot be."""
    fields: dict[str, object] = {
        "mirrorwatch": 2,
        "installation": "0" * 32,
        "incarnation": f"{chance.getrandbits(64):016x}",
        "sequence": chance.randrange(10**6),
        "topic_id": "A" * 22,
        "topic": _NAME,
        "partition": chance.randrange(4),
        "due_at_ms": 1_790_000_000_000,
    }
    fields[chance.choice(sorted(fields))] = chance.choice((None, -1, 2**70, 1.5, True, "", "\ud800", [], {}))
    body = json.dumps(fields, separators=(",", ":")).encode()
    return body[:-1] + b',"crc32":"' + f"{zlib.crc32(body):08x}".encode() + b'"}'


def _headers(chance: random.Random) -> Headers:
    kinds: tuple[Headers, ...] = (
        [],
        [(_NAME, None)],
        [(_NAME, b"00000000")],
        [(_NAME, b"x"), (_NAME, b"x")],
        [("\u00fc\n<b>", chance.randbytes(9))],
        [(f"h{number}", b"") for number in range(40)],
    )
    return chance.choice(kinds)


def write(client: Mapping[str, str], topic: str, *, count: int, partitions: int, seed: int = 7) -> None:
    """Write that many strange records into a topic; raises TimeoutError where they are not taken."""
    producer = Producer({**client, "linger.ms": 5, "log_level": 0})
    for number, (key, value, headers) in zip(range(count), strange_records(seed), strict=False):
        while True:
            try:
                producer.produce(topic, value, key, number % partitions, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60) > 0:
        raise TimeoutError(f"{topic} did not take {count} strange records within 60 s")
