"""Groups whose offsets a mirror writes on its target, where nobody reads: they are told apart, and never alarm."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet.mm2.filters import GroupFilter, TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from fleet.wire.commits import (
    GroupDescribed,
    GroupGone,
    Member,
    MemberDescribed,
    MemberGone,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
)
from lagmon.groups.carried import carries_groups, writes
from lagmon.groups.rules.words import Status
from lagmon.ingest.admin_intake import AdminIntake
from lagmon.mirrors.answers.orders import order_of, read_mirror, write_mirror
from tests.mirrorwatch.monitored import LOOK_S, NOW_S, Monitored, end_at

CARRYING = Flow("A", "B", sync_group_offsets=True)


def monitored(*flows):
    made = Monitored("A", "B", flows=flows or (CARRYING,))
    for topic in ("A.orders", "A.pay", "native", "C.orders", "orders"):
        made.topic("B", topic)
    return made


def member(name="m"):
    return Member(name, None, "client", "/10.0.0.1", (), ())


def classic(group, *members, generation=1):
    return GroupDescribed(group, "consumer", generation, None, None, None, members)


def commit(made, group, topic, partition=0, offset=5):
    """Commit on a topic of B that no list of topics need have yet."""
    key, value = encode_commit_key(group, topic, partition), encode_commit_value(offset, NOW_S * 1000)
    made.watches["B"].lag.intake.take([key], [value], read_ms=NOW_S * 1000, live=True)


def status_of(made, group, alias="B"):
    lag = made.watches[alias].lag
    view = lag.see(NOW_S * 1000)
    number = lag.slots.number(group)
    return Status(int(view.groups.status[number])).name, view.carried.get(number, ())


async def line_of(made, group):
    head, body = await made.ask("groups", kafka_cluster="B", search=group)
    assert head["status"] == 200
    return json.loads(body)["groups"][0]


@pytest.mark.parametrize("kind", ["stopped", "stalled", "growing", "rewound", "overtaken", "once", "moving"])
def test_a_group_that_only_the_mirror_writes_is_ok_whatever_its_offsets_do(kind):
    made = monitored()
    made.group("B", "billing", "A.orders", kind)
    assert status_of(made, "billing") == ("OK", ("A->B",))
    without = monitored(replace(CARRYING, sync_group_offsets=False))
    without.group("B", "billing", "A.orders", kind)
    assert (status_of(without, "billing")[0] == "OK") == (kind == "moving")


async def test_its_lag_is_told_and_who_carries_it():
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    line = await line_of(made, "billing")
    lag = end_at(NOW_S) - (end_at(NOW_S - 605) - 20)
    assert (line["status"], line["carried_by"], line["lag_records"]) == ("OK", ["A->B"], lag)
    assert line["sentence"] == (
        "Offset synced by A->B; no member of the group reads here. "
        f"Lag after a failover: {lag:,}, at offset {end_at(NOW_S - 605) - 20}."
    )


def test_what_is_unknown_of_its_offset_stays_unknown():
    made = monitored()
    made.group("B", "billing", "A.orders", "ahead")
    made.watches["B"].lag.heads.note(
        made.places("B", "A.orders"), made.ends("B", "A.orders"), (NOW_S + LOOK_S) * 1000
    )
    assert status_of(made, "billing")[0] == "UNKNOWN"


@pytest.mark.parametrize(
    "joins",
    [
        (classic("billing", member()),),
        (classic("billing", member()), classic("billing", generation=2)),
        (classic("billing", generation=7),),  # all that is left of its record after a restart
        (MemberDescribed("billing", "m", None, "client", "/10.0.0.1", (), None),),
        (
            MemberDescribed("billing", "m", None, "client", "/10.0.0.1", (), None),
            MemberGone("billing", "m"),
        ),
    ],
    ids=["has a member", "had one", "had one before we looked", "KIP-848", "had one of KIP-848"],
)
def test_a_group_that_a_member_joined_there_is_a_group_like_any_other(joins):
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    assert status_of(made, "billing") == ("OK", ("A->B",))
    for record in joins:
        made.watches["B"].lag.membership.take(record)
    assert status_of(made, "billing") == ("STOP", ())


def test_the_record_of_a_group_of_kip_848_itself_tells_that_it_had_a_member():
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    lag = made.watches["B"].lag
    lag.intake.take([encode_group_key(3, "billing")], [b"\0\0\0\0\0\5"], read_ms=NOW_S * 1000, live=True)
    assert status_of(made, "billing") == ("STOP", ())


def test_a_group_that_was_deleted_there_and_comes_again_is_carried():
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    for record in (classic("billing", member()), GroupGone("billing")):
        made.watches["B"].lag.membership.take(record)
    assert status_of(made, "billing") == ("OK", ("A->B",))


def test_a_copy_whose_group_was_deleted_on_the_source_is_still_carried():
    made = monitored()
    made.group("B", "gone from A", "A.orders", "stopped")
    assert made.watches["A"].lag.slots.number("gone from A") is None
    assert status_of(made, "gone from A") == ("OK", ("A->B",))


def test_a_group_with_an_offset_on_a_topic_of_nobodys_mirror_is_a_group_of_that_cluster():
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    made.group("B", "billing", "native", "moving")
    assert status_of(made, "billing") == ("STOP", ())


def test_a_group_on_the_source_is_never_carried():
    made = monitored()
    made.topic("A", "B.orders")
    made.group("A", "billing", "B.orders", "stopped")
    assert status_of(made, "billing", alias="A") == ("STOP", ())


@pytest.mark.parametrize(
    ("flow", "carried"),
    [
        (CARRYING, True),
        (replace(CARRYING, sync_group_offsets=False), False),
        (replace(CARRYING, emit_checkpoints_interval_s=None), False),
        (Flow("A", "B"), False),
    ],
    ids=["said so", "said not", "no checkpoints are written", "not said"],
)
def test_only_a_flow_whose_configuration_says_so_carries_groups(flow, carried):
    assert carries_groups(flow) is carried
    made = monitored(flow)
    made.group("B", "billing", "A.orders", "stopped")
    assert (status_of(made, "billing")[0] == "OK") is carried


@pytest.mark.parametrize(
    ("group_filter", "group", "carried"),
    [
        (GroupFilter("bill.*"), "billing", True),
        (GroupFilter("ship.*"), "billing", False),
        (GroupFilter(), "console-consumer-7", False),
        (GroupFilter(".*", "billing"), "billing", False),
    ],
)
def test_a_group_that_the_filter_of_groups_leaves_out_is_none_of_the_mirrors(group_filter, group, carried):
    made = monitored(replace(CARRYING, group_filter=group_filter))
    made.group("B", group, "A.orders", "stopped")
    assert (status_of(made, group)[0] == "OK") is carried


@pytest.mark.parametrize(
    ("flow", "topic", "written"),
    [
        (CARRYING, "A.orders", True),
        (CARRYING, "orders", False),
        (CARRYING, "C.orders", False),
        (CARRYING, "A.B.orders", False),  # a cycle: no mirror copies B.orders back
        (CARRYING, "A.mm2-offsets.C.internal", False),
        (replace(CARRYING, topic_filter=TopicFilter("pay")), "A.orders", False),
        (replace(CARRYING, policy=ReplicationPolicy(separator="_")), "A_orders", True),
        (replace(CARRYING, policy=ReplicationPolicy(separator="_")), "A.orders", False),
        (replace(CARRYING, policy=ReplicationPolicy(PolicyKind.IDENTITY)), "orders", True),
    ],
)
def test_which_topics_of_the_target_a_flow_writes(flow, topic, written):
    assert writes(flow, topic) is written


async def test_a_group_that_two_flows_carry_has_both():
    made = monitored(CARRYING, replace(CARRYING, source="C"))
    made.group("B", "billing", "A.orders", "stopped")
    made.group("B", "billing", "C.orders", "stopped")
    made.group("B", "shipping", "C.orders", "stopped")
    assert status_of(made, "billing") == ("OK", ("A->B", "C->B"))
    assert status_of(made, "shipping") == ("OK", ("C->B",))
    assert (await line_of(made, "billing"))["sentence"].startswith("Offset synced by A->B and C->B;")


def test_a_topic_that_is_new_on_the_target_is_known_with_the_next_list():
    made = monitored()
    made.topic("B", "A.later")
    made.group("B", "billing", "A.later", "stopped")
    assert status_of(made, "billing") == ("OK", ("A->B",))
    lag = made.watches["B"].lag
    lag.note_topics({topic: count for topic, count in lag.topics.items() if not topic.startswith("A.")})
    made.group("B", "another", "native", "stopped")
    assert status_of(made, "another") == ("STOP", ())


@pytest.mark.parametrize(("topic", "partition"), [("A.new", 0), ("A.new", 200), ("A.orders", 6)])
def test_a_copy_that_is_in_no_list_yet_keeps_its_groups_carried(topic, partition):
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    commit(made, "billing", topic, partition)
    assert status_of(made, "billing") == ("UNKNOWN", ("A->B",))  # the new log's end is not read yet
    lag = made.watches["B"].lag
    lag.note_topics({**lag.topics, topic: partition + 1})
    assert status_of(made, "billing") == ("UNKNOWN", ("A->B",))


@pytest.mark.parametrize(("topic", "partition"), [("later", 0), ("native", 6)])
def test_nobodys_topic_that_is_in_no_list_yet_is_nobodys(topic, partition):
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped")
    commit(made, "billing", topic, partition)
    assert status_of(made, "billing") == ("STOP", ())


def test_places_that_are_given_out_again_are_judged_by_the_topic_that_has_them_now():
    made = monitored()
    lag = made.watches["B"].lag
    commit(made, "billing", "A.new")
    assert status_of(made, "billing") == ("UNKNOWN", ("A->B",))
    (place,) = lag.places.of("A.new")
    lag.note_topics(dict(lag.topics))  # without it
    commit(made, "wide", "later", 199)
    commit(made, "billing", "later", lag.places.of("later").index(place))
    assert status_of(made, "billing") == ("UNKNOWN", ())


IDENTITY = replace(CARRYING, policy=ReplicationPolicy(PolicyKind.IDENTITY))
OF_A = replace(IDENTITY, group_filter=GroupFilter("shop-.*, both"))
OF_C = replace(IDENTITY, source="C", group_filter=GroupFilter("bill-.*, both"))


@pytest.mark.parametrize("flows", [(OF_A, OF_C), (OF_C, OF_A)])
@pytest.mark.parametrize(
    ("group", "carriers"),
    [("shop-1", {"A->B"}), ("bill-1", {"C->B"}), ("both", {"A->B", "C->B"}), ("neither", set())],
)
def test_of_flows_that_write_one_topic_those_carry_whose_filter_lets_the_group_through(
    flows, group, carriers
):
    made = monitored(*flows)
    made.group("B", group, "orders", "stopped")
    status, told = status_of(made, group)
    assert (status == "OK", set(told)) == (bool(carriers), carriers)


def test_each_topic_of_a_group_takes_a_flow_that_lets_it_through():
    made = monitored(OF_A, replace(OF_C, topic_filter=TopicFilter("pay")))
    made.topic("B", "pay")
    for group in ("shop-1", "both"):
        made.group("B", group, "orders", "stopped")
    for group in ("bill-1", "both"):
        made.group("B", group, "pay", "stopped")
    made.group("B", "bill-1", "orders", "stopped")
    assert status_of(made, "shop-1") == ("OK", ("A->B",))
    assert status_of(made, "both") == ("OK", ("A->B", "C->B"))
    assert status_of(made, "bill-1") == ("STOP", ())  # nobody carries it on orders


async def test_they_are_counted_by_flow():
    made = monitored()
    for number in range(7):
        made.group("B", f"copy-{number}", "A.orders", "stopped", "moving")
    made.group("B", "local", "native", "stopped")
    for question in ("groups", "group_counts"):
        _, body = await made.ask(question)
        document = json.loads(body)
        assert (document["carried"], document["by_status"]) == ({"A->B": 7}, {"STOP": 1, "OK": 7})
    _, body = await made.ask("groups", search="copy-3")
    assert json.loads(body)["carried"] == {"A->B": 1}
    _, body = await made.ask("groups", kafka_cluster="A")
    assert json.loads(body)["carried"] == {}


async def test_its_page_has_the_reason_of_each_partition():
    made = monitored()
    made.group("B", "billing", "A.orders", "stopped", "moving")
    _, body = await made.ask("group", kafka_cluster="B", group="billing")
    document = json.loads(body)
    assert document["carried_by"] == ["A->B"]
    assert [(row["status"], row["reason"]) for row in document["rows"]] == [("OK", "carried")] * 2
    assert all(row["sentence"].startswith("Offset synced by A->B;") for row in document["rows"])


@pytest.mark.parametrize(
    ("state", "members", "status"),
    [
        (None, None, "STOP"),  # nothing is known of its members yet
        ("empty", None, "OK"),
        ("joined", None, "STOP"),  # empty, and it had members
        ("stable", [("m", "client", "/10.0.0.1", [])], "STALL"),
    ],
)
def test_a_group_that_is_asked_for_is_carried_once_it_is_known_to_be_empty(state, members, status):
    made = Monitored("B", flows=[CARRYING])
    lag = made.watches["B"].lag
    made.topic("B", "A.orders")
    admin = AdminIntake(lag)
    admin.begin()
    at_ms = (NOW_S - 600) * 1000
    offset = end_at(NOW_S - 600)
    admin.take_offsets("billing", [("A.orders", 0, offset)], asked_ms=at_ms, answered_ms=at_ms)
    if state is not None:
        admin.take_state("billing", state.replace("joined", "empty"), had_members=state == "joined")
    if members is not None:
        admin.take_members("billing", members)
    admin.take_offsets("billing", [("A.orders", 0, offset)], asked_ms=NOW_S * 1000, answered_ms=NOW_S * 1000)
    assert status_of(made, "billing")[0] == status


@pytest.mark.parametrize(
    "flow",
    [
        CARRYING,
        replace(CARRYING, group_filter=GroupFilter("a.*, b", "bc")),
        replace(CARRYING, emit_checkpoints_interval_s=None),
        Flow("A", "B"),
    ],
)
def test_the_process_is_told_whether_a_flow_carries_groups_and_which(flow):
    found = read_mirror(json.loads(json.dumps(write_mirror(order_of(flow))))).flow
    assert carries_groups(found) is carries_groups(flow)
    assert found.group_filter == flow.group_filter


def test_thousands_of_copies_are_all_told_apart():
    made = monitored()
    lag = made.watches["B"].lag
    keys = [encode_commit_key(f"g{number}", "A.orders", number % 6) for number in range(3_000)]
    value = encode_commit_value(1_000_000, (NOW_S - 300) * 1000, version=3)
    lag.intake.take(keys, [value] * len(keys), read_ms=NOW_S * 1000, live=True)
    view = lag.see(NOW_S * 1000)
    assert len(view.carried) == 3_000
    assert set(view.groups.status[list(view.carried)].tolist()) == {Status.OK}
