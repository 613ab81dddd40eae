"""Slots that are judged a block at a time: the verdicts of all at once, and packed what was told of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.wire.commits import MemberAssigned, MemberDescribed, encode_commit_key, encode_commit_value
from lagmon.arrays.packed import Packed
from lagmon.cluster.positions import leave_former_logs
from lagmon.cluster.slot_verdicts import SlotVerdicts
from lagmon.cluster.state import ClusterLag

BEGAN_MS = 1_790_000_000_000
TOPICS = {"t": 3, "u": 2}
GROUPS = ("g", "h", "i")
BEYOND = 5  # a partition that no list shows

_commits = st.tuples(
    st.sampled_from(GROUPS),
    st.sampled_from(
        [*((topic, number) for topic, count in TOPICS.items() for number in range(count)), ("u", BEYOND)]
    ),
    st.none() | st.integers(-1, 400),
)
_rounds = st.tuples(
    st.sampled_from([1, 10, 10, 30, 400]),  # seconds since the last one
    st.lists(_commits, max_size=8),
    st.integers(0, 200),  # what is written to each partition
    st.sampled_from([0, 0, 0, 3, 60]),  # and how much of it a transaction holds up
    st.sampled_from(["", "", "", "remade", "deleted"]),
    st.booleans(),  # whether commits are known as of now
)
_members = st.dictionaries(
    st.sampled_from([(group, name) for group in GROUPS for name in "xy"]), st.integers(0, 2)
)


def _cluster(members, *, asking):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics(TOPICS)
    if asking:
        lag.begin_asking()
    else:
        lag.begin_commits(1)
    for (group, client), number in members.items():
        lag.membership.take(MemberDescribed(group, client, None, client, "/10.0.0.1", ("t",), None))
        lag.membership.take(MemberAssigned(group, client, {"t": (number,), "u": (0,)}))
    return lag


def _lived(rounds, members, *, asking):
    """Return a cluster after these rounds, and when that was."""
    lag, now_ms, end, topic_id = _cluster(members, asking=asking), BEGAN_MS, 100, 0
    for after_s, commits, written, held, happens, known in rounds:
        now_ms, end = now_ms + after_s * 1000, end + written
        if happens == "remade":
            topic_id, end = topic_id + 1, 40
        lag.note_id("t", f"id{topic_id}", now_ms)
        places = np.array(
            [place for topic in TOPICS for place in lag.places.of(topic)[: TOPICS[topic]]], np.int32
        )
        ends = np.full(len(places), end, np.int64)
        lag.note_polled(places, ends, np.maximum(ends - held, 0), now_ms)
        if happens == "deleted":
            lag.heads.note_starts(places, ends - 20, read_ms=now_ms)
        for group, (topic, partition), offset in commits:
            value = None if offset is None else encode_commit_value(offset, now_ms)
            lag.intake.take([encode_commit_key(group, topic, partition)], [value], read_ms=now_ms, live=True)
        if known:
            lag.note_read(0, now_ms) if not asking else lag.asked_ms.update(dict.fromkeys(GROUPS, now_ms))
    return lag, now_ms


def _told(judged):
    """Return all that is told of each row."""
    rows = range(len(judged.rows.reason))
    return [
        (
            int(judged.rows.reason[row]),
            int(judged.rows.lag[row]),
            judged.rows.facts(row),
            judged.rows.sentence(row),
            float(judged.lag_s[row]),
            int(judged.lag_kind[row]),
            *(column[row] for column in (judged.end, judged.start, judged.readable_from)),
        )
        for row in rows
    ]


@given(
    st.lists(_rounds, min_size=1, max_size=25), _members, st.booleans(), st.sets(st.integers(0, 2)), st.data()
)
@settings(deadline=None, max_examples=150)
def test_judged_in_blocks_slots_get_the_verdicts_of_all_at_once(rounds, members, asking, carried, data):
    lag, now_ms = _lived(rounds, members, asking=asking)
    now_ms += data.draw(st.sampled_from([0, 5_000, 90_000]))
    leave_former_logs(lag.intake, lag.heads, lag._marked)
    carried = dict.fromkeys(carried, ("A->B",))
    at_once = SlotVerdicts(lag._known(), carried, now_ms=now_ms)
    expected = _told(at_once)
    assert len(expected) == len(lag.slots)
    for block in (1, 2, 3):
        assert _told(SlotVerdicts(lag._known(), carried, now_ms=now_ms, block=block)) == expected


_numbers = st.one_of(
    st.integers(-1, 3),
    st.integers(-3, 300),
    st.integers(BEGAN_MS - 10_000, BEGAN_MS) | st.just(-1),
    st.integers(0, 2**32 + 1),
    st.integers(-(2**63), 2**63 - 1),
)


@given(
    st.lists(st.one_of(*(st.lists(kind, min_size=1, max_size=4) for kind in (_numbers, st.integers(7, 9)))))
)
def test_packed_numbers_are_the_numbers(blocks):
    size = max((len(one) for one in blocks), default=1)
    blocks = [(one * size)[:size] for one in blocks]
    column = Packed(size)
    for one in blocks:
        column.add(np.array(one, np.int64))
    assert [column[row] for row in range(size * len(blocks))] == [number for one in blocks for number in one]


@pytest.mark.parametrize(
    ("values", "bytes_each"),
    [
        ([-1] * 3, 0),
        ([5] * 3, 0),
        ([-1, 5, 5], 1),
        ([BEGAN_MS, BEGAN_MS + 254, -1], 1),
        ([BEGAN_MS, BEGAN_MS + 255, -1], 2),
        ([BEGAN_MS, BEGAN_MS + 65_535], 4),
        ([0, 2**32 - 2], 4),
        ([0, 2**32 - 1], 8),
        ([-(2**63), 2**63 - 1], 8),
    ],
)
def test_numbers_take_no_more_room_than_they_lie_apart(values, bytes_each):
    column = Packed(3)
    column.add(np.array(values, np.int64))
    ((_, codes),) = column._blocks
    assert (0 if codes is None else codes.itemsize) == bytes_each
    assert [column[row] for row in range(len(values))] == values
