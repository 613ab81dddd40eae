"""Frames and files of what is kept over a restart: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError
from lagmon.snapshots import frames as snapshot_frames
from lagmon.snapshots.file import pack, unpack
from lagmon.snapshots.frames import check, seal, unseal

HEADER = struct.Struct("<5sBIII")
documents = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=4)


def read(payload):
    return [(document, bytes(body)) for document, body in unseal(payload)]


@given(st.lists(st.tuples(documents, st.binary(max_size=300)), min_size=1, max_size=4))
def test_frames_come_back_in_their_order(frames):
    payload = b"".join(seal(document, body) for document, body in frames)
    check(payload)
    assert read(payload) == frames


def framed(content, *, magic=b"MWlag", version=1, size=None, packed=None, checksum=None):
    packed = zlib.compress(content) if packed is None else packed
    checksum = zlib.crc32(packed) if checksum is None else checksum
    return HEADER.pack(magic, version, len(content) if size is None else size, len(packed), checksum) + packed


WHOLE = struct.pack("<I", 2) + b"{}"


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"", "snapshot: empty"),
        (framed(WHOLE)[:-1], "truncated"),
        (framed(WHOLE) + b"M", "truncated"),
        (framed(WHOLE, magic=b"MWlak"), "invalid header"),
        (framed(WHOLE, version=2), "snapshot: version 2; this program reads 1"),
        (framed(WHOLE, size=2**32 - 1), "snapshot: invalid frame of 4294967295 bytes"),
        (framed(WHOLE, size=1), "snapshot: invalid frame of 1 bytes"),
        (framed(WHOLE, checksum=1), "snapshot: damaged: its checksum differs"),
    ],
)
def test_what_is_not_whole_is_refused_in_words_before_anything_is_unpacked(payload, sentence):
    with pytest.raises(MalformedError, match=sentence):
        check(payload)
    with pytest.raises(MalformedError, match=sentence):
        read(payload)


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (framed(WHOLE, packed=b"no zlib"), "cannot be decompressed"),
        (framed(WHOLE, size=5), "not the 5 bytes of its header"),
        (framed(WHOLE, size=7), "not the 7 bytes of its header"),
        (framed(struct.pack("<I", 2) + b"[]"), "no JSON document"),
        (framed(struct.pack("<I", 2) + b"{x"), "no JSON document"),
        (framed(struct.pack("<I", 9000) + b"[" * 9000), "no JSON document"),
        (framed(struct.pack("<I", 2**31) + b"\xff{"), "no JSON document"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(payload, sentence):
    with pytest.raises(MalformedError, match=sentence):
        read(payload)


def test_what_unpacks_to_more_than_it_shows_is_never_unpacked_whole():
    bomb = framed(WHOLE, packed=zlib.compress(bytes(50_000_000)))
    with pytest.raises(MalformedError, match="not the 6 bytes of its header"):
        read(bomb)


@given(st.binary(max_size=200), st.integers(0, 60), st.integers(0, 255))
@settings(max_examples=300)
def test_other_bytes_are_refused_and_nothing_worse(noise, at, byte):
    payload = bytearray(seal({"a": 1}, b"body"))
    payload[at % len(payload)] = byte
    for one in (noise, bytes(payload)):
        with contextlib.suppress(MalformedError):
            read(one)


def test_an_older_program_refuses_what_a_newer_one_has_written(monkeypatch):
    monkeypatch.setattr(snapshot_frames, "VERSION", 2)
    payload = seal({})
    monkeypatch.undo()
    with pytest.raises(MalformedError, match="snapshot: version 2"):
        check(payload)


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=50), max_size=5))
def test_a_file_holds_its_parts(parts):
    assert unpack(pack(parts)) == parts


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=50), max_size=3), st.data())
def test_a_file_that_is_cut_off_or_longer_is_refused(parts, data):
    content = pack(parts)
    length = data.draw(st.integers(0, len(content) - 1))
    for other in (content[:length], content + b"\0"):
        with pytest.raises(MalformedError, match="snapshot: "):
            unpack(other)


@pytest.mark.parametrize("content", [b"MWparts\x02" + bytes(4), b"MWpartz\x01" + bytes(4)])
def test_a_file_of_another_version_is_refused(content):
    with pytest.raises(MalformedError, match="snapshot: unknown file version"):
        unpack(content)


def test_a_file_with_more_parts_than_there_can_be_is_refused_before_they_are_read():
    with pytest.raises(MalformedError, match="snapshot: unknown file version"):
        unpack(b"MWparts\x01" + struct.pack("<I", 2**32 - 1))


@given(st.binary(max_size=100))
def test_noise_is_no_file(noise):
    try:
        unpack(noise)
    except MalformedError:
        return
    raise AssertionError(noise)
