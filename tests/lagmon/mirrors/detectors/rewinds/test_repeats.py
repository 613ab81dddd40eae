"""Repeated records are an event with their number, whatever the verdict: exact, or with bounds."""

from __future__ import annotations

import json

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.events import LISTED, WORST, events_of
from lagmon.mirrors.answers.rows import flow_document
from lagmon.mirrors.detectors.rewinds.repeats import KEPT_MS, QUIET_MS, Repeat
from lagmon.mirrors.verdict import judge_flow
from lagmon.snapshots.holding import KeptHolding, holding_document, read_holding
from tests.lagmon.mirror_flows import NOW, Mirrored, S

START = 1_000  # where the source's log begins: no step goes back to it by chance


class Mirror:
    """A mirror of one partition with a sync every 10 records, and offsets every second; `at` is where it is."""

    def __init__(self, *, syncs=True, written=START + 420, **settings):
        self.one = Mirrored({"orders": 1}, flush_s=1.0, **settings)
        self.syncs, self.at, self.synced = syncs, START, -1
        self.one.starts["orders", 0] = self.one.ends["orders", 0] = START
        self.one.poll()
        self.ids("one")
        while self.at < written:
            self.second()
        self.one.poll()

    def ids(self, source="one", target="of A"):
        self.one.flow.note_ids("A", {"orders": source}, self.one.now)
        self.one.flow.note_ids("B", {"A.orders": target}, self.one.now)

    def copy(self, first, last, *, fresh=False):
        """Copy these records, the last not among them; with a sync for the first where a task is `fresh`."""
        for upstream in range(first, last):
            downstream = self.one.target_ends["A.orders", 0]
            if self.syncs and (fresh or downstream >= self.synced + 10):
                self.sync(upstream, downstream)
                self.synced, fresh = downstream, False
            self.one.target_ends["A.orders", 0] += 1

    def sync(self, upstream, downstream, *, live=True):
        self.one.flow.syncs.note("orders", 0, upstream=upstream, downstream=downstream, live=live)

    def second(self, rate=10, *, commits=True):
        """Have a second pass, in which so many records are written and copied."""
        one = self.one
        one.now += S
        one.ends["orders", 0] += rate
        self.copy(self.at, self.at + rate)
        self.at += rate
        if commits:
            one.commit(to=self.at)
        if one.now % (10 * S) == 0:
            one.poll()
            self.ids()
        if one.now % (5 * S) == 0:
            one.snapshot()

    def go(self, seconds):
        for _ in range(seconds):
            self.second()
        return self

    def events(self):
        found = self.one.snapshot()
        return events_of(found.repeats, source="A", target="B")

    def event(self):
        (event,) = self.events()
        (worst,) = event.worst
        told = worst.from_offset, worst.to_offset, event.records, event.records_most
        return event.kind, *told, event.sentence


def test_a_mirror_that_replicates_goes_no_way_back():
    mirror = Mirror().go(120)
    assert mirror.events() == []


def test_a_worker_that_was_frozen_wakes_after_another_took_over():
    mirror = Mirror().go(25)
    at = mirror.at
    # It slept for 25 s: writes again what the other copied meanwhile, and its own last offset.
    mirror.one.commit(to=at - 242)
    mirror.copy(at - 260, at)
    mirror.go(120)
    kind, from_offset, to_offset, *records, sentence = mirror.event()
    assert (kind, from_offset, records) == ("went_back", at, [260, 260])
    assert at - 260 <= to_offset <= at - 242
    assert sentence.startswith(
        "MirrorMaker copied 260 records of orders-0 to B again. Its next offset on A went"
    )
    assert judge_flow(mirror.one.flow, mirror.one.snapshot()).verdict is Verdict.HEALTHY
    assert mirror.one.snapshot().findings == () or mirror.one.snapshot().findings[0].code is Cause.DUPLICATING


def test_lost_offsets_have_all_replicated_again_from_the_start():
    mirror = Mirror()
    peak = mirror.at
    mirror.one.now += 10 * S
    mirror.one.commit(to=START + 50, live=False)  # a new offsets topic: what it held when it was opened
    mirror.copy(START, START + 50, fresh=True)
    mirror.one.now += S
    mirror.ids()
    kind, *numbers, sentence = mirror.event()
    assert (kind, numbers) == ("replayed", [peak, START, 41, None])  # so far, by the newest sync
    assert "copied at least 41 records of orders-0 to B again from the start of its log" in sentence
    mirror.copy(START + 50, peak)
    mirror.at = peak
    mirror.go(60)
    kind, *numbers, sentence = mirror.event()
    assert (kind, numbers) == ("replayed", [peak, START, 420, 420])
    assert sentence.startswith(
        "MirrorMaker copied 420 records of orders-0 to B again from the start of its log. Its next offset on A"
        " went back from 1420 to 1000 at 2026-"
    )


def test_without_syncs_the_number_has_bounds_that_hold():
    mirror = Mirror(syncs=False).go(60)
    peak = mirror.at
    mirror.one.commit(to=peak - 200)
    mirror.copy(peak - 200, peak)
    mirror.go(120)
    _, from_offset, to_offset, records, most, sentence = mirror.event()
    assert (from_offset, to_offset) == (peak, peak - 200)
    assert 0 < records <= 200 <= most
    assert f"copied between {records} and {most} records" in sentence or records == most


def test_an_old_offset_that_is_written_late_is_no_event_where_syncs_show_that_nothing_was_repeated():
    mirror = Mirror().go(60)
    mirror.one.commit(to=mirror.at - 25)
    mirror.go(120)
    # Looks leave room for what is under way, and no more is told.
    assert all(event.records == 0 for event in mirror.events())


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_that_was_re_created_is_not_replicated_again(side):
    mirror = Mirror().go(30)
    one = mirror.one
    one.now += 5 * S
    if side == "source":
        one.ends["orders", 0] = mirror.at = 0
        one.starts["orders", 0] = 0
    one.target_ends["A.orders", 0] = one.target_ends["A.orders", 0] if side == "source" else 0
    one.commit(to=0)
    mirror.ids(**{side: "another"})
    mirror.at, mirror.synced = 0, -1
    for _ in range(40):
        one.now += S
        one.ends["orders", 0] = max(one.ends["orders", 0], mirror.at + 10)
        one.target_ends["A.orders", 0] += 10
        mirror.at += 10
        one.commit(to=mirror.at)
        one.poll()
        one.flow.note_ids("A", {"orders": "another" if side == "source" else "one"}, one.now)
        told = mirror.events()
        assert all(event.records == 0 for event in told)
    assert (told == []) is (side == "source")  # of a copy that was re-created it is told that it went back


def test_what_is_read_of_the_same_offsets_topic_again_is_no_step_back():
    mirror = Mirror().go(60)
    one = mirror.one
    for ago in (50, 40, 20, 0):  # the reader begins anew: an old offset, and those that followed it
        one.flow.windows.take("orders", 0, mirror.at - 1 - ago * 10, one.now - ago * S, live=False)
    mirror.go(60)
    assert mirror.events() == []


def test_what_is_read_at_a_start_is_history():
    one = Mirrored({"orders": 1})
    one.poll()
    for offset in (100, 200, 50, 300):
        one.now += S
        one.commit(to=offset, live=False)
        one.flow.syncs.note("orders", 0, upstream=offset, downstream=offset + one.now % 7, live=False)
    one.flow.note_ids("A", {"orders": "one"}, one.now)
    assert one.snapshot().repeats == ()


def test_under_exactly_once_it_is_a_finding():
    mirror = Mirror(syncs=False, exactly_once=True).go(30)
    peak = mirror.at
    mirror.one.commit(to=peak - 100)
    mirror.one.now += S
    mirror.copy(peak - 100, peak)
    mirror.one.commit(to=peak)
    mirror.go(60)
    assert mirror.event()[1:5] == (peak, peak - 100, 100, 100)
    told = [one for one in mirror.one.snapshot().findings if "exactly once" in one.sentence]
    assert [(one.code, one.verdict, one.records, one.first_offset, one.last_offset) for one in told] == [
        (Cause.DUPLICATING, Verdict.REPEATING, 100, peak - 100, peak - 1)
    ]


def test_it_is_listed_for_a_day_and_kept_over_a_restart():
    mirror = Mirror().go(25)
    mirror.copy(mirror.at - 50, mirror.at, fresh=True)
    mirror.go(120)
    (kept,) = mirror.one.flow.detectors.repeats.kept()
    assert kept.records == 50
    document = json.loads(json.dumps(holding_document(KeptHolding.of(mirror.one.flow))))
    again = Mirrored({"orders": 1})
    again.now = mirror.one.now
    again.poll()
    again.flow.detectors.repeats.restore(read_holding(document).repeats)
    assert events_of(again.snapshot().repeats, source="A", target="B") == mirror.events()
    again.now = kept.last_ms + KEPT_MS
    assert len(again.snapshot().repeats) == 1
    again.now += 1
    assert again.snapshot().repeats == ()


def repeat(partition=0, topic="orders", at_ms=NOW, **told):
    return Repeat(topic, partition, at_ms, at_ms, 500, 100, **({"records": 10, "most": 10} | told))


def test_a_hundred_partitions_are_one_event_with_the_sum_and_the_worst():
    told = [repeat(number, records=number, most=number) for number in range(1, 101)]
    (event,) = events_of(told, source="A", target="B")
    assert (event.partitions, event.records, event.records_most) == (100, 5050, 5050)
    assert [one.partition for one in event.worst] == [100, 99, 98, 97, 96]
    assert len(event.worst) == WORST
    assert event.sentence.startswith(
        "MirrorMaker copied 5,050 records of orders to B again, in 100 partitions."
    )


def test_each_topic_and_each_time_is_an_event_of_its_own_newest_first():
    told = [repeat(), repeat(1, at_ms=NOW + QUIET_MS), repeat(topic="clicks", at_ms=NOW + 1)]
    told += [repeat(2, at_ms=NOW + QUIET_MS + 1)]
    events = events_of(told, source="A", target="B")
    assert [(one.topic, one.partitions) for one in events] == [("orders", 1), ("clicks", 1), ("orders", 2)]
    many = [repeat(topic=f"topic-{number}") for number in range(LISTED + 10)]
    assert len(events_of(many, source="A", target="B")) == LISTED


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (
            {"records": 1, "most": 1},
            "MirrorMaker copied 1 record of orders-0 to B again. Its next offset on A",
        ),
        ({"records": 3, "most": 9}, "MirrorMaker copied between 3 and 9 records of orders-0 to B again. "),
        ({"records": 3, "most": None}, "MirrorMaker copied at least 3 records of orders-0 to B again. "),
        ({"records": 0, "most": 9}, "MirrorMaker copied at most 9 records of orders-0 to B again. "),
        ({"records": 0, "most": None}, "MirrorMaker may have copied records of orders-0 to B again. "),
        ({"times": 2}, "UTC, 2 times in all: two workers may have copied at once."),
        ({"from_start": True}, "to B again from the start of its log. "),
    ],
)
def test_what_it_says(numbers, words):
    (event,) = events_of([repeat(**numbers)], source="A", target="B")
    assert words in event.sentence


def test_it_is_in_the_documents_of_the_flow():
    mirror = Mirror().go(25)
    mirror.copy(mirror.at - 50, mirror.at, fresh=True)
    mirror.go(120)
    flow, found = mirror.one.flow, mirror.one.snapshot()
    document = flow_document(flow, found, judge_flow(flow, found), since_ms=0)
    (event,) = json.loads(json.dumps(document["events"]))
    assert (event["kind"], event["records"], event["records_most"]) == ("went_back", 50, 50)
    assert event["worst"][0]["from_offset"] - event["worst"][0]["to_offset"] >= 50
