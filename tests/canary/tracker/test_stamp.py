"""A probe is read again as it was sent, or as changed, or as none of ours; nothing raises."""

import base64
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.stamp import (
    HEADER,
    MAX_VALUE_BYTES,
    Corrupted,
    ForeignRecord,
    Identity,
    Intact,
    Stamp,
    Stamper,
    _decode_closely,
    _intact,
    decode,
    encode,
)

SENT = Stamp(
    "inst", "00c0ffee00c0ffee", 41, "HmGxAb_defgh-jklmnopqr", "mirrorwatch-canary", 3, 1_790_000_000_000
)
RECORD = encode(SENT)
HEADERS = list(RECORD.headers)
IDENTITY = Identity(SENT.topic_id, SENT.incarnation, SENT.partition, SENT.sequence)

hexadecimal = st.text("0123456789abcdef", min_size=16, max_size=16)
topic_ids = st.text("AZaz09-_", min_size=1, max_size=22)
numbers = st.integers(0, 10**17)
stamps = st.builds(
    Stamp,
    st.text(max_size=40),
    hexadecimal,
    numbers,
    topic_ids,
    st.text(max_size=80),
    st.integers(0, 999_999),
    numbers,
)
some_bytes = st.none() | st.binary(max_size=400)
some_headers = st.none() | st.lists(st.tuples(st.text(max_size=30) | st.just(HEADER), some_bytes), max_size=4)


@given(stamps)
@settings(deadline=None)
def test_what_is_sent_is_read_again(stamp):
    record = encode(stamp)
    assert decode(record.key, record.value, list(record.headers)) == Intact(stamp)


@given(some_bytes | st.just(RECORD.key), some_bytes | st.just(RECORD.value), some_headers | st.just(HEADERS))
@settings(deadline=None)
def test_any_bytes_give_a_reading(key, value, headers):
    reading = decode(key, value, headers)
    assert isinstance(reading, Intact | Corrupted | ForeignRecord)
    if isinstance(reading, Intact):
        assert (key, value, headers) == (RECORD.key, RECORD.value, HEADERS)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@settings(deadline=None)
def test_any_json_whose_checksum_holds_gives_a_reading(fields):
    body = json.dumps(fields).encode()
    value = body[:-1] + b',"crc32":"' + f"{zlib.crc32(body):08x}".encode() + b'"}'
    assert not isinstance(decode(None, value, None), Intact)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("incarnation", "\ud800" * 16),
        ("incarnation", "00C0FFEE00C0FFEE"),
        ("topic_id", ""),
        ("topic_id", "a\nb"),
        ("sequence", True),
        ("sequence", -1),
        ("partition", 2**63),
        ("due_at_ms", 1.5),
        ("installation", None),
        ("mirrorwatch", "2"),
        ("mirrorwatch", True),
        ("mirrorwatch", 0),
    ],
)
def test_a_value_with_a_checksum_that_holds_and_a_field_that_cannot_be_is_corrupted(name, wrong):
    fields = json.loads(RECORD.value)
    del fields["crc32"]
    body = json.dumps(fields | {name: wrong}, separators=(",", ":")).encode()
    crc = f"{zlib.crc32(body):08x}".encode()
    reading = decode(RECORD.key, body[:-1] + b',"crc32":"' + crc + b'"}', [(HEADER, crc)])
    assert reading == Corrupted(IDENTITY, "the value differs from the value sent")


@given(stamps, st.data())
@settings(deadline=None)
def test_the_quick_way_and_the_close_one_read_the_same(stamp, data):
    record = encode(stamp)
    key, value, (header,) = record.key, record.value, record.headers
    changed = st.sampled_from([b"0", b"9", b" ", b'"', b"\\", b"}", b"-", b"", b"\xff"])

    def change(text):
        at = data.draw(st.integers(0, len(text)))
        return text[:at] + data.draw(changed) + text[at + data.draw(st.integers(0, 2)) :]

    match data.draw(st.sampled_from(["nothing", "key", "value", "crc", "checksum", "headers"])):
        case "key":
            key = data.draw(st.none() | st.just(change(key)))
        case "value":
            value = change(value)
        case "crc":
            header = (HEADER, data.draw(st.none() | st.just(change(header[1]))))
        case "checksum":  # a change whose checksum was made anew
            body = change(value.partition(b',"crc32":"')[0])
            crc = f"{zlib.crc32(body + b'}'):08x}".encode()
            value, header = body + b',"crc32":"' + crc + b'"}', (HEADER, crc)
    headers = [header]
    if data.draw(st.booleans()):
        headers = data.draw(st.none() | st.just([]) | st.just([header, ("__replicator_id", b"x")]))
    close = _decode_closely(key, value, headers)
    assert _intact(key, value, headers) in (None, close)
    assert decode(key, value, headers) == close


@given(stamps)
@settings(deadline=None)
def test_a_stamper_writes_what_encode_does(stamp):
    stamper = Stamper(
        installation=stamp.installation,
        incarnation=stamp.incarnation,
        topic_id=stamp.topic_id,
        topic=stamp.topic,
    )
    assert stamper.encode(stamp.partition, stamp.sequence, stamp.due_at_ms) == encode(stamp)


def test_an_ordinary_probe_is_read_the_quick_way():
    assert _intact(RECORD.key, RECORD.value, HEADERS) == Intact(SENT)


@pytest.mark.parametrize("version", [1, 3])
def test_a_probe_of_another_version_whose_checksum_holds_is_a_stranger(version):
    body = json.dumps({"mirrorwatch": version, "whatever": "it says"}).encode()
    crc = f"{zlib.crc32(body):08x}".encode()
    value = body[:-1] + b',"crc32":"' + crc + b'"}'
    assert decode(RECORD.key, value, [(HEADER, crc)]) == ForeignRecord("a probe of another version")
    changed = decode(RECORD.key, value.replace(b"it", b"It"), [(HEADER, crc)])
    assert changed == Corrupted(IDENTITY, "the value differs from the value sent")


def flips(text: bytes) -> list[bytes]:
    return [
        bytes([*text[:at], text[at] ^ 1 << bit, *text[at + 1 :]])
        for at in range(len(text))
        for bit in range(8)
    ]


def test_no_flipped_bit_and_no_cut_of_the_value_stays_unseen():
    for value in (*flips(RECORD.value), *(RECORD.value[:end] for end in range(len(RECORD.value))), None):
        assert decode(RECORD.key, value, HEADERS) == Corrupted(
            IDENTITY, "the value differs from the value sent"
        )


def test_no_flipped_bit_and_no_cut_of_the_key_stays_unseen_and_the_value_tells_which_it_was():
    for key in (*flips(RECORD.key), *(RECORD.key[:end] for end in range(len(RECORD.key)))):
        sentence = "the key differs from the key sent"
        assert decode(key, RECORD.value, HEADERS) == Corrupted(IDENTITY, sentence, "inst")
    assert decode(None, RECORD.value, HEADERS) == Corrupted(IDENTITY, "the key is missing", "inst")


def test_no_change_of_the_header_stays_unseen():
    text = RECORD.headers[0][1]
    for changed in (*flips(text), *(text[:end] for end in range(len(text))), None):
        reading = decode(RECORD.key, RECORD.value, [(HEADER, changed)])
        assert reading == Corrupted(IDENTITY, f"the header {HEADER} differs from the header sent", "inst")
    sentence = "the headers differ from those sent (now: none)"
    assert decode(RECORD.key, RECORD.value, None) == Corrupted(IDENTITY, sentence, "inst")
    twice = decode(RECORD.key, RECORD.value, HEADERS * 2)
    assert twice == Corrupted(
        IDENTITY, f"the headers differ from those sent (now: {HEADER}, {HEADER})", "inst"
    )


def test_a_header_that_says_where_a_record_came_from_is_no_change():
    assert decode(RECORD.key, RECORD.value, [*HEADERS, ("__replicator_id", b"x")]) == Intact(SENT)


def test_headers_that_the_mirror_adds_by_design_are_ignored():
    ignored = frozenset({"trace-id", HEADER})
    for headers in ([*HEADERS, ("trace-id", b"x")], [("trace-id", None), *HEADERS]):
        assert isinstance(decode(RECORD.key, RECORD.value, headers), Corrupted)
        assert decode(RECORD.key, RECORD.value, headers, ignored_headers=ignored) == Intact(SENT)
    for headers in ([], [(HEADER, b"0")], [*HEADERS, ("other", b"x")]):
        assert isinstance(decode(RECORD.key, RECORD.value, headers, ignored_headers=ignored), Corrupted)


@pytest.mark.parametrize(
    "convert",
    [
        lambda text: b'"' + text.replace(b'"', b'\\"') + b'"',  # a String's JSON
        lambda text: b'"' + base64.b64encode(text) + b'"',  # JsonConverter on bytes
        base64.b64encode,
        lambda text: (
            b'{"schema":{"type":"bytes","optional":true},"payload":"' + base64.b64encode(text) + b'"}'
        ),
        lambda text: b"\x00\x00\x00\x00\x07" + text,  # a schema registry's prefix
    ],
)
def test_what_a_converter_has_written_anew_is_corrupted_and_still_known(convert):
    for headers in (HEADERS, [(HEADER, base64.b64encode(HEADERS[0][1]))], None):
        reading = decode(convert(RECORD.key), convert(RECORD.value), headers)
        assert reading == Corrupted(IDENTITY, "the value differs from the value sent")


def test_a_record_of_another_program_is_a_stranger():
    for record in [(b"k", b"v", None), (None, None, None), (b"mirrorwatch", b"{}", [("h", None)])]:
        assert decode(*record) == ForeignRecord("its key, value and headers are not a probe's")


def test_a_value_beyond_all_measure_is_not_parsed():
    value = b'{"mirrorwatch":' + b"[" * MAX_VALUE_BYTES
    assert isinstance(decode(None, value, None), ForeignRecord)
    assert isinstance(decode(None, value[:MAX_VALUE_BYTES], None), Corrupted)


def test_a_probe_is_a_few_hundred_bytes():
    assert 250 < len(RECORD.key) + len(RECORD.value) + len(HEADERS[0][0]) + len(HEADERS[0][1]) < 450
