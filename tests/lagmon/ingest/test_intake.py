"""Records taken in many at once come to the same windows as when each is read by itself."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire.commits import (
    CommitKey,
    decode_key,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
)
from lagmon.cluster.membership import Membership
from lagmon.cluster.names import Places, Slots
from lagmon.groups.rings import LENGTH, Rings
from lagmon.ingest.columns import usual_key
from lagmon.ingest.intake import MAX_PARTITION, Intake
from lagmon.logs.heads import Heads

END = 1000


def make(wanted=lambda _group, _topic: True, end=END):
    heads = Heads()
    return Intake(
        places=Places(heads.claim, heads.release),
        slots=Slots(),
        rings=Rings(),
        membership=Membership(),
        wanted=wanted,
        ends=lambda places: np.full(len(places), end, np.int64),
    )


def windows(intake):
    """Return by group, topic and partition what its window holds, oldest first."""
    found = {}
    for number, group in intake.slots.groups():
        for slot in intake.slots.of(group).tolist():
            assert intake.slots.group[slot] == number
            filled = int(intake.rings.filled[slot])
            columns = slice(LENGTH - filled, LENGTH)
            assert (intake.rings.offset[slot, : LENGTH - filled] == -1).all()
            found[(group, *intake.places.name(int(intake.slots.place[slot])))] = list(
                zip(
                    intake.rings.offset[slot, columns].tolist(),
                    intake.rings.committed_ms[slot, columns].tolist(),
                    intake.rings.lag[slot, columns].tolist(),
                    strict=True,
                )
            )
    return found


RECORDS = st.lists(
    st.tuples(
        st.sampled_from(("g", "h")),
        st.sampled_from(("t", "u")),
        st.integers(0, 2),
        st.none()
        | st.tuples(
            st.integers(0, 2 * END),
            st.integers(0, 5000),
            st.sampled_from((0, 1, 2, 3, 4)),
            st.sampled_from((0, 1, 126, 127, 300)),
        ),
    ),
    max_size=80,
)
NO_COMMITS = (encode_commit_value(-5, 1), encode_commit_value(5, 1)[:-3], b"")


@given(RECORDS, st.lists(st.integers(1, 20), max_size=20))
def test_any_cut_into_batches_gives_the_windows_of_one_by_one(records, cuts):
    truth: dict[tuple[str, str, int], deque[tuple[int, int, int]]] = {}
    raw = []
    for group, topic, partition, commit in records:
        key = encode_commit_key(group, topic, partition)
        if commit is None:
            truth.pop((group, topic, partition), None)
            raw.append((key, None))
            continue
        offset, at_ms, version, metadata = commit
        value = encode_commit_value(offset, at_ms, version=version, metadata="m" * metadata)
        raw.append((key, value))
        window = truth.setdefault((group, topic, partition), deque(maxlen=LENGTH))
        window.append((offset, at_ms, max(END - offset, 0)))
    intake = make()
    rest = raw
    for size in [*cuts, len(raw)]:
        batch, rest = rest[:size], rest[size:]
        intake.take([key for key, _ in batch], [value for _, value in batch], read_ms=7, live=True)
    assert windows(intake) == {name: list(window) for name, window in truth.items()}
    assert intake.taken.records == len(raw)
    assert intake.taken.commits == sum(value is not None for _, value in raw)
    assert intake.taken.malformed == 0


@pytest.mark.parametrize("at_once", [True, False])
def test_nothing_stays_of_a_group_that_ended_with_its_offsets(at_once):
    intake = make(wanted=lambda _group, topic: topic != "unwanted")
    intake.membership.note_joined("h")
    keys = [encode_commit_key("g", topic, 0) for topic in ("t", "u", "unwanted")]
    began = [(key, encode_commit_value(3, 1)) for key in keys]
    ended = [*((key, None) for key in keys), (encode_group_key(2, "g"), None)]
    stays = (
        (encode_commit_key("h", "t", 0), encode_commit_value(3, 1)),
        (encode_commit_key("h", "t", 0), None),
    )
    records = [*began, *ended, *stays]
    for batch in [records] if at_once else [[one] for one in records]:
        intake.take([key for key, _ in batch], [value for _, value in batch], read_ms=7, live=True)
    assert [intake.membership.committed(group) for group in "gh"] == [False, True]
    assert (len(windows(intake)), intake.taken.records) == (0, len(records))
    again = encode_commit_key("g", "unwanted", 1), encode_commit_value(4, 2)
    ends = encode_group_key(2, "g"), None
    intake.take([ends[0], again[0]], [ends[1], again[1]], read_ms=8, live=True)
    assert intake.membership.committed("g")


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from((None, encode_commit_value(7, 1), *NO_COMMITS))),
        max_size=40,
    ),
    st.lists(st.integers(1, 20), max_size=20),
)
@example([(0, encode_commit_value(7, 1)), *((0, one) for one in NO_COMMITS), (0, None)], [])
def test_every_record_counts_as_what_it_is_in_whatever_batch_a_tombstone_follows(records, cuts):
    intake, rest = make(), records
    for size in [*cuts, len(records)]:
        batch, rest = rest[:size], rest[size:]
        keys = [encode_commit_key("g", "t", partition) for partition, _ in batch]
        intake.take(keys, [value for _, value in batch], read_ms=7, live=True)
    found = Counter(value for _, value in records)
    absurd, *malformed = (found[one] for one in NO_COMMITS)
    taken = intake.taken
    assert (taken.gone, taken.absurd, taken.malformed) == (found[None], absurd, sum(malformed))
    assert taken.records == len(records)


def test_how_many_of_a_window_were_read_as_they_came():
    intake = make()
    key = encode_commit_key("g", "t", 0)

    def take(count, *, live):
        intake.take([key] * count, [encode_commit_value(1, 1)] * count, read_ms=5, live=live)
        return int(intake.rings.live[0])

    assert take(3, live=False) == 0
    assert take(2, live=True) == 2
    assert take(9, live=True) == LENGTH
    assert take(1, live=False) == 0


def test_a_group_that_is_not_wanted_takes_no_room():
    intake = make(wanted=lambda group, _topic: group != "g")
    intake.take([encode_commit_key("g", "t", 0)] * 2, [encode_commit_value(1, 1)] * 2, read_ms=5, live=True)
    assert windows(intake) == {}
    assert (intake.taken.passed_over, intake.taken.commits) == (2, 0)
    assert len(intake.slots) == 0


@pytest.mark.parametrize(
    ("key", "value", "counter"),
    [
        (encode_commit_key("g", "t", 0), encode_commit_value(5, 1)[:-3], "malformed"),
        (encode_commit_key("g", "t", 0), b"", "malformed"),
        (encode_commit_key("g", "t", 0), b"\x00\x09" + bytes(40), "malformed"),
        (encode_commit_key("g", "t", 0), b"\xff\xff" + bytes(40), "malformed"),
        (b"\x00\x63whatever", b"x", "malformed"),
        (None, b"x", "malformed"),
        (encode_commit_key("g", "t", 0), encode_commit_value(-5, 1), "absurd"),
        (encode_group_key(2, "g"), None, "members"),
        (encode_commit_key("g", "t", 0), None, "gone"),
    ],
)
def test_what_is_no_commit_is_counted_once_and_ends_nothing(key, value, counter):
    intake = make()
    good = encode_commit_key("h", "t", 1)
    intake.take(
        [good, key, good], [encode_commit_value(1, 1), value, encode_commit_value(2, 2)], read_ms=5, live=True
    )
    assert getattr(intake.taken, counter) == 1
    assert intake.taken.records == 3
    assert {name: one for name, one in windows(intake).items() if one} == {
        ("h", "t", 1): [(1, 1, END - 1), (2, 2, END - 2)]
    }
    kept = counter == "malformed" and key == encode_commit_key("g", "t", 0)  # a commit that cannot be read
    assert (intake.unreadable.sum(), intake.slots.used) == (kept, 1 + kept)
    assert bool(intake.taken.sample) == (counter == "malformed")


def test_who_commits_a_negative_offset_stands_where_it_stood_before():
    intake = make()
    key = encode_commit_key("g", "t", 0)
    for offset in (7, -1, -5):
        intake.take([key], [encode_commit_value(offset, 1)], read_ms=5, live=True)
    assert windows(intake) == {("g", "t", 0): [(7, 1, END - 7)]}
    intake.take([key] * 2, [None, encode_commit_value(-1, 1)], read_ms=5, live=True)
    assert (windows(intake), intake.slots.used) == ({}, 0)
    intake.take([key] * 2, [encode_commit_value(one, 1) for one in (-1, 8)], read_ms=5, live=True)
    assert windows(intake) == {("g", "t", 0): [(8, 1, END - 8)]}


def test_an_end_that_is_not_known_leaves_the_lag_open():
    intake = make(end=-1)
    intake.take([encode_commit_key("g", "t", 0)], [encode_commit_value(3, 1)], read_ms=5, live=True)
    assert windows(intake) == {("g", "t", 0): [(3, 1, -1)]}


def test_slots_and_places_of_a_topic_that_went_away_are_used_again():
    intake = make()
    for group in ("g", "h"):
        intake.take([encode_commit_key(group, "t", 1)], [encode_commit_value(3, 1)], read_ms=5, live=True)
    assert intake.drop_places(intake.places.drop(["t"])) == 2
    assert windows(intake) == {}
    intake.take([encode_commit_key("k", "u", 0)], [encode_commit_value(4, 2)], read_ms=6, live=True)
    assert windows(intake) == {("k", "u", 0): [(4, 2, END - 4)]}
    assert len(intake.slots) == 2
    assert intake.places.topics == ["u"]


def test_what_is_read_anew_is_not_appended_to_what_was_read_before():
    intake = make()
    keys = [encode_commit_key("g", "t", 0)] * 2
    values = [encode_commit_value(1, 1), encode_commit_value(2, 2)]
    for _ in range(2):
        intake.forget_all()
        intake.take(keys, values, read_ms=5, live=False)
    assert windows(intake) == {("g", "t", 0): [(1, 1, END - 1), (2, 2, END - 2)]}
    assert intake.taken.commits == 4
    intake.forget_all()
    assert windows(intake) == {}


NAMES = st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass"))


@given(st.sampled_from((0, 1, 2, 3, 256)), NAMES, NAMES, st.integers(-2, 2**31 - 1), st.integers(-3, 3))
def test_the_quick_reading_of_keys_says_what_the_slow_one_says_or_nothing(version, group, topic, number, cut):
    written = (len(name).to_bytes(2, "big") + name for name in (group, topic))
    key = version.to_bytes(2, "big") + b"".join(written) + number.to_bytes(4, "big", signed=True)
    key = key[:cut] if cut < 0 else key + bytes(cut)
    try:
        slow = decode_key(key)
    except MalformedError:
        slow = None
    quick = usual_key(key)
    if isinstance(slow, CommitKey) and not cut:
        assert quick == (slow.group, slow.topic, slow.partition)
    else:
        # Bytes that are too few for the lengths before them, or too many, are left to the slow one.
        assert quick is None or quick == (slow.group, slow.topic, slow.partition)


def test_a_partition_that_no_topic_can_have_makes_no_places():
    intake = make()
    keys = [encode_commit_key("g", "t", number) for number in (2**31 - 1, MAX_PARTITION + 1, 1)]
    intake.take(keys, [encode_commit_value(1, 1)] * 3, read_ms=5, live=True)
    assert (intake.taken.absurd, intake.taken.commits, intake.taken.records) == (2, 1, 3)
    assert len(intake.places.of("t")) == 2


OF_SLOTS = st.lists(
    st.tuples(
        st.sampled_from(("g", "h")), st.sampled_from(("t", "u", "v")), st.integers(0, 1), st.booleans()
    ),
    max_size=40,
)


@given(OF_SLOTS)
def test_hidden_positions_are_held_and_never_shown(records):
    """Topic u is hidden of every group, t and v of none; a position that is taken away gives its slot back."""
    intake = make()
    intake.hidden = lambda _group, topic: topic == "u"
    there = set()
    for group, topic, partition, gone in records:
        value = None if gone else encode_commit_value(3, 1)
        intake.take([encode_commit_key(group, topic, partition)], [value], read_ms=5, live=True)
        (there.discard if gone else there.add)((group, topic, partition))
    slots = intake.slots
    assert set(windows(intake)) == {one for one in there if one[1] != "u"}
    assert slots.used == len(there)
    for group in ("g", "h"):
        held = slots.held_by(group)
        assert {(group, *intake.places.name(int(slots.place[slot]))) for slot in held} == {
            one for one in there if one[0] == group
        }
        assert [slots.shows(int(slots.group[slot])) for slot in held] == [
            intake.places.name(int(slots.place[slot]))[0] != "u" for slot in held
        ]
        assert (slots.number(group) is None) == all(one[0] != group or one[1] == "u" for one in there)
    every = list(slots.every_group())
    assert len(dict(every)) == len(every)  # no number twice
    assert {(slots.shows(number), name) for number, name in every} == {
        (one[1] != "u", one[0]) for one in there
    }


def test_wanted_is_asked_anew_where_group_or_topic_change():
    intake = make(wanted=lambda group, topic: (group, topic) != ("g", "t"))
    keys = [encode_commit_key(*name, 0) for name in (("g", "t"), ("g", "u"), ("h", "t"), ("g", "t"))]
    intake.take(keys, [encode_commit_value(1, 1)] * 4, read_ms=5, live=True)
    assert set(windows(intake)) == {("g", "u", 0), ("h", "t", 0)}
    assert intake.taken.passed_over == 2


@pytest.mark.parametrize(("version", "members"), [(3, 0), (11, -1), (17, -1)])
def test_a_group_of_which_compaction_left_no_member_has_none_where_members_are_read(version, members):
    intake = make()
    intake.take([encode_group_key(version, "g")], [b"\x00\x00\x00\x00\x00\x05"], read_ms=5, live=False)
    assert (intake.membership.members("g"), intake.membership.joined("g")) == (members, True)


@pytest.mark.parametrize("described", [False, True])
def test_the_name_of_a_group_whose_offsets_are_deleted_is_kept_only_until_its_end_is_read(described):
    intake, key = make(), encode_commit_key("g", "t", 0)
    if described:
        intake.membership.note_joined("g")
    intake.take([key, key], [encode_commit_value(5, 1000), None], read_ms=2000, live=True)
    assert intake.membership.committed("g") is described
    intake.take([encode_group_key(2, "g")], [None], read_ms=3000, live=True)
    assert not intake.membership.committed("g")
