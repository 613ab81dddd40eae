"""Commits in a format that is not known: no group is reported as stopped for them, and none vanishes."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.wire.commits import (
    About,
    GroupGone,
    MemberDescribed,
    MemberGone,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
)
from lagmon.burrow.documents import status_document
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import partition_rows

NOW = 1_790_000_000_000
S = 1000
KEY = encode_commit_key("g", "t", 0)
NEWER = b"\x00\x05" + b"\x00" * 40


@pytest.fixture
def lag():
    found = ClusterLag(wanted=lambda *_: True)
    found.note_topics({"t": 1})
    found.begin_commits(1)
    return found


def take(lag, value, *, ago_s=0.0, live=True):
    lag.intake.take([KEY], [value], read_ms=NOW - round(ago_s * S), live=live)


def look(lag, end, *, ago_s=0.0):
    at_ms, places = NOW - round(ago_s * S), np.array(lag.places.of("t"), np.int32)
    lag.note_polled(places, np.array([end]), np.array([end]), at_ms)
    lag.heads.note_starts(places, np.array([0]))
    lag.note_read(0, at_ms)


def rows(lag):
    return partition_rows(lag, lag.see(NOW), "g")[0]


def shown(lag):
    return [(row["status"], row["reason"], row["lag_records"], row["committed_offset"]) for row in rows(lag)]


def test_a_group_whose_newest_commits_cannot_be_read_is_unknown_until_one_can(lag):
    for ago_s in range(600, -1, -10):
        readable = ago_s > 400
        take(lag, encode_commit_value(1000 - ago_s, NOW - ago_s * S) if readable else NEWER, ago_s=ago_s)
        look(lag, 1000 - ago_s, ago_s=ago_s)
    assert shown(lag) == [("UNKNOWN", "unreadable_commit", None, 590)]
    assert rows(lag)[0]["sentence"] == (
        "Lag unknown: the group's newest commit cannot be parsed; the last readable offset is 590. Its format may "
        "be newer than Mirrorwatch: the log has a sample."
    )
    take(lag, encode_commit_value(1000, NOW))
    assert shown(lag)[0][:3] == ("OK", "caught_up", 0)
    assert not lag.intake.unreadable.any()


@pytest.mark.parametrize("live", [False, True])
def test_after_a_restart_it_is_there_and_unknown(lag, live):
    take(lag, NEWER, live=live)
    look(lag, 1000)
    assert shown(lag) == [("UNKNOWN", "unreadable_commit", None, -1)]
    assert lag.intake.taken.malformed == 1
    assert status_document(lag, "A", "g", now_ms=NOW, every_partition=True)
    take(lag, None)  # deleted
    assert (lag.slots.used, lag.intake.unreadable.sum()) == (0, 0)


def test_the_newest_of_one_batch_counts(lag):
    good = encode_commit_value(5, NOW)
    lag.intake.take([KEY] * 2, [NEWER, good], read_ms=NOW, live=True)
    assert not lag.intake.unreadable.any()
    lag.intake.take([KEY] * 2, [good, NEWER], read_ms=NOW, live=True)
    assert lag.intake.unreadable.sum() == 1
    assert lag.intake.known_offsets(slice(0, 1)).tolist() == [-1]


def test_a_group_with_a_member_that_cannot_be_read_has_an_unknown_number_of_members(lag):
    key = encode_group_key(About.CONSUMER_MEMBER, "g", "m")
    lag.intake.take([key], [b"\x00\x63" + b"\x00" * 20], read_ms=NOW, live=True)
    lag.membership.note_there("g", "consumer")
    assert (lag.membership.members("g"), lag.membership.joined("g")) == (-1, True)
    lag.membership.take(MemberDescribed("g", "m", None, "c", "/h", (), None))
    assert lag.membership.members("g") == 1
    lag.membership.note_unreadable("g", "m")
    lag.membership.take(MemberGone("g", "m"))
    assert lag.membership.members("g") == 0
    lag.membership.take(GroupGone("g"))
    assert lag.membership.members("g") == -1
