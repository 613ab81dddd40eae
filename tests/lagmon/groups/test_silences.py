"""A partition that a member has and on which its group never committed: stories, from records to what is told."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from fleet.mm2.filters import GroupFilter
from fleet.verdicts.flow import Flow
from fleet.wire.commits import (
    GroupDescribed,
    GroupGone,
    Member,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
    encode_group_metadata,
)
from lagmon.burrow.documents import listed_groups, status_document, topics_document
from lagmon.cluster.state import ClusterLag
from lagmon.groups.listing import group_line
from lagmon.groups.rows import partition_rows
from lagmon.groups.rules.words import Status
from lagmon.ingest.admin_intake import AdminIntake
from lagmon.logs.readable_gaps import Seen

BEGAN_MS = 1_790_000_000_000
S = 1000
ID = "BBBBBBBBBBBBBBBBBBBBBg"


class Desk:
    """The topics t, of three partitions, and u, looked at every ten seconds; the group g commits on t 0."""

    def __init__(self, *, hidden=lambda _group, _topic: False, flows=(), topics=("t", "u")):
        self.lag = ClusterLag(wanted=lambda _group, _topic: True, hidden=hidden, flows=flows)
        self.topics = {name: 3 if name == "t" else 1 for name in topics}
        self.lag.note_topics(self.topics)
        self.lag.begin_commits(1)
        self.now_ms = BEGAN_MS
        self.ends = {(name, number): 100 for name, count in self.topics.items() for number in range(count)}

    def take(self, key, value):
        self.lag.intake.take([key], [value], read_ms=self.now_ms, live=True)

    def commit(self, group="g", partition=0, offset=100, topic="t"):
        value = None if offset is None else encode_commit_value(offset, self.now_ms)
        self.take(encode_commit_key(group, topic, partition), value)

    def classic(self, *members, group="g"):
        """Describe a group whose members were given so much: client id and what, by topic."""
        found = tuple(
            Member(f"id-{name}", None, name, "/10.0.0.1", tuple((t, tuple(p)) for t, p in given.items()), ())
            for name, given in members
        )
        told = GroupDescribed(group, "consumer", 1, None, None, None, found)
        self.take(encode_group_key(2, group), encode_group_metadata(told))

    def modern(self, member, given, group="g"):
        """Describe a member of a KIP-848 group, which was given this, by a topic's id."""
        assigned = tuple((topic, tuple(partitions)) for topic, partitions in given.items())
        self.lag.membership.take(MemberDescribed(group, member, None, member, "/10.0.0.2", (), None))
        self.lag.membership.take(MemberAssigned(group, member, assigned))

    def go(self, seconds, *, commits=True, stables=None):
        """Let looks go by, at each of which g commits that it has read t 0."""
        for _ in range(seconds // 10):
            self.now_ms += 10 * S
            names = [name for name in self.ends if name[1] < len(self.lag.places.of(name[0]))]
            places = np.array([self.lag.places.of(topic)[number] for topic, number in names], np.int32)
            ends = np.array([self.ends[name] for name in names], np.int64)
            held = np.array([(stables or {}).get(name, self.ends[name]) for name in names], np.int64)
            self.lag.note_polled(places, ends, held, self.now_ms, read_ms=self.now_ms + 100)
            if commits:
                self.commit()
                self.read()

    def read(self):
        self.lag.note_read(0, self.now_ms)

    def write(self, partition=1, count=5, topic="t"):
        self.ends[topic, partition] += count

    def rows(self, group="g"):
        """Return the rows of a group that are not well, by topic and partition."""
        found, _ = partition_rows(self.lag, self.lag.see(self.now_ms), group)
        return {(row["topic"], row["partition"]): row for row in found if row["status"] != "OK"}

    def line(self, group="g"):
        view = self.lag.see(self.now_ms)
        return group_line("A", group, self.lag.slots.number(group), self.lag, view)


def given_both(**others):
    """Return a desk whose group commits on t 0 and was given t 1 as well, for so long that writes count."""
    desk = Desk(**others)
    desk.classic(("rdkafka", {"t": [0, 1]}))
    desk.go(30)
    assert desk.line()["status"] == "OK"
    return desk


def test_who_is_stuck_on_the_very_first_record_of_a_partition_makes_its_group_unknown():
    desk = given_both()
    desk.write()
    desk.go(60)
    assert (desk.line()["status"], desk.rows()) == ("OK", {})  # it may still commit that
    desk.go(20)
    line = desk.line()
    assert (line["status"], line["worst"]) == ("UNKNOWN", {"topic": "t", "partition": 1})
    assert line["partitions"] == {"OK": 1, "UNKNOWN": 1}
    assert (line["lag_records"], line["max_lag_records"], line["lag_unknown_partitions"]) == (0, 0, 1)
    assert (line["lag_s"], line["lag_s_kind"]) == (0, "at_least")  # of the partition that is known
    assert line["sentence"] == (
        "Lag unknown: the group has never committed here, although 5 records were written, the first 1 min 19 s "
        "ago. A member has had the partition since 2026-09-21 14:13:50 UTC at the latest. The partition is "
        "assigned to rdkafka at /10.0.0.1 now."
    )
    row = desk.rows()["t", 1]
    assert (row["reason"], row["sentence"], row["client_id"]) == ("no_commit", line["sentence"], "rdkafka")
    assert (row["committed_offset"], row["end_offset"], row["lag_records"]) == (-1, 105, None)
    assert (row["lag_s"], row["lag_s_kind"], row["commits"]) == (None, "none", [])
    assert row["ends"][-1] == {"offset": 105, "read_at_ms": desk.now_ms}


def test_a_commit_there_ends_it_at_once():
    desk = given_both()
    desk.write()
    desk.go(80)
    assert list(desk.rows()) == [("t", 1)]
    desk.commit(partition=1, offset=105)
    assert desk.rows() == {}
    assert len(desk.lag.silences.owned) == 0
    desk.commit(partition=1, offset=None)  # it was taken away: what is written from now on counts
    desk.go(90)
    assert desk.rows() == {}
    desk.write()
    desk.go(80)
    assert list(desk.rows()) == [("t", 1)]


def test_one_record_is_told_as_one():
    desk = given_both()
    desk.write(count=1)
    desk.go(80)
    assert "although 1 record was written, " in desk.line()["sentence"]
    assert "written, 1 min 15 s ago." in desk.line()["sentence"]


def test_silence_where_nothing_was_written_since_is_right():
    desk = Desk()
    desk.write(count=1000)
    desk.classic(("rdkafka", {"t": [0, 1]}))
    desk.write()  # by then nobody can tell whether it has found the end
    desk.go(600)
    assert (desk.line()["status"], desk.rows()) == ("OK", {})


def test_partitions_of_nobody_are_nobodys():
    desk = given_both()
    desk.write(2)
    desk.go(200)
    assert desk.line()["status"] == "OK"


def test_a_partition_that_another_member_was_given_goes_on_and_one_that_was_given_up_ends():
    desk = given_both()
    desk.write()
    desk.go(40)
    desk.classic(("rdkafka", {"t": [0]}), ("other", {"t": [1]}))
    desk.go(40)
    assert "14:13:50 UTC" in desk.line()["sentence"]
    assert "assigned to other at /10.0.0.1 now" in desk.line()["sentence"]
    desk.classic(("rdkafka", {"t": [0]}))
    assert desk.rows() == {}
    desk.classic(("rdkafka", {"t": [0, 1]}))
    desk.go(200)
    assert desk.rows() == {}  # given anew, and nothing was written since
    desk.write()
    desk.go(80)
    assert list(desk.rows()) == [("t", 1)]


def test_a_group_that_had_no_member_meanwhile_begins_anew_however_short_that_was():
    desk = given_both()
    desk.write()
    desk.go(80)
    desk.classic()
    desk.classic(("rdkafka", {"t": [0, 1]}))
    assert desk.rows() == {}
    desk.go(200)
    assert desk.rows() == {}


def test_a_group_that_is_gone_leaves_nothing():
    desk = given_both()
    desk.write()
    desk.go(80)
    assert len(desk.lag.silences.owned) == 1
    desk.lag.membership.take(GroupGone("g"))
    desk.commit(offset=None)
    desk.go(10, commits=False)
    assert len(desk.lag.silences.owned) == 0


def test_what_is_worse_stays_the_groups_verdict_and_what_is_better_does_not():
    desk = given_both()
    desk.write()
    desk.ends["t", 0] += 50
    desk.go(20)
    desk.go(200, commits=False)
    desk.read()
    line = desk.line()
    assert (line["status"], line["worst"]) == ("STOP", {"topic": "t", "partition": 0})
    assert line["partitions"] == {"STOP": 1, "UNKNOWN": 1}
    found, count = partition_rows(desk.lag, desk.lag.see(desk.now_ms), "g")
    assert ([row["status"] for row in found], count) == (["STOP", "UNKNOWN"], 2)
    assert partition_rows(desk.lag, desk.lag.see(desk.now_ms), "g", first=1, most=1) == ([found[1]], 2)


def test_nothing_is_said_before_commits_are_known_nor_once_they_are_known_no_more():
    desk = Desk()
    desk.classic(("rdkafka", {"t": [0, 1]}))
    for _ in range(3):
        desk.go(10, commits=False)
        desk.commit()
    desk.write()
    desk.go(100, commits=False)
    assert len(desk.lag.silences.owned) == 0  # what it has committed may be about to be read
    desk.read()
    desk.go(20)
    desk.write()
    desk.go(60)
    desk.go(40, commits=False)
    assert desk.rows() == {}  # not for longer than a minute up to where its commits are known
    desk.go(10)
    assert list(desk.rows()) == [("t", 1)]
    desk.go(70, commits=False)
    assert {row["reason"] for row in desk.rows().values()} == {"commits_stale"}


def test_a_commit_that_is_read_late_is_no_silence():
    desk = given_both()
    desk.write()
    desk.go(60)
    desk.go(10, commits=False)
    desk.commit(partition=1, offset=105)
    desk.read()
    desk.go(60)
    assert desk.rows() == {}


def test_what_a_transaction_holds_up_or_left_behind_is_nothing_to_read():
    desk = given_both()
    desk.write()
    desk.go(200, stables={("t", 1): 100})
    assert desk.rows() == {}
    desk.go(50)
    assert desk.rows() == {}  # it can be read for less than a minute
    desk.go(30)
    assert list(desk.rows()) == [("t", 1)]
    place = desk.lag.places.of("t")[1]
    (stretch,) = [one for one in desk.lag.tails_due(desk.now_ms) if one.place == place]
    assert (stretch.first, stretch.end) == (100, 105)
    assert not [one for one in desk.lag.tails_due(desk.now_ms, committed=False) if one.place == place]
    desk.lag.readable.note_asked([place], desk.now_ms)
    desk.lag.readable.note([Seen(place, 100, 105, is_record=False)])
    assert desk.rows() == {}
    desk.write(count=2)
    desk.go(80)
    assert "although 2 records were written, " in desk.line()["sentence"]


def test_a_topic_made_anew_or_taken_away_begins_anew():
    desk = given_both()
    desk.lag.note_id("t", "one", desk.now_ms)
    desk.write()
    desk.go(80)
    assert list(desk.rows()) == [("t", 1)]
    assert desk.lag.note_id("t", "two", desk.now_ms)
    desk.ends["t", 1] = 900
    desk.go(200)
    assert ("t", 1) not in desk.rows()
    desk.write()
    desk.go(80)
    assert "although 5 records" in desk.rows()["t", 1]["sentence"]
    desk.lag.note_topics({"u": 1})
    desk.lag.note_topics({"v": 3, "u": 1})  # which may have its places now
    desk.commit(topic="u")
    assert len(desk.lag.silences.owned) == 0
    desk.lag.note_topics({"t": 3, "v": 3, "u": 1})
    desk.go(30)
    assert len(desk.lag.silences.owned) == 1
    desk.write()
    desk.go(80)
    assert "although 5 records" in desk.rows()["t", 1]["sentence"]


def test_topics_whose_groups_are_silent_there_are_among_those_whose_ids_are_compared():
    desk = given_both()
    assert desk.lag.watched_topics() == ["t"]
    desk.classic(("rdkafka", {"t": [0], "u": [0]}))
    desk.go(10)
    assert desk.lag.watched_topics() == ["t", "u"]
    assert not desk.lag.note_id("u", "one", desk.now_ms)
    desk.lag.note_topics({"t": 3})
    desk.lag.note_topics({"t": 3, "u": 1})
    desk.lag.note_id("u", "one", desk.now_ms)
    assert not desk.lag.positions_lost  # nothing was committed to it that would have to be read again


def test_partitions_that_no_list_shows_wait_for_one_that_does():
    desk = Desk(topics=("t",))
    desk.classic(("rdkafka", {"t": [0, 3], "u": [0]}))
    desk.go(30)
    assert len(desk.lag.silences.owned) == 0
    desk.ends |= {("u", 0): 7, ("t", 3): 7}
    desk.lag.note_topics({"t": 4, "u": 1})
    desk.go(20)
    assert len(desk.lag.silences.owned) == 2
    desk.write(topic="u", partition=0)
    desk.write(3)
    desk.go(80)
    assert list(desk.rows()) == [("t", 3), ("u", 0)]


def test_a_cluster_that_was_away_gives_its_groups_time():
    desk = given_both()
    desk.write()
    desk.go(20)
    for _ in range(12):
        desk.now_ms += 10 * S
        desk.lag.note_answer(desk.now_ms, "no broker answers")
    desk.go(60)
    assert desk.rows() == {}
    desk.go(20)
    assert list(desk.rows()) == [("t", 1)]


def test_a_new_group_is_judged_alike_and_members_are_told_where_nobody_knows_them():
    desk = Desk()
    desk.modern("one", {ID: [0, 1]})
    desk.go(30)
    assert len(desk.lag.silences.owned) == 0  # nobody knows yet what has this id
    desk.lag.membership.name_topics({ID: "t"})
    desk.go(20)
    desk.write()
    desk.go(80)
    assert "assigned to one at /10.0.0.2 now" in desk.line()["sentence"]
    desk.modern("two", {ID: [1]})
    desk.modern("one", {ID: [0]})
    assert "assigned to two at /10.0.0.2 now" in desk.line()["sentence"]
    view = desk.lag.see(desk.now_ms)
    desk.lag.membership.take(MemberGone("g", "two"))
    line = group_line("A", "g", desk.lag.slots.number("g"), desk.lag, view)
    assert line["sentence"].endswith(" at the latest.")  # a moment after the verdict
    assert desk.rows() == {}


@pytest.mark.parametrize("hidden", ["group", "topic"])
def test_what_is_hidden_is_not_told(hidden):
    desk = given_both(
        hidden=lambda group, topic: topic == "u" if hidden == "topic" else group == "h" and topic is not None
    )
    desk.classic(("other", {"t": [0, 1]}), group="h")
    desk.commit("h")
    desk.classic(("rdkafka", {"t": [0], "u": [0]}))
    desk.go(20)
    desk.write()
    desk.write(0, topic="u")
    desk.go(80)
    told = {group: list(desk.rows(group)) for group in ("g", "h")}
    assert told == ({"g": [], "h": [("t", 1)]} if hidden == "topic" else {"g": [("u", 0)], "h": []})


def test_groups_that_a_mirror_carries_have_nobody_who_was_given_anything():
    flow = Flow("A", "B", sync_group_offsets=True, group_filter=GroupFilter())
    desk = Desk(flows=[flow], topics=("A.t",))
    desk.commit("g", topic="A.t")
    desk.ends = {("A.t", 0): 100}
    desk.read()
    view = desk.lag.see(desk.now_ms)
    assert view.carried == {desk.lag.slots.number("g"): ("A->B",)}
    assert view.silent == {}


def test_burrows_answers_are_as_they_were():
    """Burrow has the partition as OK, with its owner and without a commit."""
    desk = given_both()
    desk.write()
    desk.go(100)
    assert desk.line()["status"] == "UNKNOWN"
    asked = partial(status_document, desk.lag, "A", "g", now_ms=desk.now_ms)
    assert asked(every_partition=False)["partitions"] == []
    document = asked(every_partition=True)
    assert (document["status"], document["totallag"], document["partition_count"]) == ("OK", 0, 2)
    found = [(one["partition"], one["status"], one["owner"], one["end"]) for one in document["partitions"]]
    assert found[1] == (1, "OK", "/10.0.0.1", None)
    topics = topics_document(desk.lag, "g", now_ms=desk.now_ms)
    assert [one["owner"] for one in topics["t"]] == ["/10.0.0.1", "/10.0.0.1", ""]
    assert listed_groups(desk.lag, now_ms=desk.now_ms) == ["g"]


class Asked(Desk):
    """The same, asked by the Admin API at each look."""

    def __init__(self):
        super().__init__()
        self.intake = AdminIntake(self.lag)
        self.intake.begin()
        self.intake.allow_for(10)
        self.offsets = [("t", 0, 100)]

    def commit(self, group="g"):
        self.intake.take_offsets(group, self.offsets, asked_ms=self.now_ms, answered_ms=self.now_ms)

    def read(self):
        """Have nothing more to read."""

    def members(self, *given):
        self.intake.take_members("g", [(name, name, "/10.0.0.3", assigned) for name, assigned in given])


def test_where_the_admin_api_is_asked_members_are_those_that_it_tells():
    desk = Asked()
    desk.intake.take_state("g", "stable")
    desk.members(("one", [("t", [0, 1])]))
    desk.go(30)
    desk.write()
    desk.go(80)
    assert desk.line()["status"] == "UNKNOWN"
    desk.members(("one", [("t", [0, 1])]))  # asked again, and as it was
    assert desk.line()["status"] == "UNKNOWN"
    desk.intake.take_state("g", "empty")
    assert desk.line()["status"] == "OK"
    desk.intake.take_state("g", "stable")
    desk.members(("one", [("t", [0, 1])]))
    desk.go(100)
    assert desk.line()["status"] == "OK"
    desk.write()
    desk.go(80)
    assert desk.line()["status"] == "UNKNOWN"
    desk.intake.forget("g")
    desk.go(10, commits=False)
    assert len(desk.lag.silences.owned) == 0
    assert desk.lag.silent_groups() == set()


def test_with_thousands_of_silent_places_only_groups_that_changed_are_looked_at(monkeypatch):
    desk = given_both()
    looked = []
    given = desk.lag.silences._given
    monkeypatch.setattr(desk.lag.silences, "_given", lambda group: looked.append(group) or given(group))
    desk.write()
    desk.go(300)
    assert (looked, desk.line()["status"]) == ([], "UNKNOWN")
    desk.commit("h", 2)
    desk.go(10)
    assert looked == ["h"]
    desk.lag.note_topics(dict(desk.topics))
    desk.go(10)
    assert looked == ["h"]


def test_verdicts_on_what_has_an_offset_are_as_they_were():
    desk = given_both()
    desk.write()
    desk.go(80)
    view = desk.lag.see(desk.now_ms)
    assert Status(int(view.groups.status[desk.lag.slots.number("g")])) is Status.UNKNOWN
    assert view.rows.status.tolist() == [Status.OK]  # of what has an offset, as ever
