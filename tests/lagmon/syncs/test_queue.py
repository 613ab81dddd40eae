"""What a full queue of offset syncs leaves to their topic: read again in order, each once, and counted where gone."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.syncs import queue as sync_queue
from lagmon.syncs.queue import SyncQueue, WaitingSync

MOST = 6
BATCH = 4


@pytest.fixture(autouse=True, scope="module")
def small():
    """Have a queue be full soon."""
    with mock.patch.object(sync_queue, "MOST_WAITING", MOST), mock.patch.object(sync_queue, "MOST_HANDED", 3):
        yield


class Topic:
    """A topic of syncs, compacted now and then, with the reader that goes on and the one that reads again."""

    def __init__(self):
        self.records = {}
        self.end = self.position = self.again = 0
        self.queue = SyncQueue()
        self.queue.begin("one")
        self.cursor, self.written = 0, []

    def write(self, count=1):
        for _ in range(count):
            self.records[self.end] = WaitingSync(self.end, "orders", self.end % 3, self.end, self.end, 0)
            self.end += 1

    def compact(self, number):
        """Forget a record that is not the newest of its partition."""
        if number + 3 < self.end:
            self.records.pop(number, None)

    def _from(self, position):
        found = sorted(number for number in self.records if number >= position)[:BATCH]
        return [self.records[number] for number in found], found[-1] + 1 if len(found) == BATCH else self.end

    def read(self):
        found, self.position = self._from(self.position)
        for sync in found:
            self.queue.add(sync)

    def read_again(self):
        since = self.queue.read_again_from
        if since is None:
            return
        found, self.again = self._from(max(since, self.again))
        self.queue.regain(found, self.again)
        if self.queue.whole:
            self.again = 0

    def begin(self):
        """Begin again with another thread, as after its cluster was away."""
        self.position = self.again = 0
        self.queue.begin("one")

    def keep(self, *, lost=False):
        handed = self.queue.hand(self.cursor, now_ms=0)
        assert handed.next_number >= self.cursor
        if not lost:
            self.written += [one.number for one in handed.syncs]
            self.cursor = handed.next_number

    def keep_all(self):
        for _ in range(3 * self.end + 3):
            self.read()
            self.read_again()
            self.keep()


def test_what_comes_to_a_full_queue_is_left_and_read_again_in_its_order():
    topic = Topic()
    topic.write(30)
    for _ in range(8):
        topic.read()
    assert topic.position == 30  # read on, whoever judges by it
    assert (len(topic.queue), topic.queue.whole) == (MOST, False)
    assert topic.queue.read_again_from is None  # there is no room
    topic.write()
    topic.keep()
    topic.keep()
    topic.read()
    assert len(topic.queue) == MOST - 3  # what is new waits for its turn
    assert topic.queue.read_again_from == MOST
    topic.keep_all()
    assert topic.written == list(range(31))
    assert (topic.queue.whole, topic.queue.gone) == (True, 0)


def test_what_the_topic_has_no_more_is_counted():
    topic = Topic()
    topic.write(20)
    for _ in range(5):
        topic.read()
    for number in range(20):
        topic.compact(number)
    topic.keep_all()
    assert topic.written == [0, 1, 2, 3, 4, 5, 17, 18, 19]  # those that waited, and the newest of each
    assert topic.queue.gone == 11
    topic.write()
    topic.keep_all()
    assert topic.queue.gone == 11


def test_what_is_written_already_is_not_queued_again_after_a_restart():
    topic = Topic()
    topic.write(30)
    for _ in range(4):
        topic.read()
    topic.cursor = 25  # as the store has it
    topic.keep()
    assert topic.queue.whole
    topic.read()
    topic.read()
    topic.read()
    topic.read()
    topic.keep()
    topic.keep()
    assert (topic.written, topic.queue.gone) == ([25, 26, 27, 28, 29], 0)


def test_what_another_process_wrote_meanwhile_is_read_from_there_and_not_called_gone():
    topic = Topic()
    topic.write(30)
    for _ in range(8):
        topic.read()
    topic.cursor = 20
    topic.keep()
    assert topic.queue.read_again_from == 20
    topic.keep_all()
    assert (topic.written, topic.queue.gone) == (list(range(20, 30)), 0)


def test_what_was_never_handed_over_is_gone_with_its_topic():
    topic = Topic()
    topic.write(20)
    for _ in range(5):
        topic.read()
    topic.keep()  # three of them
    topic.queue.begin("two")
    assert (topic.queue.gone, topic.queue.whole, len(topic.queue)) == (17, True, 0)
    topic.queue.begin("three")
    assert topic.queue.gone == 17


ACTS = ["write", "write", "write", "read", "read", "again", "keep", "lost", "begin"]


@given(st.lists(st.sampled_from(ACTS) | st.integers(0, 30), max_size=120))
def test_each_is_written_once_in_order_or_counted_as_gone_whatever_happens(acts):
    topic = Topic()
    for act in acts:
        match act:
            case "write":
                topic.write(3)
            case "read":
                topic.read()
            case "again":
                topic.read_again()
            case "keep" | "lost":
                topic.keep(lost=act == "lost")
            case "begin":
                topic.begin()
            case _:
                if act < topic.position:  # of what was never read nobody knows
                    topic.compact(act)
        assert len(topic.queue) < MOST + BATCH
        left = topic.queue.read_again_from
        assert left is None or left >= topic.cursor  # what is written never passes what is left
    topic.keep_all()
    assert topic.queue.whole
    assert topic.written == sorted(set(topic.written))
    missing = set(range(topic.end)) - set(topic.written)
    assert not missing & topic.records.keys()
    if "begin" not in acts:
        assert topic.queue.gone == len(missing)
