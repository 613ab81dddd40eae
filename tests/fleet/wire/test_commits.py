"""Records of `__consumer_offsets`: every version as Kafka's own classes write it, round trips, hostile bytes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire import commits as wire
from fleet.wire.bytes import MAX_FIELD_BYTES
from fleet.wire.commit_keys import CommitKey, GroupKey
from fleet.wire.commit_values import decode_commit_value
from fleet.wire.commits import Committed, GroupDescribed, Member, MemberAssigned, MemberDescribed

WRITTEN = {
    what: bytes.fromhex(raw)
    for what, raw in json.loads(
        (Path(__file__).parents[1] / "golden" / "commits-classes.json").read_text()
    ).items()
}
GROUP, TOPIC = "g-ö", "orders"
TOPIC_ID = "ASNFZ4mrze9+3LqYdlQyEA"  # of the one in CommitFacts.java
OFFSET, COMMITTED_MS, EXPIRES_MS = 0x0102030405060708, 1_700_000_000_123, 1_700_000_600_123

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
PARTITION = st.integers(0, 2**31 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
LONG_TEXT = TEXT | st.sampled_from([length * "x" for length in (126, 127, 128, 16382, 16383, 16384, 32767)])
TOPIC_IDS = st.binary(min_size=16, max_size=16).filter(any)


def of_group(version):
    """What CommitFacts.java wrote, as far as the version has room for it."""
    return GroupDescribed(
        GROUP,
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="member-0",
        state_since_ms=COMMITTED_MS if version >= 2 else None,
        members=tuple(
            Member(
                f"member-{number}",
                instance_id="seat" if number and version >= 3 else None,
                client_id="client",
                client_host=f"/10.0.0.{number}",
                assigned=((TOPIC, (number, number + 2)),),
                subscribed=(TOPIC, "ü"),
            )
            for number in (0, 1)
        ),
    )


@pytest.mark.parametrize("version", [0, 1])
def test_a_key_of_a_commit_names_group_topic_and_partition(version):
    key = WRITTEN[f"key {version}"]
    assert wire.decode_key(key) == CommitKey(GROUP, TOPIC, 7)
    assert wire.encode_commit_key(GROUP, TOPIC, 7, version=version) == key
    assert wire.decode_commit_record(key, None) == wire.CommitGone(GROUP, TOPIC, 7)


KINDS = {
    "classic": [2],
    "consumer": [3, 4, 5, 6, 7, 8, 16],
    "share": [10, 11, 12, 13, 14, 15],
    "streams": [17, 19, 20, 21, 22, 23],
}
GONE = {2: "group", 3: "group", 11: "group", 17: "group", 5: "member", 8: "member"}
READ = {2, 5, 8}  # the others' values are not looked at


@pytest.mark.parametrize(
    ("kind", "version"), [(kind, one) for kind, all_of in KINDS.items() for one in all_of]
)
def test_every_key_of_4_3_names_its_group_and_kind(kind, version):
    key = WRITTEN[f"key {version}"]
    member = "m" if key.endswith(b"\x00\x01m") else ""
    assert wire.decode_key(key) == GroupKey(version, kind, GROUP, member)
    assert wire.encode_group_key(version, GROUP, member) == key
    other = wire.OtherRecord(kind, GROUP)
    gone = {"group": wire.GroupGone(GROUP), "member": wire.MemberGone(GROUP, "m")}
    assert wire.decode_commit_record(key, None) == gone.get(GONE.get(version), other)
    if version not in READ:
        assert wire.decode_commit_record(key, b"\xff") == other


@pytest.mark.parametrize(("version", "kind"), [(9, "share"), (18, "streams")])
def test_keys_that_only_earlier_releases_wrote_are_known(version, kind):
    key = version.to_bytes(2, "big") + b"\x00\x01g"
    assert wire.decode_commit_record(key, b"\x00\x00") == wire.OtherRecord(kind, "g")
    assert wire.encode_group_key(version, "g") == key


@pytest.mark.parametrize(
    "what", [what for what in WRITTEN if what.startswith("commit ")], ids=lambda what: what.replace(" ", "-")
)
def test_the_value_of_a_commit_is_read_and_written_as_kafka_writes_it(what):
    version, length = (int(number) for number in what.split()[1:])
    said = {
        "metadata": length * "x",
        "leader_epoch": 5 if version >= 3 else None,
        "expires_at_ms": EXPIRES_MS if version == 1 else None,
        "topic_id": TOPIC_ID if version == 4 else None,
    }
    expected = Committed(GROUP, TOPIC, 7, offset=OFFSET, committed_at_ms=COMMITTED_MS, **said)
    assert wire.decode_commit_record(WRITTEN["key 1"], WRITTEN[what]) == expected
    assert wire.encode_commit_value(OFFSET, COMMITTED_MS, version=version, **said) == WRITTEN[what]


@pytest.mark.parametrize("version", range(5))
def test_a_classic_group_is_read_as_kafka_writes_it(version):
    assert wire.decode_commit_record(WRITTEN["key 2"], WRITTEN[f"group {version}"]) == of_group(version)


def test_a_member_of_kip_848_is_read_as_kafka_writes_it():
    assert wire.decode_commit_record(WRITTEN["key 5"], WRITTEN["member"]) == MemberDescribed(
        GROUP, "m", "seat", "client", "/10.0.0.1", subscribed=(TOPIC, "ü"), subscribed_regex="ord.*"
    )
    assert wire.decode_commit_record(WRITTEN["key 8"], WRITTEN["assignment"]) == MemberAssigned(
        GROUP, "m", assigned=((TOPIC_ID, (0, 2)),)
    )


# Written out by hand from the layouts; versions 0 to 4 with the offset 258 and the time 1.
BY_HAND = {
    0: b"\x00\x00" + b"\x00" * 6 + b"\x01\x02" + b"\x00\x02\xc3\xa9" + b"\x00" * 7 + b"\x01",
    1: b"\x00\x01" + b"\x00" * 6 + b"\x01\x02" + b"\x00\x02\xc3\xa9" + b"\x00" * 7 + b"\x01" + b"\xff" * 8,
    2: b"\x00\x02" + b"\x00" * 6 + b"\x01\x02" + b"\x00\x02\xc3\xa9" + b"\x00" * 7 + b"\x01",
    3: b"\x00\x03" + b"\x00" * 6 + b"\x01\x02" + b"\xff" * 4 + b"\x00\x02\xc3\xa9" + b"\x00" * 7 + b"\x01",
    4: b"\x00\x04" + b"\x00" * 6 + b"\x01\x02" + b"\xff" * 4 + b"\x03\xc3\xa9" + b"\x00" * 7 + b"\x01\x00",
}
COMMIT_KEY = wire.encode_commit_key("g", "t", 0)


@pytest.mark.parametrize(("version", "value"), BY_HAND.items())
def test_what_is_not_set_is_none(version, value):
    expected = Committed("g", "t", 0, 258, None, "é", 1, None, None)
    assert wire.decode_commit_record(COMMIT_KEY, value) == expected
    assert wire.encode_commit_value(258, 1, metadata="é", version=version) == value


@pytest.mark.parametrize(
    ("tags", "topic_id"),
    [
        (b"\x00", None),
        (b"\x01\x00\x10" + bytes(16), None),  # the id of all zeros
        (b"\x01\x00\x10" + b"\xfb" * 16, "+/v7+/v7+/v7+/v7+/v7+w"),
        (b"\x02\x00\x10" + bytes(15) + b"\x01" + b"\x07\x02hi", "AAAAAAAAAAAAAAAAAAAAAQ"),
        (b"\x01\x80\x01\x02hi", None),  # a tag of a later release
    ],
)
def test_tagged_fields_are_read_or_left_alone(tags, topic_id):
    value = BY_HAND[4][:-1] + tags
    assert wire.decode_commit_record(COMMIT_KEY, value) == Committed(
        "g", "t", 0, 258, None, "é", 1, None, topic_id
    )


def test_absurd_offsets_and_times_are_handed_on():
    for version in range(5):
        value = wire.encode_commit_value(
            -(2**63), 2**63 - 1, leader_epoch=-7, expires_at_ms=-7, version=version
        )
        found = wire.decode_commit_record(COMMIT_KEY, value)
        assert (found.offset, found.committed_at_ms) == (-(2**63), 2**63 - 1)
        assert found.leader_epoch == (-7 if version >= 3 else None)
        assert found.expires_at_ms == (-7 if version == 1 else None)


COMMITS = st.builds(
    lambda group, topic, partition, version, **said: (group, topic, partition, version, said),
    LONG_TEXT,
    TEXT,
    PARTITION,
    st.integers(0, 4),
    offset=INT64,
    committed_at_ms=INT64,
    metadata=LONG_TEXT,
    leader_epoch=st.none() | INT32.filter(lambda epoch: epoch != -1),
    expires_at_ms=st.none() | INT64.filter(lambda time_ms: time_ms != -1),
)


@given(COMMITS, TOPIC_IDS, st.integers(0, 1), st.binary(max_size=20))
def test_a_commit_that_is_encoded_decodes_to_itself(commit, topic_id, key_version, tail):
    group, topic, partition, version, said = commit
    said["topic_id"] = wire_topic_id(topic_id)
    key = wire.encode_commit_key(group, topic, partition, version=key_version)
    value = wire.encode_commit_value(**said, version=version)
    room = {"leader_epoch": version >= 3, "expires_at_ms": version == 1, "topic_id": version == 4}
    expected = {name: held if room.get(name, True) else None for name, held in said.items()}
    # Bytes behind the last field are left alone.
    assert wire.decode_commit_record(key + tail, value + tail) == Committed(
        group, topic, partition, **expected
    )
    assert places_agree(value + tail)


def wire_topic_id(raw):
    return decode_commit_value("", "", 0, BY_HAND[4][:-1] + b"\x01\x00\x10" + raw).topic_id


def places_agree(value):
    """Say whether the quick way gives what the thorough one reads; and nothing only where that one raises."""
    layout = wire.commit_layout(value)
    try:
        read = decode_commit_value("", "", 0, value)
    except MalformedError:
        return True
    offset_at, time_at = layout
    return (
        int.from_bytes(value[offset_at : offset_at + 8], "big", signed=True) == read.offset
        and int.from_bytes(value[time_at : time_at + 8], "big", signed=True) == read.committed_at_ms
    )


@pytest.mark.parametrize("version", range(5))
def test_the_longest_metadata_has_its_places(version):
    value = wire.encode_commit_value(5, 6, metadata=32_767 * "x", version=version)
    assert wire.commit_layout(value) is not None
    assert places_agree(value)


@given(st.integers(0, 4), st.binary(max_size=60))
@example(4, bytes(12) + b"\x80\x01" + bytes(140))  # 127 bytes of metadata
@example(4, bytes(12) + b"\x81\x80\x00" + bytes(140))  # a length in more bytes than it needs
@example(4, bytes(12) + b"\x81\x80\x80\x80\x00" + bytes(140))
def test_the_quick_way_to_offset_and_time_agrees_with_the_thorough_one(version, rest):
    assert places_agree(version.to_bytes(2, "big") + rest)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x00",
        b"\x00\x05" + BY_HAND[4][2:],
        b"\x01\x00" + BY_HAND[0][2:],
        b"\xff\xff" + BY_HAND[0][2:],
        BY_HAND[0][:10] + b"\xff\xff" + BY_HAND[0][12:],
        BY_HAND[3][:14] + b"\x80\x00" + bytes(70_000),  # longer than a text can be
        BY_HAND[4][:14] + b"\x81\x80\x02" + bytes(70_000),
        BY_HAND[4][:14] + b"\x00" + BY_HAND[4][15:],  # metadata that is null
        BY_HAND[4][:14] + b"\x80\x80\x80" + bytes(9),
        *(BY_HAND[version][: -1 - (8 if version == 1 else version == 4)] for version in BY_HAND),
    ],
)
def test_there_are_no_places_in_what_is_no_commit(value):
    assert wire.commit_layout(value) is None


TOPICS = st.lists(st.tuples(TEXT, st.lists(PARTITION, max_size=4).map(tuple)), max_size=3).map(tuple)
MEMBERS = st.builds(
    Member,
    LONG_TEXT,
    st.none() | TEXT,
    TEXT,
    TEXT,
    assigned=TOPICS,
    subscribed=st.lists(TEXT, max_size=3).map(tuple),
)
DESCRIBED = st.builds(
    GroupDescribed,
    TEXT,
    protocol_type=st.just("consumer"),
    generation=INT32,
    protocol=st.none() | TEXT,
    leader=st.none() | TEXT,
    state_since_ms=st.none() | st.integers(0, 2**63 - 1),
    members=st.lists(MEMBERS, max_size=3).map(tuple),
)


@given(DESCRIBED, st.integers(0, 4))
def test_a_group_that_is_encoded_decodes_to_itself(described, version):
    key = wire.encode_group_key(wire.About.CLASSIC_GROUP, described.group)
    found = wire.decode_commit_record(key, wire.encode_group_metadata(described, version=version))
    if version >= 3:
        assert found == described
    else:
        assert [one.id for one in found.members] == [one.id for one in described.members]
        assert [one.assigned for one in found.members] == [one.assigned for one in described.members]
        assert found.state_since_ms == (described.state_since_ms if version == 2 else None)


@pytest.mark.parametrize("protocol_type", ["connect", "", "sr"])
def test_only_consumers_are_asked_what_they_were_assigned(protocol_type):
    raw = WRITTEN["group 3"].replace(
        b"\x00\x08consumer", len(protocol_type).to_bytes(2, "big") + protocol_type.encode()
    )
    found = wire.decode_commit_record(WRITTEN["key 2"], raw)
    assert found.protocol_type == protocol_type
    assert [(one.client_id, one.assigned, one.subscribed) for one in found.members] == 2 * [
        ("client", (), ())
    ]


ASSIGNMENT = b"\x00\x01\x00\x00\x00\x01\x00\x06orders"  # version 1, one topic; then its partitions


@pytest.mark.parametrize(
    ("assignment", "assigned"),
    [
        (b"", ()),  # a member that was not yet given anything
        (b"\x00\x00\x00\x00\x00\x00", ()),
        (ASSIGNMENT + b"\x00\x00\x00\x01\x00\x00\x00\x07\xff\xff\xff\xff", (("orders", (7,)),)),
        (
            b"\x00\x63" + ASSIGNMENT[2:] + b"\x00\x00\x00\x01\x00\x00\x00\x07",
            (("orders", (7,)),),
        ),  # version 99
        (b"\xff\xff" + ASSIGNMENT[2:] + b"\x00\x00\x00\x01\x00\x00\x00\x07", ()),
        (ASSIGNMENT + b"\x00\x00\x00\x01\xff\xff\xff\xff", ()),
        (ASSIGNMENT + b"\x7f\xff\xff\xff", ()),
        (ASSIGNMENT + b"\xff\xff\xff\xff", ()),
        (ASSIGNMENT[:-1], ()),
        (b"\x00\x00\x00\x00\x00\x01\x00\x01\xff\x00\x00\x00\x00", ()),
    ],
)
def test_an_assignment_that_cannot_be_read_is_empty_and_the_group_is_not_malformed(assignment, assigned):
    head = b"\x00\x00\x00\x08consumer" + bytes(4) + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x01"
    member = b"\x00\x01m\x00\x01c\x00\x01h" + bytes(4) + bytes(4)
    raw = head + member + len(assignment).to_bytes(4, "big") + assignment
    found = wire.decode_commit_record(WRITTEN["key 2"], raw)
    assert [(one.id, one.client_id, one.assigned) for one in found.members] == [("m", "c", assigned)]


def test_a_group_without_members_is_empty():
    raw = wire.encode_group_metadata(GroupDescribed("g", "", 0, None, None, None, ()))
    assert wire.decode_commit_record(WRITTEN["key 2"], raw).members == ()


RECORDS = [
    *((WRITTEN["key 1"], value) for value in BY_HAND.values()),
    (WRITTEN["key 0"], WRITTEN["commit 4 128"]),
    *((WRITTEN["key 2"], WRITTEN[f"group {version}"]) for version in range(5)),
    (WRITTEN["key 5"], WRITTEN["member"]),
    (WRITTEN["key 8"], WRITTEN["assignment"]),
]


@pytest.mark.parametrize(("key", "value"), RECORDS)
def test_a_record_cut_short_anywhere_is_malformed(key, value):
    for end in range(len(value)):
        with pytest.raises(MalformedError):
            wire.decode_commit_record(key, value[:end])
    for end in range(len(key)):
        with pytest.raises(MalformedError):
            wire.decode_commit_record(key[:end], value)
        with pytest.raises(MalformedError):
            wire.decode_commit_record(key[:end], None)


def read_or_malformed(key, value):
    try:
        found = wire.decode_commit_record(key, value)
    except MalformedError as error:
        sentence = str(error)
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence) < 200
    else:
        assert isinstance(found, wire.CommitRecord)


def test_a_hundred_thousand_records_of_random_bytes_are_read_or_malformed():
    dice = random.Random(5)
    for _ in range(100_000):
        key = dice.randrange(25).to_bytes(2, "big") + b"\x00\x01g" + dice.randbytes(dice.randrange(12))
        value = b"\x00" + dice.randrange(6).to_bytes(1, "big") + dice.randbytes(dice.randrange(60))
        read_or_malformed(key, dice.choice([None, value, dice.randbytes(8)]))
        assert places_agree(value)


@given(key=st.none() | st.binary(max_size=80), value=st.none() | st.binary(max_size=80))
def test_arbitrary_bytes_are_read_or_malformed(key, value):
    read_or_malformed(key, value)


@given(st.sampled_from(RECORDS), st.data())
def test_a_record_with_some_bytes_changed_is_read_or_malformed(record, data):
    parts = [bytearray(part) for part in record]
    for _ in range(data.draw(st.integers(1, 4))):
        part = data.draw(st.sampled_from(parts))
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    key, value = (bytes(part) for part in parts)
    read_or_malformed(key, value)
    assert places_agree(value)


COMMIT, CLASSIC, ASSIGNED = WRITTEN["key 1"], WRITTEN["key 2"], WRITTEN["key 8"]
MALFORMED = [
    (None, b"", "The key of a group's record is null, and a record of this kind always has one."),
    (
        b"\x00\x18\x00\x01g",
        b"",
        "The key of a group's record has version 24, and versions 0 to 23 are known.",
    ),
    (
        b"\xff\xff\x00\x01g",
        b"",
        "The key of a group's record has version -1, and versions 0 to 23 are known.",
    ),
    (b"\x00\x02\x00\x01\xff", b"", "The group in the key of a group's record is not UTF-8."),
    (b"\x00\x02\xff\xff", b"", "The group in the key of a group's record is null, and it cannot be."),
    (
        b"\x00\x02\xff\xfe",
        b"",
        "The length of its group in the key of a group's record is -2, and it cannot be negative.",
    ),
    (
        b"\x00\x01\x00\x01g\x00\x01t\xff\xff\xff\xff",
        b"",
        "The partition in the key of a group's record is -1, and it cannot be negative.",
    ),
    (
        bytes(131_073),
        b"",
        "The key of a group's record has 131073 bytes, more than the 131072 that one can have.",
    ),
    (COMMIT, b"\x00\x05", "The value of an offset commit has version 5, and versions 0 to 4 are known."),
    (
        COMMIT,
        BY_HAND[4][:14] + b"\x00" + bytes(9),
        "The metadata in the value of an offset commit is null, and it cannot be.",
    ),
    (
        COMMIT,
        BY_HAND[4][:14] + b"\x81\x80\x02" + bytes(40_000),
        "The metadata in the value of an offset commit has 32768 bytes, more than 32767.",
    ),
    (
        COMMIT,
        BY_HAND[4][:14] + b"\x80\x80\x80\x80\x80\x01",
        "The length of its metadata in the value of an offset commit is a varint of more than 5 bytes.",
    ),
    (
        COMMIT,
        BY_HAND[4][:-1] + b"\x01\x00\x02hi",
        "The topic id in the value of an offset commit has 2 bytes, and one has 16.",
    ),
    (
        COMMIT,
        bytes(131_073),
        "The value of an offset commit has 131073 bytes, more than the 131072 that one can have.",
    ),
    (
        CLASSIC,
        bytes((8 << 20) + 1),
        "The value of a group has 8388609 bytes, more than the 8388608 that one can have.",
    ),
    (
        WRITTEN["key 5"],
        b"\x00\x01" + WRITTEN["member"][2:],
        "The value of a group's member has version 1, and only version 0 is known.",
    ),
    (
        ASSIGNED,
        bytes(11) + b"\x02" + bytes(16) + b"\x01\x00\x01\x00",
        "The topic id in the assignment of a group's member is all zeros, and no topic has that one.",
    ),
    (
        ASSIGNED,
        bytes(11) + b"\x02" + b"\x01" * 16 + b"\x02\xff\xff\xff\xfe" + b"\x00\x01\x00",
        "The partitions in the assignment of a group's member is -2, and it cannot be negative.",
    ),
]


@pytest.mark.parametrize(("key", "value", "sentence"), MALFORMED)
def test_what_is_malformed_says_so_in_one_sentence(key, value, sentence):
    with pytest.raises(MalformedError) as caught:
        wire.decode_commit_record(key, value)
    assert str(caught.value) == sentence


def test_a_large_group_fits():
    members = tuple(
        Member(f"m{number}", None, "c", "h", (("t", (number,)),), ("t",)) for number in range(5000)
    )
    described = GroupDescribed("g", "consumer", 1, "range", "m0", 1, members)
    raw = wire.encode_group_metadata(described)
    assert len(raw) > MAX_FIELD_BYTES
    assert wire.decode_commit_record(wire.encode_group_key(2, "g"), raw) == described


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (
            lambda: wire.encode_commit_key("g", "t", 0, version=2),
            "A key of version 2 is not an offset commit's",
        ),
        (lambda: wire.encode_commit_key("g", "t", -1), "The partition is -1"),
        (lambda: wire.encode_commit_key("g" * 32_768, "t", 0), "The group has 32768 bytes"),
        (lambda: wire.encode_group_key(24, "g"), "A key of version 24 is not about a group"),
        (lambda: wire.encode_commit_value(0, 0, version=5), "Unknown version 5 of an offset commit"),
        (lambda: wire.encode_commit_value(2**63, 0), "The offset is 9223372036854775808"),
        (lambda: wire.encode_commit_value(0, 0, metadata="x" * 32_768), "The metadata has 32768 bytes"),
        (lambda: wire.encode_commit_value(0, 0, topic_id="AAAA"), "The topic id AAAA has 3 bytes"),
        (
            lambda: wire.encode_group_metadata(of_group(4), version=5),
            "Unknown version 5 of a group's value",
        ),
    ],
)
def test_what_the_format_cannot_hold_is_not_written(write, sentence):
    with pytest.raises(ValueError, match=sentence):
        write()
