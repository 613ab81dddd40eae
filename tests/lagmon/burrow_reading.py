"""How Burrow gets from a record of the offsets topic to its rings, for the tests of what it loses there.

Worked out from github.com/linkedin/Burrow; each function names where it stands there. What becomes of offsets
was seen on Kafka 4.3.0, too.
"""

from __future__ import annotations

import struct

TAKES_MS = 1000  # how long a request waits to be taken
PLACES = 4  # for requests behind the one that a worker is busy with: see burrow_takes


def burrow_reads(key, value):
    """Return offset and time, what else it takes, or why nothing of the record reaches Burrow's rings.

    core/internal/consumer/kafka_client.go: processConsumerOffsetsMessage, decodeKeyAndOffset and what
    decodes values of offsets.
    """
    version = int.from_bytes(key[:2], "big")
    if version > 2:
        return "warned of: key version"
    if not value:
        return "dropped: tombstone"
    return _described(value) if version == 2 else _committed(value)


def burrow_takes(commits, *, stands_ms):
    """Return which commits of one partition of the offsets topic are kept while the storage stands at first.

    `commits` are (when they are read, in ms; what is committed).
    - core/internal/consumer/kafka_client.go: partitionConsumer hands over one record after the other, and
      before each commit its own progress. Neither it nor decodeAndSendOffset looks whether that went well.
    - core/internal/helpers/storage.go: TimeoutSendStorageRequest gives up after a second, without a word.
    - core/internal/storage: what waits for a busy worker is one request in its channel, one that mainLoop
      of inmemory.go holds, one in the channel before that (queue-depth, 1 unless set), and one that mainLoop
      of coordinator.go holds. Beyond these nothing is taken, for other workers neither.
    All requests are for the busy worker here; what is for others passes until mainLoop is held up.
    """
    kept, now_ms, free = [], 0, PLACES
    for read_ms, commit in commits:
        now_ms = max(now_ms, read_ms)
        for request in (None, commit):
            if free:
                free -= 1
            elif now_ms + TAKES_MS < stands_ms:
                now_ms += TAKES_MS
                continue
            else:
                now_ms = max(now_ms, stands_ms)
            if request is not None:
                kept.append(request)
    return kept


def _committed(value):
    version, offset = struct.unpack_from(">hq", value)
    if version not in {0, 1, 3, 4}:
        return "warned of: value version"
    at = 14 if version >= 3 else 10
    # A compact string's length is a varint of one more; one byte of it is read.
    length = value[at] - 1 if version == 4 else struct.unpack_from(">h", value, at)[0]
    at += 1 if version == 4 else 2
    if at + length + 8 > len(value):
        return "warned of: too short"
    return offset, struct.unpack_from(">q", value, at + length)[0]


def _described(value):
    """Return what comes of a classic group's description: kafka_client.go, decodeAndSendGroupMetadata."""
    version, length = struct.unpack_from(">hh", value)
    if version > 3:
        return "warned of: value version"
    return "owners" if value[4 : 4 + length] == b"consumer" else "passed over: protocol type"
