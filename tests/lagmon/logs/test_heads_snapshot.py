"""Positions as bytes: what goes in comes out, and nothing else is believed."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError
from lagmon.logs.heads import Heads
from lagmon.logs.heads_snapshot import restore, snapshot
from lagmon.logs.time_lag import lag_s
from tests.lagmon.logs.test_heads import GREATEST, S, T, longs, places

HEADER = struct.Struct("<7sBIqI")


def lived(rows=3, looks=40):
    """Return heads that looked at some places for a while, and know their starts."""
    heads = Heads()
    claimed = heads.claim(rows)
    rng = np.random.default_rng(3)
    ends = np.zeros(rows, np.int64)
    for look in range(looks):
        ends += rng.integers(0, 9, rows)
        heads.note(claimed, ends, T + look * 10 * S)
    heads.note_starts(claimed, np.arange(rows), np.full(rows, T - S))
    heads.note_stable(claimed, ends - 1)
    return heads


def state(heads, chosen):
    rows = np.repeat(chosen, 400)
    offsets = np.tile(np.arange(400), len(chosen))
    arrays = (heads.start, heads.start_at_ms, heads.end, heads.stable, heads.sampled_ms)
    return [
        *(array[chosen].tolist() for array in arrays),
        heads.recent(chosen).tolist(),
        *(array.tolist() for array in heads.passed_ms(rows, offsets)),
    ]


def test_all_is_taken_up_again_in_the_order_of_the_snapshot():
    heads = lived()
    payload = snapshot(heads, places(2, 0))
    assert len(payload) == HEADER.size + 2 * 312
    assert state(restore(payload, 2), places(0, 1)) == state(heads, places(2, 0))


def test_looks_go_on_after_a_restart_as_if_there_had_been_none():
    heads = lived()
    again = restore(snapshot(heads, places(0, 1, 2)), 3)
    for each in (heads, again):
        for look in range(50, 80):
            each.note(places(0, 1, 2), longs(500 + look, 900, 1000 + look // 7), T + look * 10 * S)
    assert state(again, places(0, 1, 2)) == state(heads, places(0, 1, 2))
    assert again.claim(1).tolist() == [3]


def test_nothing_known_and_nothing_there_are_taken_up_too():
    assert restore(snapshot(Heads(), places()), 0).end.tolist() == []
    heads = Heads()
    heads.claim(2)
    assert restore(snapshot(heads, places(0, 1)), 2).sampled_ms.tolist() == [-1, -1]


def test_a_place_first_seen_after_the_clock_was_set_back_is_taken_up():
    heads = Heads()
    heads.claim(1)
    heads.note(places(0), longs(7), T)
    heads.claim(1)
    heads.note(places(1), longs(9), T - 100 * S)
    again = restore(snapshot(heads, places(0, 1)), 2)
    assert again.sampled_ms.tolist() == [T, T - 100 * S]


def test_a_snapshot_that_was_restored_can_be_changed_and_the_bytes_stay():
    payload = snapshot(lived(), places(0, 1, 2))
    kept = bytes(payload)
    restore(payload, 3).note(places(0), longs(GREATEST), T + 10**9)
    assert payload == kept


def sealed(payload, change):
    """Return a snapshot of one row with a change in its body and a checksum that fits."""
    body = bytearray(payload[HEADER.size :])
    change(body)
    magic, version, rows, origin_ms, _ = HEADER.unpack_from(payload)
    return HEADER.pack(magic, version, rows, origin_ms, zlib.crc32(body)) + bytes(body)


def put(shape, at, value):
    return lambda body: struct.pack_into(shape, body, at, value)


def header(**changed):
    def build(payload):
        values = dict(
            zip(("magic", "version", "rows", "origin_ms", "crc"), HEADER.unpack_from(payload), strict=True)
        )
        return HEADER.pack(*(values | changed).values()) + payload[HEADER.size :]

    return build


LAST_END, FIRST_TIME, LAST_TIME, START = 23 * 8, 24 * 8, 24 * 8 + 23 * 4, 24 * 12


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda _: b"", "snapshot of positions: 0 bytes, fewer than its header"),
        (header(magic=b"MWheadz"), "snapshot of positions: invalid header"),
        (header(version=2), "snapshot of positions: version 2; this program reads 1"),
        (
            header(rows=2**32 - 1),
            "snapshot of positions: 4294967295 rows instead of 1, at most 1000000",
        ),
        (lambda p: p[:-1], "snapshot of positions: 335 bytes; 1 rows require 336"),
        (lambda p: p + b"\0", "snapshot of positions: 337 bytes; 1 rows require 336"),
        (
            lambda p: p[:-1] + bytes([p[-1] ^ 1]),
            "snapshot of positions: damaged: its checksum differs",
        ),
        (header(origin_ms=-1), "snapshot of positions: invalid origin of times -1"),
        (header(origin_ms=2**62), f"snapshot of positions: invalid origin of times {2**62}"),
        (lambda p: sealed(p, put("<q", 0, -2)), "snapshot of positions: a number below -1 in ends"),
        (
            lambda p: sealed(p, put("<q", START, -(2**63))),
            "snapshot of positions: a number below -1 in start",
        ),
        (
            lambda p: sealed(p, put("<q", START + 8, -7)),
            "snapshot of positions: a number below -1 in start_at_ms",
        ),
        (
            lambda p: sealed(p, put("<q", START + 16, -7)),
            "snapshot of positions: a number below -1 in stable",
        ),
        (
            lambda p: sealed(p, put("<q", LAST_END, 0)),
            "snapshot of positions: an end is lower than an older one",
        ),
        (
            lambda p: sealed(p, put("<i", LAST_TIME, 2**30)),
            "snapshot of positions: a time is too far from its origin",
        ),
        (
            lambda p: sealed(p, put("<i", FIRST_TIME, -(2**30) - 1)),
            "snapshot of positions: a time is too far from its origin",
        ),
        (
            lambda p: sealed(p, put("<i", LAST_TIME, -5)),
            "snapshot of positions: times run backwards",
        ),
    ],
)
def test_what_is_wrong_is_said(change, sentence):
    payload = snapshot(lived(rows=1), places(0))
    restore(payload, 1)
    with pytest.raises(MalformedError) as raised:
        restore(change(payload), 1)
    assert str(raised.value) == sentence


def test_a_snapshot_of_other_places_is_refused():
    with pytest.raises(MalformedError, match="3 rows instead of 2"):
        restore(snapshot(lived(), places(0, 1, 2)), 2)


def test_more_rows_than_any_cluster_has_are_refused_before_they_are_read():
    payload = header(rows=1_000_001)(snapshot(lived(rows=1), places(0)))
    with pytest.raises(MalformedError, match=r"1000001 rows instead of .*, at most 1000000"):
        restore(payload, 1_000_001)


def test_every_shorter_snapshot_is_refused():
    payload = snapshot(lived(rows=1), places(0))
    for length in range(len(payload)):
        with pytest.raises(MalformedError):
            restore(payload[:length], 1)


@pytest.mark.parametrize(
    ("step", "found"), [(1000, [(T + 5, True), (T + 12, True)]), (2**33, [(T + 10, False), (T + 12, True)])]
)
def test_one_that_was_written_when_every_end_had_64_bits_is_taken_up(step, found):
    ends = [*[-1] * 21, 7, 7 + step, 9 + step]
    body = struct.pack("<24q24i3q", *ends, *[0] * 22, 10, 20, 3, T - S, 8)
    payload = HEADER.pack(b"MWheads", 1, 1, T, zlib.crc32(body)) + body
    heads = restore(payload, 1)
    times, exact = heads.passed_ms(places(0, 0), longs(7 + step // 2, 7 + step))
    assert list(zip(times.tolist(), exact.tolist(), strict=True)) == found
    assert (snapshot(heads, places(0)) == payload) is (step == 1000)
    assert (heads.start.tolist(), heads.start_at_ms.tolist()) == ([3], [T - S])
    assert (heads.end.tolist(), heads.stable.tolist()) == ([9 + step], [8])


numbers = st.sampled_from([-(2**63), -2, -1, 0, 1, 7, GREATEST])
small = st.sampled_from([-(2**31), -(2**30), -1, 0, 5, 2**30 - 1, 2**31 - 1])


def columns(of):
    """Return lists for all columns, some of them in order as they must be."""
    return st.lists(of, min_size=24, max_size=24).flatmap(
        lambda drawn: st.sampled_from([drawn, sorted(drawn)])
    )


@given(columns(numbers), columns(small), st.lists(numbers, min_size=3, max_size=3), numbers)
@settings(deadline=None, max_examples=300)
def test_other_numbers_are_refused_or_answer_like_positions(ends, times, three, origin_ms):
    body = struct.pack("<24q24i3q", *ends, *times, *three)
    payload = HEADER.pack(b"MWheads", 1, 1, origin_ms, zlib.crc32(body)) + body
    try:
        heads = restore(payload, 1)
    except MalformedError:
        return
    offsets = np.arange(10)
    seconds, _ = lag_s(heads, np.zeros(10, np.int32), offsets, T)
    assert np.isfinite(seconds).all()
    assert (np.diff(seconds) <= 0).all()
    heads.note(places(0), longs(5), T)
    assert heads.end.tolist() == [5]
