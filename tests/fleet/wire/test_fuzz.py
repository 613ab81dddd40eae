"""Ten million records with wrong bytes: every decoder returns a value or raises MalformedError, and soon.

Records start from those that brokers and mirrors wrote. A process of each decoder makes its own, from a seed.
"""

from __future__ import annotations

import random
import time

import pytest

from canary.tracker import stamp
from fleet.errors import MalformedError
from fleet.wire.commits import decode_commit_record
from fleet.wire.connect import SourceOffset, SourceOffsetKey, decode_source_offset, encode_source_offset
from fleet.wire.mirror import (
    Checkpoint,
    CheckpointKey,
    Heartbeat,
    HeartbeatKey,
    OffsetSync,
    OffsetSyncKey,
    decode_checkpoint,
    decode_heartbeat,
    decode_offset_sync,
    encode_checkpoint,
    encode_heartbeat,
    encode_offset_sync,
)
from fleet.wire.status import decode_status
from fleet.wire.tasks import decode_task
from tests.fleet.wire.test_commits_recorded import recorded
from tests.fleet.wire.test_tasks import TASK, properties

RECORDS = 10_000_000
SLOW_S = 0.25  # for one record
HUGE = (0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFF, 0x8000)
PROBE = stamp.encode(stamp.Stamp("i" * 16, "j" * 16, 7, "k" * 22, "mirrorwatch-canary", 3, 1_700_000_000_000))
STATUS = b'{"state":"FAILED","trace":"java.lang.Error: x","worker_id":"w:1","generation":3}'
SOURCE = SourceOffset(SourceOffsetKey("MirrorSourceConnector", "A", "orders", 3), 41)

DECODERS = {
    "commits": (
        decode_commit_record,
        [pair for version in ("4.3.0", "3.9.2") for records, _ in recorded(version) for pair in records],
    ),
    "source offsets": (decode_source_offset, [encode_source_offset(SOURCE)]),
    "heartbeats": (
        decode_heartbeat,
        [encode_heartbeat(Heartbeat(HeartbeatKey("A", "B"), 1_700_000_000_000))],
    ),
    "checkpoints": (
        decode_checkpoint,
        [encode_checkpoint(Checkpoint(CheckpointKey("group", "A.orders", 3), 41, 17, "metadata"))],
    ),
    "offset syncs": (
        decode_offset_sync,
        [encode_offset_sync(OffsetSync(OffsetSyncKey("orders", 3), 41, 17))],
    ),
    "states": (decode_status, [(b"status-task-MirrorSourceConnector-0", STATUS)]),
    "tasks": (decode_task, [(TASK + b"0", properties("orders-0,orders-1"))]),
    "probes": (
        lambda key, value: stamp.decode(key, value, list(PROBE.headers)),
        [(PROBE.key, PROBE.value)],
    ),
}


def changed(part, dice):
    """Return bytes with one to four mistakes: flipped, removed, repeated, inserted, huge numbers, none at all."""
    if part is None:
        return None if dice.random() < 0.5 else dice.randbytes(dice.randrange(40))
    found = bytearray(part)
    for _ in range(dice.randrange(1, 5)):
        at, kind = dice.randrange(len(found) + 1), dice.randrange(7)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del found[at : at + dice.randrange(1, 9)]
        elif kind == 2:
            found[at:at] = found[at : at + dice.randrange(1, 9)]
        elif kind == 3:
            found[at:at] = dice.randbytes(dice.randrange(1, 9))
        elif kind == 4:
            number = dice.choice(HUGE)
            size = max(2, (number.bit_length() + 7) // 8)
            found[at : at + size] = number.to_bytes(size, "big")
        elif kind == 5:
            del found[at:]
        elif dice.random() < 0.02:
            return None
    return bytes(found)


def fuzzed(name, count, seed):
    """Decode so many wrong records; return how many were refused, and what took longest (s)."""
    decode, records = DECODERS[name]
    dice, refused, slowest_s = random.Random(seed), 0, 0.0
    for _ in range(count):
        key, value = dice.choice(records)
        which = dice.randrange(3)
        key = key if which == 0 else changed(key, dice)
        value = value if which == 1 else changed(value, dice)
        began = time.thread_time()
        try:
            decode(key, value)
        except MalformedError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{name}: {key!r}, {value!r}") from error
        slowest_s = max(slowest_s, time.thread_time() - began)
    return refused, slowest_s


@pytest.mark.parametrize("name", DECODERS)
def test_wrong_bytes_are_refused_in_time(name):
    refused, slowest_s = fuzzed(name, 2_000, seed=1)
    assert refused or name == "probes"
    assert slowest_s < SLOW_S


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("name", DECODERS)
def test_ten_million_records_with_wrong_bytes(name, seed):
    _, slowest_s = fuzzed(name, RECORDS // len(DECODERS) // 4, seed)
    assert slowest_s < SLOW_S
