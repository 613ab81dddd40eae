"""XXH64 of many values, in columns: the same numbers as `xxhash64`, about twenty times as fast. Pure.

Seeds and hashes are arrays of unsigned 64-bit numbers, one for each value. Overflow is the algorithm's
arithmetic modulo 2^64, which NumPy does silently with arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from checksum.digest.xxhash64 import PRIME_1, PRIME_2, PRIME_3, PRIME_4, PRIME_5, STRIPE_BYTES, hash_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

MAX_TOGETHER_BYTES = 4096
"""Longer values are hashed one by one, because each 32 bytes are a round for all values."""

_P1, _P2, _P3, _P4, _P5 = (np.uint64(prime) for prime in (PRIME_1, PRIME_2, PRIME_3, PRIME_4, PRIME_5))
_PADDING = [bytes(missing) for missing in range(STRIPE_BYTES)]


def hash_ints(values: NDArray[np.int64] | int, seeds: Hashes) -> Hashes:
    """Hash signed 32-bit integers, or booleans as 0 and 1."""
    words = np.asarray(values).astype(np.uint64) & np.uint64(0xFFFFFFFF)
    return _finish(_turned(seeds + _P5 + np.uint64(4) ^ words * _P1, 23) * _P2 + _P3)


def hash_longs(values: NDArray[np.int64], seeds: Hashes) -> Hashes:
    """Hash signed 64-bit integers."""
    return _finish(_with_words(seeds + _P5 + np.uint64(8), values.astype(np.uint64)))


def hash_bytes_many(data: Sequence[bytes], seeds: Hashes) -> Hashes:
    """Hash a value of bytes each, none of them null."""
    lengths = np.fromiter(map(len, data), np.int64, len(data))
    long = lengths > MAX_TOGETHER_BYTES
    if not long.any():
        return _together(data, lengths, seeds)
    hashes = np.empty(len(data), np.uint64)
    for index in np.flatnonzero(long).tolist():
        hashes[index] = hash_bytes(data[index], int(seeds[index]))
    short = np.flatnonzero(~long)
    hashes[short] = _together([data[index] for index in short.tolist()], lengths[short], seeds[short])
    return hashes


def _together(data: Sequence[bytes], lengths: NDArray[np.int64], seeds: Hashes) -> Hashes:
    # The longest come first, so that those with a next stripe are always the first few.
    order = np.argsort(-(lengths // STRIPE_BYTES), kind="stable")
    lengths, seeds = lengths[order], seeds[order]
    chosen = [data[index] for index in order.tolist()]
    buffer = b"".join([piece for one in chosen for piece in (one, _PADDING[-len(one) % STRIPE_BYTES])])
    octets = np.frombuffer(buffer + _PADDING[-1] + b"\0", np.uint8)
    words = octets.view("<u8").astype(np.uint64, copy=False)
    padded = (lengths + (STRIPE_BYTES - 1)) // STRIPE_BYTES * STRIPE_BYTES
    starts = np.cumsum(padded) - padded
    mixed = _stripes(words, starts // 8, lengths // STRIPE_BYTES, seeds)
    mixed += lengths.astype(np.uint64)
    mixed = _rest(octets, words, starts, lengths, mixed)
    hashes = np.empty(len(data), np.uint64)
    hashes[order] = _finish(mixed)
    return hashes


def _stripes(words: Hashes, starts: NDArray[np.int64], stripes: NDArray[np.int64], seeds: Hashes) -> Hashes:
    """Return the merged lanes of values of at least 32 bytes, and the start value of shorter ones."""
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    for number in range(int(stripes[0]) if len(stripes) else 0):
        going_on = int(np.searchsorted(-stripes, -number, side="left"))
        at = starts[:going_on] + 4 * number
        for place, lane in enumerate(lanes):
            part = lane[:going_on]
            part += words[at + place] * _P2
            part[:] = _turned(part, 31) * _P1
    merged = _turned(lanes[0], 1) + _turned(lanes[1], 7) + _turned(lanes[2], 12) + _turned(lanes[3], 18)
    for lane in lanes:
        merged = (merged ^ _turned(lane * _P2, 31) * _P1) * _P1 + _P4
    return np.where(stripes > 0, merged, seeds + _P5)


def _rest(
    octets: NDArray[np.uint8],
    words: Hashes,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    mixed: Hashes,
) -> Hashes:
    """Mix in what follows the last whole stripe: up to three words, half a word, three bytes."""
    at = starts + lengths // STRIPE_BYTES * STRIPE_BYTES
    left = lengths % STRIPE_BYTES
    for number in range(3):
        some = left >= 8 * (number + 1)
        mixed = np.where(some, _with_words(mixed, words[at // 8 + number * some]), mixed)
    at = at + left // 8 * 8
    left = left % 8
    halves = octets.view("<u4").astype(np.uint64)
    mixed = np.where(left >= 4, _turned(mixed ^ halves[at // 4] * _P1, 23) * _P2 + _P3, mixed)
    at = at + left // 4 * 4
    left = left % 4
    for number in range(3):
        some = left > number
        byte = octets[at + number * some].astype(np.uint64)
        mixed = np.where(some, _turned(mixed ^ byte * _P5, 11) * _P1, mixed)
    return mixed


def _with_words(mixed: Hashes, words: Hashes) -> Hashes:
    return _turned(mixed ^ _turned(words * _P2, 31) * _P1, 27) * _P1 + _P4


def _turned(values: Hashes, bits: int) -> Hashes:
    turned: Hashes = values << np.uint64(bits) | values >> np.uint64(64 - bits)
    return turned


def _finish(mixed: Hashes) -> Hashes:
    mixed = (mixed ^ mixed >> np.uint64(33)) * _P2
    mixed = (mixed ^ mixed >> np.uint64(29)) * _P3
    return mixed ^ mixed >> np.uint64(32)
