"""The offsets topic read to its end by a plain client that does nothing with it: the most that is to be had.

    python -m bench.plain_offsets BOOTSTRAP

Prints JSON: `records`, `cpu_s` of the whole process and `reading_s` by the clock, from the first request to
the last end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from deploy.local.process import ROOT
from lagmon.mirrors.answers.orders import COMMITS_TOPIC

_AT_ONCE = 10_000
_ASK_S = 30.0
_READ_S = 120.0


def measure(bootstrap: str) -> dict[str, float]:
    """Read it in a process of its own; records for each second of processor time, and by the clock."""
    told = subprocess.run(
        [sys.executable, "-m", "bench.plain_offsets", bootstrap],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=_READ_S + _ASK_S,
        check=True,
    )
    read: dict[str, float] = json.loads(told.stdout)
    return {
        "plain_records_per_cpu_s": round(read["records"] / max(read["cpu_s"], 0.01)),
        "plain_records_per_s_by_the_clock": round(read["records"] / max(read["reading_s"], 0.001)),
    }


def main() -> None:
    """Read each partition from its beginning to its end."""
    client: dict[str, Any] = {
        "bootstrap.servers": sys.argv[1],
        "group.id": "bench-plain-offsets",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    consumer = Consumer(client)
    began, used_s = time.monotonic(), time.process_time()
    partitions = consumer.list_topics(COMMITS_TOPIC, timeout=_ASK_S).topics[COMMITS_TOPIC].partitions
    consumer.assign([TopicPartition(COMMITS_TOPIC, number, OFFSET_BEGINNING) for number in partitions])
    records, ended = 0, set[int | None]()
    while len(ended) < len(partitions):
        if time.monotonic() - began > _READ_S:
            sys.exit(
                f"{len(partitions) - len(ended)} partitions of {COMMITS_TOPIC} were not read to their end."
            )
        for message in consumer.consume(_AT_ONCE, timeout=0.1):
            failed = message.error()
            if failed is None:
                records += 1
            elif failed.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
                ended.add(message.partition())
            else:
                sys.exit(f"{COMMITS_TOPIC} can't be read: {failed.str()}")
    used_s, took_s = time.process_time() - used_s, time.monotonic() - began
    consumer.close()
    json.dump({"records": records, "cpu_s": used_s, "reading_s": took_s}, sys.stdout)


if __name__ == "__main__":
    main()
