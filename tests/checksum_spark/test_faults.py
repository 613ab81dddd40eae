"""Every fault made for real on two brokers, and the findings of an audit against a full read of both sides.

One MirrorMaker and a small mirror of this test's own copy some thirty topics, each with a fault of its own; one
`checksum run` reads them all. Each test compares what that told of a topic with what became of its records.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from checksum.anchors.sync_topic import read_sync_topic
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from deploy.local import topics
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.clock import SystemClock
from tests.checksum_spark.faulty import (
    DEADLINE_S,
    World,
    added,
    all_of,
    altered,
    audit,
    dropped,
    many,
    mirror_file,
    misplaced,
    moved,
    repeated,
    swapped,
)
from tests.checksum_spark.logs import log_ends, read_logs
from tests.checksum_spark.small_mirror import Copy, write
from tests.checksum_spark.truth import Fate, compacted_truth
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.checksum_spark.faulty import Outcome
    from tests.checksum_spark.truth import Truth

pytestmark = pytest.mark.real
SYNCS = "mm2-offset-syncs.B.internal"
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "500",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "500",
    "delete.retention.ms": "100000",
}


@dataclass(frozen=True)
class Case:
    """A topic; `verdicts` are what the truth has to hold, or the fault was none."""

    topic: str
    verdicts: frozenset[str] = frozenset()
    whole: bool = True  # all of it is verified
    hidden: frozenset[str] = frozenset()  # what the audit may not see, and has to call unverified


def case(topic: str, *verdicts: str, whole: bool = True, hidden: str = "") -> Case:
    return Case(topic, frozenset(verdicts), whole, frozenset(hidden.split()))


TOLD = frozenset({"duplicated"})  # what changes no status; a mirror that is killed may repeat any topic


BY_MIRRORMAKER = (
    case("f-healthy"),
    case("f-busy"),  # is written to while it is audited
    case("f-dropped", "lost"),
    case("f-value", "altered"),
    case("f-headers", "altered"),
    case("f-key", "altered"),
    case("f-time", "altered"),
    case("f-repartitioned", "misrouted"),
    case("f-astray", "misrouted"),
    case("f-haven"),
    case("f-by-hand", "extra"),
    case("f-aborted"),
    case("f-odd"),
    case("f-stamped", "lost"),
    case("f-repeated", "duplicated"),
    case("f-overtaken", whole=False),
    case("f-large", "lost"),
)
SMALL = (
    case("s-swapped", "reordered"),
    case("s-moved", "reordered"),
    case("s-misplaced", "misrouted"),
    case("s-key", "altered"),
    case("s-everything", "lost", "altered", "duplicated", "extra"),
    case("s-many", "lost", "altered", "duplicated", "reordered"),
    case("s-unsynced", "lost", "extra"),
    case("s-odd", "lost", "altered"),
    case("s-partly-empty", "lost"),
    case("s-empty"),
    case("s-remade-source", "lost", "extra", hidden="extra"),  # the old topic's copies are none of this one's
    case("s-remade-target", "lost"),
    case("s-eaten-source", whole=False),
    case("s-eaten-target", "lost", whole=False, hidden="lost"),
)
CASES = (*BY_MIRRORMAKER, *SMALL)
# What fails in the mirror is passed over, and what a test sets on the target stays.
TOLERANT = {"A->B.errors.tolerance": "all", "A->B.sync.topic.configs.enabled": "false"}
BY_KEY = ("f-compacted", "s-compacted")


class Audited(NamedTuple):
    """What one audit told of all topics, and the truth; and what more audits need."""

    world: World
    spark: object
    outcome: Outcome
    truth: dict[str, Truth]


@pytest.fixture(scope="module")
def audited(kafka_pair, spark, request, tmp_path_factory):
    """Make every fault, and audit all topics at once."""
    world = World(kafka_pair)
    mirrors = request.getfixturevalue("_mirrors")
    config = mirror_file(tmp_path_factory.mktemp("faults") / "mm2.properties", kafka_pair, TOLERANT)
    for topic in topics_of(CASES):
        world.know(topic)
    with ThreadPoolExecutor(8) as threads:
        made = [threads.submit(world.create, topic, **how) for topic, how in topics_of(CASES).items()]
        for one in made:
            one.result()
    mirror = mirrors({"A->B.topics": "f-.*", **TOLERANT})
    with ThreadPoolExecutor(3) as threads:
        small = [threads.submit(job) for job in by_small_mirror(world)]
        by_mirrormaker(world, mirror)
        for one in small:
            one.result()
    wait_compacted(world)
    chosen = [one.topic for one in CASES]
    stop = traffic(world, "f-busy")
    try:
        outcome = audit(
            spark, config, [*chosen, *BY_KEY],
            before={
                Side.SOURCE: [lambda: topics.delete_records(world.here, "s-eaten-source", before={0: 200})],
                Side.TARGET: [lambda: topics.delete_records(world.there, "A.s-eaten-target", before={1: 150})],
            },
        )  # fmt: skip
    finally:
        stop()
    truth = world.truth(chosen, stamped=["f-stamped"])
    mirror.freeze()  # it is needed no more, and takes time
    yield Audited(world, spark, outcome, truth)
    mirrors.stop()
    # No producer of a mirror takes its times: those of later tests, which copy all there is, would fail on it.
    topics.delete_topic(world.here, "s-odd")


def topics_of(cases: Sequence[Case]) -> dict[str, dict]:
    """Return all topics and how they are made; MirrorMaker makes its own on the target."""
    found: dict[str, dict] = {
        one.topic: {"target": {}} if one.topic.startswith("s-") else {} for one in cases
    }
    found["f-stamped"] = {"target": {"message.timestamp.type": "LogAppendTime"}}
    found["f-large"] = {"target": {"max.message.bytes": "2000"}}
    found["s-partly-empty"] |= {"partitions": 3}
    found["f-compacted"] = {"source": COMPACTED, "target": COMPACTED}
    found["s-compacted"] = {"source": {"cleanup.policy": "compact"}, "target": {}}
    return found


# --- what the mirror of this test does


def by_small_mirror(world: World) -> list[Callable[[], None]]:
    """Return what copies each topic."""
    hand = world.stranger
    faults: dict[str, Callable[[list[Copy]], list[Copy]]] = {
        "s-swapped": swapped(200),
        "s-moved": moved(100, 150),
        "s-misplaced": misplaced(123, 1, into=700),
        "s-key": altered(77, key=b"another"),
        "s-everything": all_of(
            dropped(450),
            altered(300, value=None),
            repeated(200, 220),
            added(100, 0, hand("s-everything", 1)),
        ),
        "s-many": many(7, 20, of=2000),
        "s-eaten-source": list,
        "s-eaten-target": list,
        "s-empty": list,
    }

    def copied(topic: str) -> None:
        world.write(topic, {"s-empty": 0, "s-many": 2000}.get(topic, 1000))
        world.copy(topic, faults[topic], syncs=SYNCS)

    others = (unsynced, odd, partly_empty, remade_source, remade_target, compacted_by_hand)
    return [
        *(partial(copied, topic) for topic in faults),
        *(partial(one, world) for one in others),
    ]


def unsynced(world: World) -> None:
    """Copy a topic without telling which offsets belong together."""
    topic = "s-unsynced"
    world.write(topic)
    world.copy(topic, all_of(dropped(321), added(200, 0, world.stranger(topic, 1))), syncs=None)


def partly_empty(world: World) -> None:
    """Write to one partition of three alone."""
    topic = "s-partly-empty"
    write(world.here, topic, [Copy(1, one, None) for one in world.contents(topic, 500)])
    world.copy(topic, dropped(250), syncs=SYNCS)


def odd_contents(world: World, topic: str) -> list[Content]:
    """Return records with whatever a record can be without, and with times of long ago."""
    found = []
    for at, one in enumerate(world.contents(topic, 400)):
        mark = ("number", one.key)
        found.append(
            Content(
                [None, b"", one.key][at % 3],
                [None, b"", one.value, bytes(at)][at % 4],
                one.timestamp_ms,
                [mark, ("twice", b"1"), ("twice", None), ("twice", b""), ("", b"")][: 1 + at % 5],
            )
        )
    return found


def odd(world: World) -> None:
    """Write and copy odd records; times before 1970 are taken by a broker as they are."""
    before = [-1, -2, -1000, -86_400_000, 0]
    found = [
        Copy(at % 2, one._replace(timestamp_ms=before[at // 40]) if at % 40 == 7 and at < 200 else one, None)
        for at, one in enumerate(odd_contents(world, "s-odd"))
    ]
    write(world.here, "s-odd", found)
    world.copy("s-odd", all_of(dropped(120), altered(160, value=b"")), syncs=SYNCS)


def remade_source(world: World) -> None:
    """Make a topic anew; the mirror goes on by its offsets, as MirrorMaker does."""
    topic = "s-remade-source"
    world.write(topic, 400)
    world.copy(topic, syncs=SYNCS)
    topics.recreate_topic(world.here, topic)
    world.written[topic].clear()
    world.bases[topic] += 10_000
    world.write(topic, 1000)
    world.copy(topic, syncs=SYNCS, since=200)


def remade_target(world: World) -> None:
    """Make its copy anew: what was in it is not copied again."""
    topic = "s-remade-target"
    world.write(topic, 400)
    world.copy(topic, syncs=SYNCS)
    topics.recreate_topic(world.there, f"A.{topic}")
    world.write(topic, 1000)
    world.copy(topic, syncs=SYNCS, since=200)


# --- what MirrorMaker does


def by_mirrormaker(world: World, mirror) -> None:
    """Make the faults of a real mirror, and wait until it has told of its last copies."""
    names = [one.topic for one in BY_MIRRORMAKER]
    for topic in names:
        if topic not in ("f-odd", "f-aborted"):
            world.write(topic)
    write(
        world.here, "f-odd", [Copy(at % 2, one, None) for at, one in enumerate(odd_contents(world, "f-odd"))]
    )
    for number in range(4):
        world.write("f-aborted", 250, transaction="aborted", commit=number % 2 == 0)
    compacted(world, mirror)
    for topic in names:
        world.copied(topic, 400 if topic == "f-odd" else 1000)
    switched(world, mirror)
    too_large(world)
    for at in (1, 2):
        write(world.there, "A.f-by-hand", [Copy(0, world.stranger("f-by-hand", at), None)])
        if at == 1:
            world.write("f-by-hand", 300)
            world.copied("f-by-hand", 1301)
    crash(world, mirror)
    wait_synced(world, names)


def wait_compacted(world: World) -> None:
    """Wait until the source's log lacks records that later ones replaced."""
    places = [("f-compacted", number) for number in range(2)]
    eventually(
        lambda: all(len(log) < end for log, end in pairs_of(world.here, places)),
        DEADLINE_S,
        what="compaction of the source",
        every_s=0.5,
    )


def traffic(world: World, topic: str) -> Callable[[], None]:
    """Begin to write to a topic; return what ends that, and waits until all of it is copied."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(0.05):
            world.write(topic, 20)

    busy = threading.Thread(target=go_on)
    busy.start()

    def stop() -> None:
        ended.set()
        busy.join()
        world.copied(topic, len(world.written[topic]))

    return stop


def switched(world: World, mirror) -> None:
    """Let the mirror's transform do one fault after the other, to some of the records that are written."""
    orders = {
        "f-dropped": ("drop", {"modulus": 1000, "remainder": 617}),
        "f-stamped": ("drop", {"modulus": 1000, "remainder": 650}),
        "f-value": ("alter", {"modulus": 200, "remainder": 123}),
        "f-headers": ("unheader", {"modulus": 7, "remainder": 3}),
        "f-key": ("unkey", {"modulus": 300, "remainder": 10}),
        "f-time": ("retime", {"modulus": 300, "remainder": 10}),
        "f-repartitioned": ("repartition", {"modulus": 97, "count": 2}),
        "f-astray": ("misroute", {"modulus": 97, "to": "A.f-haven"}),
    }
    lost = {"f-dropped": 2, "f-stamped": 2}
    for topic, (mode, options) in orders.items():
        mirror.switch.on(mode, topics=re.escape(topic), **options)
        world.write(topic, 1000)
        if topic == "f-astray":
            astray = sum(offset % 97 == 0 for offset in range(500, 1000)) * 2
            world.copied("f-haven", 1000 + astray)
            world.copied(topic, 2000 - astray)
        else:
            world.copied(topic, 2000 - lost.get(topic, 0))
    mirror.switch.off()
    # What went astray leaves an offset sync of another partition's offset, which more records put right.
    for topic in ("f-repartitioned", "f-astray"):
        world.write(topic, 200)
        world.copied(topic, 2200 - (astray if topic == "f-astray" else 0))


def too_large(world: World) -> None:
    """Write some records that the target does not take; the mirror goes on behind them."""
    large = [one._replace(value=one.value + b"." * 3000) for one in world.contents("f-large", 3)]
    write(world.here, "f-large", [Copy(at % 2, one, None) for at, one in enumerate(large)])
    world.write("f-large", 200)
    world.copied("f-large", 1200)


KEYS = 60


def by_key(world: World, topic: str, value: bytes | None, *keys: int) -> None:
    """Write a record of each of these keys, which stand in partitions by turns."""
    written = [
        Copy(key % 2, Content(b"key %d" % key, value, world.begun_ms + 1000 * at, None), None)
        for at, key in enumerate(keys, len(world.written[topic]))
    ]
    world.written[topic] |= set(range(len(world.written[topic]), len(world.written[topic]) + len(keys)))
    write(world.here, topic, written)


def compacted(world: World, mirror) -> None:
    """Overwrite and take away keys; of three the mirror leaves out the last record, or changes it."""
    topic, everything = "f-compacted", range(KEYS)
    copied = 0
    rounds = [
        (None, b"first", everything),
        (None, b"second", everything),
        (None, None, (10, 11, 12, 13)),
        ("drop", b"third", (20, 21)),
        ("drop", None, (30, 31)),
        ("alter", b"third", (40, 41)),
        (None, b"fourth", (50, 51)),
    ]
    for mode, value, keys in rounds:
        if mode is None:
            mirror.switch.off()
        else:
            mirror.switch.on(mode, topics=topic)
        by_key(world, topic, value, *keys)
        if mode != "drop":
            copied += len(keys)
        else:
            # Nothing shows that a record was left out but the next one that is not.
            time.sleep(1.5)
        world.copied(topic, copied)
        time.sleep(0.6)  # so that a new segment begins, and the one before can be compacted


def compacted_by_hand(world: World) -> None:
    """Copy a topic as if it had been compacted before, with and without tombstones."""
    topic = "s-compacted"
    by_key(world, topic, b"first", *range(KEYS))
    by_key(world, topic, b"second", *range(20))
    by_key(world, topic, None, 0, 1, 2, 3)
    by_key(world, topic, b"third", 4, 5)

    def fault(copies: list[Copy]) -> list[Copy]:
        left = {b"key 0": (), b"key 1": (b"second",), b"key 2": (None,), b"key 6": (b"first",)}
        kept = [one for one in copies if one.content.value in left.get(one.content.key, (one.content.value,))]
        return altered(len(kept) - 1, value=b"another")(kept)

    world.copy(topic, fault, syncs=SYNCS)


def pairs_of(client: dict[str, str], places: list[tuple[str, int]]) -> list[tuple[list, int]]:
    logs, ends = read_logs(client, places), log_ends(client, places)
    return [(logs[place], ends[place]) for place in places]


def crash(world: World, mirror) -> None:
    """Kill the mirror with copies made whose offsets it has not written; meanwhile records go away."""
    for number in range(30):
        world.write("f-repeated", 100)
        if number == 29:
            world.copied("f-repeated", 3900)
    mirror.kill()
    world.write("f-overtaken", 600)
    topics.delete_records(world.here, "f-overtaken", before={0: 700, 1: 650})
    mirror.start()
    mirror.wait_ready()
    world.write("f-overtaken", 100)
    world.copied("f-repeated", 4000)


def wait_synced(world: World, names: list[str]) -> None:
    """Wait until the last record of each partition has its offset sync."""
    waiting: dict = {}

    def synced() -> bool:
        waiting.clear()
        waiting.update(not_synced(world, names))
        return not waiting

    try:
        eventually(synced, DEADLINE_S, every_s=0.5)
    except AssertionError:
        pytest.fail(f"the newest offset syncs did not come: {waiting}")


def not_synced(world: World, names: list[str]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the newest offset sync, and the log's end, of each partition whose last record has none yet."""
    known = read_sync_topic(
        ClientSettings(world.here), cluster="A", topic=SYNCS, clock=SystemClock(), wanted=lambda _: True
    )
    ends = log_ends(world.here, [(topic, number) for topic in names for number in range(2)])
    newest = {place: max((pair.upstream for pair in known.of(*place)[-1:]), default=-1) for place in ends}
    markers = {"f-aborted": 1}  # the last offset is that of one
    return {
        place: (newest[place], end)
        for place, end in ends.items()
        if newest[place] < end - 1 - markers.get(place[0], 0)
    }


# --- what is asked of an audit


@pytest.mark.long
@pytest.mark.parametrize("wanted", CASES, ids=lambda one: one.topic)
def test_what_is_told_of_a_topic_is_what_became_of_it(audited, wanted):
    outcome, truth = audited.outcome, audited.truth[wanted.topic]
    became = truth.verdicts()
    assert became >= wanted.verdicts >= became - TOLD, "the fault is another one than meant"
    told = outcome.of(wanted.topic)
    assert told["not_read_again"] == []
    fates, reordered = fates_told(told, truth)
    expected = {fate for fates in truth.fates.values() for fate in fates if fate.verdict not in wanted.hidden}
    assert +Counter({"reordered": sum(truth.reordered.values())}) == reordered
    if wanted.hidden:
        assert expected <= fates <= {fate for found in truth.fates.values() for fate in found}
    else:
        assert nameless(fates) == nameless(expected)
    assert {one["verdict"] for one in told["expected"]} == became & TOLD
    assert {one["verdict"] for one in told["findings"]} == became - TOLD - wanted.hidden
    unverified = [one for part in told["partitions"] for one in part["unverified"]]
    left_out = [one for one in told["left_out"] if not one["later"]]
    assert (not unverified and not left_out) == wanted.whole, (unverified, left_out)


def fates_told(told: dict, truth) -> tuple[set[Fate], Counter]:
    """Return the findings as fates; every offset that is told is one offset, of the very record."""
    fates: set[Fate] = set()
    reordered: Counter = Counter()
    for one in [*told["findings"], *told["expected"]]:
        source, target = offset(one["source_offsets"]), offset(one["target_offsets"])
        there = tuple(one["found_in"]) if one["found_in"] else None
        assert one["records"] == 1
        numbers = [truth.at_source[one["partition"], source]] if source is not None else []
        if target is not None and there is None:
            numbers.append(truth.at_target[one["partition"], target])
        assert len(set(numbers)) == 1, one
        if one["verdict"] == "reordered":
            reordered["reordered"] += 1
            continue
        fates.add(Fate(one["verdict"], numbers[0], source, target, tuple(one["altered"]), there))
    assert len(fates) + reordered.total() == len(told["findings"]) + len(told["expected"])
    return fates, reordered


def nameless(fates: set[Fate]) -> Counter:
    """Return them without which of two equal copies is the second: that nobody can tell."""
    return Counter(one._replace(target=None) if one.verdict == "duplicated" else one for one in fates)


def offset(offsets: list[int] | None) -> int | None:
    if offsets is None:
        return None
    assert offsets[1] - offsets[0] == 1, offsets
    return offsets[0]


@pytest.mark.long
def test_what_the_target_does_not_take_was_rejected(audited):
    told = audited.outcome.of("f-large")["findings"]
    assert [one["cause"] for one in told] == ["record_rejected"] * 3
    # Of other records nobody knows whether the mirror failed at them: it would pass over that.
    (dropped, *_) = audited.outcome.of("f-dropped")["findings"]
    assert dropped["cause"] == "unexplained"


@pytest.mark.long
@pytest.mark.parametrize("topic", BY_KEY)
def test_a_compacted_topic_is_compared_by_the_last_record_of_each_key(audited, topic):
    world, told = audited.world, audited.outcome.of(topic)
    places = [(topic, number) for number in range(2)]
    source = read_logs(world.here, places)
    remote = read_logs(world.there, [(f"A.{topic}", number) for number in range(2)])
    target = {place: remote[f"A.{topic}", place[1]] for place in places}
    expected = {
        (partition, *fate)
        for partition, fates in compacted_truth(topic, source, target).items()
        for fate in fates
    }
    found = [
        (one["partition"], one["verdict"], offset(one["source_offsets"]), offset(one["target_offsets"]))
        for one in told["findings"]
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len(expected) >= 3
    assert (told["expected"], told["not_read_again"]) == ([], [])
    assert all(one["verified"] == one["offsets"] for one in told["partitions"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("topics", "status"),
    [
        (["f-healthy", "f-aborted", "f-odd", "s-empty"], 0),
        (["f-repeated"], 0),
        (["f-healthy", "s-remade-source"], 1),
    ],
)
def test_the_status_is_that_of_what_was_found(audited, kafka_pair, tmp_path, topics, status):
    # In a folder of its own, where nothing is kept of what was verified before.
    found = audit(audited.spark, mirror_file(tmp_path / "mm2.properties", kafka_pair), topics)
    assert found.status == found.run["status"] == status, found.said
