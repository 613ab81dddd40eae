"""Wire formats: bytes known from Kafka's own layout, round trips, and what hostile bytes give."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire import mirror as wire

INT32 = st.integers(0, 2**31 - 1)
INT64 = st.integers(0, 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=60)

HEARTBEATS = st.builds(wire.Heartbeat, st.builds(wire.HeartbeatKey, TEXT, TEXT), INT64)
CHECKPOINTS = st.builds(wire.Checkpoint, st.builds(wire.CheckpointKey, TEXT, TEXT, INT32), INT64, INT64, TEXT)
OFFSET_SYNCS = st.builds(wire.OffsetSync, st.builds(wire.OffsetSyncKey, TEXT, INT32), INT64, INT64)
SOURCE_OFFSETS = st.builds(
    wire.SourceOffset,
    st.builds(wire.SourceOffsetKey, TEXT, TEXT, TEXT, INT32),
    st.integers(0, 2**63 - 2),  # the next offset has to fit as well
)

CODECS = {
    "heartbeat": (wire.decode_heartbeat, wire.encode_heartbeat, HEARTBEATS),
    "checkpoint": (wire.decode_checkpoint, wire.encode_checkpoint, CHECKPOINTS),
    "offset sync": (wire.decode_offset_sync, wire.encode_offset_sync, OFFSET_SYNCS),
    "source offset": (wire.decode_source_offset, wire.encode_source_offset, SOURCE_OFFSETS),
}
BINARY = ("heartbeat", "checkpoint", "offset sync")
KNOWN = wire.Heartbeat | wire.Checkpoint | wire.OffsetSync | wire.SourceOffset
RESULT = (*KNOWN.__args__, wire.Tombstone, wire.NotMirrored)

# Written out by hand from the layouts, not by our encoder: length, text, numbers.
GOLDEN = [
    (
        wire.Heartbeat(wire.HeartbeatKey("A", "B"), 1_700_000_000_000),
        b"\x00\x01A\x00\x01B",
        b"\x00\x00\x00\x00\x01\x8b\xcf\xe5\x68\x00",
    ),
    (
        wire.Checkpoint(wire.CheckpointKey("g", "A.t", 3), 258, 7, "mé"),
        b"\x00\x01g\x00\x03A.t\x00\x00\x00\x03",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x03m\xc3\xa9",
    ),
    (
        wire.OffsetSync(wire.OffsetSyncKey("orders", 1), 2**40, 0),
        b"\x00\x06orders\x00\x00\x00\x01",
        b"\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    ),
    (
        wire.SourceOffset(wire.SourceOffsetKey("MirrorSourceConnector", "A", "t", 0), 41),
        b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]',
        b'{"offset":41}',
    ),
]


def codec_of(record):
    kinds = {
        wire.Heartbeat: "heartbeat",
        wire.Checkpoint: "checkpoint",
        wire.OffsetSync: "offset sync",
        wire.SourceOffset: "source offset",
    }
    return CODECS[kinds[type(record)]]


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_the_bytes_are_those_of_the_layout(record, key, value):
    decode, encode, _ = codec_of(record)
    assert encode(record) == (key, value)
    assert decode(key, value) == record


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_a_null_value_is_a_tombstone_with_the_key(record, key, value):
    decode, encode, _ = codec_of(record)
    tombstone = decode(key, None)
    assert tombstone == wire.Tombstone(record.key)
    assert encode(tombstone) == (key, None)


@pytest.mark.parametrize("kind", CODECS)
@given(data=st.data())
def test_what_is_encoded_decodes_to_itself(kind, data):
    decode, encode, records = CODECS[kind]
    record = data.draw(records)
    assert decode(*encode(record)) == record
    tombstone = wire.Tombstone(record.key)
    assert decode(*encode(tombstone)) == tombstone


@pytest.mark.parametrize("kind", BINARY)
@given(data=st.data(), tail=st.binary(min_size=1, max_size=40))
def test_bytes_behind_the_last_field_are_left_alone(kind, data, tail):
    decode, encode, records = CODECS[kind]
    record = data.draw(records)
    key, value = encode(record)
    assert decode(key + tail, value + tail) == record


@pytest.mark.parametrize("kind", CODECS)
@given(data=st.data())
def test_a_record_cut_short_is_malformed(kind, data):
    decode, encode, records = CODECS[kind]
    key, value = encode(data.draw(records))
    short_key = key[: data.draw(st.integers(0, len(key) - 1))]
    short_value = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(MalformedError):
        decode(short_key, value)
    with pytest.raises(MalformedError):
        decode(key, short_value)


def either_record_or_malformed(decode, key, value):
    try:
        record = decode(key, value)
    except MalformedError as error:
        sentence = str(error)
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence) < 200
    else:
        assert isinstance(record, RESULT)


@pytest.mark.parametrize("kind", CODECS)
@given(key=st.none() | st.binary(max_size=80), value=st.none() | st.binary(max_size=80))
def test_arbitrary_bytes_give_a_record_or_a_malformed_error(kind, key, value):
    either_record_or_malformed(CODECS[kind][0], key, value)


@pytest.mark.parametrize("kind", CODECS)
@given(data=st.data())
def test_a_record_with_one_byte_changed_gives_a_record_or_a_malformed_error(kind, data):
    decode, encode, records = CODECS[kind]
    key, value = (bytearray(part) for part in encode(data.draw(records)))
    part = data.draw(st.sampled_from([key, value]))
    part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    either_record_or_malformed(decode, bytes(key), bytes(value))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
PARTITION = st.fixed_dictionaries({"cluster": JSON, "topic": JSON, "partition": JSON})


@given(
    key=JSON | st.tuples(JSON, JSON | PARTITION), value=JSON | st.fixed_dictionaries({"offset": JSON | INT64})
)
@example(key=["c", {"cluster": "\ud800", "topic": "t", "partition": 0}], value={"offset": 1})
@example(key=["c", {"cluster": "A", "topic": "t", "partition": 10**30}], value={"offset": 1})
def test_arbitrary_json_gives_a_record_or_a_malformed_error(key, value):
    encoded = (json.dumps(part).encode() for part in (key, value))
    either_record_or_malformed(wire.decode_source_offset, *encoded)


HEARTBEAT_KEY = b"\x00\x01A\x00\x01B"
OFFSETS_KEY = b'["c",{"cluster":"A","partition":0,"topic":"t"}]'

MALFORMED = [
    # what decodes it, key, value, the whole sentence
    ("heartbeat", None, b"", "The key of a heartbeat is null, and a record of this kind always has one."),
    (
        "heartbeat",
        HEARTBEAT_KEY,
        b"\x00\x01" + bytes(8),
        "The value of a heartbeat has version 1, and only version 0 is known.",
    ),
    (
        "checkpoint",
        b"\x00\x01g\x00\x01t" + bytes(4),
        b"\xff\xff" + bytes(18),
        "The value of a checkpoint has version -1, and only version 0 is known.",
    ),
    (
        "heartbeat",
        HEARTBEAT_KEY,
        bytes(9),
        "The value of a heartbeat ends too early: its timestamp takes 8 bytes from byte 2 on, and the whole has 9.",
    ),
    (
        "heartbeat",
        b"\x00\x01\xff\x00\x01B",
        bytes(10),
        "The source alias in the key of a heartbeat is not UTF-8.",
    ),
    (
        "offset sync",
        b"\xff\xff" + bytes(4),
        bytes(16),
        "The length of its topic in the key of an offset sync is -1, and it cannot be negative.",
    ),
    (
        "offset sync",
        b"\x00\x01t" + b"\xff\xff\xff\xff",
        bytes(16),
        "The partition in the key of an offset sync is -1, and it cannot be negative.",
    ),
    (
        "offset sync",
        b"\x00\x01t" + bytes(4),
        bytes(8) + b"\xff" * 8,
        "The downstream offset in the value of an offset sync is -1, and it cannot be negative.",
    ),
    (
        "heartbeat",
        bytes(wire.MAX_FIELD_BYTES + 1),
        b"",
        "The key of a heartbeat has 131073 bytes, more than the 131072 that one can have.",
    ),
    ("source offset", b"\xff", None, "The key of a source offset is not JSON."),
    ("source offset", b"", None, "The key of a source offset is not JSON."),
    (
        "source offset",
        b"[" * 100_000,
        None,
        "The key of a source offset is JSON nested too deeply to be one.",
    ),
    (
        "source offset",
        OFFSETS_KEY,
        b'{"offset":' + b"9" * 5000 + b"}",
        "The value of a source offset is not JSON.",
    ),
    ("source offset", OFFSETS_KEY, b'{"offset":NaN}', "The value of a source offset is not JSON."),
    (
        "source offset",
        OFFSETS_KEY,
        b'{"offset":9223372036854775807}',
        "The offset in the value of a source offset is outside 0 to 9223372036854775806.",
    ),
    (
        "source offset",
        OFFSETS_KEY,
        b'{"offset":-1}',
        "The offset in the value of a source offset is outside 0 to 9223372036854775806.",
    ),
    (
        "source offset",
        OFFSETS_KEY,
        b'{"offset":true}',
        "The offset in the value of a source offset is not a whole number.",
    ),
    (
        "source offset",
        OFFSETS_KEY,
        b'{"offset":4.0}',
        "The offset in the value of a source offset is not a whole number.",
    ),
    (
        "source offset",
        OFFSETS_KEY,
        b"[41]",
        "The value of a source offset is JSON, but not an object with an offset.",
    ),
    (
        "source offset",
        b'{"cluster":"A"}',
        None,
        "The key of a source offset is JSON, but not a pair of a connector's name and its partition.",
    ),
    ("source offset", b'[7,{"x":1}]', None, "The connector in the key of a source offset is not text."),
    (
        "source offset",
        rb'["c",{"cluster":"\ud800","partition":0,"topic":"t"}]',
        None,
        "The cluster in the key of a source offset is not Unicode text.",
    ),
    (
        "source offset",
        b'["c",{"cluster":"A","partition":2147483648,"topic":"t"}]',
        None,
        "The partition in the key of a source offset is outside 0 to 2147483647.",
    ),
]


@pytest.mark.parametrize(("kind", "key", "value", "sentence"), MALFORMED)
def test_what_is_malformed_says_so_in_one_sentence(kind, key, value, sentence):
    with pytest.raises(MalformedError) as caught:
        CODECS[kind][0](key, value)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("key", "connector"),
    [
        (
            b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
            "MirrorHeartbeatConnector",
        ),
        (
            b'["MirrorCheckpointConnector",{"group":"g","partition":0,"topic":"t"}]',
            "MirrorCheckpointConnector",
        ),
        (b'["files",{"filename":"/var/log/syslog"}]', "files"),
        (b'["inventory",{"server":"db"}]', "inventory"),
        (b'["c",null]', "c"),
        (b'["c",{"cluster":"A","partition":0,"topic":"t","more":1}]', "c"),
    ],
)
def test_entries_of_other_connectors_are_no_mirrored_partition(key, connector):
    # Their values are theirs: even bytes that are no JSON are not looked at.
    for value in (b'{"offset":5}', b"\xff", None):
        assert wire.decode_source_offset(key, value) == wire.NotMirrored(connector)


def test_a_key_is_parsed_and_never_compared_as_bytes():
    spaced = b'[ "MirrorSourceConnector" , {"topic":"t", "partition":0, "cluster":"\\u0041"} ]'
    expected = wire.SourceOffsetKey("MirrorSourceConnector", "A", "t", 0)
    assert wire.decode_source_offset(spaced, b' {"offset" : 41} ') == wire.SourceOffset(expected, 41)
    assert wire.decode_source_offset(spaced, b"null") == wire.Tombstone(expected)


@pytest.mark.parametrize(
    ("encode", "record"),
    [
        (wire.encode_heartbeat, wire.Heartbeat(wire.HeartbeatKey("A", "B"), -1)),
        (wire.encode_heartbeat, wire.Heartbeat(wire.HeartbeatKey("A", "B" * 40_000), 1)),
        (wire.encode_heartbeat, wire.Heartbeat(wire.HeartbeatKey("A", "\ud800"), 1)),
        (wire.encode_offset_sync, wire.OffsetSync(wire.OffsetSyncKey("t", 2**31), 1, 1)),
        (wire.encode_checkpoint, wire.Checkpoint(wire.CheckpointKey("g", "t", 0), 2**63, 1, "")),
    ],
)
def test_what_the_format_cannot_hold_is_not_written(encode, record):
    with pytest.raises(ValueError, match=r"format holds|surrogates"):
        encode(record)


def test_the_longest_strings_fit_within_the_bound():
    longest = "x" * 32_767
    record = wire.Checkpoint(wire.CheckpointKey(longest, longest, 2**31 - 1), 1, 2, longest)
    assert wire.decode_checkpoint(*wire.encode_checkpoint(record)) == record
    assert struct.unpack(">h", wire.encode_checkpoint(record)[0][:2]) == (32_767,)
