"""Processes that share the groups of a cluster: together they show each group once, as one process would."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.filters import PatternList
from fleet.shards import WHOLE, Shard
from fleet.verdicts.flow import Flow
from fleet.wire.commits import (
    GroupDescribed,
    Member,
    decode_key,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
    encode_group_metadata,
)
from lagmon.arrays.java_hash import partition_of
from lagmon.burrow.documents import listed_groups
from lagmon.exposition.format import Form
from lagmon.exposition.lag_metrics import LagMetrics
from lagmon.groups.rows import partition_rows
from lagmon.ingest.commits import TOPIC
from lagmon.ingest.orders import Orders, read_orders, write_orders
from lagmon.ingest.process import cluster_lag
from lagmon.ingest.watching import ClusterWatch
from lagmon.mirrors.answers.orders import order_of

HOMES = 7
NOW = 1_790_000_000_000
SHARE, SHARE_MEMBER, CONSUMER, STREAMS = 11, 10, 3, 17
GROUPS = [*(f"g{number}" for number in range(9)), "mm1-a", "mm1-b", "left out", "\U0001f980"]
TOPICS = {"t": 2, "u": 1, TOPIC: HOMES}
FOLLOWING = order_of(Flow("A", "B"), lag_from="group", group="mm1-.*")


def orders(shard, *, mirrors=(), elsewhere=()):
    return Orders(
        socket=Path("x"),
        clients={},
        burrow_names={},
        groups=PatternList(".*"),
        groups_exclude=PatternList("left out"),
        per_partition=True,
        max_series=1000,
        log_level="info",
        log_format="text",
        topics_exclude=PatternList("u"),
        mirrors=tuple(mirrors),
        shard=shard,
        flows_elsewhere=tuple(elsewhere),
    )


class Process:
    """What one process knows of the cluster A, whose `__consumer_offsets` is written by hand."""

    def __init__(self, shard, **said):
        self.lag = cluster_lag(orders(shard, **said), "A")
        self.watch = ClusterWatch("A", None, self.lag, clock=None, random=lambda: 0.5)
        self.lag.note_topics(TOPICS)
        self.read = set(self.watch._divide(HOMES))
        self.lag.begin_commits(HOMES)

    def take(self, records):
        for home, key, value in records:
            if home in self.read:
                self.lag.intake.take([key], [value], read_ms=NOW, live=True)
        for home in self.read:
            self.lag.note_read(home, NOW)
        places = [place for topic in TOPICS for place in self.lag.places.of(topic)]
        at = self.lag.places
        ends = [{"t": 100, "u": 50}.get(at.name(place)[0], 0) for place in places]
        self.lag.note_polled(*arrays(places, ends), NOW)

    def shown(self):
        """Return by group the verdict and all rows."""
        view, slots = self.lag.see(NOW), self.lag.slots
        return {
            name: (
                int(view.groups.status[number]),
                int(view.groups.total_lag[number]),
                partition_rows(self.lag, view, name),
                self.lag.intake.owners(name),
                self.lag.membership.members(name),
            )
            for number, name in slots.groups()
        }

    def series(self):
        telling = LagMetrics({"A": self.lag}, per_partition=True, max_series=1000)
        text = b"".join(telling.tell({"A": self.lag.see(NOW)}, Form.PLAIN)).decode()
        return {line for line in text.splitlines() if 'group="' in line}


def arrays(places, ends):
    return np.array(places, np.int32), np.array(ends, np.int64), np.array(ends, np.int64)


def commit(group, topic, partition, offset):
    value = None if offset is None else encode_commit_value(offset, NOW)
    return encode_commit_key(group, topic, partition), value


def described(group, protocol_type, members):
    found = tuple(
        Member(f"m{number}", None, "client", "/10.0.0.1", (("t", (number,)),), ())
        for number in range(members)
    )
    told = GroupDescribed(group, protocol_type, 1, None, None, None, found)
    return encode_group_key(2, group), encode_group_metadata(told)


def modern(group, version, there):
    return encode_group_key(version, group), b"\x00\x00" if there else None


_NAMES = st.sampled_from(GROUPS)
RECORDS = st.one_of(
    st.builds(
        commit,
        _NAMES,
        st.sampled_from(["t", "u"]),
        st.just(0),
        st.none() | st.integers(0, 120),
    ),
    st.builds(
        described, _NAMES, st.sampled_from(["consumer", "connect", "sr", "", "other"]), st.integers(0, 2)
    ),
    st.builds(modern, _NAMES, st.sampled_from([SHARE, CONSUMER, STREAMS]), st.booleans()),
)


def homed(records):
    """Return the records with the partition where Kafka stores them."""
    return [(partition_of(decode_key(key).group, HOMES), key, value) for key, value in records]


def all_processes(count, mirror_at=0):
    """Return the processes of all shards; that of number `mirror_at` has the flow that follows groups."""
    return [
        Process(Shard(number, count), mirrors=[FOLLOWING] if number == mirror_at else [])
        for number in range(1, count + 1)
    ]


@given(st.lists(RECORDS, max_size=60), st.integers(1, 4), st.integers(0, 4))
def test_all_shards_together_show_each_group_once_as_one_process_would(records, count, mirror_at):
    one = Process(WHOLE, mirrors=[FOLLOWING] if 1 <= mirror_at <= count else [])
    parts = all_processes(count, mirror_at)
    for process in (one, *parts):
        process.take(homed(records))
    expected = one.shown()
    assert sum(len(part.shown()) for part in parts) == len(expected)
    assert {name: found for part in parts for name, found in part.shown().items()} == expected
    assert sum((Counter(part.watch.other_groups) for part in parts), Counter()) == one.watch.other_groups
    listed = [name for part in parts for name in listed_groups(part.lag, now_ms=NOW, topic=None)]
    assert sorted(listed) == sorted(listed_groups(one.lag, now_ms=NOW, topic=None))
    series = [line for part in parts for line in part.series()]
    assert (len(series), set(series)) == (len(one.series()), one.series())
    kinds = {name: kind for part in parts for name, kind in part.lag.membership.kinds.items()}
    assert kinds == one.lag.membership.kinds
    assert all(part.lag.read_to_ms == NOW for part in parts if part.read)


@given(st.lists(RECORDS, max_size=40), st.integers(1, 3))
def test_the_process_with_a_mirror_that_reads_as_a_group_has_all_of_its_offsets(records, number):
    one, part = (Process(shard, mirrors=[FOLLOWING]) for shard in (WHOLE, Shard(number, 3)))
    for process in (one, part):
        process.take(homed(records))

    def followed(lag):
        return {
            (name, lag.places.name(int(lag.slots.place[slot])), int(lag.rings.offset[slot, -1]))
            for name in ("mm1-a", "mm1-b")
            for slot in lag.slots.held_by(name).tolist()
        }

    assert followed(part.lag) == followed(one.lag)
    for name in ("mm1-a", "mm1-b"):
        assert part.lag.membership.members(name) == one.lag.membership.members(name)
    foreign = [name for name in GROUPS if not part.lag.share.has(name) and not FOLLOWING.follows(name)]
    assert not any(part.lag.slots.holds(name) for name in foreign)
    assert all(part.lag.membership.members(name) < 0 for name in foreign)


def test_a_record_of_a_group_of_another_shard_counts_as_passed_over_and_shows_that_it_is_there():
    (foreign,) = {name for name in GROUPS[:2] if not Process(Shard(1, 2)).lag.share.has(name)}
    for record in (
        commit(foreign, "t", 0, 5),
        described(foreign, "consumer", 1),
        modern(foreign, CONSUMER, True),
    ):
        lag = Process(Shard(1, 2)).lag
        for key, value, strays in ((record[0], None, False), (*record, True)):
            lag.intake.take([key], [value], read_ms=NOW, live=True)
            assert lag.intake.has_strays is strays
        assert (lag.slots.used, lag.membership.members(foreign), lag.membership.kinds) == (0, -1, {})
        assert lag.silent_groups() == set()
        lag.begin_commits(HOMES)
        assert lag.intake.has_strays is False


def test_a_group_whose_offsets_a_mirror_of_another_shard_syncs_is_carried():
    syncing = Flow("B", "A", sync_group_offsets=True)
    for said in ({"mirrors": [order_of(syncing)]}, {"elsewhere": [syncing]}):
        process = Process(Shard(1, 1), **said)
        process.lag.note_topics({**TOPICS, "B.orders": 1})
        process.take([(0, *commit("g", "B.orders", 0, 5))])
        assert list(process.lag.see(NOW).carried.values()) == [("B->A",)]


def test_a_flow_to_another_cluster_carries_no_group_here():
    assert orders(WHOLE, elsewhere=[Flow("A", "B"), Flow("B", "A")]).flows_to("A") == [Flow("B", "A")]


SAID = {
    "burrow_names": {},
    "groups": ".*",
    "groups_exclude": "",
    "per_partition": False,
    "max_series": 1,
    "log_level": "info",
    "log_format": "text",
    "secrets": frozenset(),
}


@pytest.mark.parametrize("shard", [WHOLE, Shard(2, 3)])
def test_orders_have_the_shard_and_the_flows_of_others(shard):
    flow = Flow("A", "B", sync_group_offsets=True)
    written = write_orders({}, shard=shard, flows_elsewhere=[flow], **SAID)
    told = read_orders({**written, "socket": "x"})
    assert (told.shard, told.flows_elsewhere) == (shard, (flow,))


def test_orders_without_a_shard_are_for_all_groups():
    written = {**write_orders({}, **SAID), "socket": "x"}
    del written["shard"], written["flows_elsewhere"]
    assert (read_orders(written).shard, read_orders(written).flows_elsewhere) == (WHOLE, ())
