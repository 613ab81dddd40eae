"""Missing records of a busy topic are a suspicion, once the source has confirmed that it has them."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.logs.record_questions import MOST_ASKED, RecordQuestions
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.unreplicated.missing_by_syncs import AGAIN_MS, ANSWERED_MS, MOST_OF_TOPIC
from tests.lagmon.mirror_flows import Mirrored, S


def anything(_place):
    return True


class Busy(Mirrored):
    """A flow whose first partition is synced at each 100 records; its source tells what `holes` it has."""

    def __init__(self, *, begun=True, **flow):
        super().__init__(**flow)
        self.next = self.target_end = 0
        self.holes, self.silent, self.asked = set(), False, []
        self.poll()
        if begun:
            self.go(60, each=self.traffic)

    @property
    def questions(self):
        return self.flow.questions

    def sync(self, upstream, downstream, *, live=True):
        self.flow.syncs.note("orders", 0, upstream=upstream, downstream=downstream, live=live)

    def traffic(self, *, dropped=0):
        """Have 100 records written and copied, but for so many before the last one, with which a sync comes."""
        self.write(100, copied=False)
        self.next, self.target_end = self.next + 100, self.target_end + 100 - dropped
        self.target_ends["A.orders", 0] = self.target_end
        self.sync(self.next - 1, self.target_end - 1)
        self.write(3, partition=1)
        for partition in (0, 1):
            self.commit(partition=partition)

    def snapshot(self):
        found = super().snapshot()
        due = self.questions.due(anything)
        self.asked += due.values()
        if not self.silent:
            self.questions.note({at: (first, first + (first in self.holes)) for at, first in due.items()})
        return found

    def found(self):
        return [
            (each.partition, each.records, each.first_offset, each.last_offset)
            for each in self.snapshot().findings
            if each.code is Cause.FILTERED
        ]


def drop(one, *, dropped=3, seconds=30):
    """Leave so many records out, once, between two looks, and go on."""
    one.go(7, each=one.traffic)
    one.go(1, each=lambda: one.traffic(dropped=dropped))
    return one.go(seconds, each=one.traffic)


def test_a_record_that_is_dropped_from_a_topic_that_never_rests_is_a_suspicion():
    one = Busy()
    assert (one.found(), one.asked) == ([], [])
    drop(one)
    assert one.found() == [(0, 3, 6700, 6799)]
    assert one.asked == [6798]
    (finding,) = one.snapshot().findings
    assert (finding.code, finding.proved, finding.side) == (Cause.FILTERED, False, "source")
    for words in (
        "the mirror passed 100 offsets (6700 to 6799), and A.orders grew by 97 (6700 to 6797)",
        "A has a record at 6798, right before the gap.",
    ):
        assert words in finding.sentence
    assert one.verdict().verdict is Verdict.HEALTHY
    one.go(HELD_MS // S + 60, each=one.traffic, step=10)
    assert one.found() == []


def test_what_goes_on_being_skipped_is_one_finding_that_grows():
    one = drop(Busy(), dropped=1)
    assert one.found() == [(0, 1, 6700, 6799)]
    asked = len(one.asked)
    one.go(3 * AGAIN_MS // S, each=lambda: one.traffic(dropped=1))
    one.go(20, each=one.traffic)
    ((_, records, first, _),) = one.found()
    assert (first, 120 <= records <= 181) == (6700, True)
    assert 2 <= len(one.asked) - asked <= 4


def test_a_topic_with_gaps_of_its_own_leaves_nothing_out():
    one = Busy()
    one.holes = {6798}
    drop(one)
    assert (one.found(), one.asked) == ([], [6798])
    one.go(200, each=lambda: one.traffic(dropped=2))
    assert (one.found(), one.asked) == ([], [6798])  # it is asked once


def test_gaps_that_show_later_take_a_suspicion_back():
    one = drop(Busy())
    assert one.found() != []
    one.holes = set(range(9000, 90_000))
    one.go(2 * AGAIN_MS // S, each=lambda: one.traffic(dropped=1))
    assert one.found() == []


def second_mirror(one, state):
    """Have another mirror copy 1,000 records of the flow from its own offset on, beside the first.

    Of each mirror a sync tells at which of its records the copy of both ended.
    """
    is_first = one.now // (10 * S) % 2  # whose sync a look finds as the newest
    if is_first:
        one.traffic()
    copied = min(1000, one.next - state["next"])
    state["next"] += copied
    one.target_end += copied
    one.target_ends["A.orders", 0] = one.target_end
    if copied:
        one.sync(state["next"] - 1, one.target_end - 1)
    if not is_first:
        one.traffic()


def test_two_mirrors_on_one_flow_leave_nothing_out():
    one, other = Busy(), {"next": 0}
    one.go(540, each=one.traffic)
    one.go(300, each=lambda: second_mirror(one, other))
    assert other["next"] > 30_000
    assert [each.code for each in one.snapshot().findings if each.code is not Cause.DUPLICATING] == []
    assert one.asked == []
    one.go(AGAIN_MS // S, each=one.traffic)  # it has ended
    before = one.next
    drop(one)
    assert one.found() == [(0, 3, before + 700, before + 799)]


def test_a_mirror_that_went_back_once_is_held_to_its_syncs_again_after_a_minute():
    one = Busy()
    one.sync(2_000, 2_100)
    one.go(10, each=one.traffic)
    drop(one, seconds=20)
    assert one.found() == []
    one.go(AGAIN_MS // S, each=one.traffic)
    before = one.next
    drop(one)
    assert one.found() == [(0, 3, before + 700, before + 799)]


def have_open_transaction(one):
    one.a.heads.note_stable(np.array([one.a.places.of("orders")[0]], np.int32), np.array([10]))
    one.now += 5 * S
    one.snapshot()


@pytest.mark.parametrize("lag_from", ["connect-offsets", "offset-syncs"])
@pytest.mark.parametrize("why", ["compacted", "transactions", "deleted"])
def test_where_it_has_another_cause_the_source_is_not_asked(why, lag_from):
    one = Busy(lag_from=lag_from)
    if why == "compacted":
        one.flow.note_settings("A", "orders", {"cleanup.policy": "compact"})
    elif why == "transactions":
        have_open_transaction(one)
    else:
        one.starts["orders", 0] = 6750
        one.poll()
    drop(one)
    assert (one.found(), one.asked) == ([], [])


def test_what_the_source_does_not_answer_is_not_reported():
    one = Busy()
    one.silent = True
    drop(one, seconds=ANSWERED_MS // S + 20)
    one.silent = False
    assert set(one.asked) == {6798}
    one.go(60, each=one.traffic)
    assert one.found() == []
    drop(one)
    assert [records for _, records, *_ in one.found()] == [3]


def test_a_question_that_had_to_wait_for_others_is_answered_later():
    one = Busy()
    due, one.questions.due = one.questions.due, lambda _: {}
    drop(one, seconds=2 * ANSWERED_MS // S)
    one.questions.due = due
    one.go(20, each=one.traffic)
    assert one.found() == [(0, 3, 6700, 6799)]


def test_a_question_whose_place_is_forgotten_is_let_go():
    one = Busy()
    one.silent = True
    drop(one, seconds=10)
    one.questions.forget(one.a.places.of("orders"))
    one.go(ANSWERED_MS // S + 20)
    asked = len(one.asked)
    drop(one)
    assert len(one.asked) > asked


def test_of_a_topic_some_partitions_are_reported_and_others_once_these_are_not():
    one = Mirrored({"orders": 20, "others": 1})
    one.poll()
    asked, well = set(), set()

    def traffic():
        for topic, partition in one.ends:
            one.write(100, topic, partition)
            one.target_ends[f"A.{topic}", partition] -= (topic, partition) not in well
            one.commit(topic, partition)
            upstream, downstream = (
                one.ends[topic, partition] - 1,
                one.target_ends[f"A.{topic}", partition] - 1,
            )
            one.flow.syncs.note(topic, partition, upstream=upstream, downstream=downstream, live=True)
        due = one.flow.questions.due(anything)
        asked.update(one.a.places.name(place) for place in due)
        one.flow.questions.note({at: (first, first) for at, first in due.items()})

    one.go(5 * AGAIN_MS // S, each=traffic, step=5)
    assert (len(asked), ("others", 0) in asked) == (MOST_OF_TOPIC + 1, True)
    assert {(each.topic, each.partition) for each in one.snapshot().findings} == asked
    well |= asked
    one.go(HELD_MS // S + 60, each=traffic, step=10)
    told = {(each.topic, each.partition) for each in one.snapshot().findings}
    assert len(told) == MOST_OF_TOPIC
    assert not told & well


def test_repeated_records_are_none():
    one = drop(Busy(), dropped=-40)
    assert (one.found(), one.asked) == ([], [])


def test_where_repeated_records_follow_what_is_skipped_at_once_nothing_is_reported():
    one = Busy()
    one.go(1, each=lambda: one.traffic(dropped=40))
    one.go(1, each=lambda: one.traffic(dropped=-30))
    one.go(30, each=one.traffic)
    assert (one.found(), one.asked) == ([], [])


def test_a_clock_that_is_set_back_takes_a_suspicion_away():
    one = drop(Busy())
    one.now -= 3600 * S
    assert one.found() == []


def test_what_was_skipped_before_we_began_is_not_reported():
    one = Busy(begun=False)
    for upstream, downstream in ((99, 99), (199, 150), (299, 240)):
        one.sync(upstream, downstream, live=False)
        one.snapshot()
    one.next, one.target_end = 300, 241
    one.go(30, each=one.traffic)
    assert (one.found(), one.asked) == ([], [])


@pytest.mark.parametrize("side", ["A", "B"])
def test_a_recreated_topic_starts_again_and_leaves_no_question_behind(side):
    one = Busy()
    name = "orders" if side == "A" else "A.orders"
    one.flow.note_ids(side, {name: "first"}, one.now)
    one.silent = True
    one.go(10, each=lambda: one.traffic(dropped=3))
    assert one.questions.due(anything) != {}
    one.flow.note_ids(side, {name: "second"}, one.now)
    assert one.questions.due(anything) == {}
    one.go(1, each=one.traffic)
    assert one.questions.due(anything) == {}
    assert one.found() == []


def test_each_partition_is_reported_once_where_a_rest_shows_the_same():
    one = drop(Busy())
    one.go(60)
    assert one.found() == [(0, 3, 6700, 6799)]


def test_a_place_has_one_question_at_a_time():
    asked = RecordQuestions()
    assert asked.ask(1, 50)
    assert not asked.ask(1, 60)
    asked.note({1: (60, 60), 2: (50, 50)})
    assert (asked.answer(1, 50), asked.answer(1, 60), asked.due(anything)) == (None, None, {1: 50})
    asked.note({1: (50, 51)})
    assert (asked.answer(1, 50), asked.answer(1, 60), asked.due(anything)) == (False, None, {})
    assert not asked.ask(1, 60)  # until who asked has heard it
    asked.take_back(1, 60)
    assert asked.answer(1, 50) is False
    asked.take_back(1, 50)
    assert asked.ask(1, 60)
    assert asked.waits(1, 60)
    assert (asked.due(anything), asked.waits(1, 60)) == ({1: 60}, False)
    asked.forget([1])
    assert (asked.due(anything), asked.waits(1, 60)) == ({}, False)
    assert asked.ask(1, 60)
    assert asked.waits(1, 60)
    asked.take_back(1, 60)
    for place in range(MOST_ASKED + 5):
        asked.ask(place, 7)
    assert len(asked.due(anything)) == MOST_ASKED
    assert asked.due(lambda place: place > MOST_ASKED) == dict.fromkeys(
        range(MOST_ASKED + 1, MOST_ASKED + 5), 7
    )


@pytest.mark.parametrize("why", ["", "compacted"])
def test_a_target_that_lost_its_end_is_reported_as_one_and_the_source_is_not_asked(why):
    """An unclean election on the target takes copies of a topic that never rests."""
    one = Busy()
    if why:
        one.flow.note_settings("A", "orders", {"cleanup.policy": "compact"})
    drop(one, dropped=500)
    (finding,) = one.snapshot().findings
    assert (finding.code, finding.proved, finding.side) == (Cause.UNEXPLAINED, False, "target")
    assert (finding.records, finding.records_most, finding.first_offset) == (400, 500, None)
    assert "it ended at 6700 by an offset sync, and at 6300 by" in finding.sentence
    assert "Between 400 and 500 records may be missing" in finding.sentence
    assert one.asked == []
    one.go(60)  # a rest shows the same, and it is told once
    assert [each.code for each in one.snapshot().findings] == [Cause.UNEXPLAINED]
    one.go(HELD_MS // S, each=one.traffic, step=10)
    assert one.snapshot().findings == ()


def test_a_target_that_lost_its_end_after_others_were_skipped_is_reported_as_one():
    one = drop(Busy(), dropped=1)
    one.go(20, each=lambda: one.traffic(dropped=1))
    drop(one, dropped=110)
    assert [(each.code, each.records) for each in one.snapshot().findings if each.side == "target"] == [
        (Cause.UNEXPLAINED, 10)
    ]


def test_a_recreated_target_has_not_lost_its_end():
    one = Busy()
    one.flow.note_ids("B", {"A.orders": "first"}, one.now)
    drop(one, dropped=500)
    assert [each.code for each in one.snapshot().findings] == [Cause.UNEXPLAINED]
    one.flow.note_ids("B", {"A.orders": "second"}, one.now)
    assert Cause.UNEXPLAINED not in [each.code for each in one.snapshot().findings]


def keep_a_minute(one, *, dropped):
    one.traffic(dropped=dropped)
    one.starts["orders", 0] = max(0, one.next - 6_000)


def test_what_goes_on_being_skipped_grows_while_retention_deletes_what_was_replicated():
    one = Busy()
    one.go(300, each=lambda: keep_a_minute(one, dropped=1))
    ((_, records, first, _),) = one.found()
    assert (first, records > 200) == (6000, True)


def test_what_retention_takes_while_records_are_skipped_is_not_counted_with_them():
    one = Busy()
    one.go(90, each=lambda: keep_a_minute(one, dropped=1))
    one.write(700, copied=False)
    one.next += 700
    one.go(5, each=lambda: one.traffic(dropped=1))
    one.starts["orders", 0] = one.next - 500
    one.go(120, each=lambda: one.traffic(dropped=1))
    assert all(records < 300 for _, records, *_ in one.found())


@pytest.mark.parametrize("goes_on", [True, False])
def test_what_retention_took_is_none_where_its_start_is_read_after_the_question(goes_on):
    """The sync behind what was deleted may have had to wait, and the source has a record before it."""
    one = Busy()
    one.go(8, each=one.traffic)
    one.write(700, copied=False)
    one.next += 700
    start = one.next
    one.write(100, copied=False)
    one.next, one.target_end = one.next + 100, one.target_end + 100
    one.target_ends["A.orders", 0] = one.target_end
    one.sync(one.next - 1, one.target_end - 1)
    one.commit()
    one.go(10)
    assert (one.asked, one.found()) == ([7598], [])
    one.starts["orders", 0] = start
    one.go(30, each=one.traffic if goes_on else None)
    assert one.found() == []
    drop(one)
    assert [records for _, records, *_ in one.found()] == [3]


@pytest.mark.parametrize("what", ["made anew", "gone"])
def test_transactions_of_a_topic_that_was_recreated_or_went_say_nothing_of_the_new_one(what):
    one = Busy()
    if what == "made anew":
        one.flow.note_ids("A", {"orders": "first"}, one.now)
    have_open_transaction(one)
    if what == "made anew":
        one.flow.note_ids("A", {"orders": "second"}, one.now)
    else:
        one.a.note_topics({"others": 1})
        one.snapshot()
        one.a.note_topics({"orders": 2})
    one.go(30, each=one.traffic)
    drop(one)
    assert [records for _, records, *_ in one.found()] == [3]


def test_transactions_are_remembered_where_the_target_was_recreated():
    one = Busy()
    one.flow.note_ids("B", {"A.orders": "first"}, one.now)
    have_open_transaction(one)
    one.flow.note_ids("B", {"A.orders": "second"}, one.now)
    one.go(30, each=one.traffic)
    drop(one)
    assert one.found() == []
