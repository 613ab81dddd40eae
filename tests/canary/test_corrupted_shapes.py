"""A copy of a probe in every shape that a transform, a converter or a stranger can give it."""

import base64
import json
from itertools import product

import pytest

from canary.tracker.stamp import HEADER, Corrupted, ForeignRecord, Identity, Intact, Stamp, decode, encode
from deploy.local.strangers import strange_records

SENT = Stamp(
    "inst", "00c0ffee00c0ffee", 41, "HmGxAb_defgh-jklmnopqr", "mirrorwatch-canary", 3, 1_790_000_000_000
)
RECORD = encode(SENT)
KEY, VALUE, HEADERS = RECORD.key, RECORD.value, list(RECORD.headers)
CRC = HEADERS[0][1]
IDENTITY = Identity(SENT.topic_id, SENT.incarnation, SENT.partition, SENT.sequence)
MANGLED = b"[B@1b2c3d4e"  # what StringConverter makes of bytes


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def as_json(data):
    """As JsonConverter writes bytes, with its schema."""
    schema = {"type": "bytes", "optional": True}
    return json.dumps({"schema": schema, "payload": base64.b64encode(data).decode()}).encode()


SHAPES = {
    "bit flipped": lambda data: flipped(data, len(data) // 2),
    "first bit flipped": lambda data: flipped(data, 0),
    "last bit flipped": lambda data: flipped(data, len(data) - 1),
    "null": lambda _: None,
    "empty": lambda _: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "last byte gone": lambda data: data[:-1],
    "first byte gone": lambda data: data[1:],
    "a byte more": lambda data: data + b"\n",
    "twice": lambda data: data + data,
    "base64": base64.b64encode,
    "base64 without padding": lambda data: base64.b64encode(data).rstrip(b"="),
    "quoted base64": lambda data: b'"' + base64.b64encode(data) + b'"',
    "base64 with schema": as_json,
    "quoted JSON": lambda data: json.dumps(data.decode()).encode(),
    "upper case": lambda data: data.swapcase() if data.upper() == data else data.upper(),
    "hexadecimal": lambda data: data.hex().encode(),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "in front of a schema id": lambda data: b"\x00\x00\x00\x00\x07" + data,
    "an object's name": lambda _: MANGLED,
}
HEADER_SHAPES = {
    "missing": [],
    "None": None,
    "null": [(HEADER, None)],
    "empty": [(HEADER, b"")],
    "bit flipped": [(HEADER, flipped(CRC, 3))],
    "base64": [(HEADER, base64.b64encode(CRC))],
    "quoted": [(HEADER, b'"' + CRC + b'"')],
    "upper case": [(HEADER, CRC.swapcase() if CRC.swapcase() != CRC else CRC + b"A")],
    "another name": [("mirrorwatch-Canary", CRC)],
    "twice": [(HEADER, CRC), (HEADER, CRC)],
    "one more after": [(HEADER, CRC), ("trace", b"1")],
    "one more before": [("trace", None), (HEADER, CRC)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_changed_key_leaves_the_value_to_tell_the_probe(shape):
    reading = decode(SHAPES[shape](KEY), VALUE, HEADERS)
    assert isinstance(reading, Corrupted)
    assert reading.identity == IDENTITY
    assert reading.installation == SENT.installation
    assert "key" in reading.sentence


@pytest.mark.parametrize("shape", SHAPES)
def test_a_changed_value_leaves_the_key_to_tell_the_probe(shape):
    reading = decode(KEY, SHAPES[shape](VALUE), HEADERS)
    assert isinstance(reading, Corrupted)
    assert reading.identity == IDENTITY
    assert "value" in reading.sentence


@pytest.mark.parametrize("shape", HEADER_SHAPES)
def test_changed_headers_leave_both_to_tell_the_probe(shape):
    reading = decode(KEY, VALUE, HEADER_SHAPES[shape])
    assert isinstance(reading, Corrupted)
    assert reading.identity == IDENTITY
    assert "header" in reading.sentence


@pytest.mark.parametrize("name", ["mirrorwatch-canary", "Trace"])
def test_a_header_that_a_mirror_adds_to_know_its_copies_changes_nothing(name):
    more = [("__replicator_id", b"\x00"), *HEADERS]
    assert decode(KEY, VALUE, more) == Intact(SENT)
    assert isinstance(decode(KEY, VALUE, [*more, (name, b"x")]), Corrupted)


KEEPS_A_KEY = {
    "a byte more",
    "base64",
    "quoted base64",
    "base64 with schema",
    "quoted JSON",
    "in front of a schema id",
}


@pytest.mark.parametrize(("key", "value"), list(product(SHAPES, SHAPES)))
def test_a_changed_key_and_value_are_never_taken_for_a_whole_probe_or_for_another(key, value):
    reading = decode(SHAPES[key](KEY), SHAPES[value](VALUE), HEADERS)
    assert isinstance(reading, Corrupted)  # the header's name is left
    if key in KEEPS_A_KEY:
        assert reading.identity == IDENTITY
    elif reading.identity is not None:
        assert key in {
            "bit flipped",
            "last bit flipped",
            "last byte gone",
            "twice",
        }  # a key that names a neighbour


@pytest.mark.parametrize(
    ("key", "value"), list(product(["base64", "base64 with schema", "quoted base64"], repeat=2))
)
def test_what_a_converter_of_all_three_leaves_is_still_known(key, value):
    """What SimpleHeaderConverter and JsonConverter make of a probe names it by its key."""
    reading = decode(SHAPES[key](KEY), SHAPES[value](VALUE), [(HEADER, base64.b64encode(CRC))])
    assert isinstance(reading, Corrupted)
    assert reading.identity == IDENTITY


def test_what_a_string_converter_leaves_is_a_copy_without_a_name():
    assert decode(MANGLED, MANGLED, HEADERS) == decode(MANGLED, b"[B@99", HEADERS)
    reading = decode(MANGLED, MANGLED, HEADERS)
    assert isinstance(reading, Corrupted)
    assert reading.identity is None


def test_where_nothing_of_a_probe_is_left_it_is_a_stranger():
    assert isinstance(decode(None, None, []), ForeignRecord)
    assert isinstance(decode(MANGLED, MANGLED, []), ForeignRecord)
    assert isinstance(decode(b"", VALUE[1:], []), ForeignRecord)


def test_twenty_thousand_strange_records_are_read_and_none_is_a_probe():
    kinds = {Corrupted: 0, ForeignRecord: 0}
    for _, (key, value, headers) in zip(range(20_000), strange_records(11), strict=False):
        reading = decode(key, value, headers)
        assert type(reading) in kinds
        assert len(reading.sentence) < 1000
        kinds[type(reading)] += 1
    assert min(kinds.values()) > 1000
