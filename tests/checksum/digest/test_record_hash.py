"""The hash of a record: XXH64 by its published values, Spark's chain by Spark's, and no two records alike."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checksum.digest import record_hash as module
from checksum.digest.record_hash import Content, check_hash, place_hash, record_hash, second_hash, third_hash
from checksum.digest.record_hashes import MAX_HEADERS_TOGETHER, record_hashes
from checksum.digest.xxhash64 import MASK, hash_bytes, hash_int, hash_long, signed, unsigned
from checksum.digest.xxhash64_many import MAX_TOGETHER_BYTES, hash_bytes_many, hash_ints, hash_longs

PRIME = 2654435761


def sanity_bytes(length):
    """The input of xxHash's own sanity check."""
    found, seed = bytearray(), PRIME
    for _ in range(length):
        found.append(seed >> 24 & 0xFF)
        seed = seed * seed & MASK
    return bytes(found)


@pytest.mark.parametrize(
    ("length", "without_seed", "with_seed"),
    [
        (0, 0xEF46DB3751D8E999, 0xAC75FDA2929B17EF),
        (1, 0x4FCE394CC88952D8, 0x739840CB819FA723),
        (4, 0x9256E58AA397AEF1, 0x09D5FFDFB928AB4B),
        (8, 0xF74CB1451B32B8CF, 0x9C44B77FBCC302C5),
        (14, 0xCFFA8DB881BC3A3D, 0x5B9611585EFCC9CB),
        (101, 0x0EAB543384F878AD, 0xCAA65939306F1E21),
    ],
)
def test_bytes_hash_as_published(length, without_seed, with_seed):
    data = sanity_bytes(101)[:length]
    assert (hash_bytes(data, 0), hash_bytes(data, PRIME)) == (without_seed, with_seed)


def test_integers_hash_as_their_little_endian_bytes():
    assert hash_int(0x4B1FFF9E, PRIME) == 0x09D5FFDFB928AB4B
    assert hash_long(signed(0xDD2F535E4B1FFF9E), PRIME) == 0x9C44B77FBCC302C5
    assert hash_int(-1, 5) == hash_bytes(b"\xff" * 4, 5)
    assert hash_long(-1, 5) == hash_bytes(b"\xff" * 8, 5)


def test_a_chain_is_that_of_spark():
    # The values in Spark's own documentation of xxhash64.
    spark = signed(hash_int(2, hash_int(123, hash_bytes(b"Spark", 42))))
    assert spark == 5602566077635097486  # xxhash64('Spark', array(123), 2)
    assert signed(hash_bytes(b"ABC", 42)) == 4105715581806190027  # xxhash64('ABC')
    assert signed(hash_bytes(b"DEF", hash_bytes(b"ABC", 42))) == 3233247871021311208  # xxhash64('ABC', 'DEF')


@given(st.integers(0, MASK))
def test_signed_and_unsigned_are_the_same_bits(value):
    assert -(1 << 63) <= signed(value) < 1 << 63
    assert unsigned(signed(value)) == value


def by_hand(content, *, timestamps=True):
    """The expression of the module's docstring, argument by argument."""
    headers = content.headers or []
    arguments = [1, content.key is None, content.key, content.value is None, content.value]
    mixed = 42
    for argument in arguments:
        mixed = chained(argument, mixed)
    mixed = hash_long(content.timestamp_ms if timestamps else -1, mixed)
    mixed = hash_int(len(headers), mixed)
    for name, value in headers:
        mixed = chained(value, chained(name.encode(), mixed))
    for _, value in headers:
        mixed = chained(value is None, mixed)
    return signed(mixed)


def chained(value, mixed):
    if value is None:
        return mixed
    return hash_bytes(value, mixed) if isinstance(value, bytes) else hash_int(int(value), mixed)


FIELDS = st.none() | st.binary(max_size=80)
HEADERS = st.none() | st.lists(st.tuples(st.text(max_size=5).filter(str.isprintable), FIELDS), max_size=4)
CONTENTS = st.builds(Content, FIELDS, FIELDS, st.integers(-(1 << 45), 1 << 45), HEADERS)


@given(CONTENTS, st.booleans())
def test_a_record_hashes_as_the_expression_says(content, timestamps):
    assert record_hash(content, timestamps=timestamps) == by_hand(content, timestamps=timestamps)


ALIKE = [
    Content(b"k", None, 5),
    Content(None, b"k", 5),
    Content(b"", b"k", 5),
    Content(b"k", b"", 5),
    Content(None, None, 5),
    Content(b"", b"", 5),
    Content(b"k", None, -5),
    Content(b"ab", b"c", 5),
    Content(b"a", b"bc", 5),
    Content(b"a", b"bc", 5, [("h", None)]),
    Content(b"a", b"bc", 5, [("h", b"")]),
    Content(b"a", b"bc", 5, [("h", None), ("h", None)]),
    Content(b"a", b"bc", 5, [("a", b"b"), ("x", None)]),
    Content(b"a", b"bc", 5, [("x", None), ("a", b"b")]),
    Content(b"a", b"bc", 5, [("a", None), ("b", b"x")]),
    Content(b"a", b"bc", 5, [("a", b"b"), ("", b"x")]),
    Content(b"a", b"bc", 5, [("", b"")]),
    Content(b"\1", b"", 0),
    Content(b"", b"\1", 0),
]


def test_nulls_empty_fields_and_their_boundaries_are_told_apart():
    assert len({record_hash(content) for content in ALIKE}) == len(ALIKE)


def test_no_headers_and_null_headers_are_one():
    assert record_hash(Content(b"k", b"v", 1, [])) == record_hash(Content(b"k", b"v", 1, None))


def test_headers_that_a_mirror_adds_are_as_if_they_were_not_there():
    added = [("trace", b"1"), ("__replicator_id", b"x"), ("trace", None)]
    bare = [("trace", b"1"), ("trace", None)]
    excluded = ("__replicator_id",)
    one, other = Content(b"k", b"v", 1, added), Content(b"k", b"v", 1, bare)
    assert record_hash(one, excluded=excluded) == record_hash(other)
    assert record_hash(one) != record_hash(other)
    alone = Content(b"k", b"v", 1, [("__replicator_id", b"x")])
    assert record_hash(alone, excluded=excluded) == record_hash(Content(b"k", b"v", 1))
    assert record_hashes([one, alone], excluded=excluded).tolist() == [
        record_hash(one, excluded=excluded),
        record_hash(alone, excluded=excluded),
    ]


def test_a_time_that_is_left_out_is_that_of_a_record_without_one():
    timed, untimed = Content(b"k", b"v", 1234), Content(b"k", b"v", -1)
    assert record_hash(timed, timestamps=False) == record_hash(untimed)
    assert record_hash(timed) != record_hash(untimed)


def test_half_a_surrogate_pair_in_a_header_is_hashed_as_java_writes_it():
    assert record_hash(Content(None, None, 0, [("\ud800", b"")])) == record_hash(
        Content(None, None, 0, [("?", b"")])
    )


@settings(max_examples=50)
@given(st.lists(CONTENTS, max_size=12), st.booleans())
def test_many_at_once_hash_as_one_by_one(contents, timestamps):
    hashes = record_hashes(contents, timestamps=timestamps)
    assert hashes.dtype == np.int64
    assert hashes.tolist() == [record_hash(content, timestamps=timestamps) for content in contents]


def test_what_is_too_long_for_a_round_with_others_hashes_the_same():
    many = [(f"h{number}", None if number % 3 else b"x") for number in range(MAX_HEADERS_TOGETHER + 1)]
    contents = [
        Content(b"k", b"v", 1, [("h", b"x")]),
        Content(bytes(MAX_TOGETHER_BYTES + 1), b"v" * MAX_TOGETHER_BYTES, 1, many),
        Content(None, None, 1, many[1:]),
    ]
    assert record_hashes(contents).tolist() == [record_hash(content) for content in contents]


def test_every_length_hashes_the_same_in_company():
    rng = random.Random(5)
    data = [rng.randbytes(length) for length in [*range(140), 1000, MAX_TOGETHER_BYTES, 3]]
    seeds = [rng.getrandbits(64) for _ in data]
    together = hash_bytes_many(data, np.array(seeds, np.uint64))
    assert together.tolist() == [hash_bytes(one, seed) for one, seed in zip(data, seeds, strict=True)]


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, MASK)), min_size=1))
def test_integers_hash_the_same_in_company(pairs):
    seeds = np.array([seed for _, seed in pairs], np.uint64)
    longs = np.array([value for value, _ in pairs], np.int64)
    ints = longs >> 32
    assert hash_longs(longs, seeds).tolist() == [hash_long(value, seed) for value, seed in pairs]
    assert hash_ints(ints, seeds).tolist() == [hash_int(value >> 32, seed) for value, seed in pairs]


def test_the_sums_are_of_the_seeds_of_the_plan():
    for value in (0, -1, 1 << 62):
        assert second_hash(value) == signed(hash_int(7, hash_long(value, 42)))
        assert third_hash(value) == signed(hash_int(13, hash_long(value, 42)))
        assert place_hash(value, 9) == signed(hash_long(9, hash_long(value, 42)))
    assert check_hash(1, 7) != check_hash(1, 13)
    assert hash_int(1, 42) == module.FIRST_HASHED
