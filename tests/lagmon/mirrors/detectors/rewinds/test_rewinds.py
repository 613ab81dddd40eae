"""Offsets that went back: repeated if the target shows repeated records, else written late."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.rewinds.rewinds import is_same_topic
from lagmon.mirrors.detectors.rewinds.steps import Rewound
from tests.lagmon.mirror_flows import Mirrored, S, told


def busy(one, *, commits=True, each=100):
    for partition in (0, 1):
        one.write(each, partition=partition)
        if commits or partition:
            one.commit(partition=partition)


def again(one, count):
    """Have so many records copied to partition 0 once more."""
    one.target_ends["A.orders", 0] += count


def found(one):
    return [(each.code, each.partition, each.records, each.first_offset) for each in one.snapshot().findings]


@pytest.fixture
def flow():
    """Give a flow with offsets each 5 s and 100 records between them, watched for two minutes."""
    one = Mirrored(flush_s=5.0)
    one.poll()
    return one.go(120, each=lambda: busy(one), step=5, poll=10)


@pytest.mark.parametrize("step", [1, 5, 40])
def test_an_old_offset_that_is_written_late_repeats_nothing(flow, step):
    at = flow.ends["orders", 0]
    flow.now += 5 * S
    busy(flow, commits=False)
    flow.commit(to=at - step)
    flow.poll()
    seen = {told(flow)}
    assert "or stored an old offset" in flow.verdict().sentence
    for _ in range(30):
        flow.go(5, each=lambda: busy(flow), step=5, poll=5)
        seen.add(told(flow))
        assert found(flow) == []
    assert seen == {(Verdict.UNKNOWN, None), (Verdict.HEALTHY, None)}
    assert told(flow) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("seed", [10, 22, 45, 367])  # of 500 these seemed to repeat by the most
def test_an_old_offset_that_is_late_among_bursts_repeats_nothing(seed):
    chance, one = random.Random(seed), Mirrored(flush_s=5.0)
    one.poll()
    late_at = chance.randrange(200, 206)
    for second in range(270):
        one.now += S
        if chance.random() < 0.3:
            for partition in (0, 1):
                one.write(chance.choice([1, 20, 200]), partition=partition)
        if second % 5 == 0:
            for partition in (0, 1):
                one.commit(partition=partition)
        if second == late_at:
            one.commit(to=int(one.flow.windows.next_offset[one.slot()]) - chance.randrange(10, 60))
        if second % 10 == 0:
            one.poll()
            assert found(one) == []


def test_what_is_repeated_is_reported_at_once_where_nothing_else_is_written(flow):
    at = flow.ends["orders", 0]
    flow.now += 5 * S
    flow.commit(to=at - 30)
    again(flow, 30)
    flow.poll()
    assert told(flow) == (Verdict.REPEATING, Cause.DUPLICATING)
    assert found(flow) == [(Cause.DUPLICATING, 0, 30, at - 30)]
    (one,) = flow.snapshot().findings
    assert (
        f"30 records of orders-0 reached B again: the mirror's offset went back from {at} to {at - 30} at"
        in one.sentence
    )
    assert one.sentence.endswith(
        "the target has grown by 30 since, while no more than 0 records could be new."
    )
    # It is past that again: well, and told for a quarter of an hour.
    flow.go(60, each=lambda: busy(flow), step=5)
    assert told(flow) == (Verdict.HEALTHY, None)
    assert found(flow) == [(Cause.DUPLICATING, 0, 30, at - 30)]
    assert "reached B again" not in flow.verdict().sentence  # it is told among the findings
    flow.go(HELD_MS // S, each=lambda: busy(flow), step=5)
    assert found(flow) == []


def test_what_was_repeated_shows_by_the_target_once_the_mirror_is_past_it(flow):
    at = flow.ends["orders", 0]
    flow.now += 5 * S
    busy(flow, commits=False, each=500)
    flow.commit(to=at - 300)
    flow.poll()
    assert told(flow)[0] is Verdict.UNKNOWN  # a copy that grows by less than is new shows nothing
    again(flow, 300)
    flow.go(30, each=lambda: busy(flow), step=5)
    assert found(flow) == [(Cause.DUPLICATING, 0, 300, at - 300)]
    assert "which is 300 more than the offsets." in flow.snapshot().findings[0].sentence


def test_a_mirror_that_replicates_on_from_far_back_is_reported_before_it_is_past_it(flow):
    at = flow.ends["orders", 0]
    back = at - 1000
    flow.now += 5 * S
    flow.commit(to=back)
    for number in range(1, 6):
        flow.write(5000, copied=False)  # far more is new than it copies
        again(flow, 100)
        flow.commit(to=back + 100 * number)
        flow.go(5, poll=5)
    assert told(flow) == (Verdict.REPEATING, Cause.DUPLICATING)
    ((code, _, records, first),) = found(flow)
    assert (code, first) == (Cause.DUPLICATING, back)
    assert 200 <= records <= 500
    assert "the target grew by" in flow.verdict().sentence


@pytest.mark.parametrize("waits_s", [0, 60, 600])
def test_a_mirror_that_is_stalled_where_it_went_back_to_is_unknown_until_it_replicates(flow, waits_s):
    def other():
        flow.write(100, partition=1)
        flow.commit(partition=1)

    at = flow.ends["orders", 0]
    flow.now += 5 * S
    flow.commit(to=at)  # a second time: it stays what it was when the partition moves on
    flow.now += 5 * S
    flow.commit(to=at - 30)
    flow.poll()
    for _ in range(waits_s // 5 + 1):
        flow.go(5, each=other, step=5, poll=5)
        assert told(flow) == (Verdict.UNKNOWN, None)
        assert f"went back from offset {at} to {at - 30}" in flow.verdict().sentence
    again(flow, 30)
    flow.go(5, each=other, step=5, poll=5)
    assert told(flow) == (Verdict.REPEATING, Cause.DUPLICATING)
    flow.go(60, each=lambda: busy(flow), step=5)
    assert (told(flow), found(flow)) == (
        (Verdict.HEALTHY, None),
        [(Cause.DUPLICATING, 0, 30, at - 30)],
    )


def test_a_mirror_that_went_back_and_leaves_new_records_stands(flow):
    flow.now += 5 * S
    flow.commit(to=flow.ends["orders", 0] - 30)
    flow.poll()

    def other():
        flow.write(10, copied=False)
        flow.write(100, partition=1)
        flow.commit(partition=1)

    flow.go(120, each=other, step=5)
    assert told(flow)[0] is Verdict.STALLED


@pytest.mark.parametrize("first", ["the offset", "the copy"])
def test_nothing_is_repeated_to_a_recreated_target(flow, first):
    at = flow.ends["orders", 0]
    flow.flow.note_ids("B", {"A.orders": "one"}, flow.now)
    for step in ("the offset", "the copy") if first == "the offset" else ("the copy", "the offset"):
        flow.now += 5 * S
        if step == "the offset":
            flow.commit(to=0)
        else:
            flow.target_ends["A.orders", 0] = 0
            flow.flow.note_ids("B", {"A.orders": "two"}, flow.now)
    flow.poll()
    for copied in range(500, at, 500):
        flow.now += 5 * S
        flow.target_ends["A.orders", 0] = copied
        flow.commit(to=copied)
        flow.poll()
        assert [code for code, *_ in found(flow) if code is Cause.DUPLICATING] == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_without_a_poll_at_the_target_it_counts_that_the_mirror_goes_on_from_there(goes_on):
    one = Mirrored(target={})
    one.target_ends = {("elsewhere", 0): 0}
    one.b.note_topics({"elsewhere": 1})
    one.poll()

    def each(*, to=None):
        one.write(10, copied=False)
        one.commit(to=to)

    one.go(60, each=each, step=5)
    at = one.ends["orders", 0]
    one.now += 5 * S
    one.write(10, copied=False)
    one.commit(to=at - 50)
    one.go(5, each=lambda: one.commit(to=at - 40 if goes_on else at), step=5, poll=5)
    assert [each.code for each in one.snapshot().findings] == ([Cause.DUPLICATING] if goes_on else [])


def test_a_second_writer_repeats_and_is_reported(flow):
    for _ in range(12):
        flow.now += 5 * S
        busy(flow)
        again(flow, 100)  # each record comes twice
        flow.now += 5 * S
        busy(flow, commits=False)
        again(flow, 100)
        flow.commit(to=flow.ends["orders", 0] - 120)
        flow.poll()
        flow.snapshot()
    ((code, _, records, _),) = found(flow)
    assert code is Cause.DUPLICATING
    assert 500 <= records <= 1000


def test_old_offsets_that_come_late_several_times_repeat_nothing(flow):
    for _ in range(12):
        flow.now += 5 * S
        busy(flow)
        flow.now += 5 * S
        busy(flow, commits=False)
        flow.commit(to=flow.ends["orders", 0] - 120)
        flow.poll()
        assert found(flow) == []


def test_a_topic_that_was_recreated_lately_repeats_nothing(flow):
    flow.flow.note_ids("A", {"orders": "one"}, flow.now)
    flow.flow.note_ids("A", {"orders": "two"}, flow.now + S)
    for _ in range(10):
        flow.now += 5 * S
        busy(flow)
        flow.poll()
        flow.snapshot()
    flow.now += 5 * S
    flow.commit(to=flow.ends["orders", 0] - 30)
    again(flow, 30)
    flow.now += S
    flow.flow.note_ids("A", {"orders": "two"}, flow.now)
    flow.poll()
    assert Cause.DUPLICATING not in {code for code, *_ in found(flow)}
    assert flow.snapshot().rewinds == {}


def test_an_old_offset_that_is_late_takes_back_what_another_made_seem(flow):
    # A task that has lost the partition goes on writing for a moment, while its successor copies new records.
    at = flow.ends["orders", 0]
    for to in (at - 60, at - 40):
        flow.now += 5 * S
        busy(flow, commits=False)
        flow.commit(to=to)
        flow.poll()
    flow.go(30, each=lambda: busy(flow), step=5)
    assert flow.snapshot().rewinds["orders", 0].means is Rewound.LATE
    assert found(flow) == []


def test_of_many_steps_back_at_once_some_are_judged_at_each_poll(monkeypatch):
    monkeypatch.setattr("lagmon.mirrors.detectors.rewinds.rewinds.AT_ONCE", 3)
    one = Mirrored({"orders": 10}, flush_s=5.0)
    one.poll()

    def each(step=0):
        for partition in range(10):
            one.write(100, partition=partition)
            one.commit(partition=partition, to=one.ends["orders", partition] - step)

    one.go(60, each=each, step=5)
    one.now += 5 * S
    each(150)
    for partition in range(10):
        one.target_ends["A.orders", partition] += 50
    one.poll()
    for polls in range(1, 5):
        assert len(found(one)) == min(10, 3 * polls)


@pytest.mark.parametrize(
    ("every_s", "waited_s", "believed"),
    [(10, 50, False), (10, 70, True), (120, 230, False), (120, 250, True)],
)
def test_a_step_back_waits_for_its_topic_s_id_for_as_long_as_rounds_of_ids_take(
    flow, monkeypatch, every_s, waited_s, believed
):
    monkeypatch.setattr(
        "lagmon.mirrors.metadata.topics.IDS_EVERY_S", every_s
    )  # 120 s are those of 12,000 topics
    flow.flow.note_ids("A", {"orders": "one"}, flow.now)
    flow.now += 5 * S
    flow.commit(to=flow.ends["orders", 0] - 30)
    assert is_same_topic(flow.flow, flow.slot(), flow.now + waited_s * S) is believed


def replay(flow, *, start=0, step=1000):
    """Have the mirror copy partition 0 again in steps, from the start of its log to its end."""
    end = flow.ends["orders", 0]
    for to in range(min(start + step, end), end + step, step):
        again(flow, min(step, end + step - to))
        flow.now += 5 * S
        flow.commit(to=min(to, end))
        flow.poll()
        yield flow


@pytest.mark.parametrize(("start", "step"), [(0, 500), (0, 10_000), (1000, 400), (1000, 10_000)])
def test_all_that_is_replicated_again_once_the_offset_was_taken_away_is_reported(flow, start, step):
    end = flow.ends["orders", 0]
    flow.starts["orders", 0] = start
    flow.flow.windows.reset("orders", 0, flow.now + S)
    flow.go(30, each=lambda: busy(flow, commits=False, each=0), step=5)
    seen = {told(one) for one in replay(flow, start=start, step=min(step, end - start))}
    assert (Verdict.REPEATING, Cause.DUPLICATING) in seen or step == 10_000
    assert told(flow) == (Verdict.HEALTHY, None)
    ((code, partition, records, first),) = found(flow)
    assert (code, partition, first) == (Cause.DUPLICATING, 0, start)
    assert end - start - 500 <= records <= end - start


def test_an_offset_that_is_taken_away_and_put_where_it_was_repeats_nothing(flow):
    flow.flow.windows.reset("orders", 0, flow.now + S)
    flow.now += 10 * S
    flow.commit()
    flow.go(60, each=lambda: busy(flow), step=5, poll=5)
    assert (told(flow), found(flow)) == ((Verdict.HEALTHY, None), [])


def test_an_offset_that_is_forgotten_or_of_a_recreated_topic_is_no_step_back(flow):
    flow.flow.note_ids("A", {"orders": "one"}, flow.now)
    windows, at = flow.flow.windows, flow.ends["orders", 0]
    windows.reset("orders", 0)
    windows.forget("orders", 1)
    flow.flow.note_ids("A", {"orders": "two"}, flow.now + S)
    for partition in (0, 1):
        windows.take("orders", partition, at // 2, flow.now + 5 * S, live=True)
        assert int(windows.rings.filled[flow.slot(partition=partition)]) == 1


@pytest.mark.parametrize("each", [3, 30])
@pytest.mark.parametrize("poll", [5, 10])
def test_what_is_new_behind_an_end_that_fell_is_not_repeated(flow, each, poll):
    flow.ends["orders", 0] -= 100  # an unclean election: the copy keeps what the source has lost
    seen = set()

    def goes_on():
        flow.write(each)
        flow.commit()
        flow.write(100, partition=1)
        flow.commit(partition=1)

    for _ in range(24):
        flow.go(poll, each=goes_on, step=5, poll=poll)
        seen |= {code for code, *_ in found(flow)}
    assert seen == set()
    assert told(flow) == (Verdict.HEALTHY, None)


def test_before_the_source_was_polled_a_step_back_is_not_judged(flow):
    at = flow.ends["orders", 0]
    for count in range(3):
        flow.now += 2 * S
        flow.commit(to=at - 100 + 10 * count)
        again(flow, 10)
        (place,) = flow.b.places.of("A.orders")[:1]
        flow.b.heads.note(np.array([place], np.int32), np.array([flow.target_ends["A.orders", 0]]), flow.now)
        assert found(flow) == []
    flow.poll()
    assert [code for code, *_ in found(flow)] == [Cause.DUPLICATING]
