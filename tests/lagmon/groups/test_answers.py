from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.wire.commits import GroupDescribed, Member, encode_commit_key
from lagmon.arrays.group_id import group_id
from lagmon.cluster.readiness import not_ready, unread
from lagmon.groups.listing import group_line, matching
from lagmon.groups.rows import partition_rows
from lagmon.ingest.commits import Progress
from runtime.process.supervision import Phase, State
from tests.mirrorwatch.monitored import COMMITS, LOOK_S, NOW_S, Monitored, end_at

READING = Progress(partitions=50, total_records=2000, read_records=500, began_at=1.0)


@pytest.fixture
def monitored():
    made = Monitored("A", "B")
    for alias in "AB":
        made.topic(alias, "orders")
    made.group("A", "billing", "orders", "moving", "stopped", "growing")
    made.group("A", "shipping", "orders", "moving")
    made.group("A", "Refunds", "orders", "growing")
    made.group("B", "billing", "orders", "overtaken")
    return made


async def told(monitored, question, **details):
    head, body = await monitored.ask(question, **details)
    return head["status"], json.loads(body)


async def test_groups_come_worst_first_and_are_counted(monitored):
    status, document = await told(monitored, "groups")
    assert status == 200
    found = [(line["kafka_cluster"], line["group"], line["status"]) for line in document["groups"]]
    assert found == [
        ("B", "billing", "ERR"),
        ("A", "billing", "STOP"),
        ("A", "Refunds", "WARN"),
        ("A", "shipping", "OK"),
    ]
    assert list(document["by_status"].items()) == [("ERR", 1), ("STOP", 1), ("WARN", 1), ("OK", 1)]
    assert (document["count"], document["not_ready"]) == (4, {})
    _, counted = await told(monitored, "group_counts")
    assert (counted["count"], counted["by_status"]) == (4, document["by_status"])


async def test_the_sentence_of_a_group_names_its_worst_partition(monitored):
    _, document = await told(monitored, "groups", kafka_cluster="A")
    line = document["groups"][0]
    assert line["worst"] == {"topic": "orders", "partition": 1}
    assert "No progress for 10 min 5 s" in line["sentence"]
    assert line["lag_s_kind"] == "exact"


async def test_what_was_written_before_all_looks_is_a_bound(monitored):
    _, document = await told(monitored, "groups", kafka_cluster="B")
    assert document["groups"][0]["lag_s_kind"] == "at_least"


async def test_the_time_lag_of_a_group_is_a_bound_while_that_of_one_partition_is(monitored):
    watch = monitored.watches["A"]
    watch.lag.note_topics({**watch.lag.topics, "new": 1})
    places = monitored.places("A", "new")
    for ago_s in (60, 50, 0):  # a shorter history than the time lag of the other partition
        watch.lag.heads.note(places, np.array([end_at(NOW_S - ago_s)]), (NOW_S - ago_s) * 1000)
    monitored.group("A", "both", "orders", "stopped")
    monitored.group("A", "both", "new", "far behind")
    _, document = await told(monitored, "group", kafka_cluster="A", group="both")
    assert [(row["topic"], row["lag_s"], row["lag_s_kind"]) for row in document["rows"]] == [
        ("orders", 605.39, "exact"),
        ("new", 60.0, "at_least"),
    ]
    assert (document["lag_s"], document["lag_s_kind"]) == (605.39, "at_least")


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [(("moving", "stopped"), "exact"), (("moving", "beyond"), "at_least"), (("beyond",), "none")],
)
async def test_the_largest_lag_is_a_bound_while_that_of_one_partition_is_unknown(
    monitored, monkeypatch, kinds, kind
):
    monkeypatch.setitem(COMMITS, "beyond", [(NOW_S - 95, end_at(NOW_S) + 10**6)])
    monitored.group("A", "new", "orders", *kinds)
    _, document = await told(monitored, "group", kafka_cluster="A", group="new", address="/x", most=10)
    assert (document["lag_records_kind"], document["max_lag_records_kind"]) == (kind, kind)
    assert (document["max_lag_records"] is None) == (kind == "none")


@pytest.mark.parametrize(
    ("search", "found"), [("ING", ["billing", "shipping"]), ("refund", ["Refunds"]), ("zzz", [])]
)
async def test_a_search_finds_parts_of_names_in_any_case(monitored, search, found):
    _, document = await told(monitored, "groups", kafka_cluster="A", search=search)
    assert [line["group"] for line in document["groups"]] == found
    assert document["count"] == len(found) == sum(document["by_status"].values())


async def test_a_page_holds_no_more_than_is_asked_for(monitored):
    _, document = await told(monitored, "groups", first=1, most=2)
    assert [line["status"] for line in document["groups"]] == ["STOP", "WARN"]
    assert (document["offset"], document["count"]) == (1, 4)
    _, beyond = await told(monitored, "groups", first=9, most=2)
    assert (beyond["groups"], beyond["count"]) == ([], 4)


async def test_a_group_that_was_read_just_now_is_in_the_list(monitored):
    await told(monitored, "groups")
    monitored.group("A", "new", "orders", "stopped")
    _, document = await told(monitored, "groups", search="new")
    assert [line["status"] for line in document["groups"]] == ["STOP"]


def replace(monitored, old, new):
    """Have a group's one offset deleted and another begin, which gets its numbers."""
    watch = monitored.watches["A"]
    number = watch.lag.slots.number(old)
    tombstones = [encode_commit_key(old, "orders", 0)]
    watch.lag.intake.take(tombstones, [None], read_ms=NOW_S * 1000, live=True)
    monitored.group("A", new, "orders", "stopped")
    assert watch.lag.slots.number(new) == number


async def test_a_group_that_got_the_number_of_another_has_not_its_verdict(monitored):
    await told(monitored, "groups")
    replace(monitored, "shipping", "new")
    _, document = await told(monitored, "groups", search="new")
    assert [(line["group"], line["status"]) for line in document["groups"]] == [("new", "STOP")]
    replace(monitored, "new", "newer")
    _, document = await told(monitored, "group", kafka_cluster="A", group="newer")
    assert (document["group"], document["status"]) == ("newer", "STOP")
    assert [row["status"] for row in document["rows"]] == ["STOP"]


async def test_verdicts_leave_out_what_has_their_numbers_since(monitored):
    watch = monitored.watches["A"]
    view = watch.lag.see(NOW_S * 1000)
    replace(monitored, "shipping", "new")
    found = matching("A", watch.lag, view, "")
    assert sorted(one.name for one in found) == ["Refunds", "billing"]
    assert partition_rows(watch.lag, view, "new") == ([], 0)
    billing = watch.lag.slots.number("billing")
    assert group_line("A", "billing", billing, watch.lag, view)["worst"] == {
        "topic": "orders",
        "partition": 1,
    }
    keys = [encode_commit_key("billing", "orders", 1)]
    watch.lag.intake.take(keys, [None], read_ms=NOW_S * 1000, live=True)
    monitored.group("A", "newest", "orders", "moving")  # at the slot of billing's worst partition
    assert group_line("A", "billing", billing, watch.lag, view)["worst"] is None
    assert partition_rows(watch.lag, view, "billing")[1] == 2


async def test_an_unknown_cluster_is_not_an_empty_one(monitored):
    for question in ("groups", "group"):
        status, document = await told(monitored, question, kafka_cluster="C", group="billing")
        assert status == 404
        assert document == {"error": "unknown Kafka cluster 'C'; known: A, B"}


async def test_a_group_shows_its_partitions_worst_first_with_where_the_log_ended(monitored):
    status, document = await told(monitored, "group", kafka_cluster="A", group="billing")
    assert status == 200
    assert [(row["partition"], row["status"]) for row in document["rows"]] == [
        (1, "STOP"),
        (2, "WARN"),
        (0, "OK"),
    ]
    ends = document["rows"][0]["ends"]
    assert ends[-1] == {"offset": end_at(NOW_S), "read_at_ms": NOW_S * 1000}
    assert ends[-2] == {"offset": end_at(NOW_S - LOOK_S), "read_at_ms": (NOW_S - LOOK_S) * 1000}
    times = [one["read_at_ms"] for one in ends]
    assert times == sorted(set(times))
    assert times[0] <= (NOW_S - 800) * 1000
    _, second = await told(monitored, "group", kafka_cluster="A", group="billing", first=1, most=1)
    assert [row["partition"] for row in second["rows"]] == [2]
    assert (second["count"], second["offset"]) == (3, 1)


async def test_a_group_is_found_by_the_id_of_its_name(monitored):
    _, document = await told(monitored, "group", kafka_cluster="A", group_id=group_id("Refunds"))
    assert document["group"] == "Refunds"
    status, _ = await told(monitored, "group", kafka_cluster="B", group_id=group_id("Refunds"))
    assert status == 404


async def test_one_cluster_that_is_not_read_yet_does_not_blind_the_other(monitored):
    monitored.watches["A"].reader = SimpleNamespace(progress=READING)
    status, document = await told(monitored, "groups")
    assert status == 200
    assert list(document["not_ready"]) == ["A"]
    assert document["not_ready"]["A"]["read_records"] == 500
    status, document = await told(monitored, "groups", kafka_cluster="A")
    assert status == 503
    assert document["count"] == 3
    status, document = await told(monitored, "groups", kafka_cluster="B")
    assert (status, document["not_ready"]) == (200, {})


async def test_a_group_that_is_not_known_yet_is_not_called_missing(monitored):
    monitored.watches["A"].reader = None
    status, document = await told(monitored, "group", kafka_cluster="A", group="late")
    assert status == 503
    assert document["error"] == ("Groups of A are not read yet. Reading topics and log end offsets.")
    status, document = await told(monitored, "group", kafka_cluster="B", group="late")
    assert (status, document["error"]) == (404, "No group of this name has an offset on B.")


@pytest.mark.parametrize(
    ("state", "progress", "phase", "sentence"),
    [
        (None, None, "starting", "Reading topics and log end offsets."),
        (Phase.RUNNING, Progress(), "starting", "Reading topics and log end offsets."),
        (
            Phase.RUNNING,
            READING,
            "reading",
            "Reading commits of groups: 500 of 2,000 records, 25 %.",
        ),
        (
            Phase.RUNNING,
            Progress(total_records=10, read_records=14, began_at=1.0, problem="broker 2 is away"),
            "reading",
            "Reading commits of groups: 10 of 10 records, 100 %. Broker 2 is away.",
        ),
        (
            Phase.RUNNING,
            Progress(began_at=1.0),
            "reading",
            "Reading commits of groups: 0 of 0 records.",
        ),
        (Phase.DOWN, None, "down", "Cluster A: nobody answers."),
        (
            Phase.REFUSED,
            Progress(began_at=1.0, ready_after_s=1.0, total_records=5, read_records=5),
            "refused",
            "Cluster A: nobody answers.",
        ),
    ],
)
def test_it_says_how_far_the_reading_has_come(state, progress, phase, sentence):
    state = None if state is None else State("A", state, "cluster A: nobody answers")
    told = not_ready(state, progress)
    assert (told["phase"], told["sentence"]) == (phase, sentence)
    assert told["read_records"] <= told["total_records"]


WHY = "cluster A: nothing listens there: is bootstrap.servers right?"


@pytest.mark.parametrize(("refused", "phase"), [(False, "down"), (True, "refused")])
async def test_a_cluster_that_failed_at_its_last_look_is_not_starting_while_it_is_tried_again(
    monitored, refused, phase
):
    watch = monitored.watches["A"]
    watch.reader = None
    watch.lag.note_answer(NOW_S * 1000, WHY, refused=refused)
    monitored.states["A"] = State("A", Phase.RUNNING, failures=1)
    _, document = await told(monitored, "groups")
    why = document["not_ready"]["A"]
    assert (why["phase"], why["sentence"]) == (phase, f"C{WHY[1:]}")
    watch.lag.note_answer(NOW_S * 1000)
    _, document = await told(monitored, "groups")
    assert document["not_ready"]["A"]["phase"] == "starting"


async def test_groups_that_are_known_stay_so_while_a_look_fails_and_since_when_it_does_is_said(monitored):
    monitored.watches["A"].lag.note_answer(NOW_S * 1000, WHY)
    away = {
        "A": {
            "since_ms": NOW_S * 1000,
            "sentence": f"A has not answered since 2026-05-28 20:26:40 UTC: {WHY}",
        }
    }
    status, document = await told(monitored, "groups")
    assert (status, document["not_ready"], document["away"]) == (200, {}, away)
    status, document = await told(monitored, "group", kafka_cluster="A", group="billing")
    assert (status, document["not_ready"], document["away"]) == (200, {}, away)
    _, document = await told(monitored, "groups", kafka_cluster="B")
    assert document["away"] == {}


async def test_a_cluster_that_was_never_read_is_not_ready_and_not_also_away(monitored):
    watch = monitored.watches["A"]
    watch.reader = None
    watch.lag.note_answer(NOW_S * 1000, WHY)
    _, document = await told(monitored, "groups")
    assert (list(document["not_ready"]), document["away"]) == (["A"], {})


@pytest.mark.parametrize(
    ("progress", "known", "expected"),
    [
        (None, False, True),
        (None, True, False),  # it was read, and the reading has ended
        (Progress(), False, True),
        (READING, False, True),
        # All that can be read is: the rest is in partitions without a leader.
        (Progress(began_at=1.0, total_records=5, read_records=5), False, False),
        (Progress(began_at=1.0, total_records=5, read_records=5, ready_after_s=0.1), True, False),
        (Progress(began_at=1.0, ready_after_s=0.0), False, False),  # no group ever committed
        (Progress(began_at=1.0, total_groups=0), False, True),
        (Progress(began_at=1.0, total_groups=9, asked_groups=3), True, True),
        (Progress(began_at=1.0, total_groups=9, asked_groups=9, ready_after_s=1.0), True, False),
        (Progress(began_at=1.0, total_groups=0, ready_after_s=1.0, refused="no right"), False, True),
    ],
)
def test_groups_are_unread_until_what_was_there_at_the_start_is_read(progress, known, expected):
    assert unread(progress, known=known) is expected


def test_nothing_is_said_once_all_was_read():
    assert not_ready(State("A", Phase.RUNNING), Progress(began_at=1.0, ready_after_s=0.0)) is None


def test_groups_that_are_asked_are_told_by_how_many_were():
    progress = Progress(began_at=1.0, total_groups=5000, asked_groups=1200, problem="one of them refuses")
    told = not_ready(State("A", Phase.RUNNING), progress)
    assert told["sentence"] == (
        "Reading offsets with the Admin API: 1,200 of 5,000 groups. One of them refuses."
    )
    told = not_ready(None, Progress(began_at=1.0, total_groups=0))
    assert told["sentence"] == "Listing groups with the Admin API."


async def test_groups_that_commit_no_offsets_are_counted_by_cluster_and_kind(monitored):
    membership = monitored.watches["A"].lag.membership
    for group, protocol_type in [("workers", "connect"), ("sharers", "share"), ("billing", "connect")]:
        membership.note_kind(group, protocol_type)
    _, document = await told(monitored, "groups")
    assert document["other_groups"] == {"A": {"connect": 1, "share": 1}, "B": {}}
    _, document = await told(monitored, "groups", kafka_cluster="B")
    assert document["other_groups"] == {"B": {}}
    status, document = await told(monitored, "group", kafka_cluster="A", group="sharers")
    assert (status, document["error"]) == (
        404,
        "No group of this name has an offset on A. The group exists as a share group: it commits no offsets.",
    )


async def test_a_group_with_members_that_has_committed_nothing_is_counted_and_told_by_its_name(monitored):
    member = Member("m", None, "client", "/10.0.0.1", (), ())
    for group in ("silent", "billing"):
        told_of = GroupDescribed(group, "consumer", 1, None, None, None, (member,))
        monitored.watches["A"].lag.membership.take(told_of)
    _, document = await told(monitored, "groups")
    assert document["other_groups"] == {"A": {"consumer": 1}, "B": {}}
    status, document = await told(monitored, "group", kafka_cluster="A", group="silent")
    assert status == 404
    assert document["error"] == (
        "No group of this name has an offset on A. The group exists as a consumer group with members: it has not "
        "committed yet."
    )
    _, other = await told(monitored, "group", kafka_cluster="A", group="nobody")
    assert other["error"] == "No group of this name has an offset on A."


@pytest.mark.parametrize("filtered", ["wanted", "hidden"])
async def test_a_group_that_the_configuration_leaves_out_is_not_called_missing(monitored, filtered):
    intake, watch = monitored.watches["A"].lag.intake, monitored.watches["A"]
    setattr(intake, filtered, lambda group, _: group.startswith("console-") == (filtered == "hidden"))
    watch.reader = None  # it is known while groups are not read yet
    status, document = await told(monitored, "group", kafka_cluster="A", group="console-consumer-7")
    assert (status, document["error"]) == (
        404,
        "This group is not watched: lag.groups or lag.groups_exclude leaves it out.",
    )
    watch.lag.share = SimpleNamespace(has=lambda _group: False)  # another process has it
    _, document = await told(monitored, "group", kafka_cluster="A", group="console-consumer-7")
    assert document["error"].startswith("Groups of A are not read yet.")


async def test_where_offsets_come_from_is_told_of_clusters_and_of_a_group(monitored):
    monitored.watches["A"].commits_from = "admin"
    monitored.watches["A"].lag.group_states["billing"] = "stable"
    _, document = await told(monitored, "groups")
    assert document["commits_from"] == {"A": "admin", "B": "topic"}
    _, one = await told(monitored, "group", kafka_cluster="A", group="billing")
    assert (one["commits_from"], one["state"]) == ("admin", "stable")
    _, other = await told(monitored, "group", kafka_cluster="B", group="billing")
    assert (other["commits_from"], other["state"]) == ("topic", None)
