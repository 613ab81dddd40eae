"""Burrow's paths get Burrow's documents, word by word and in its order: the files in golden/burrow_api.

They were written by hand from the structures of Burrow's source, not by the code that they test.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from fleet.wire.commits import (
    About,
    GroupDescribed,
    Member,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
    encode_group_metadata,
)
from lagmon.burrow.api import BurrowCluster, answer
from lagmon.burrow.paths import is_served, not_served
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import clients

NOW = 1_790_000_000_000
DAY = 86_400_000
GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "burrow_api").glob("*.json"))
TOPICS = {"orders": 4, "payments": 1, "unread": 2}


def look(lag, ago_ms, ends):
    for topic, found in ends.items():
        places = np.array(lag.places.of(topic), np.int32)
        lag.heads.note(places, np.array(found, np.int64), NOW - ago_ms)


def take(lag, commits, *, read_ago_ms, live=True):
    """Take (group, topic, partition, offset, committed so long ago) each."""
    keys = [encode_commit_key(group, topic, partition) for group, topic, partition, _, _ in commits]
    values = [encode_commit_value(offset, NOW - ago) for _, _, _, offset, ago in commits]
    lag.intake.take(keys, values, read_ms=NOW - read_ago_ms, live=live)


def describe(lag, group, *members):
    """Take (client, host, what is assigned to it) of each member."""
    found = tuple(
        Member(f"{client}-id", None, client, host, tuple(assigned.items()), tuple(assigned))
        for client, host, assigned in members
    )
    described = GroupDescribed(group, "consumer", 3, "range", found[0].id, NOW - 60_000, found)
    key = encode_group_key(About.CLASSIC_GROUP, group)
    lag.intake.take([key], [encode_group_metadata(described)], read_ms=NOW, live=True)


def filled():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics(TOPICS)
    take(lag, [("früh/50%", "orders", 3, 3, 25_000)], read_ago_ms=24_000, live=False)
    look(lag, 20_000, {"orders": [900, 500, 70, 5], "payments": [40], "unread": [7, -1]})
    past = [
        ("billing", "payments", 0, 10, 100_000),
        ("idle", "unread", 0, 7, 3_600_000),
        ("gone", "orders", 0, 5, 8 * DAY),
        ("blind", "unread", 1, 1, 1_000),
    ]
    take(lag, past, read_ago_ms=19_500, live=False)
    steady = [("billing", "orders", 1, 491 + step, 30_000 - 1000 * step) for step in range(10)]
    take(lag, [*steady, ("billing", "orders", 0, 880, 19_600)], read_ago_ms=19_500)
    look(lag, 10_000, {"orders": [950, 500, 70, 5], "payments": [40], "unread": [7, -1]})
    take(lag, [("billing", "orders", 0, 900, 9_100)], read_ago_ms=8_400)
    look(lag, 0, {"orders": [1000, 500, 70, 5], "payments": [40], "unread": [7, -1]})
    describe(
        lag,
        "billing",
        ("billing-app", "/10.1.2.3", {"orders": (0, 1, 2)}),
        ("billing-app-2", "/10.1.2.4", {"payments": (0,), "unread": (1, 9), "made up": (0,)}),
    )
    return lag


@pytest.fixture(scope="module")
def clusters():
    return {
        "local": BurrowCluster("local", filled(), ("a1:9092", "a2:9092"), "mirrorwatch"),
        "bare": BurrowCluster("bare", ClusterLag(wanted=lambda _group, _topic: True)),
    }


def ask(clusters, path, now_ms=NOW):
    return answer(path, clusters, host="monitor-1", url=unquote(path), now_ms=now_ms)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_a_path_gets_its_document(clusters, file):
    golden = json.loads(file.read_text())
    status, document = ask(clusters, golden["path"])
    # As text, so that the order of keys, nulls and the kinds of numbers count.
    assert json.dumps(document, indent=1) == json.dumps(golden["document"], indent=1)
    assert status == golden["status"]


def test_every_path_of_burrow_has_a_golden_document():
    shapes = {json.loads(file.read_text())["path"].count("/") for file in GOLDEN}
    assert shapes == {2, 3, 4, 5, 6}
    assert len(GOLDEN) == 27


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/v3",
        "/v2/kafka",
        "/v3/config",
        "/v3/config/storage/default",
        "/v3/admin/loglevel",
        "/burrow/admin/ready",
        "/v3/kafka/local/group",
        "/v3/kafka/local/consumer/billing/detail",
        "/v3/kafka/local/consumer/billing/lag/0",
        "/v3/kafka/local/topic/orders/lag",
    ],
)
def test_what_is_not_served_is_burrows_404(clusters, path):
    found = {"error": True, "message": "invalid request type", "result": {}}
    assert ask(clusters, path) == (404, found) == not_served()
    assert not is_served(path)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_what_has_a_golden_document_is_served(file):
    assert is_served(json.loads(file.read_text())["path"])


@pytest.mark.parametrize(
    "path", ["/v3/kafka", "/v3/kafka/local/consumer", "/v3/kafka/local/consumer/billing/lag"]
)
def test_a_slash_at_the_end_changes_nothing(clusters, path):
    assert answer(f"{path}/", clusters, host="h", url="u", now_ms=NOW) == answer(
        path, clusters, host="h", url="u", now_ms=NOW
    )


@pytest.mark.parametrize(
    "name",
    ["x" * 32_768, "%00%01", "%zz", "%ff%fe", "..%2F..", "<script>", "%F0%9F%92%A9", "%E2%80%A8", "a+b", ""],
)
def test_a_name_that_nobody_has_is_not_found_and_told_back(clusters, name):
    path = f"/v3/kafka/local/consumer/{name}/lag"
    status, document = ask(clusters, path)
    assert status == 404
    assert document["status"]["status"] == "NOTFOUND"
    assert document["status"]["group"] == unquote(name)
    assert json.loads(json.dumps(document).encode()) == document


@pytest.mark.parametrize("name", ["a/b", "lag", "50% & <b>", "ü\u2028", "status", "..", "a+b", "x" * 32_000])
def test_a_group_of_any_name_is_found_by_it_percent_encoded(name):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 1})
    look(lag, 0, {"t": [5]})
    take(lag, [(name, "t", 0, 5, 0)], read_ago_ms=0)
    clusters = {"c": BurrowCluster("c", lag)}
    encoded = "".join(f"%{byte:02X}" for byte in name.encode())
    for what in ("/lag", "/status", ""):
        status, document = ask(clusters, f"/v3/kafka/c/consumer/{encoded}{what}")
        assert status == 200
        if what:
            assert document["status"]["group"] == name


def test_a_group_expires_in_whole_seconds_as_burrow_counts_them(clusters):
    path, newest_ms = "/v3/kafka/local/consumer/billing/status", NOW - 9_100
    for late_ms, status in ((0, 200), (99, 200), (100, 404)):
        now_ms = newest_ms + 7 * DAY + late_ms
        found = answer(path, clusters, host="h", url="u", now_ms=now_ms)
        listed = answer("/v3/kafka/local/consumer", clusters, host="h", url="u", now_ms=now_ms)
        assert found[0] == status
        assert ("billing" in listed[1]["consumers"]) == (status == 200)


def test_a_group_is_listed_for_a_topic_that_it_read_long_ago_while_it_reads_another():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"old": 1, "new": 1})
    look(lag, 0, {"old": [5], "new": [5]})
    take(lag, [("g", "old", 0, 5, 30 * DAY), ("g", "new", 0, 5, 0)], read_ago_ms=0)
    _, document = ask({"c": BurrowCluster("c", lag)}, "/v3/kafka/c/topic/old/consumers")
    assert document["consumers"] == ["g"]


def test_a_group_is_listed_for_a_topic_of_which_a_member_owns_some_without_a_commit():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"read": 1, "owned": 1, "other": 1})
    look(lag, 0, {"read": [5], "owned": [5], "other": [5]})
    take(lag, [("g", "read", 0, 5, 0)], read_ago_ms=0)
    describe(lag, "g", ("client", "/h", {"read": (0,), "owned": (0,)}))
    describe(lag, "silent", ("client", "/h", {"other": (0,)}))
    clusters = {"c": BurrowCluster("c", lag)}
    for topic, consumers in (("owned", ["g"]), ("read", ["g"]), ("other", [])):
        assert ask(clusters, f"/v3/kafka/c/topic/{topic}/consumers")[1]["consumers"] == consumers


def test_a_commit_to_a_partition_that_there_is_not_makes_none():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 3})
    take(lag, [("g", "t", 1, 5, 0), ("astray", "t", 99_999, 5, 0), ("astray", "t", 0, 5, 0)], read_ago_ms=0)
    look(lag, 0, {"t": [5, 5, 5, *[-1] * 99_997]})
    for group, read in (("g", [1]), ("astray", [0])):
        _, document = ask({"c": BurrowCluster("c", lag)}, f"/v3/kafka/c/consumer/{group}")
        shown = document["topics"]["t"]
        assert len(shown) == 3
        assert [place for place, one in enumerate(shown) if one["offsets"]] == read


def test_what_was_read_of_a_partition_that_is_there_no_more_keeps_its_place():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 3})
    take(lag, [("g", "t", 2, 5, 0), ("h", "t", 0, 5, 0)], read_ago_ms=0)
    look(lag, 0, {"t": [5, 5, 5]})
    lag.note_topics({"t": 1})  # made anew, with fewer
    found = [
        ask({"c": BurrowCluster("c", lag)}, f"/v3/kafka/c/consumer/{group}")[1]["topics"]["t"]
        for group in ("g", "h")
    ]
    assert [len(one) for one in found] == [3, 1]
    assert found[0][2]["offsets"][-1]["offset"] == 5


def test_what_went_away_is_not_shown_any_more():
    lag = filled()
    clusters = {"c": BurrowCluster("c", lag)}
    lag.note_topics({"orders": 4, "unread": 2})
    assert ask(clusters, "/v3/kafka/c/topic/payments")[0] == 404
    _, document = ask(clusters, "/v3/kafka/c/consumer/billing/lag")
    assert {one["topic"] for one in document["status"]["partitions"]} == {"orders"}
    take_away = [encode_commit_key("früh/50%", "orders", 3)]
    lag.intake.take(take_away, [None], read_ms=NOW, live=True)
    assert ask(clusters, "/v3/kafka/c/consumer")[1]["consumers"] == ["billing", "idle"]


def test_asking_costs_by_the_group_and_not_by_the_cluster(clusters, monkeypatch):
    judged = []
    real = "lagmon.burrow.documents.burrow_sweep"
    from lagmon.burrow.sweep import burrow_sweep  # noqa: PLC0415

    def counted(windows, *args, **kwargs):
        judged.append(len(windows))
        return burrow_sweep(windows, *args, **kwargs)

    monkeypatch.setattr(real, counted)
    ask(clusters, "/v3/kafka/local/consumer/billing/lag")
    ask(clusters, "/v3/kafka/local/consumer")
    ask(clusters, "/v3/kafka/local/topic/orders/consumers")
    assert judged == [4]


def test_what_is_left_out_by_topic_is_not_shown_where_a_member_was_given_it():
    lag = ClusterLag(
        wanted=lambda _group, topic: topic != "local", hidden=lambda _group, topic: topic == "local"
    )
    lag.note_topics({"t": 1, "local": 2})
    look(lag, 0, {"t": [5], "local": [7, 7]})
    take(lag, [("g", "t", 0, 5, 1_000), ("g", "local", 0, 1, 1_000)], read_ago_ms=0)
    describe(lag, "g", ("app", "/10.0.0.1", {"t": (0,), "local": (0, 1)}))
    clusters = {"c": BurrowCluster("c", lag)}
    status = ask(clusters, "/v3/kafka/c/consumer/g/lag")[1]["status"]
    assert [one["topic"] for one in status["partitions"]] == ["t"]
    assert (status["maxlag"]["topic"], status["partition_count"]) == ("t", 1)
    assert list(ask(clusters, "/v3/kafka/c/consumer/g")[1]["topics"]) == ["t"]
    assert clients(lag, "g") == [{"client_id": "app", "host": "/10.0.0.1", "partitions": 1}]


@pytest.mark.parametrize(
    "path", ["consumer", "consumer/g", "consumer/g/lag", "consumer/g/status", "topic/t/consumers"]
)
def test_groups_that_are_not_read_yet_are_not_said_to_be_missing(path):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 1})
    clusters = {"c": BurrowCluster("c", lag, unread="Nothing listens there.")}
    status, document = ask(clusters, f"/v3/kafka/c/{path}")
    assert status == 503
    assert document == {
        "error": True,
        "message": "the groups of c are not read yet: Nothing listens there.",
        "request": {"url": f"/v3/kafka/c/{path}", "host": "monitor-1"},
    }
    for known in ("/v3/kafka", "/v3/kafka/c", "/v3/kafka/c/topic", "/v3/kafka/c/topic/t"):
        assert ask(clusters, known)[0] == 200


@pytest.mark.parametrize("path", ["topic", "topic/t"])
def test_topics_that_were_never_listed_are_not_said_to_be_missing(path):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    status, document = ask({"c": BurrowCluster("c", lag, unread="Why.")}, f"/v3/kafka/c/{path}")
    assert (status, document["message"]) == (503, "the topics of c are not read yet: Why.")


def test_the_newest_commit_was_not_observed_before_it_was_made():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 1})
    look(lag, 0, {"t": [5]})
    take(lag, [("g", "t", 0, 5, 320)], read_ago_ms=300)
    _, document = ask({"c": BurrowCluster("c", lag)}, "/v3/kafka/c/consumer/g/lag")
    end = document["status"]["partitions"][0]["end"]
    assert (end["timestamp"], end["observedAt"]) == (NOW - 320, NOW - 300)


def test_a_partition_without_a_commit_takes_nothing_from_the_last_row_of_full_windows():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    rows = len(lag.rings.filled)
    lag.note_topics({"t": rows + 1})
    look(lag, 0, {"t": [5] * (rows + 1)})
    take(lag, [("g", "t", partition, 5, 1_000) for partition in range(rows)], read_ago_ms=0)
    assert len(lag.rings.filled) == rows
    describe(lag, "g", ("app", "/10.0.0.1", {"t": (rows,)}))
    _, document = ask({"c": BurrowCluster("c", lag)}, "/v3/kafka/c/consumer/g/lag")
    last = document["status"]["partitions"][-1]
    assert (last["partition"], last["start"], last["end"], last["owner"]) == (rows, None, None, "/10.0.0.1")
