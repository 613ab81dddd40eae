"""Every tick that was due has its attempt, in order and ahead of what is seen of it, sent or not."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from canary.inbox import Inbox
from canary.site.sending import Sending
from canary.tracker.plan import Attempt, Schedule
from runtime.process.clock import SystemClock
from tests.runtime.fake_clock import FakeClock

OPEN = SimpleNamespace(is_closed=lambda: False)
SECOND = 1_000_000_000


class Scene:
    """Two partitions, each probed once a second, by a clock that is moved by hand."""

    def __init__(self, sequences=None):
        self.clock = FakeClock()
        self.inbox = Inbox(OPEN)
        self.calls, self.takes = [], True
        self.sequences = {} if sequences is None else sequences
        self.sending = Sending(
            Schedule(start_ns=0, interval_ns=SECOND, partitions=2),
            alias="A",
            topic_id="id",
            sequences=self.sequences,
            send=self.send,
            clock=self.clock,
            inbox=self.inbox,
        )

    def send(self, *call):
        self.calls.append(call)
        self.inbox.put("an acknowledgement, sooner than the report of the sending")
        self.clock.advance(0.001)
        return self.clock.monotonic_ns() if self.takes else None


def test_ticks_that_are_due_are_sent_and_told_before_what_comes_of_them():
    scene = Scene()
    scene.sending.send_due()
    scene.clock.advance(0.6)
    scene.sending.send_due()
    began_ms = int(FakeClock().wall_s() * 1000)
    ack = "an acknowledgement, sooner than the report of the sending"
    assert scene.inbox.drain() == [
        Attempt("A", "id", 0, 0, 0, began_ms, 1_000_000),
        ack,
        Attempt("A", "id", 1, 0, SECOND // 2, began_ms + 500, 602_000_000),
        ack,
    ]
    assert scene.calls == [(0, 0, began_ms), (1, 0, began_ms + 500)]


def test_a_tick_that_is_too_late_is_skipped_and_uses_up_its_number():
    scene = Scene()
    scene.clock.advance(1.7)
    scene.sending.send_due()
    attempts = [item for item in scene.inbox.drain() if isinstance(item, Attempt)]
    assert [(one.partition, one.sequence, one.sent_ns is None) for one in attempts] == [
        (0, 0, True),
        (1, 0, True),
        (0, 1, False),
        (1, 1, False),
    ]
    assert scene.sequences == {("id", 0): 2, ("id", 1): 2}


def test_what_the_sender_does_not_take_is_skipped_and_the_count_continues():
    scene = Scene({("id", 0): 41, ("other", 0): 7})
    scene.takes = False
    scene.sending.send_due()
    assert [item.sent_ns for item in scene.inbox.drain() if isinstance(item, Attempt)] == [None]
    assert scene.sequences == {("id", 0): 42, ("other", 0): 7}


def test_a_send_that_fails_leaves_no_place_unfilled():
    scene = Scene()
    scene.sending._send = lambda *_call: 1 / 0
    with pytest.raises(ZeroDivisionError):
        scene.sending.send_due()
    (attempt,) = scene.inbox.drain()
    assert (attempt.sequence, attempt.sent_ns) == (0, None)


def test_the_minute_of_a_schedule_stays_even_until_the_wall_clock_is_set():
    scene = Scene()
    scene.sending.send_due()
    scene.clock.began_wall_s += 0.3  # it is corrected by a little
    scene.clock.advance(1)
    scene.sending.send_due()
    scene.clock.began_wall_s += 3600
    scene.clock.advance(1)
    scene.sending.send_due()
    began_ms = int(FakeClock().wall_s() * 1000)
    due = [item.due_at_ms - began_ms for item in scene.inbox.drain() if isinstance(item, Attempt)]
    assert due[:3] == [0, 500, 1000]
    assert due[3:] == [1500 + 3_600_300, 2000 + 3_600_300]


async def test_the_thread_sends_by_the_real_clock_and_ends_with_nothing_half_told():
    clock = SystemClock()
    box = Inbox(asyncio.get_running_loop())
    sent, enough = [], threading.Event()

    def send(partition, sequence, _due_at_ms):
        sent.append((partition, sequence))
        if len(sent) == 40:
            enough.set()
        return clock.monotonic_ns()

    sending = Sending(
        Schedule(start_ns=clock.monotonic_ns(), interval_ns=SECOND // 50, partitions=4),
        alias="A",
        topic_id="id",
        sequences={},
        send=send,
        clock=clock,
        inbox=box,
    )
    sending.stop()  # before its start: nothing to wait for
    sending._ending.clear()
    sending.start()
    assert await asyncio.to_thread(enough.wait, 30)
    assert not sending.ended
    sending.stop()
    assert sending.ended
    attempts = box.drain()
    assert [(one.partition, one.sequence) for one in attempts] == sent
    assert all(one.sent_ns >= one.at_ns for one in attempts if one.sent_ns is not None)
    assert len(box) == 0
