"""A plain loop that sleeps to a schedule, stamps and produces: the independent witness of sending.

    python -m bench.plain_sender BOOTSTRAP TOPIC PARTITION INTERVAL_MS SECONDS FILE

One record every INTERVAL_MS; a second thread polls for the reports and stamps them.
Writes (due, sent, acknowledged) of each record as three 64-bit integers, monotonic ns.
"""

from __future__ import annotations

import sys
import threading
import time
from array import array
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer


def main() -> None:
    """Send to the end of the given time, then write what was stamped."""
    bootstrap, topic, partition, interval_ms, seconds, file = sys.argv[1:7]
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})
    rows = array("q")
    over = threading.Event()

    def report(due_ns: int, sent_ns: int, error: Any, _message: Any) -> None:
        at_ns = time.monotonic_ns()
        if error is None:
            rows.extend((due_ns, sent_ns, at_ns))

    def poll() -> None:
        while not over.is_set():
            producer.poll(0.1)

    polling = threading.Thread(target=poll)
    polling.start()
    interval_ns = int(float(interval_ms) * 1e6)
    start_ns = time.monotonic_ns()
    for number in range(int(float(seconds) * 1e9) // interval_ns):
        due_ns = start_ns + number * interval_ns
        wait_ns = due_ns - time.monotonic_ns()
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        sent_ns = time.monotonic_ns()
        producer.produce(
            topic,
            b"x" * 300,
            partition=int(partition),
            on_delivery=partial(report, due_ns, sent_ns),
        )
    producer.flush(10)
    over.set()
    polling.join()
    Path(file).write_bytes(rows.tobytes())


if __name__ == "__main__":
    main()
