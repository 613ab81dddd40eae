"""What retention took before it was copied: told only where that is sure, counted by what the target lacks."""

from __future__ import annotations

from functools import partial

import pytest

from fleet.vocabulary import Cause, Verdict
from lagmon.mirror_findings import HELD_MS
from lagmon.mirror_overtaken import SETTLES_MS
from tests.lagmon.mirrors import Mirrored, S


def told(one):
    verdict = one.verdict()
    return verdict.verdict, verdict.cause


def found(one):
    return [
        (each.partition, each.records, each.first_offset, each.last_offset) for each in one.sight().findings
    ]


def busy(one, *, commits=True, copied=True, each=100):
    for partition in (0, 1):
        one.write(each, partition=partition, copied=copied)
        if commits:
            one.commit(partition=partition)


@pytest.fixture
def flow():
    one = Mirrored()
    one.look()
    return one.go(60, each=lambda: busy(one))


def stand(flow, *, ahead=0, seconds=60):
    """Freeze the mirror, which has copied so much more than it has written offsets for."""
    flow.write(ahead)
    flow.go(seconds, each=lambda: busy(flow, commits=False, copied=False))


def test_a_mirror_that_keeps_up_is_not_overtaken_however_soon_its_source_deletes():
    # Offsets each minute, and a log of five seconds: it starts behind N + 1 nearly all the time.
    one = Mirrored(flush_s=60.0)
    one.look()
    seen = set()
    for second in range(1, 901):
        one.go(1, each=partial(busy, one, commits=second % 60 == 7), look=100)
        one.starts = {name: max(0, end - 500) for name, end in one.ends.items()}
        if second % 10 == 0:
            one.look()
            if second > 120:
                seen.add(told(one))
                assert found(one) == []
                assert one.verdict().worst.tolist() == []
    assert seen == {(Verdict.HEALTHY, None)}
    assert one.flow.overtaken_total["orders"] == 0
    assert one.sight().overtaken[-10:] == () or not one.flow.settled_overtaken


def test_a_mirror_that_copies_and_writes_no_offsets_loses_nothing(flow):
    for _ in range(12):
        flow.go(10, each=lambda: busy(flow, commits=False))
        flow.starts = {name: end - 500 for name, end in flow.ends.items()}
        flow.look()
        assert found(flow) == []
    assert told(flow) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


@pytest.mark.parametrize("ahead", [0, 22])
def test_what_was_lost_is_told_at_once_while_it_stands_and_held_after(flow, ahead):
    stood = flow.ends["orders", 0]
    stand(flow, ahead=ahead)
    flow.starts = {("orders", 0): stood + 123}
    flow.go(10)
    assert told(flow) == (Verdict.STALLED, Cause.OVERTAKEN)
    assert found(flow) == [(0, 123 - ahead, stood + ahead, stood + 122)]
    assert flow.flow.overtaken_total["orders"] == 0
    # It goes on, and its offsets never say what it had copied when it stood: the target's end does.
    flow.target_ends["A.orders", 0] = flow.ends["orders", 0] - 123 + ahead
    flow.target_ends["A.orders", 1] = flow.ends["orders", 1]
    flow.go(30, each=lambda: busy(flow))
    assert told(flow) == (Verdict.HEALTHY, None)
    assert flow.flow.overtaken_total["orders"] == 123 - ahead
    assert found(flow) == [(0, 123 - ahead, stood + ahead, stood + 122)]
    flow.go(HELD_MS // S, each=lambda: busy(flow), step=5)
    assert found(flow) == []
    assert flow.flow.overtaken_total["orders"] == 123 - ahead


@pytest.mark.parametrize("phase", [1, 4, 7])
def test_bounds_of_several_looks_meet_where_offsets_and_looks_never_do(flow, phase):
    stood = flow.ends["orders", 0]
    stand(flow)
    flow.starts = {("orders", 0): stood + 1000}
    flow.go(10)
    flow.target_ends["A.orders", 0] = flow.ends["orders", 0] - 1000
    flow.target_ends["A.orders", 1] = flow.ends["orders", 1]
    for second in range(SETTLES_MS // S + 60):
        flow.go(1, each=partial(busy, flow, commits=second % 5 == 0, each=10), look=100)
        if second % 10 == phase:
            flow.look()
            flow.sight()
    assert flow.flow.overtaken_total["orders"] == pytest.approx(1000, abs=25)
    assert flow.flow.open_overtaken == {}


def test_where_the_target_is_not_known_it_is_counted_by_offsets():
    one = Mirrored(target={})
    one.target_ends = {("elsewhere", 0): 0}
    one.b.note_topics({"elsewhere": 1})
    one.look()

    def both(*, commits=True):
        for partition in (0, 1):
            one.write(100, partition=partition, copied=False)
            if commits:
                one.commit(partition=partition)

    one.go(60, each=both)
    one.go(60, each=lambda: both(commits=False))
    one.starts = {("orders", 0): 6123}
    one.go(10)
    assert found(one) == [(0, 123, 6000, 6122)]
    one.go(30, each=both)
    assert one.flow.overtaken_total["orders"] in (0, 123)
    one.go(SETTLES_MS // S + 30, each=both)
    assert one.flow.overtaken_total["orders"] == 123


def test_a_start_that_is_read_after_the_targets_end_is_no_loss_while_the_mirror_moves(flow):
    # At the newest look the source's log starts at its end, and of the target the end is known of 10 s before.
    flow.go(5, each=lambda: busy(flow), look=100)
    slots, target = [flow.slot(partition=number) for number in (0, 1)], dict(flow.target_ends)
    flow.target_ends = {name: end - 500 for name, end in target.items()}
    flow.starts = dict(flow.ends)
    newest = flow.flow.windows.next_offset[slots].copy()
    flow.flow.windows.next_offset[slots] -= 300
    flow.flow.windows.rings.offset[slots, -1] -= 300
    flow.look()
    assert (flow.sight().sight.deleted[slots] == 300).all()
    assert found(flow) == []
    flow.flow.windows.next_offset[slots] = newest
    flow.target_ends = target
    flow.go(SETTLES_MS // S + 30, each=lambda: busy(flow))
    assert found(flow) == []
    assert flow.flow.overtaken_total["orders"] == 0


def short_log(one, seconds, *, first=1):
    """Let a mirror keep up that writes its offsets each minute, beside a log of five seconds."""
    for second in range(first, first + seconds):
        one.go(1, each=partial(busy, one, commits=second % 60 == 7), look=100)
        one.starts = {name: max(0, end - 500) for name, end in one.ends.items()}
        if second % 10 == 0:
            one.look()
            one.sight()


@pytest.mark.parametrize("what", ["topic", "offset"])
def test_a_short_log_lost_nothing_when_its_topic_or_the_mirrors_offset_goes(what):
    one = Mirrored({"orders": 2, "other": 1}, flush_s=60.0)
    one.look()
    short_log(one, 330)
    assert one.flow.open_overtaken  # its log starts behind N + 1, as nearly always
    if what == "offset":
        one.flow.windows.reset("orders", 0)
    else:
        one.a.note_topics({"other": 1})
        one.ends, one.starts = {("other", 0): 0}, {}
    one.look()
    assert found(one) == []
    assert one.flow.overtaken_total["orders"] == 0


def test_a_short_log_lost_nothing_before_the_first_looks_at_its_copy():
    # Where the target ended when the first offsets were written is not known: we did not look yet.
    one = Mirrored(flush_s=60.0)
    for second in range(1, 601):
        one.now += S
        busy(one, commits=False)
        if second % 60 == 7:
            for partition in (0, 1):
                one.commit(partition=partition, live=False)
    one.starts = {name: end - 500 for name, end in one.ends.items()}
    one.look()
    one.sight()
    assert one.flow.open_overtaken
    short_log(one, 300, first=601)
    assert found(one) == []
    assert one.flow.overtaken_total["orders"] == 0
