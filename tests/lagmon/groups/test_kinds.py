"""Groups that commit no offsets: found in what `__consumer_offsets` says of groups, counted by kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.wire.commits import (
    GroupDescribed,
    GroupGone,
    Member,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
    encode_group_metadata,
)
from lagmon.cluster.state import ClusterLag
from lagmon.groups.kinds import count_kinds, counts_sentence, kind_of, one_sentence
from lagmon.ingest.admin_intake import AdminIntake
from lagmon.ingest.admin_rounds import AdminRounds
from lagmon.ingest.watching import ClusterWatch
from tests.fleet.wire.test_commits_recorded import NAMES, recorded

NOW = 1_790_000_000_000
SHARE, SHARE_MEMBER, CONSUMER, STREAMS = 11, 10, 3, 17


class Desk:
    """A cluster whose `__consumer_offsets` is written by hand."""

    def __init__(self, wanted=lambda *_: True, hidden=lambda *_: False):
        lag = ClusterLag(wanted=wanted, hidden=hidden)
        self.watch = ClusterWatch("A", None, lag, clock=None, random=lambda: 0.5)
        self.watch.lag.begin_commits(1)

    def take(self, key, value):
        self.watch.lag.intake.take([key], [value], read_ms=NOW, live=True)

    def classic(self, group, protocol_type, *members):
        found = tuple(Member(one, None, one, "/10.0.0.1", (), ()) for one in members)
        told = GroupDescribed(group, protocol_type, 1, None, None, None, found)
        self.take(encode_group_key(2, group), encode_group_metadata(told))

    def commit(self, group, offset=5):
        value = None if offset is None else encode_commit_value(offset, NOW)
        self.take(encode_commit_key(group, "t", 0), value)


@pytest.fixture
def desk():
    return Desk()


def test_groups_that_commit_nothing_are_counted_by_what_they_say_they_are(desk):
    for group, protocol_type in [
        ("workers", "connect"),
        ("A-mm2", "connect"),
        ("registry", "sr"),
        ("odd", "eigenbau"),
        ("billing", "consumer"),
        ("simple", ""),
    ]:
        desk.classic(group, protocol_type)
    desk.take(encode_group_key(SHARE, "sharers"), b"\x00\x00")
    desk.take(encode_group_key(SHARE_MEMBER, "sharers", "m"), b"\x00\x00")
    desk.take(encode_group_key(CONSUMER, "modern"), b"\x00\x00")
    desk.take(encode_group_key(STREAMS, "topology"), b"\x00\x00")
    assert desk.watch.other_groups == {"connect": 2, "schema_registry": 1, "share": 1, "other": 1}


def test_a_group_goes_with_its_tombstone_and_none_comes_of_that_of_a_member(desk):
    desk.classic("workers", "connect")
    desk.take(encode_group_key(SHARE, "sharers"), b"\x00\x00")
    desk.take(encode_group_key(SHARE, "sharers"), None)
    desk.take(encode_group_key(SHARE_MEMBER, "sharers", "m"), None)
    desk.take(encode_group_key(2, "workers"), None)
    assert desk.watch.other_groups == {}


def test_a_group_of_which_there_are_offsets_is_none_of_these(desk):
    desk.classic("workers", "connect")
    desk.commit("workers")
    assert desk.watch.other_groups == {}
    desk.commit("workers", None)
    assert desk.watch.other_groups == {"connect": 1}


@pytest.mark.parametrize("again", ["classic", "consumer"])
def test_a_name_that_a_consumer_takes_over_is_none_of_these_any_more(desk, again):
    desk.classic("g", "connect")
    if again == "classic":
        desk.classic("g", "consumer")
    else:
        desk.take(encode_group_key(CONSUMER, "g"), b"\x00\x00")
    assert desk.watch.other_groups == {}


def test_what_is_read_anew_is_not_counted_twice(desk):
    desk.classic("gone", "connect")
    desk.watch.lag.begin_commits(1)
    desk.classic("workers", "connect")
    assert desk.watch.other_groups == {"connect": 1}


def test_a_share_group_is_found_in_what_a_broker_wrote(desk):
    for records, _ in recorded("4.3.0"):
        for key, value in records:
            desk.take(key, value)
        assert desk.watch.other_groups == {"share": 1}
    assert desk.watch.lag.membership.kinds == {NAMES("share"): "share"}


def test_where_the_admin_api_is_asked_they_are_counted_by_it_without_a_kind(desk):
    desk.classic("workers", "connect")
    desk.watch.reader = object.__new__(AdminRounds)
    desk.watch.reader.others = 3
    assert desk.watch.other_groups == {"other": 3}
    desk.watch.reader.others = 0
    assert desk.watch.other_groups == {}


def test_a_group_of_consumers_with_members_that_has_committed_nothing_is_counted(desk):
    desk.classic("silent", "consumer", "m")
    desk.classic("empty", "consumer")
    desk.classic("workers", "connect", "m")
    assert desk.watch.other_groups == {"connect": 1}  # what it has committed may be about to be read
    desk.watch.lag.note_read(0, NOW)
    assert desk.watch.other_groups == {"connect": 1, "consumer": 1}
    desk.commit("silent")
    assert desk.watch.other_groups == {"connect": 1}
    desk.commit("silent", None)  # what it committed was taken away: it has committed
    assert desk.watch.other_groups == {"connect": 1}


def test_it_is_counted_for_as_long_as_it_has_members(desk):
    desk.watch.lag.note_read(0, NOW)
    desk.classic("g", "consumer", "m")
    desk.take(encode_group_key(CONSUMER, "modern"), b"\x00\x00")
    assert desk.watch.other_groups == {"consumer": 1}
    desk.classic("g", "consumer")
    assert desk.watch.other_groups == {}
    desk.classic("g", "consumer", "m")
    desk.classic("g", "connect", "m")
    assert desk.watch.other_groups == {"connect": 1}
    desk.take(encode_group_key(2, "g"), None)
    assert desk.watch.other_groups == {}


def test_a_group_that_commits_where_nobody_looks_has_committed():
    desk = Desk(
        wanted=lambda group, topic: group != "unwanted" and topic != "t",
        hidden=lambda group, _topic: group == "a mirror's",
    )
    desk.watch.lag.note_read(0, NOW)
    for group in ("g", "unwanted", "a mirror's"):
        desk.classic(group, "consumer", "m")
    assert desk.watch.other_groups == {"consumer": 1}
    desk.commit("g")
    assert desk.watch.other_groups == {}
    desk.watch.lag.begin_commits(1)
    desk.watch.lag.note_read(0, NOW)
    desk.classic("g", "consumer", "m")
    assert desk.watch.other_groups == {"consumer": 1}
    desk.commit("g")
    assert desk.watch.other_groups == {}


def test_where_the_admin_api_is_asked_it_is_counted_once_its_offsets_are_told(desk):
    lag = desk.watch.lag
    asked = AdminIntake(lag)
    asked.begin()
    desk.watch.reader = object.__new__(AdminRounds)
    desk.watch.reader.others = 3
    for group in ("g", "gone", "elsewhere"):
        asked.take_state(group, "stable")
        asked.take_members(group, [("m", "m", "/10.0.0.1", [("t", [0])])])
    assert desk.watch.other_groups == {"other": 3}
    asked.take_offsets("g", [], asked_ms=NOW, answered_ms=NOW)
    asked.take_offsets("gone", [("t", 0, -1001)], asked_ms=NOW, answered_ms=NOW)
    asked.take_offsets("elsewhere", [("not shown", 0, 5)], asked_ms=NOW, answered_ms=NOW)
    assert desk.watch.other_groups == {"other": 3, "consumer": 2}
    asked.forget("gone")
    assert desk.watch.other_groups == {"other": 3, "consumer": 1}
    asked.take_state("g", "empty")
    assert desk.watch.other_groups == {"other": 3}


def test_of_groups_that_are_gone_nothing_is_kept(desk):
    lag = desk.watch.lag
    lag.note_read(0, NOW)
    for number in range(100):
        desk.classic(f"g{number}", "consumer", "m")
        desk.commit(f"g{number}")
        desk.commit(f"g{number}", None)
        lag.membership.take(GroupGone(f"g{number}"))
    lag.silent_groups()
    assert not any((lag.slots.changed, lag.membership.changed, lag.membership.emptied, lag.silences.groups))
    assert not any(lag.membership.committed(f"g{number}") for number in range(100))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, ""),
        ({"connect": 0}, ""),
        ({"share": 1}, "1 share group commits no offsets here."),
        (
            {"connect": 3, "share": 1},
            "3 groups of Kafka Connect and 1 share group commit no offsets here.",
        ),
        (
            {"connect": 1, "schema_registry": 1, "other": 1200},
            (
                "1 group of Kafka Connect, 1 group of Schema Registry and 1,200 groups of other kinds commit"
                " no offsets here."
            ),
        ),
        ({"of a later version": 2}, "2 groups of other kinds commit no offsets here."),
        ({"consumer": 1}, "1 consumer group with members has committed nothing here."),
        (
            {"connect": 2, "consumer": 1500},
            (
                "2 groups of Kafka Connect commit no offsets here. 1,500 consumer groups with members have"
                " committed nothing here."
            ),
        ),
    ],
)
def test_what_is_said_of_them(counts, said):
    assert counts_sentence(counts) == said


def test_what_is_said_of_one():
    assert one_sentence("share") == "The group exists as a share group: it commits no offsets."
    said = "The group exists as a consumer group with members: it has not committed yet."
    assert one_sentence("consumer") == said


NAMES_OF = st.sampled_from(("", "g", "h", "i"))
TYPES = st.sampled_from(("connect", "sr", "share", "streams", "consumer", "", "eigenbau", "\ud83d"))


@given(st.dictionaries(NAMES_OF, TYPES), st.sets(NAMES_OF))
def test_every_group_of_any_protocol_is_counted_once(types, committing):
    kinds = {group: kind for group, told in types.items() if (kind := kind_of(told))}
    counts = count_kinds(kinds, committing.__contains__)
    assert sum(counts.values()) == len(kinds.keys() - committing)
    assert all(counts.values())
