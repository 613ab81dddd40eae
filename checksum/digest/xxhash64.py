"""XXH64 as Spark's `xxhash64` chains it: the hash of one value is the seed of the next. Pure.

The algorithm is Yann Collet's (xxhash_spec.md). Spark hashes an int as its four bytes, a boolean as the int 0
or 1, a long as its eight bytes and a string as its UTF-8 (XxHash64Function of Spark 4). Seeds and hashes are
unsigned here, 0 <= hash < 2^64; `signed` converts one to Spark's bigint.
"""

from __future__ import annotations

import struct

MASK = (1 << 64) - 1
PRIME_1 = 0x9E3779B185EBCA87
PRIME_2 = 0xC2B2AE3D27D4EB4F
PRIME_3 = 0x165667B19E3779F9
PRIME_4 = 0x85EBCA77C2B2AE63
PRIME_5 = 0x27D4EB2F165667C5

STRIPE_BYTES = 32
_WORD = struct.Struct("<Q")
_HALF_WORD = struct.Struct("<I")
_STRIPE = struct.Struct("<4Q")


def signed(value: int) -> int:
    """Return an unsigned 64-bit number as the bigint of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def unsigned(value: int) -> int:
    """Return a bigint as the unsigned number of the same 64 bits."""
    return value & MASK


def hash_int(value: int, seed: int) -> int:
    """Hash a signed 32-bit integer, or a boolean as 0 or 1."""
    mixed = (seed + PRIME_5 + 4) ^ (value & 0xFFFFFFFF) * PRIME_1
    mixed &= MASK
    return _finish((mixed << 23 | mixed >> 41) * PRIME_2 + PRIME_3)


def hash_long(value: int, seed: int) -> int:
    """Hash a signed 64-bit integer."""
    return _finish(_with_word(seed + PRIME_5 + 8, value))


def hash_bytes(data: bytes, seed: int) -> int:
    """Hash bytes; the length is part of the hash, so an empty value changes it too."""
    length = len(data)
    if length >= STRIPE_BYTES:
        at = length & ~(STRIPE_BYTES - 1)
        mixed = _stripes(data, at, seed) + length
    else:
        at = 0
        mixed = seed + PRIME_5 + length
    words_until = length & ~7
    while at < words_until:
        mixed = _with_word(mixed, _WORD.unpack_from(data, at)[0])
        at += 8
    if length & 4:
        mixed = (mixed ^ _HALF_WORD.unpack_from(data, at)[0] * PRIME_1) & MASK
        mixed = (mixed << 23 | mixed >> 41) * PRIME_2 + PRIME_3
        at += 4
    while at < length:
        mixed = (mixed ^ data[at] * PRIME_5) & MASK
        mixed = (mixed << 11 | mixed >> 53) * PRIME_1
        at += 1
    return _finish(mixed)


def _stripes(data: bytes, until: int, seed: int) -> int:
    """Return the four lanes over whole stripes of 32 bytes, merged."""
    one, two, three, four = (seed + PRIME_1 + PRIME_2), (seed + PRIME_2), seed, (seed - PRIME_1)
    for a, b, c, d in _STRIPE.iter_unpack(memoryview(data)[:until]):
        one = (one + a * PRIME_2) & MASK
        one = (one << 31 | one >> 33) * PRIME_1 & MASK
        two = (two + b * PRIME_2) & MASK
        two = (two << 31 | two >> 33) * PRIME_1 & MASK
        three = (three + c * PRIME_2) & MASK
        three = (three << 31 | three >> 33) * PRIME_1 & MASK
        four = (four + d * PRIME_2) & MASK
        four = (four << 31 | four >> 33) * PRIME_1 & MASK
    merged = (one << 1 | one >> 63) + (two << 7 | two >> 57)
    merged += (three << 12 | three >> 52) + (four << 18 | four >> 46)
    for lane in (one, two, three, four):
        word = lane * PRIME_2 & MASK
        merged = ((merged ^ (word << 31 | word >> 33) * PRIME_1) & MASK) * PRIME_1 + PRIME_4
    return merged


def _with_word(mixed: int, word: int) -> int:
    turned = word * PRIME_2 & MASK
    mixed = (mixed ^ (turned << 31 | turned >> 33) * PRIME_1) & MASK
    return (mixed << 27 | mixed >> 37) * PRIME_1 + PRIME_4


def _finish(mixed: int) -> int:
    mixed &= MASK
    mixed = (mixed ^ mixed >> 33) * PRIME_2 & MASK
    mixed = (mixed ^ mixed >> 29) * PRIME_3 & MASK
    return mixed ^ mixed >> 32
