"""What brokers wrote of real groups, against what their Admin API said of them at that moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet.wire.commits import (
    CommitGone,
    Committed,
    GroupDescribed,
    GroupGone,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    OtherRecord,
    commit_layout,
    decode_commit_record,
)
from tests.fleet.golden.commits_told import Told
from tests.fleet.golden.record_commits import LONG, ODD, Names

NAMES = Names("golden")
CLASSIC = {Committed, CommitGone, GroupDescribed}
# 3.9 takes a group that never had members away without a word of its own.
MODERN = {GroupGone, MemberDescribed, MemberAssigned, MemberGone, OtherRecord}


def recorded(version):
    """Return the two stages of a recording, their records as bytes: with members, and after their end."""
    path = Path(__file__).parents[1] / "golden" / f"commits-{version}.json"
    return [
        ([tuple(part and bytes.fromhex(part) for part in one) for one in stage["records"]], stage["admin"])
        for stage in json.loads(path.read_text())["stages"]
    ]


@pytest.mark.parametrize(("version", "kinds"), [("4.3.0", CLASSIC | MODERN), ("3.9.2", CLASSIC)])
def test_what_was_recorded_comes_to_what_the_admin_api_said(version, kinds):
    told = Told()
    for records, admin in recorded(version):
        told.take(records)
        told.agrees_with(admin)
    assert told.seen == kinds


@pytest.mark.parametrize(("version", "value_version"), [("4.3.0", 4), ("3.9.2", 3)])
def test_every_recorded_commit_is_of_the_version_that_the_broker_writes(version, value_version):
    commits = [
        (value, found)
        for records, _ in recorded(version)
        for key, value in records
        if isinstance(found := decode_commit_record(key, value), Committed)
    ]
    assert {value[1] for value, _ in commits} == {value_version}
    for value, found in commits:
        offset_at, time_at = commit_layout(value)
        assert int.from_bytes(value[offset_at : offset_at + 8], "big") == found.offset
        assert int.from_bytes(value[time_at : time_at + 8], "big") == found.committed_at_ms
    assert {len(LONG) + 1, 126, 127} <= {len(found.metadata) for _, found in commits}
    assert ODD in {found.metadata.rstrip("\0") for _, found in commits}


def test_a_commit_of_4_3_carries_the_id_of_its_topic_unless_it_was_transactional():
    records, admin = recorded("4.3.0")[0]
    told = Told()
    told.take(records)
    assert told.positions
    for group, held in told.positions.items():
        for one in held.values():
            expected = None if group == NAMES("transactional") else admin["topic_ids"][one.topic]
            assert one.topic_id == expected


def test_the_aborted_transaction_is_not_in_the_recording():
    for version in ("4.3.0", "3.9.2"):
        told = Told()
        told.take(recorded(version)[0][0])
        held = told.positions[NAMES("transactional")]
        assert [one.offset for one in held.values()] == [8]


def test_groups_are_known_by_their_kind():
    told = Told()
    (alive, _), (ended, _) = recorded("4.3.0")
    told.take(alive)
    kinds = {NAMES(kind): kind for kind in ("classic", "consumer", "share")}
    assert {group: told.kinds[group] for group in kinds} == kinds
    members = {kind: len(told.members_of(NAMES(kind), {})) for kind in ("classic", "static", "consumer")}
    assert members == {"classic": 2, "static": 1, "consumer": 2}
    told.take(ended)
    members = {kind: len(told.members_of(NAMES(kind), {})) for kind in members}
    assert members == {"classic": 0, "static": 1, "consumer": 0}  # a static member keeps its seat for a while
