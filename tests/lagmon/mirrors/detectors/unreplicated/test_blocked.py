"""A hanging transaction blocks a mirror that reads committed records only: a stall that no lag shows."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.logs.hanging import ENDED_WITHIN_MS
from lagmon.logs.transaction_limit import LONGEST_MS
from lagmon.mirrors.progress.movement import movement_document
from tests.lagmon.mirror_flows import Mirrored, S, told

NAME = "orders", 0
HUNG = (Verdict.STALLED, Cause.TRANSACTION_HANGS)


class Transactional(Mirrored):
    """A mirror whose source has open transactions, by partition from which offset on; it copies up to them."""

    def __init__(self, topics=None, *, isolation_level="read_committed", **more):
        super().__init__(topics or {"orders": 2}, isolation_level=isolation_level, **more)
        self.open = {}
        self.poll()

    def readable(self, name):
        if self.flow.order.flow.isolation_level != "read_committed":
            return self.ends[name]
        return min(self.open.get(name, self.ends[name]), self.ends[name])

    def each(self):
        for name in self.ends:
            self.ends[name] += 10
            self.copy(name)

    def copy(self, name):
        topic, partition = name
        self.target_ends[f"A.{topic}", partition] = self.readable(name)
        if self.readable(name):
            self.commit(topic, partition, to=self.readable(name))

    def poll(self, *, starts=True):
        super().poll(starts=starts)
        places = np.array([self.a.places.of(topic)[number] for topic, number in self.ends], np.int32)
        ends = np.array([*self.ends.values()])
        stables = np.array([min(self.open.get(name, end), end) for name, end in self.ends.items()])
        self.a.note_polled(places, ends, stables, self.now, read_ms=self.now)

    def hang(self, name=NAME):
        self.open[name] = self.ends[name]


def seen(one, seconds, each=None):
    """Let time pass, and give all that the flow was judged as."""
    found = set()
    for _ in range(seconds // 10):
        one.go(10, each=each or one.each, step=5)
        found.add(told(one))
    return found


@pytest.mark.parametrize("name", [NAME, ("new", 0)])
def test_a_transaction_that_hangs_is_a_stall_with_what_waits_behind_it(name):
    one = Transactional({"orders": 2, "new": 1})
    if name == NAME:  # else it is as old as the topic, of which the mirror has no offset
        one.go(120, each=one.each, step=5)
    one.hang(name)
    at, began = one.ends[name], one.now
    assert HUNG not in seen(one, 900)
    assert HUNG in seen(one, 120)
    said = one.verdict().sentence
    assert f"A transaction on A has been open at offset {at} of {name[0]}-0 for " in said
    assert f"{one.ends[name] - at:,} records after its last stable offset wait." in said
    assert one.snapshot().blocked[0].since_ms - began <= 10 * S
    assert movement_document(one.flow, one.snapshot(), canary_topic="")["standing"] == [name[0]]
    assert movement_document(one.flow, one.snapshot(), canary_topic=name[0])["standing"] == [name[0]]
    del one.open[name]  # somebody has aborted it
    one.go(10, each=one.each, step=5)
    assert told(one) == (Verdict.HEALTHY, None)


def test_it_is_reported_with_another_stall():
    one = Transactional()
    one.go(60, each=one.each, step=5)
    one.hang()
    seen(one, 1000)
    for _ in range(20):
        one.go(10, each=lambda: one.write(10, partition=1, copied=False), step=5)
    verdict = one.verdict()
    assert verdict.verdict is Verdict.STALLED
    assert verdict.cause is not Cause.TRANSACTION_HANGS
    assert " A transaction on A has been open at offset " in verdict.sentence


def test_transactions_that_end_hold_nothing_however_many_there_are():
    one, began = Transactional(), {}

    def each():
        one.each()
        if one.now - began.setdefault("ms", one.now) >= 880 * S:  # as long as brokers let them be
            began.clear()
            one.open[NAME] = one.ends[NAME] - 10

    one.hang()
    assert HUNG not in seen(one, 4000, each)


def test_what_is_not_written_to_any_more_keeps_nobody_waiting_but_the_transaction():
    one = Transactional()
    one.go(60, each=one.each, step=5)
    one.hang()
    one.ends[NAME] += 50

    def each():
        one.write(10, partition=1)
        one.commit(partition=1)

    assert HUNG not in seen(one, 2 * (LONGEST_MS + ENDED_WITHIN_MS) // S, each)


def test_a_mirror_that_reads_all_records_is_not_held():
    one = Transactional(isolation_level="read_uncommitted")
    one.go(60, each=one.each, step=5)
    one.hang()
    assert seen(one, 1200) == {(Verdict.HEALTHY, None)}


def test_a_poll_without_an_answer_about_transactions_shows_nothing():
    one = Transactional()
    one.go(60, each=one.each, step=5)
    one.hang()
    assert HUNG in seen(one, 1020)
    place = np.array(one.a.places.of("orders")[:1], np.int32)
    one.now += 5 * S
    one.a.note_polled(place, np.array([one.ends[NAME]]), np.array([-1]), one.now)
    assert one.snapshot().blocked == ()


def test_lag_in_time_ends_where_lag_in_records_does_at_an_open_transaction():
    one = Transactional()
    one.go(120, each=one.each, step=5)
    one.hang()
    one.go(300, each=one.each, step=5)
    verdict = one.verdict()
    assert (verdict.lag, verdict.lag_s) == (0, 0.0)
