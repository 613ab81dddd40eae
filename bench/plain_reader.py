"""A plain poll loop in a process of its own: the independent witness of when a record could be read.

    python -m bench.plain_reader BOOTSTRAP TOPIC PARTITIONS SECONDS FILE

Writes (partition, offset, monotonic ns) of each record as three 64-bit integers.
"""

from __future__ import annotations

import sys
import time
from array import array
from pathlib import Path

from confluent_kafka import OFFSET_END, Consumer, TopicPartition


def main() -> None:
    """Read to the end of the given time, then write what was seen."""
    bootstrap, topic, partitions, seconds, file = sys.argv[1:6]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-plain-reader",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in range(int(partitions))])
    seen = array("q")
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        message = consumer.poll(0.1)
        at_ns = time.monotonic_ns()
        if message is not None and message.error() is None:
            seen.extend((message.partition() or 0, message.offset() or 0, at_ns))
    consumer.close()
    Path(file).write_bytes(seen.tobytes())


if __name__ == "__main__":
    main()
