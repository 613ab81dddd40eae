"""A source log that loses its end, as by an unclean election: what the mirror skips or repeats."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from tests.lagmon.mirror_flows import Mirrored, S, told
from tests.lagmon.mirrors.progress.test_equal import Linked

NAME, COPY = ("orders", 0), ("A.orders", 0)


class Followed(Mirrored):
    """A mirror of a partition that grows by `rate` a second, with a marker each so many; it may be down.

    Where its offset is past the log's end it begins at the start (`earliest`) or at the end.
    """

    def __init__(self, rate=10, *, markers=0, back_to="earliest", flush=60):
        super().__init__({"orders": 1, "other": 1}, flush_s=float(flush))
        self.rate, self.markers, self.back_to, self.flush = rate, markers, back_to, flush
        self.next, self.runs, self.seconds, self.all, self.ids = 0, True, 0, set(), ("1", "1")
        self.poll()

    def second(self):
        self.seconds += 1
        self.write(self.rate, "other")
        self.ends[NAME] += self.rate
        if self.runs:
            self.copy()
        if self.runs and self.seconds % self.flush == 0:
            self.commit(to=self.next)
            self.commit("other")

    def copy(self):
        if self.next > self.ends[NAME]:
            self.next = 0 if self.back_to == "earliest" else self.ends[NAME]
        records = range(self.next, self.ends[NAME])
        self.target_ends[COPY] += sum(not self.markers or one % self.markers > 0 for one in records)
        self.next = self.ends[NAME]

    def pass_(self, seconds, *, poll=10):
        for _ in range(seconds):
            self.go(1, each=self.second, poll=1 << 30)
            if self.seconds % poll == 0:
                self.flow.note_ids("A", {"orders": self.ids[0]}, self.now)
                self.flow.note_ids("B", {"A.orders": self.ids[1]}, self.now)
                self.poll()
                self.all |= {(one.verdict, one.cause) for one in [self.verdict()]}
        return self

    def found(self):
        return [
            (str(one.code), one.proved, one.records)
            for one in self.snapshot().findings
            if one.topic == "orders"
        ]

    def stop(self):
        self.commit(to=self.next)
        self.runs = False
        return self.pass_(60)

    def cut(self, records):
        self.ends[NAME] = self.next - records
        return self


def down(**settings):
    """Give one that was stopped in order, a minute ago."""
    return Followed(**settings).pass_(610).stop()


def test_what_is_new_below_the_offset_at_which_a_mirror_goes_on_is_lost():
    one = down().cut(500).pass_(120)
    one.runs = True
    one.pass_(100)
    ((code, proved, records),) = one.found()
    assert (code, proved, 300 < records <= 500) == ("unexplained", False, True)  # what is read as it goes on
    one.pass_(200)
    ((code, proved, records),) = one.found()
    assert (code, proved, 300 < records <= 500) == ("unexplained", True, True)
    (found,) = (each for each in one.snapshot().findings if each.topic == "orders")
    assert found.verdict is Verdict.LOSING
    assert (found.first_offset, found.last_offset) == (6100 - records, 6099)
    assert (
        f"At least {records} records of orders-0 ({6100 - records} to 6099) were not replicated"
        in found.sentence
    )
    assert "lost its end, as after an unclean leader election. It ended at" in found.sentence
    one.pass_(1000)
    assert one.found() == []


@pytest.mark.parametrize("back_to", ["earliest", "end"])
def test_a_mirror_that_starts_again_loses_nothing(back_to):
    one = Followed(back_to=back_to).pass_(610).cut(500).pass_(400)
    assert [each for each in one.found() if each[0] == "unexplained"] == []


def test_markers_of_transactions_are_no_loss():
    for markers in (2, 3, 5):  # they keep the copy behind by as much, at one look or another
        one = down(markers=markers).cut(400)
        cut = one.ends[NAME]
        one.pass_(20)
        one.next, one.runs = cut, True  # it goes on where the log ended
        for _ in range(40):
            one.pass_(10)
            assert [each for each in one.found() if each[0] == "unexplained" and each[1]] == []


def test_an_old_leader_that_still_answers_has_lost_nothing():
    one = down()
    ends = dict(one.ends)
    for _ in range(3):  # an old end at three looks
        one.pass_(10, poll=1 << 30)
        now, one.ends = one.ends, ends | {NAME: one.next - 50, ("other", 0): one.ends["other", 0]}
        one.poll()
        one.snapshot()
        one.ends = now
    one.runs = True
    for _ in range(40):
        one.pass_(10)
        assert [each for each in one.found() if each[1]] == []


@pytest.mark.parametrize("side", [0, 1])
def test_a_recreated_topic_is_another_matter(side):
    one = down()
    one.ids = tuple("2" if number == side else "1" for number in (0, 1))
    one.cut(500).pass_(120)
    one.runs = True
    one.pass_(300)
    assert [each for each in one.found() if each[0] in ("unexplained", "duplicating")] == []


def test_a_log_that_was_short_when_we_began_may_be_another_one():
    one = Followed()
    one.flow.windows.take("orders", 0, 6099, one.now - 600 * S, live=False)
    one.next, one.target_ends[COPY], one.runs = 6100, 6100, False
    one.ends[NAME] = 5600
    one.pass_(120)
    one.runs = True
    one.pass_(400)
    assert one.found() == []


@pytest.mark.parametrize("rate", [2, 10])
def test_what_was_there_before_the_cut_is_repeated_where_a_mirror_starts_again(rate):
    one = Followed(rate).pass_(1810).stop().cut(1000).pass_(20)
    copied, one.runs = one.ends[NAME], True  # shorter than its offset
    one.pass_(140)
    ((code, proved, records),) = one.found()
    assert (code, proved) == ("duplicating", True)
    assert copied // 2 < records <= copied
    (found,) = (each for each in one.snapshot().findings if each.topic == "orders")
    assert found.last_offset < copied
    assert "reached B again" in found.sentence
    assert f"At least {records:,} records" in found.sentence.replace(f"{records} ", f"{records:,} ")


def test_where_a_link_cuts_its_target_with_the_source_nothing_is_repeated():
    one, seen = Linked({"orders": 1}, target={"orders": 1}), set()

    def go(seconds):
        for second in range(1, seconds + 1):
            one.now += S
            one.ends[NAME] += 20
            one.target_ends[NAME] = max(one.target_ends[NAME], one.ends[NAME] - 10)
            if second % 10 == 0:
                one.poll()
                one.flow.note_ids("A", {"orders": "1"}, one.now)
                seen.add(told(one))

    one.poll()
    go(300)
    one.ends[NAME] -= 3000
    one.target_ends[NAME] = one.ends[NAME] - 10
    go(300)
    assert seen == {(Verdict.HEALTHY, None)}
    one.target_ends[NAME] -= 3000  # of the copy alone
    places = np.array(one.b.places.of("orders"), np.int32)
    one.now += 10 * S
    one.b.heads.note(places, np.array([one.target_ends[NAME]]), one.now)
    one.poll(sides="a")
    one.flow.note_ids("A", {"orders": "1"}, one.now)
    assert told(one) == (Verdict.REPEATING, Cause.DUPLICATING)
