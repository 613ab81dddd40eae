"""Records of a Connect offsets topic: of which flow, which are skipped, and whose clock counts."""

from __future__ import annotations

import json

import pytest

from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import MirrorOrder, order_of, read_mirror, write_mirror
from lagmon.mirrors.partitions.window import NEAR_MS, MirrorWindows
from lagmon.mirrors.progress.intake import OffsetsIntake
from tests.lagmon.mirror_flows import NOW, S


def key(topic="orders", partition=0, *, cluster="A", connector="MirrorSourceConnector"):
    return json.dumps([connector, {"cluster": cluster, "partition": partition, "topic": topic}]).encode()


def value(offset):
    return b'{"offset":%d}' % offset


def intake(*orders):
    flows = [(order, MirrorWindows()) for order in orders or (order_of(Flow("A", "B")),)]
    return OffsetsIntake(flows), [windows for _, windows in flows]


def take(one, *records, read_ms=NOW, live=True, times=None):
    keys, values = zip(*records, strict=True)
    one.take(keys, values, times or [read_ms] * len(keys), read_ms=read_ms, live=live)


def test_each_record_is_counted_once_and_goes_to_its_flow_alone():
    one, (of_a, of_c) = intake(order_of(Flow("A", "B")), order_of(Flow("C", "B")))
    heartbeat = json.dumps(["MirrorHeartbeatConnector", {"sourceClusterAlias": "A"}]).encode()
    take(
        one,
        (key(), value(41)),
        (key(cluster="C"), value(7)),
        (key(cluster="D"), value(8)),
        (heartbeat, value(0)),
        (b"no json", value(0)),
        (b"no json either", value(0)),
        (key(partition=1), None),
    )
    assert of_a.next_offset[of_a.slot("orders", 0)] == 42
    assert of_c.next_offset[of_c.slot("orders", 0)] == 8
    assert (one.taken.offsets, one.taken.others, one.taken.malformed, one.taken.resets) == (2, 2, 2, 1)
    assert one.taken.sample == "The key of a source offset is not JSON. (key 'no json')"


def test_an_overridden_alias_is_the_cluster_in_the_key():
    kept = Flow("A", "B", policy=ReplicationPolicy(separator=""), source_alias="")
    one, (windows,) = intake(order_of(kept))
    take(one, (key(cluster=""), value(41)), (key(cluster="A"), value(7)))
    assert windows.next_offset[windows.slot("orders", 0)] == 42
    assert (one.taken.offsets, one.taken.others) == (1, 1)


def test_a_worker_of_connect_holds_offsets_of_another_mirror_of_the_same_source():
    flow = Flow("A", "B", on_connect=True, connector="mine", offset_storage_topic="connect-offsets")
    one, (windows,) = intake(order_of(flow))
    take(one, (key(connector="other"), value(90)), (key(connector="mine"), value(41)))
    assert windows.next_offset[windows.slot("orders", 0)] == 42
    assert one.taken.others == 1


def test_a_tombstone_takes_the_offset_away_and_its_slot_is_used_again():
    one, (windows,) = intake()
    take(one, (key(), value(41)), (key(), None))
    assert windows.slot("orders", 0) is None
    take(one, (key("other"), value(4)))
    slot = windows.slot("other", 0)
    assert (len(windows), int(windows.next_offset[slot]), int(windows.rings.filled[slot])) == (1, 5, 1)


@pytest.mark.parametrize("wrong_ms", [-3600 * S, -2 * S, 0, 2 * S, 3600 * S])
def test_times_of_a_worker_whose_clock_is_wrong_are_brought_to_ours(wrong_ms):
    one, (windows,) = intake()
    for number in range(20):
        written_ms = NOW + number * 60 * S
        late_ms = 40 if number % 3 == 0 else 400  # of its reading
        take(one, (key(), value(number)), read_ms=written_ms + late_ms, times=[written_ms + wrong_ms])
    assert windows.committed_ms[windows.slot("orders", 0)] == pytest.approx(NOW + 19 * 60 * S, abs=400)


@pytest.mark.parametrize("ahead_ms", [-3600 * S, -120 * S, 120 * S, 3600 * S])
def test_two_workers_with_clocks_of_their_own_are_each_brought_to_ours(ahead_ms):
    one, (windows,) = intake()
    for number in range(20):
        written_ms = NOW + number * 60 * S
        told = {"right": written_ms, "wrong": written_ms + ahead_ms}
        for topic, told_ms in told.items():
            take(one, (key(topic), value(number)), read_ms=written_ms + 300, times=[told_ms])
        for topic in told:
            assert windows.committed_ms[windows.slot(topic, 0)] == pytest.approx(written_ms, abs=300)


@pytest.mark.parametrize("absurd_ms", [0, NOW - 3600 * S, NOW + 3600 * S, 4_102_444_800_000, (1 << 63) - 1])
def test_a_record_with_an_absurd_time_is_of_between_the_one_before_and_when_it_was_read(absurd_ms):
    one, (windows,) = intake()
    for number in range(10):
        written_ms = NOW + number * 60 * S
        told_ms = absurd_ms if number == 5 else written_ms
        take(one, (key(), value(number)), read_ms=written_ms + 20, times=[told_ms])
        at_ms = int(windows.committed_ms[windows.slot("orders", 0)])
        if number == 5:
            assert written_ms - 60 * S <= at_ms <= written_ms + 20
        else:
            assert at_ms == pytest.approx(written_ms, abs=20)


def test_a_time_of_the_past_is_taken_as_it_is_and_never_lies_ahead():
    one, (windows,) = intake()
    take(one, (key(), value(1)), (key("late"), value(1)), live=False, times=[NOW - 86_400_000, NOW + 60 * S])
    assert windows.committed_ms[windows.slot("orders", 0)] == NOW - 86_400_000
    assert windows.committed_ms[windows.slot("late", 0)] == NOW
    take(one, (key("none"), value(1)), times=[-1])
    assert windows.committed_ms[windows.slot("none", 0)] == NOW


def test_offsets_that_come_all_the_time_leave_a_window_longer_than_two_polls():
    windows = MirrorWindows()
    for number in range(1000):
        windows.take("orders", 0, number, NOW + number * 100, live=True)
    times = windows.rings.committed_ms[0]
    assert windows.rings.offset[0, -1] == 1000
    assert times[-1] == NOW + 99_900
    assert times[-1] - times[0] >= 8 * NEAR_MS
    assert (times[1:] > times[:-1]).all()


def test_a_step_back_among_offsets_that_come_all_the_time_stays_in_the_window():
    windows = MirrorWindows()
    for number in (*range(100, 200), *range(120, 130)):
        windows.take("orders", 0, number, NOW + number, live=True)
    assert windows.rings.offset[0].max() > windows.rings.offset[0, -1] == 130
    assert 121 in windows.rings.offset[0]  # to where it went


def test_a_tail_is_put_back_when_the_mirror_moves_on_within_it():
    windows = MirrorWindows()
    windows.take("orders", 0, 99, NOW, live=True)
    slots = windows.rings.filled[:1].nonzero()[0]
    windows.settle(slots, slots * 0 + 110)
    assert windows.rings.offset[0, -1] == 110
    windows.take("orders", 0, 104, NOW + 60 * S, live=True)
    assert windows.rings.offset[0, -2:].tolist() == [100, 105]
    assert windows.rest[0] == -1


ORDERS = [
    order_of(Flow("A", "B")),
    order_of(Flow("A", "B", source_alias="", target_alias="down", policy=ReplicationPolicy(separator="-"))),
    order_of(
        Flow(
            "eu-1",
            "us",
            policy=ReplicationPolicy(PolicyKind.IDENTITY, "_", internal_separator_enabled=False),
            topic_filter=TopicFilter("a.*, b", "b.*"),
            mirror_version="3.9",
            heartbeats_replicated=False,
            refresh_topics_interval_s=None,
            offset_flush_interval_s=5.0,
            isolation_level="read_committed",
            offset_reset="latest",
            on_connect=True,
            connector="mine",
        ),
        cluster="us",
        topic="connect-offsets",
        status_topic="connect-status",
    ),
    order_of(Flow("A", "B", offset_syncs_location="target"), lag_from="offset-syncs"),
    order_of(Flow("A", "B", on_connect=True, connector="", exactly_once=True), topic="connect-offsets"),
]


READ_BY_PROCESSES = (
    "offset_syncs_topic",
    "offset_syncs_location",
    "checkpoints_topic",
    "named_source",
    "connector",
    "exactly_once",
    "isolation_level",
    "offset_reset",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
)


@pytest.mark.parametrize("order", ORDERS, ids=lambda one: one.name)
def test_an_order_goes_over_to_the_process_whole(order):
    found = read_mirror(json.loads(json.dumps(write_mirror(order))))
    assert write_mirror(found) == write_mirror(order)
    for topic in ("a1", "b", "c", "heartbeats", "B.x", "mm2-offsets.A.internal"):
        assert found.flow.decide(topic) == order.flow.decide(topic)
    for name in READ_BY_PROCESSES:
        assert getattr(found.flow, name) == getattr(order.flow, name), name


def test_a_connector_whose_name_is_not_known_may_have_any():
    flow = Flow("A", "B", on_connect=True, connector="", offset_storage_topic="connect-offsets")
    one, (windows,) = intake(order_of(flow))
    take(one, (key(connector="its-name"), value(41)), (key(connector="its-name", cluster="C"), value(90)))
    assert windows.next_offset[windows.slot("orders", 0)] == 42
    assert (one.taken.offsets, one.taken.others) == (1, 1)


@pytest.mark.parametrize(
    ("flow", "how", "topic"),
    [
        ({}, {}, "mm2-status.A.internal"),
        ({"status_storage_topic": ""}, {"topic": "mine"}, "mm2-status.A.internal"),
        ({"status_storage_topic": "states"}, {}, "states"),
        ({}, {"topic": "connect-offsets"}, ""),  # of a worker of Connect, as a flow with `offsets` is one
        ({"on_connect": True, "connector": "mine"}, {"topic": "connect-offsets"}, ""),
        ({"on_connect": True, "connector": ""}, {"topic": "connect-offsets"}, ""),
        ({"on_connect": True, "connector": ""}, {}, ""),
        ({"on_connect": True, "connector": "mine", "status_storage_topic": "states"}, {}, "states"),
        # as an operator says, whatever else is known
        ({"on_connect": True, "connector": "mine"}, {"topic": "t", "status_topic": "told"}, "told"),
        ({}, {"topic": "connect-offsets", "status_topic": "told"}, "told"),
        ({"status_storage_topic": "states"}, {"topic": "t", "status_topic": "told"}, "told"),
        ({}, {"lag_from": "offset-syncs"}, ""),
    ],
)
def test_where_a_worker_shows_the_states_of_its_tasks(flow, how, topic):
    order = order_of(Flow("A", "B", **flow), **how)
    assert order.status_topic == topic
    assert read_mirror(write_mirror(order)).status_topic == topic


@pytest.mark.parametrize(
    ("flow", "how", "topic"),
    [
        ({}, {}, "mm2-configs.A.internal"),
        ({"status_storage_topic": "", "config_storage_topic": "mine"}, {"topic": "t"}, "mine"),
        ({}, {"topic": "connect-offsets"}, ""),
        ({"on_connect": True, "connector": "mine"}, {"topic": "t"}, ""),
        ({"on_connect": True, "connector": "mine", "config_storage_topic": "of-it"}, {}, "of-it"),
        # among those of others nothing tells which are its own; an operator who names the topic is warned
        ({"on_connect": True, "connector": "", "config_storage_topic": "of-it"}, {}, ""),
        ({"on_connect": True, "connector": ""}, {"topic": "t", "config_topic": "told"}, "told"),
        ({"on_connect": True, "connector": "mine"}, {"topic": "t", "config_topic": "told"}, "told"),
        ({"config_storage_topic": "of-it"}, {"config_topic": "told"}, "told"),
        ({"config_storage_topic": "of-it"}, {"lag_from": "offset-syncs"}, ""),
    ],
)
def test_where_a_worker_shows_what_its_tasks_have(flow, how, topic):
    order = order_of(Flow("A", "B", **flow), **how)
    assert order.config_topic == topic
    assert read_mirror(write_mirror(order)).config_topic == topic


def test_where_offsets_are_unless_an_operator_says_so():
    dedicated = order_of(Flow("A", "B"))
    assert (dedicated.offsets_cluster, dedicated.offsets_topic) == ("B", "mm2-offsets.A.internal")
    assert dedicated.connector == ""
    nameless = order_of(Flow("A", "B", on_connect=True))
    assert nameless == MirrorOrder(nameless.flow, "B", "", "MirrorSourceConnector")
    told = order_of(Flow("A", "B", offset_storage_topic="x"), cluster="A", topic="connect-offsets")
    assert (told.offsets_cluster, told.offsets_topic) == ("A", "connect-offsets")


@pytest.mark.parametrize("late", [value(1199), None])
def test_of_two_connectors_the_older_offset_does_not_count_though_it_is_read_last(late):
    flow = Flow("A", "B", on_connect=True, connector="", offset_storage_topic="connect-offsets")
    one, (windows,) = intake(order_of(flow))
    take(one, (key(connector="new"), value(4999)), live=False, times=[NOW - 60 * S])
    take(one, (key(connector="old"), late), live=False, times=[NOW - 86_400 * S])
    assert windows.next_offset[windows.slot("orders", 0)] == 5000
    assert (one.taken.offsets, one.taken.others) == (1, 1)
    take(one, (key(connector="third"), value(5999)), live=False, times=[NOW - 30 * S])
    assert windows.next_offset[windows.slot("orders", 0)] == 6000
    take(one, (key(connector="old"), value(1299)))  # it is at work
    assert windows.next_offset[windows.slot("orders", 0)] == 1300
