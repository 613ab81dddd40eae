"""Offset syncs as they are read: each counted once, and handed over once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.wire.mirror import encode_offset_sync
from fleet.wire.records import OffsetSync, OffsetSyncKey, Tombstone
from lagmon.syncs import intake as sync_intake
from lagmon.syncs.intake import SyncIntake
from lagmon.syncs.queue import MOST_HANDED, SyncQueue, WaitingSync
from tests.lagmon.sync_records import HOUR, NOW, S

KEY = OffsetSyncKey("orders", 3)


def record(upstream=100, downstream=107, key=KEY):
    return encode_offset_sync(OffsetSync(key, upstream, downstream))


class Read:
    """What was read, taken in one batch after the other; `noted` is what the progress was told."""

    def __init__(self, *, mirrored=lambda _topic: True):
        self.noted = []
        self.queue = SyncQueue()
        self.queue.begin("id")
        self.intake = SyncIntake(self.queue, mirrored, self.noted.append)
        self.number = 0

    def take(self, *records, times_ms=None, read_ms=NOW, live=True):
        numbers = range(self.number, self.number + len(records))
        self.number += len(records)
        keys, values = ([one[part] for one in records] for part in (0, 1))
        times_ms = [read_ms] * len(records) if times_ms is None else times_ms
        self.intake.take(keys, values, list(numbers), times_ms, read_ms=read_ms, live=live)
        return self

    @property
    def counts(self):
        taken = self.intake.taken
        return taken.syncs, taken.resets, taken.others, taken.malformed, taken.beyond


def test_a_sync_is_queued_and_told_to_the_progress():
    read = Read().take(record())
    assert read.queue.hand(0, now_ms=NOW).syncs == [WaitingSync(0, "orders", 3, 100, 107, NOW)]
    assert read.noted == [WaitingSync(0, "orders", 3, 100, 107, NOW)]
    assert read.counts == (1, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (None, record()[1], "null"),
        (b"\x00", record()[1], "key"),
        (record()[0], b"\x00" * 15, "value"),
        (record()[0], b"\xff" * 16, "negative"),
        (b"\x00\x02\xff\xfe\x00\x00\x00\x00", record()[1], "UTF-8"),
        (encode_offset_sync(Tombstone(OffsetSyncKey("x" * 250, 0)))[0], record()[1], "250 characters"),
        (encode_offset_sync(Tombstone(OffsetSyncKey("", 0)))[0], record()[1], "0 characters"),
        (encode_offset_sync(Tombstone(OffsetSyncKey("a\0b", 0)))[0], record()[1], "3 characters in its key"),
    ],
)
def test_what_is_malformed_is_counted_with_one_sample(key, value, said):
    read = Read().take((key, value), (key, value), record())
    assert read.counts == (1, 0, 0, 2, 0)
    assert said in read.intake.taken.sample
    first = read.intake.taken.sample
    read.take((b"else", b""))
    assert read.intake.taken.sample == first


def test_a_reset_says_nothing_and_bytes_behind_the_last_field_do_no_harm():
    key, value = record()
    read = Read().take((key, None), (key + b"more", value + b"more"))
    assert read.counts == (1, 1, 0, 0, 0)


def test_topics_of_another_flow_in_the_same_topic_are_passed_over():
    read = Read(mirrored="orders".__eq__).take(record(), record(key=OffsetSyncKey("theirs", 0)))
    assert read.counts == (1, 0, 1, 0, 0)
    assert [one.topic for one in read.queue.hand(0, now_ms=NOW).syncs] == ["orders"]


def test_partitions_are_bounded(monkeypatch):
    monkeypatch.setattr(sync_intake, "MOST_PARTITIONS", 2)
    read = Read().take(*(record(key=OffsetSyncKey("orders", number)) for number in (0, 1, 2, 1, 0, 3)))
    assert read.counts == (4, 0, 0, 0, 2)


@pytest.mark.parametrize(
    ("told_ms", "live", "expected"),
    [
        (NOW - 5 * HOUR, False, NOW - 5 * HOUR),  # an old one, read at a start
        (-1, False, NOW),  # it has no time
        (NOW + HOUR, False, NOW),  # from the future
        (NOW + HOUR, True, NOW),  # of a clock that is ahead
        (NOW - HOUR, True, NOW),  # of one that is behind, for all that can be seen
        (1 << 62, False, NOW),
    ],
)
def test_its_time_is_the_records_by_our_clock(told_ms, live, expected):
    read = Read().take(record(), times_ms=[told_ms], live=live)
    assert read.noted[0].at_ms == expected


def test_a_clock_that_differs_is_seen_by_the_freshest_of_what_comes():
    # The mirror's clock is ten seconds behind ours, and records come a moment after they were written.
    read = Read()
    for second in range(5):
        now_ms = NOW + second * 1000
        read.take(record(), times_ms=[now_ms - 10_000 - 20], read_ms=now_ms)
    assert [one.at_ms for one in read.noted][-1] == NOW + 4000


# --- handing over


def waiting(count, *, partition=lambda number: number % 8, every_ms=S):
    queue = SyncQueue()
    queue.begin("id")
    syncs = [
        WaitingSync(number, "orders", partition(number), 100 * number, 100 * number, NOW + every_ms * number)
        for number in range(count)
    ]
    for one in syncs:
        queue.add(one)
    return queue, syncs


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=20))
def test_whoever_asks_gets_each_once_whatever_is_lost_on_the_way(rounds):
    queue, written, since, number = SyncQueue(), [], 0, 0
    for added, fate in rounds:
        for _ in range(added):
            queue.add(WaitingSync(number, "orders", 0, number, number, NOW))
            number += 2
        handed = queue.hand(since, now_ms=NOW)
        if fate:  # else the answer was lost, or the store did not take it
            written += handed.syncs
            since = handed.next_number
    written += queue.hand(since, now_ms=NOW).syncs
    assert [one.number for one in written] == list(range(0, number, 2))


def test_an_answer_is_bounded_and_says_that_more_wait():
    queue, syncs = waiting(MOST_HANDED + 5)
    handed = queue.hand(0, now_ms=NOW)
    assert handed.syncs == syncs[:MOST_HANDED]
    assert (handed.next_number, handed.more) == (MOST_HANDED, True)
    rest = queue.hand(handed.next_number, now_ms=NOW)
    assert (rest.syncs, rest.more) == (syncs[MOST_HANDED:], False)
    assert len(queue) == 5


def test_a_crowd_of_one_partition_is_thinned_and_keeps_its_ends():
    queue, syncs = waiting(MOST_HANDED, partition=lambda number: int(number == 500), every_ms=1)
    handed = queue.hand(0, now_ms=NOW + 5000)
    assert 256 <= len(handed.syncs) < 280
    assert handed.next_number == MOST_HANDED
    assert {syncs[0], syncs[500], *syncs[-256:]} <= set(handed.syncs)
    assert handed.syncs == sorted(handed.syncs)


def test_another_topic_begins_anew():
    queue, _ = waiting(3)
    queue.begin("other")
    assert (len(queue), queue.topic_id) == (0, "other")
