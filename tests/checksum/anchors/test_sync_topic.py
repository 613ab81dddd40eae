"""Offset syncs out of the mirror's own topic."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checksum.anchors import sync_topic
from checksum.anchors.pairs import Pair
from checksum.anchors.sync_topic import MOST, SPACING, SyncPairs, read_sync_topic
from fleet.errors import RefusedError, UnavailableError
from fleet.wire.mirror import OffsetSync, OffsetSyncKey, Tombstone, encode_offset_sync
from runtime.kafka.bulk import Batch
from runtime.kafka.properties.client_settings import ClientSettings


def sync(upstream, downstream, topic="t", partition=0):
    return encode_offset_sync(OffsetSync(OffsetSyncKey(topic, partition), upstream, downstream))


def taken(*records, wanted=lambda _: True):
    pairs = SyncPairs(wanted)
    for key, value in records:
        pairs.take(key, value)
    return pairs


def test_pairs_are_kept_by_partition_in_their_order():
    pairs = taken(sync(5, 6), sync(1, 9, partition=1), sync(3, 7))
    assert pairs.of("t", 0) == [Pair(5, 6), Pair(3, 7)]
    assert pairs.of("t", 1) == [Pair(1, 9)]
    assert pairs.of("u", 0) == []


def test_what_is_no_sync_is_counted_and_what_nobody_wants_is_not_kept():
    gone = encode_offset_sync(Tombstone(OffsetSyncKey("t", 0)))
    pairs = taken((b"\x00", b""), gone, sync(1, 1, "other"), sync(2, 2), wanted=lambda name: name == "t")
    assert pairs.malformed == 1
    assert pairs.of("t", 0) == [Pair(2, 2)]
    assert pairs.of("other", 0) == []


def test_a_long_chain_is_kept_in_steps_and_every_change_exactly():
    records = [sync(at, at) for at in range(0, 5_001, 100)]
    records += [sync(at, at - 1) for at in range(5_050, 5_250, 100)]
    pairs = taken(*records).of("t", 0)
    assert (pairs[0].upstream, pairs[-1].upstream) == (0, 5_150)
    assert [pair.upstream for pair in pairs if pair.delta == 0][-1] == 5_000
    assert [pair.upstream for pair in pairs if pair.delta == -1] == [5_050, 5_150]
    steps = [after.upstream - before.upstream for before, after in pairwise(pairs)]
    assert max(steps) <= SPACING
    assert len(pairs) < 12


@pytest.mark.parametrize(("end", "kept"), [(0, [0, 900]), (140, [0, 150, 900]), (150, [0, 150, 900])])
def test_the_first_pair_past_the_end_of_the_last_run_is_kept(end, kept):
    pairs = SyncPairs(lambda _: True, {("t", 0): end})
    for at in (0, 100, 150, 499, 700, 900):
        pairs.take(*sync(at, at))
    assert [pair.upstream for pair in pairs.of("t", 0)] == kept


def test_a_mirror_that_went_back_loses_none_of_its_pairs():
    pairs = taken(sync(0, 0), sync(10, 10), sync(5, 16), sync(12, 23)).of("t", 0)
    assert [pair.upstream for pair in pairs] == [0, 10, 5, 12]
    # Both topics made anew: the same distance, from the beginning.
    pairs = taken(sync(10, 10), sync(20, 20), sync(0, 0), sync(5, 5)).of("t", 0)
    assert [pair.upstream for pair in pairs] == [10, 20, 0, 5]


def test_of_more_pairs_than_are_kept_the_oldest_go():
    pairs = taken(*[sync(at, 2 * at) for at in range(MOST + 1)]).of("t", 0)
    assert len(pairs) <= MOST
    assert (pairs[0].upstream, pairs[-1].upstream) == (MOST // 2, MOST)


class PretendBulk:
    batches: list

    def __init__(self, _settings, **asked):
        self.asked = asked["cluster"], asked["topic"], asked["timed"]
        self.closed = False
        type(self).made = self

    def open(self, partitions):
        assert list(partitions) == [0]

    def take(self, **_wait):
        return type(self).batches.pop(0) if type(self).batches else Batch([], [])

    def close(self):
        self.closed = True


class Ticking:
    now_ns = 0

    def monotonic_ns(self):
        self.now_ns += 1_000_000_000
        return self.now_ns


@pytest.fixture
def bulk(monkeypatch):
    made = type("Made", (PretendBulk,), {"batches": []})
    monkeypatch.setattr(sync_topic, "Bulk", made)
    return made


def read(**more):
    return read_sync_topic(
        ClientSettings({}),
        cluster="A",
        topic="syncs",
        clock=Ticking(),
        wanted=lambda _: True,
        longest_s=5,
        **more,
    )


def batch(*records, **others):
    keys, values = [one[0] for one in records], [one[1] for one in records]
    return Batch(keys, values, times_ms=[7] * len(records), offsets=[0] * len(records), **others)


def test_the_topic_is_read_to_its_end(bulk):
    bulk.batches[:] = [batch(sync(1, 1)), batch(), batch(sync(2, 2), ends={0: 2}), batch(sync(3, 3))]
    assert read().of("t", 0) == [Pair(1, 1), Pair(2, 2)]
    assert bulk.made.asked == ("A", "syncs", True)
    assert bulk.made.closed


def test_what_was_read_before_is_passed_over(bulk):
    bulk.batches[:] = [batch(sync(1, 1), sync(2, 2), sync(3, 3), ends={0: 9})]
    bulk.batches[0].offsets[:] = [4, 5, 8]
    pairs = read(since=5)
    assert (pairs.of("t", 0), pairs.until) == ([Pair(2, 2), Pair(3, 3)], 9)
    bulk.batches[:] = [batch(ends={0: 0})]
    assert read(since=5).until == 0


def test_a_topic_that_may_not_be_read_is_refused(bulk):
    bulk.batches[:] = [batch(refused=RefusedError("no right"))]
    with pytest.raises(RefusedError, match="no right"):
        read()
    assert bulk.made.closed


def test_half_of_it_is_not_enough(bulk):
    bulk.batches[:] = [batch(sync(1, 1)) for _ in range(20)]
    bulk.batches[4].faults.append(UnavailableError("the broker is away"))
    with pytest.raises(UnavailableError, match=r"cannot read syncs to its end within 5 s: the broker"):
        read()
    assert bulk.made.closed
