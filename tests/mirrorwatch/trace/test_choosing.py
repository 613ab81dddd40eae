"""The record on its source cluster, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.dialect import moment_ms_text
from fleet.errors import ConfigurationError
from fleet.mm2.filters import TopicFilter
from fleet.verdicts.flow import Flow
from mirrorwatch.trace.asking import wanted_record
from mirrorwatch.trace.choosing import MOST_SEARCHED_OFFSETS, Wanted, choose_cluster, choose_record
from tests.mirrorwatch.trace.logs import FIRST_MS, FakeClusters, Log, LogCluster, record

FLOW, BACK = Flow("A", "B", mirror_version="4.3"), Flow("B", "A", mirror_version="4.3")
NOTHING = {"cluster": None, "partition": None, "offset": None, "key": None, "time": None}


@pytest.fixture
def source():
    """Give a cluster with 30 records in two partitions."""
    logs = {("orders", 0): Log(start=0), ("orders", 1): Log()}
    for number in range(30):
        logs["orders", number % 2].append(record(number))
    return LogCluster("A", logs=logs)


def chosen(source, **wanted):
    return choose_record(Wanted(topic="orders", **wanted), FakeClusters(source)["A"])


def refusal(work):
    with pytest.raises(ConfigurationError) as refused:
        work()
    return str(refused.value)


def test_by_offset(source):
    found = chosen(source, partition=1, offset=3)
    assert (found.place, found.offset, found.record.value) == (("orders", 1), 3, b"value 7")


def test_by_key_the_newest(source):
    found = chosen(source, key="key 3")
    assert (found.place, found.offset, found.record.value) == (("orders", 0), 12, b"value 24")
    assert found.remark == "Newest record with this key in the last 5,000 offsets of each of 2 partitions."
    assert chosen(source, key="key 3", partition=1).record.value == b"value 17"


def test_by_key_within_a_bound(source):
    log = source.logs["orders", 0] = Log()
    for number in range(MOST_SEARCHED_OFFSETS + 10):
        log.append(record(number, key=b"%d" % number))
    assert chosen(source, partition=0, key="10").offset == 10
    sentence = refusal(lambda: chosen(source, partition=0, key="9"))
    assert sentence == (
        "--key: no record with this key in the last 10,000 offsets of the partition on A; write its partition"
        " and offset"
    )


def test_by_time_the_first(source):
    found = chosen(source, at_ms=FIRST_MS + 6500)
    assert (found.place, found.record.value) == (("orders", 1), b"value 7")
    assert found.remark == f"First record at or after {moment_ms_text(FIRST_MS + 6500)} in 2 partitions."
    assert chosen(source, at_ms=FIRST_MS + 6500, partition=0).record.value == b"value 8"
    assert "no record at or after" in refusal(lambda: chosen(source, at_ms=FIRST_MS + 100_000))


def test_what_is_not_there_is_refused_with_the_range(source):
    source.logs["orders", 1].start = 4
    assert refusal(lambda: chosen(source, partition=2, offset=0)) == (
        "--partition: partition 2 is out of range; orders on A has 0 to 1"
    )
    for offset in (3, 15):
        assert refusal(lambda offset=offset: chosen(source, partition=1, offset=offset)) == (
            f"--offset: offset {offset} is out of range; orders-1 on A has 4 to 14"
        )
    source.logs["orders", 1].start = 15
    assert "holds no records" in refusal(lambda: chosen(source, partition=1, offset=3))
    sentence = refusal(
        lambda: choose_record(Wanted(topic="order", partition=0, offset=0), FakeClusters(source)["A"])
    )
    assert sentence == (
        "--topic: unknown topic 'order'; did you mean 'orders'? (or the permission to describe it is missing)"
    )


def test_the_source_cluster(source):
    b = LogCluster("B", logs={("A.orders", 0): Log(), ("both", 0): Log()})
    source.sizes = {"both": 1}
    clusters, flows = FakeClusters(source, b), (FLOW, BACK)
    assert choose_cluster(Wanted(topic="orders"), flows, clusters) == "A"
    assert choose_cluster(Wanted(topic="orders", cluster="B"), flows, clusters) == "B"
    assert choose_cluster(Wanted(topic="A.orders"), flows, clusters) == "B"
    with_one_down = FakeClusters(source, b, LogCluster("C", away=True))
    flows_to_c = (FLOW, replace(FLOW, target="C"))
    assert "unknown topic 'order'" in refusal(
        lambda: choose_cluster(Wanted(topic="order"), flows_to_c, with_one_down)
    )
    sentence = refusal(lambda: choose_cluster(Wanted(topic="both"), flows, clusters))
    assert sentence == "--cluster: ambiguous: A, B have topic both; choose one with --cluster"
    sentence = refusal(lambda: choose_cluster(Wanted(topic="orders", cluster="C"), flows, clusters))
    assert sentence == "--cluster: unknown cluster 'C'; known: A, B"
    only = tuple(replace(one, topic_filter=TopicFilter("other")) for one in flows)
    assert choose_cluster(Wanted(topic="orders"), only, clusters) == "A"
    assert "unknown topic 'ordres'" in refusal(
        lambda: choose_cluster(Wanted(topic="ordres"), flows, clusters)
    )


def test_every_problem_of_the_options_at_once():
    sentence = refusal(lambda: wanted_record(topic="t", **NOTHING | {"offset": 3, "time": "noon"}))
    assert sentence.splitlines() == [
        "--offset, --time: exclude each other; write one",
        "--partition: missing; --offset requires it",
        "--time: invalid moment 'noon'; write it as 2026-11-27T17:30:00Z",
    ]
    assert "missing; write --partition and --offset" in refusal(lambda: wanted_record(topic="t", **NOTHING))
    found = wanted_record(topic="t", **NOTHING | {"time": "2026-11-27T17:30:00Z"})
    assert moment_ms_text(found.at_ms) == "2026-11-27T17:30:00.000Z"
