"""Consumer groups that fail over for real, held against what `mirrorwatch failover` predicted.

    python -m deploy.drills.failovers [--rounds 2] [--results FILE] [--write docs/reference/failovers.md]

Each run: a mirror that syncs the offsets of groups, a writer, and a group that reads and commits on the
source; something happens to the mirror; the group stops, the mirror is killed, and `mirrorwatch failover`
predicts. Then the group starts on the target, and what it really reads is compared with what it has read on
the source. Exit status 1 if a count is not within what was predicted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition

from deploy.local import topics
from deploy.local.jars import kafka_version
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.process import ROOT
from deploy.local.waiting import wait_until
from fleet.quantity import between_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Client = Mapping[str, str]

PARTITIONS = 3
COUNTS = ("read_again", "skipped", "at_risk")
PROTOCOLS = ("classic", "consumer")
SYNCED = {"A->B.sync.group.offsets.enabled": "true", "A->B.sync.group.offsets.interval.seconds": "1"}
_READ_BEFORE = 500  # records
_OTHER = 1_000_000_000  # the first number of records before a topic was re-created
_ANSWER_S = 120


@contextmanager
def traffic(client: Client, topic: str, *, per_s: int = 300, first: int = 0) -> Iterator[None]:
    """Write records numbered from `first`, in turn into all partitions, until the end of the block."""
    ending = threading.Event()

    def write() -> None:
        producer = Producer({**client, "linger.ms": 5})
        number = first
        while not ending.wait(0.02):
            for _ in range(int(per_s * 0.02)):
                producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
                number += 1
            producer.poll(0)
        if producer.flush(20):
            raise TimeoutError(f"{topic}: records are not acknowledged")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


class Reader:
    """A member of a group that reads and commits every so many records."""

    def __init__(
        self, client: Client, group: str, topic: str, *, protocol: str, commits_every: int = 40
    ) -> None:
        self._ending = threading.Event()
        self._every = commits_every
        self._consumer = Consumer(
            {
                **client,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([topic])
        self.read: list[tuple[int, int, bytes]] = []  # partition, offset, value
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._ending.is_set():
            messages = [one for one in self._consumer.consume(self._every, 0.2) if one.error() is None]
            self.read += [_place(one) for one in messages]
            if messages:
                self._consumer.commit(asynchronous=False)
        self._consumer.close()

    def __enter__(self) -> Self:
        """Return it; it reads already."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the group."""
        self.end()

    def end(self) -> None:
        """Leave the group."""
        self._ending.set()
        self._thread.join(60)


def committed(client: Client, group: str, topic: str) -> dict[int, int]:
    """Return what a group has committed by partition."""
    consumer = Consumer({**client, "group.id": group})
    try:
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return {one.partition: one.offset for one in consumer.committed(places, 10) if one.offset >= 0}
    finally:
        consumer.close()


def mirrorwatch(*arguments: object, status: int | None = None) -> str:
    """Return what a command writes; raises AssertionError if it ends with another status than this."""
    command = [sys.executable, "-m", "mirrorwatch", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S, check=False, cwd=ROOT)
    if status not in (None, ended.returncode):
        raise AssertionError(f"status {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout + ended.stderr


def configured(folder: Path, running: MirrorMaker) -> Path:
    """Write a configuration of the service for a mirror."""
    path = folder / "mirrorwatch.yml"
    path.write_text(json.dumps({"mm2": str(running.properties_file), "canary": {"mode": "off"}}))
    return path


def predicted(config: Path, group: str, *options: str) -> dict[str, Any]:
    """Return what `mirrorwatch failover` says of a group."""
    (flow,) = json.loads(mirrorwatch("failover", config, "--group", group, "--json", *options))["flows"]
    found: dict[str, Any]
    (found,) = flow["groups"]
    return found


def _apply(config: Path, group: str, file: Path) -> None:
    which = ("--flow", "A->B", "--group", group)
    mirrorwatch("offsets", "export", config, *which, "--out", file, status=0)
    mirrorwatch("offsets", "apply", config, file, "--execute", status=0)


def failed_over(pair: Pair, group: str, topic: str, *, protocol: str) -> dict[str, int]:
    """Start the group on the target and return what it reads again, skips, and what is lost to it."""
    source, target = pair.a.client_properties(), pair.b.client_properties()
    remote = f"A.{topic}"
    here, there = _log(source, topic), _log(target, remote)
    start = committed(source, group, topic)
    ends = topics.log_ends(target, remote)
    with Reader(target, group, remote, protocol=protocol) as reader:
        wait_until(
            lambda: all(_reached(reader.read, number, end) for number, end in enumerate(ends)),
            deadline_s=60,
            what="the end of the target",
        )
    offsets = {value: (partition, offset) for partition, offset, value in here}
    read = Counter(value for _, _, value in reader.read)
    done = {value for value, (partition, offset) in offsets.items() if offset < start.get(partition, 0)}
    on_target = {value for _, _, value in there}
    known = offsets.keys()  # of a source topic that was re-created, older records are not the group's
    return {
        "read_again": sum(count for value, count in read.items() if value in done),
        "skipped": len((on_target & known) - done - read.keys()),
        "at_risk": len(known - done - on_target),
    }


def outside(found: Mapping[str, Any], truth: Mapping[str, int]) -> list[str]:
    """Return the names of counts that are not within what was predicted."""
    return [name for name, count in truth.items() if not _within(found[f"{name}_records"], count)]


def _within(bounds: Mapping[str, int | None] | None, count: int) -> bool:
    if bounds is None:
        return False
    least, most = bounds["least"], bounds["most"]
    return (least or 0) <= count and (most is None or count <= most)


def _place(message: Any) -> tuple[int, int, bytes]:
    return message.partition(), message.offset(), message.value()


def _log(client: Client, topic: str) -> list[tuple[int, int, bytes]]:
    """Return every record of a topic: partition, offset, value."""
    ends = topics.log_ends(client, topic)
    consumer = Consumer({**client, "group.id": "truth", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(len(ends))])
    found: list[tuple[int, int, bytes]] = []
    try:
        while messages := consumer.consume(1000, 1.0):
            found += [_place(one) for one in messages if one.error() is None]
    finally:
        consumer.close()
    return found


def _reached(read: Sequence[tuple[int, int, bytes]], partition: int, end: int) -> bool:
    return end == 0 or any(one == partition and offset == end - 1 for one, offset, _ in reversed(read))


# --- what happens before the failover


@dataclass(frozen=True, slots=True)
class Scene:
    """The mirror of one topic, and a group that reads it on the source."""

    pair: Pair
    mirror: MirrorMaker
    folder: Path
    topic: str
    group: str
    reader: Reader
    protocol: str

    @property
    def target(self) -> Client:
        """Return the client properties of the target."""
        return self.pair.b.client_properties()


def _keep_up(scene: Scene) -> None:
    time.sleep(3)
    if not scene.mirror.running:
        raise AssertionError("the mirror has ended")


def _freeze(scene: Scene) -> None:
    scene.mirror.freeze()
    time.sleep(6)


def _lag(scene: Scene) -> None:
    scene.mirror.freeze()
    time.sleep(4)
    scene.mirror.thaw()
    time.sleep(0.3)
    scene.mirror.freeze()


def _restart(scene: Scene) -> None:
    time.sleep(2)
    scene.mirror.kill()
    scene.mirror.start()
    scene.mirror.wait_ready()
    time.sleep(4)


def _rewind(scene: Scene) -> None:
    """Set the group back on the source, as an operator does who wants records processed again."""
    time.sleep(3)
    scene.reader.end()
    source = scene.pair.a.client_properties()
    before = committed(source, scene.group, scene.topic)
    consumer = Consumer({**source, "group.id": scene.group})
    places = [TopicPartition(scene.topic, number, offset // 2) for number, offset in before.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()
    time.sleep(4)


def _read_there(scene: Scene) -> None:
    """Have a second member read on the target for a while, after a failover that was not finished."""
    with Reader(scene.target, scene.group, f"A.{scene.topic}", protocol=scene.protocol) as there:
        wait_until(lambda: len(there.read) > _READ_BEFORE, deadline_s=60, what="records of the target")
        found = predicted(configured(scene.folder, scene.mirror), scene.group)
        if not found["running_on_target"]:
            raise AssertionError(f"the members on the target are not seen: {found}")


def _recreate_target(scene: Scene) -> None:
    time.sleep(3)
    topics.delete_topic(scene.target, f"A.{scene.topic}")
    wait_until(
        lambda: f"A.{scene.topic}" in topics.admin_client(scene.target).list_topics(timeout=10).topics,
        deadline_s=60,
        what="the target topic again",
    )
    time.sleep(6)


_SYNCS_ON_TARGET = {"A->B.offset-syncs.topic.location": "target"}
SITUATIONS: dict[str, tuple[str, Callable[[Scene], None], dict[str, str]]] = {
    "healthy": ("The mirror keeps up.", _keep_up, SYNCED),
    "lagging": ("The mirror is 4 s behind.", _lag, SYNCED),
    "frozen": ("The mirror hangs for 6 s (SIGSTOP).", _freeze, SYNCED),
    "restarted": ("The mirror is killed (SIGKILL) and started again.", _restart, SYNCED),
    "recreated": ("The source topic was deleted and created again before.", _keep_up, SYNCED),
    "target": ("The target topic was deleted, and the mirror created it again.", _recreate_target, SYNCED),
    "rewound": ("The group was set back on the source.", _rewind, SYNCED),
    "both": ("The group ran on both clusters.", _read_there, SYNCED),
    "unsynced": ("Group offsets are not synced; `offsets apply` commits them.", _keep_up, {}),
    "syncs": ("The offset syncs are on the target.", _keep_up, SYNCED | _SYNCS_ON_TARGET),
}
APPLIED = frozenset({"unsynced"})


@dataclass(frozen=True, slots=True)
class Run:
    """One failover: what was predicted, and what came true."""

    situation: str
    protocol: str
    status: str
    predicted: dict[str, Any]
    proved: dict[str, Any]
    truth: dict[str, int]
    outside: list[str]
    day: str


def run(
    pair: Pair, mirror: MirrorMaker, folder: Path, *, situation: str, protocol: str, topic: str, group: str
) -> Run:
    """Have a group fail over; the mirror, which replicates this topic alone, is killed on the way."""
    source, target = pair.a.client_properties(), pair.b.client_properties()
    if situation == "recreated":
        with traffic(source, topic, first=_OTHER):
            time.sleep(8)
        wait_until(lambda: topics.log_end(target, f"A.{topic}") > 0, deadline_s=60, what="the mirror")
        topics.recreate_topic(source, topic)
        time.sleep(5)  # the mirror resets its position while the new log is shorter
    with traffic(source, topic), Reader(source, group, topic, protocol=protocol) as reader:
        wait_until(lambda: len(reader.read) > _READ_BEFORE, deadline_s=60, what="records of the source")
        if situation not in APPLIED:
            wait_until(
                lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS,
                deadline_s=90,
                what="synced offsets",
            )
        SITUATIONS[situation][1](Scene(pair, mirror, folder, topic, group, reader, protocol))
        reader.end()
        time.sleep(1)  # records that the group never reads on the source
    mirror.kill()
    if situation in APPLIED:
        _apply(configured(folder, mirror), group, folder / "offsets.json")
    found = predicted(configured(folder, mirror), group)
    proof = predicted(configured(folder, mirror), group, "--prove")
    truth = failed_over(pair, group, topic, protocol=protocol)
    counts, proved = ({name: one[f"{name}_records"] for name in COUNTS} for one in (found, proof))
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    wrong = [*outside(found, truth), *(f"proved {name}" for name in outside(proof, truth))]
    return Run(situation, protocol, found["status"], counts, proved, truth, wrong, day)


def main() -> None:
    """Run all situations with both group protocols and print or write what came of them."""
    parser = argparse.ArgumentParser(prog="python -m deploy.drills.failovers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="how often each situation is run")
    parser.add_argument("--only", choices=SITUATIONS, help="run this situation alone")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep a line for each run in this file")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page of these runs")
    chosen = parser.parse_args()
    done: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-failovers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Pair(folder / "pair", flows=()) as pair:
            for number in range(chosen.rounds):
                for situation in SITUATIONS if chosen.only is None else (chosen.only,):
                    for protocol in PROTOCOLS:
                        done.append(_run_alone(pair, folder, f"{situation}-{protocol}-{number}"))
                        print(_row(done[-1]), flush=True)
    if chosen.results is not None:
        chosen.results.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in done), encoding="utf-8")
    if chosen.write is not None:
        chosen.write.write_text(page(done), encoding="utf-8")
    sys.exit(1 if any(one.outside for one in done) else 0)


def _run_alone(pair: Pair, folder: Path, label: str) -> Run:
    situation, protocol, _ = label.split("-")
    topic, group = f"orders-{label}", f"billing-{label}"
    topics.create_topic(pair.a.client_properties(), topic, partitions=PARTITIONS)
    settings = {"A->B.topics": topic, **SITUATIONS[situation][2]}
    mirror = MirrorMaker((pair.a, pair.b), folder / label, settings=settings)
    mirror.start()
    try:
        mirror.wait_ready()
        return run(
            pair, mirror, folder / label, situation=situation, protocol=protocol, topic=topic, group=group
        )
    finally:
        mirror.kill()


# --- the page


def page(done: Sequence[Run]) -> str:
    """Return docs/reference/failovers.md."""
    bounds = [one.predicted[name] for one in done for name in COUNTS]
    in_all, exact = len(bounds), sum(one is not None and one["least"] == one["most"] for one in bounds)
    wrong = sum(bool(one.outside) for one in done)
    days = sorted({one.day for one in done})
    on = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    columns = [f"{name}: predicted | true" for name in ("read again", "skipped", "at risk")]
    return f"""# Failovers

{len(done)} real failovers of consumer groups between two Kafka {kafka_version()} brokers, with traffic
of 300 records/s and a dedicated MirrorMaker 2. It syncs the offsets of groups, unless the row says otherwise.
Each row compares what [`mirrorwatch failover`](../how-to/failover.md) predicted with what the group then
read on the target.
Made by `python -m deploy.drills.failovers --write docs/reference/failovers.md` on {on}.

- {len(done) - wrong} of {len(done)} are within what was predicted. {exact} of {in_all} counts were exact.
- A single number was predicted exactly. Bounds are written as `between 5 and 8` or `up to 8`.

| what happened | group protocol | status | {" | ".join(columns)} | within |
|---|---|---|---|---|---|---|---|---|---|
{"".join(f"{_row(one)}{chr(10)}" for one in done)}"""


def _row(one: Run) -> str:
    cells = [SITUATIONS[one.situation][0], one.protocol, one.status.replace("_", " ")]
    for name in COUNTS:
        bounds = one.predicted[name]
        cells += ["unknown" if bounds is None else between_text(bounds["least"], bounds["most"])]
        cells += [str(one.truth[name])]
    cells.append("no: " + ", ".join(one.outside) if one.outside else "yes")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
