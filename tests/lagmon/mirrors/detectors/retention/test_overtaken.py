"""Records that retention deleted unread: reported only if sure, counted by what the target lacks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.retention.losses import SETTLES_MS
from lagmon.mirrors.detectors.retention.overtaken import LossBounds, Overtaken
from tests.lagmon.mirror_flows import Mirrored, S, told


def found(one):
    return [
        (each.partition, each.records, each.first_offset, each.last_offset)
        for each in one.snapshot().findings
    ]


def busy(one, *, commits=True, copied=True, each=100):
    for partition in (0, 1):
        one.write(each, partition=partition, copied=copied)
        if commits:
            one.commit(partition=partition)


@pytest.fixture
def flow():
    one = Mirrored()
    one.poll()
    return one.rest().go(58, each=lambda: busy(one))


def stand(flow, *, ahead=0, seconds=60):
    """Freeze the mirror, which has copied so much more than it has written offsets for."""
    flow.write(ahead)
    flow.go(seconds, each=lambda: busy(flow, commits=False, copied=False))


def test_a_mirror_that_keeps_up_is_not_overtaken_however_soon_its_source_deletes():
    # Offsets each minute, and a log of five seconds: it starts behind N + 1 nearly all the time.
    one = Mirrored(flush_s=60.0)
    one.poll()
    seen = set()
    for second in range(1, 901):
        one.go(1, each=partial(busy, one, commits=second % 60 == 7), poll=100)
        one.starts = {name: max(0, end - 500) for name, end in one.ends.items()}
        if second % 10 == 0:
            one.poll()
            if second > 120:
                seen.add(told(one))
                assert found(one) == []
                assert one.verdict().worst.tolist() == []
    assert seen == {(Verdict.HEALTHY, None)}
    assert one.flow.detectors.retention.total["orders"] == 0
    assert one.snapshot().overtaken[-10:] == () or not one.flow.detectors.retention.settled


def test_a_mirror_that_replicates_and_writes_no_offsets_loses_nothing(flow):
    for _ in range(12):
        flow.go(10, each=lambda: busy(flow, commits=False))
        flow.starts = {name: end - 500 for name, end in flow.ends.items()}
        flow.poll()
        assert found(flow) == []
    assert told(flow) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


@pytest.mark.parametrize("ahead", [0, 22])
def test_what_was_lost_is_reported_at_once_while_it_is_stalled_and_held_after(flow, ahead):
    stood = flow.ends["orders", 0]
    stand(flow, ahead=ahead)
    flow.starts = {("orders", 0): stood + 123}
    flow.go(10)
    assert told(flow) == (Verdict.STALLED, Cause.OVERTAKEN)
    assert found(flow) == [(0, 123 - ahead, stood + ahead, stood + 122)]
    assert flow.flow.detectors.retention.total["orders"] == 0
    # It goes on, and its offsets never say what it had copied when it stood: the target's end does.
    flow.target_ends["A.orders", 0] = flow.ends["orders", 0] - 123 + ahead
    flow.target_ends["A.orders", 1] = flow.ends["orders", 1]
    flow.go(30, each=lambda: busy(flow))
    assert told(flow) == (Verdict.HEALTHY, None)
    assert flow.flow.detectors.retention.total["orders"] == 123 - ahead
    assert found(flow) == [(0, 123 - ahead, stood + ahead, stood + 122)]
    flow.go(HELD_MS // S, each=lambda: busy(flow), step=5)
    assert found(flow) == []
    assert flow.flow.detectors.retention.total["orders"] == 123 - ahead


@pytest.mark.parametrize("phase", [1, 4, 7])
def test_bounds_of_several_polls_meet_where_offsets_and_polls_never_do(flow, phase):
    stood = flow.ends["orders", 0]
    stand(flow)
    flow.starts = {("orders", 0): stood + 1000}
    flow.go(10)
    flow.target_ends["A.orders", 0] = flow.ends["orders", 0] - 1000
    flow.target_ends["A.orders", 1] = flow.ends["orders", 1]
    for second in range(SETTLES_MS // S + 60):
        flow.go(1, each=partial(busy, flow, commits=second % 5 == 0, each=10), poll=100)
        if second % 10 == phase:
            flow.poll()
            flow.snapshot()
    assert flow.flow.detectors.retention.total["orders"] == pytest.approx(1000, abs=25)
    assert flow.flow.detectors.retention.open == {}


def test_where_the_target_is_not_known_it_is_counted_by_offsets():
    one = Mirrored(target={})
    one.target_ends = {("elsewhere", 0): 0}
    one.b.note_topics({"elsewhere": 1})
    one.poll()

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
    assert one.flow.detectors.retention.total["orders"] in (0, 123)
    one.go(SETTLES_MS // S + 30, each=both)
    assert one.flow.detectors.retention.total["orders"] == 123


def test_a_start_that_is_read_after_the_targets_end_is_no_loss_while_the_mirror_moves(flow):
    # At the newest look the source's log starts at its end, and of the target the end is known of 10 s before.
    flow.go(5, each=lambda: busy(flow), poll=100)
    slots, target = [flow.slot(partition=number) for number in (0, 1)], dict(flow.target_ends)
    flow.target_ends = {name: end - 500 for name, end in target.items()}
    flow.starts = dict(flow.ends)
    newest = flow.flow.windows.next_offset[slots].copy()
    flow.flow.windows.next_offset[slots] -= 300
    flow.flow.windows.rings.offset[slots, -1] -= 300
    flow.poll()
    assert (flow.snapshot().partitions.deleted[slots] == 300).all()
    assert found(flow) == []
    flow.flow.windows.next_offset[slots] = newest
    flow.target_ends = target
    flow.go(SETTLES_MS // S + 30, each=lambda: busy(flow))
    assert found(flow) == []
    assert flow.flow.detectors.retention.total["orders"] == 0


def short_log(one, seconds, *, first=1):
    """Let a mirror keep up that writes its offsets each minute, beside a log of five seconds."""
    for second in range(first, first + seconds):
        one.go(1, each=partial(busy, one, commits=second % 60 == 7), poll=100)
        one.starts = {name: max(0, end - 500) for name, end in one.ends.items()}
        if second % 10 == 0:
            one.poll()
            one.snapshot()


@pytest.mark.parametrize("what", ["topic", "offset"])
def test_a_short_log_lost_nothing_when_its_topic_or_the_mirrors_offset_goes(what):
    one = Mirrored({"orders": 2, "other": 1}, flush_s=60.0)
    one.poll()
    short_log(one, 330)
    assert one.flow.detectors.retention.open  # its log starts behind N + 1, as nearly always
    if what == "offset":
        one.flow.windows.reset("orders", 0)
    else:
        one.a.note_topics({"other": 1})
        one.ends, one.starts = {("other", 0): 0}, {}
    one.poll()
    assert found(one) == []
    assert one.flow.detectors.retention.total["orders"] == 0


def test_a_short_log_lost_nothing_before_the_first_polls_at_its_target():
    # Where the target ended when the first offsets were written is not known: we did not look yet.
    one = Mirrored(flush_s=60.0)
    for second in range(1, 601):
        one.now += S
        busy(one, commits=False)
        if second % 60 == 7:
            for partition in (0, 1):
                one.commit(partition=partition, live=False)
    one.starts = {name: end - 500 for name, end in one.ends.items()}
    one.poll()
    one.snapshot()
    assert one.flow.detectors.retention.open
    short_log(one, 300, first=601)
    assert found(one) == []
    assert one.flow.detectors.retention.total["orders"] == 0


def minutely(one, seconds, *, first, each=100, copied=True, commits=True, markers=0, burst=0):
    """Let a mirror write offsets each minute beside a log of five seconds, as each second's number goes on."""
    for second in range(first, first + seconds):
        one.now += S
        for partition in (0, 1):
            many = each + (burst if second % 7 == 3 else 0)
            one.write(many, partition=partition, copied=copied)
            one.write(markers, partition=partition, copied=False)
            if commits and second % 60 == 7:
                one.commit(partition=partition)
        one.starts = {name: max(0, end - 5 * (each + markers)) for name, end in one.ends.items()}
        if second % 10 == 0:
            one.poll()
            one.snapshot()


def frozen_beside_a_short_log():
    """Return a flow whose mirror stood for 203 s and lost 19,800 records of each of two partitions."""
    one = Mirrored(flush_s=60.0)
    one.poll()
    one.rest()
    minutely(one, 367, first=1)
    minutely(one, 203, first=368, copied=False, commits=False)
    for partition in (0, 1):
        one.target_ends["A.orders", partition] += 500  # it goes on where the log starts by now
    return one


def test_a_loss_is_counted_though_the_log_starts_behind_the_mirrors_offset_at_every_poll():
    one = frozen_beside_a_short_log()
    minutely(one, 20, first=571)
    for _ in range(6):  # it goes on being told until it is counted
        minutely(one, 60, first=591)
        assert [records for _, records, *_ in found(one)] == [pytest.approx(19_800, rel=0.05)] * 2
    assert one.flow.detectors.retention.total["orders"] == pytest.approx(2 * 19_800, rel=0.1)
    counted = one.flow.detectors.retention.total["orders"]
    minutely(one, 600, first=591)
    assert one.flow.detectors.retention.total["orders"] == counted
    assert len(one.flow.detectors.retention.settled) == 2


def test_of_two_losses_after_each_other_the_second_is_counted_from_where_the_first_ended():
    one = frozen_beside_a_short_log()
    minutely(one, 400, first=571)
    first = one.flow.detectors.retention.total["orders"]
    # The copy lacks 19,800 records from here on: half of the window's offsets are from before that.
    minutely(one, 203, first=971, copied=False, commits=False)
    for partition in (0, 1):
        one.target_ends["A.orders", partition] += 500
    minutely(one, 400, first=1174)
    assert first == pytest.approx(2 * 19_800, rel=0.1)
    assert one.flow.detectors.retention.total["orders"] - first == pytest.approx(2 * 19_800, rel=0.1)


def test_a_mirror_that_is_stalled_again_before_it_is_counted_keeps_both_losses():
    one = frozen_beside_a_short_log()
    minutely(one, 70, first=571)
    minutely(one, 203, first=641, copied=False, commits=False)
    for partition in (0, 1):
        one.target_ends["A.orders", partition] += 500
    minutely(one, 400, first=844)
    assert one.flow.detectors.retention.total["orders"] == pytest.approx(4 * 19_800, rel=0.1)


def test_markers_of_transactions_beside_a_short_log_are_no_loss():
    # Each second leaves a marker, for which the copy has nothing: its end falls behind N, more and more.
    one = Mirrored(flush_s=60.0)
    one.poll()
    minutely(one, 1800, first=1, markers=1)
    assert found(one) == []
    # Its log becomes longer, so that the mirror is seen past the start; then it stops writing offsets.
    one.starts = {}
    one.go(400, each=partial(busy, one), step=1)
    assert found(one) == []
    assert one.flow.detectors.retention.total["orders"] == 0


@pytest.mark.parametrize("each", [1, 10])
def test_markers_are_no_loss_of_a_mirror_that_replicates_on_and_writes_no_offsets(each):
    one = Mirrored(flush_s=60.0)
    one.poll()
    minutely(one, 787, first=1, each=each, markers=1)
    for first in range(788, 1028, 10):
        minutely(one, 10, first=first, each=each, markers=1, commits=False)
        assert found(one) == []
    assert told(one) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)
    minutely(one, 300, first=1028, each=each, markers=1)
    assert found(one) == []
    assert one.flow.detectors.retention.total["orders"] == 0


def test_what_a_stalled_mirror_loses_of_a_topic_with_markers_is_reported():
    one = Mirrored(flush_s=60.0)
    one.poll()
    minutely(one, 787, first=1, each=10, markers=1)
    minutely(one, 203, first=788, each=10, markers=1, copied=False, commits=False)
    lost = 198 * 11  # markers are among them
    assert [records for _, records, *_ in found(one)] == [pytest.approx(lost, rel=0.1)] * 2
    assert told(one) == (Verdict.STALLED, Cause.OVERTAKEN)
    for partition in (0, 1):
        one.target_ends["A.orders", partition] += 50
    minutely(one, 400, first=991, each=10, markers=1)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.flow.detectors.retention.total["orders"] == pytest.approx(2 * lost, rel=0.1)


def test_what_was_lost_while_the_target_was_away_is_counted_by_what_its_target_lacks():
    # Neither offsets nor copies are read meanwhile, and the mirror goes on as soon as both are again.
    one = Mirrored(flush_s=60.0)
    one.poll()
    one.rest()
    minutely(one, 607, first=1)
    note, read_to_ms = one.b.heads.note, one.now
    one.b.heads.note = lambda *_: None
    for _ in range(30):
        minutely(one, 10, first=1, copied=False, commits=False)
        one.flow.read_to_ms = read_to_ms
        one.snapshot()
    one.b.heads.note = note
    for partition in (0, 1):
        one.target_ends["A.orders", partition] += 500
    minutely(one, 400, first=8)
    assert one.flow.detectors.retention.total["orders"] == pytest.approx(2 * (300 * 100 - 500), rel=0.02)


@pytest.mark.parametrize("flush_s", [10, 60])
def test_a_burst_after_a_pause_is_no_loss_though_its_target_was_polled_before_it(flush_s):
    # Each batch is deleted as soon as it is copied, as Kafka Streams does; then nothing comes for ten minutes.
    one = Mirrored({"orders": 2, "other": 1}, flush_s=float(flush_s))
    one.poll()

    def second(number, *, batch=0):
        one.now += S
        one.write(10, "other")
        for partition in (0, 1):
            one.write(batch, partition=partition)
            if number % flush_s == 0 and number <= 180:
                one.commit(partition=partition)
        if number % flush_s == 0:
            one.commit("other")
        one.starts = {name: end - 50 if name[0] == "orders" else 0 for name, end in one.ends.items()}

    for number in range(1, 785):
        second(number, batch=100 if number <= 180 else 0)
        if number % 10 == 0:
            one.poll()
            one.snapshot()
    note = one.b.heads.note
    one.b.heads.note = lambda *_: None  # it was looked at just before
    second(785, batch=3000)
    one.poll()
    one.b.heads.note = note
    assert told(one) == (Verdict.HEALTHY, None)
    assert found(one) == []
    for number in range(786, 785 + flush_s):
        second(number)
        if number % 10 == 0:
            one.poll()
        assert told(one) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("short", [0, 7])
def test_what_can_not_be_distinguished_from_the_traffics_bursts_is_no_loss(short):
    # All is copied and no offset is written any more; retention takes all that there is. By the line between
    # two looks the copy may seem to lack some records.
    one = Mirrored(flush_s=60.0)
    one.poll()
    minutely(one, 600, first=1, each=10, burst=300)
    minutely(one, 130, first=601, each=10, burst=300, commits=False)
    for name in one.target_ends:
        one.target_ends[name] -= short  # as much as the base may be wrong by
    one.starts = dict(one.ends)
    for _ in range(20):
        one.now += 10 * S
        one.poll()
        assert found(one) == []


def test_a_finding_has_the_numbers_that_a_person_checks_it_by(flow):
    stood = flow.ends["orders", 0]
    stand(flow, ahead=122)
    flow.starts = {("orders", 0): stood + 123}
    flow.go(10)
    (one,) = flow.snapshot().findings
    assert one.sentence.startswith(
        "Retention on A deleted 1 record of orders-0 before it was replicated: its log starts at 6123 (seen"
    )
    assert one.sentence.endswith(
        "the mirror had stored 6000 as its next offset, and 122 of the records after it had reached B."
    )
    assert (
        "Records lost: retention on A deleted 1 record before the mirror replicated it (1 of orders-0). By its "
        "stored offsets alone it would be 123, but 122 of them had reached B."
    ) in flow.verdict().sentence
    (row,) = (row for row in flow.flow_rows() if row["partition"] == 0)
    assert row["overtaken_records"] == 1
    assert "122 of them had reached B: 1 is known to be lost." in row["sentence"]


def test_an_old_loss_does_not_stall_a_mirror_that_only_writes_no_offsets():
    one = frozen_beside_a_short_log()
    minutely(one, 400, first=571)
    assert found(one)
    minutely(one, 300, first=971, commits=False)
    assert told(one) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


@pytest.mark.parametrize("what", ["offsets", "copies"])
def test_what_is_not_read_any_more_may_have_come(flow, what):
    # The target does not answer us; the mirror goes on, and the source deletes what it has copied.
    read_to_ms, ends = flow.flow.read_to_ms, dict(flow.target_ends)
    for _ in range(30):
        flow.now += 10 * S
        busy(flow, commits=False, each=1000)
        flow.starts = {name: end - 500 for name, end in flow.ends.items()}
        came, flow.target_ends = flow.target_ends, dict(ends)
        noted = flow.b.heads.note
        flow.b.heads.note = lambda *_: None
        flow.poll()
        flow.b.heads.note = noted
        flow.target_ends = came
        if what == "offsets":
            flow.flow.read_to_ms = read_to_ms
        assert found(flow) == []
    assert told(flow)[1] is not Cause.OVERTAKEN


def test_where_no_target_is_known_nothing_is_lost_after_offsets_are_not_read_any_more():
    one = Mirrored(target={})
    one.target_ends = {("elsewhere", 0): 0}
    one.b.note_topics({"elsewhere": 1})
    one.poll()
    each = partial(busy, one, copied=False)
    one.go(60, each=each)
    read_to_ms = one.now
    one.starts = {name: end + 500 for name, end in one.ends.items()}
    for _ in range(30):
        one.go(10, each=partial(busy, one, copied=False, commits=False), poll=100)
        one.poll()
        one.flow.read_to_ms = read_to_ms
        assert found(one) == []


def test_a_target_that_is_no_longer_polled_may_have_got_all_since_a_mirror_stood(flow):
    stand(flow, seconds=100)
    ends = dict(flow.target_ends)
    for _ in range(10):
        flow.now += 10 * S
        for partition in (0, 1):
            flow.target_ends["A.orders", partition] = flow.ends["orders", partition]
        flow.target_ends, failed_flow = ends, flow.target_ends
        polled_ms = int(flow.b.heads.sampled_ms.max())
        flow.b.heads.note, noted = (lambda *_: None), flow.b.heads.note
        if flow.now - polled_ms > 60 * S:
            flow.starts = {name: end - 5 for name, end in flow.ends.items()}
        flow.poll()
        flow.b.heads.note, flow.target_ends = noted, failed_flow
        assert found(flow) == []


@pytest.mark.parametrize(("few", "least"), [(123, None), (1300, 625)])
def test_of_a_target_that_was_never_seen_at_rest_only_what_is_certain_is_reported(few, least):
    one = Mirrored()
    one.poll()
    one.go(60, each=lambda: busy(one))
    stood = one.ends["orders", 0]
    stand(one)
    one.starts = {("orders", 0): stood + few}
    one.go(30)
    # No more had come when it stood, by the looks before and what its copy got since.
    assert found(one) == ([] if least is None else [(0, least, stood + 675, stood + few - 1)])
    assert [each.records_most for each in one.snapshot().findings] == [few] * (least is not None)


def test_a_number_that_is_not_known_is_reported_with_its_bounds():
    one = Mirrored()
    one.poll()
    one.go(60, each=lambda: busy(one))
    stand(one)
    one.starts = {("orders", 0): 7300}
    one.go(30)
    (told_of,) = one.snapshot().findings
    assert told_of.sentence.startswith(
        "Retention on A deleted between 625 and 1,300 records of orders-0 before they were replicated: its log"
    )
    assert told_of.sentence.endswith("and up to 675 of the records after it had reached B.")
    assert (
        "A deleted between 625 and 1,300 records before the mirror replicated them" in one.verdict().sentence
    )


def test_where_there_is_no_target_all_is_lost_that_was_deleted_behind_the_offset():
    one = Mirrored(target={})
    one.target_ends = {("elsewhere", 0): 0}
    one.b.note_topics({"elsewhere": 1})
    one.poll()
    one.go(60, each=partial(busy, one, copied=False))
    one.go(60, each=partial(busy, one, copied=False, commits=False))
    one.starts = {("orders", 0): 6123}
    one.go(10)
    (told_of,) = one.snapshot().findings
    assert told_of.sentence.endswith("and none of the records after it had reached B.")


def test_a_group_that_commits_the_same_offset_again_and_again_is_overtaken():
    one = Mirrored({"orders": 1}, lag_from="group", group="mm")
    one.poll()

    def moves():
        one.write(100)
        one.commit()

    one.go(60, each=moves)
    stood = one.ends["orders", 0]

    def stands():
        one.write(100, copied=False)
        one.commit(to=stood)

    one.go(60, each=stands)
    one.starts = {("orders", 0): stood + 123}
    one.go(20, each=stands)
    assert told(one) == (Verdict.STALLED, Cause.OVERTAKEN)
    assert found(one) == [(0, 123, stood, stood + 122)]


def test_what_may_be_lost_is_reported_with_a_stall_where_no_poll_proves_it():
    one = Mirrored({"orders": 2})

    def each():
        one.write(100)
        one.commit()

    one.go(120, each=each)  # never at rest: its copy may be a second's records further than its offset
    one.write(500, copied=False)
    one.starts["orders", 0] = one.ends["orders", 0] - 450
    one.go(100)
    told = one.verdict()
    assert (told.verdict, told.cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "up to 50 records may be lost to retention" in told.sentence
    assert not one.snapshot().findings
    one.target_ends["A.orders", 0] += 450  # it goes on, and it is a suspicion that they were
    one.go(200, each=each)
    (told_of,) = one.snapshot().findings
    assert (told_of.proved, told_of.records, told_of.records_most) == (False, 0, 50)
    start = one.starts["orders", 0]
    assert (told_of.first_offset, told_of.last_offset) == (start - 50, start - 1)
    assert (
        f"A deleted up to 50 records of orders-0 before they were replicated: its log starts at {start}"
        in told_of.sentence
    )
    assert (one.verdict().verdict, one.flow.detectors.retention.total["orders"]) == (Verdict.HEALTHY, 0)
    one.go(900, each=each)
    assert not one.snapshot().findings


@pytest.mark.parametrize(("lost", "least"), [(0, None), (500, 100)])
def test_markers_that_came_since_the_last_rest_are_no_loss_and_hide_none(lost, least):
    one = Mirrored({"orders": 1}, flush_s=10.0)
    one.poll()
    next_offset, second = 0, 0

    def beat(rate, *, runs=True):
        """Let as many records come, and a marker behind them, of which the mirror writes the last record."""
        nonlocal next_offset, second
        second += 1
        one.now += S
        one.write(rate, copied=runs)
        one.write(1 if rate else 0, copied=False)
        if runs:
            next_offset = one.ends["orders", 0]
            if second % 10 == 0 and rate:
                one.commit(to=next_offset - 1)
        if second % 10 in (0, 2):
            one.poll()
        one.snapshot()

    for _ in range(2):
        beat(100)
        for _ in range(70):
            beat(0)
        one.commit(to=next_offset - 1)
    for _ in range(180):
        beat(100)
    for _ in range(72):
        beat(100, runs=False)
    one.starts = {("orders", 0): next_offset + lost}
    for _ in range(25):
        beat(100, runs=False)
    told_of = found(one)
    assert [records for _, records, *_ in told_of] == ([] if least is None else [pytest.approx(300, abs=200)])
    assert least is None or least <= told_of[0][1] <= lost


def test_a_loss_is_reported_where_polls_follow_one_another_and_the_log_never_rests():
    # As in the drill: 38 records a second, offsets each minute, the source looked at soon after its copy.
    one = Mirrored({"orders": 1}, flush_s=60.0)
    one.poll()
    stood = 0
    for second in range(1, 301):
        one.now += S
        one.write(38, copied=second <= 140)
        if second == 140:
            stood = one.ends["orders", 0]
        if second == 144:
            one.starts = {("orders", 0): one.ends["orders", 0]}
        if second in (50, 110):
            one.commit()
        if second % 10 == 1:  # also a second after each flush
            place = one.b.places.of("A.orders")
            end = np.array([one.target_ends["A.orders", 0]])
            one.b.note_polled(np.array(place, np.int32), end, end, one.now, read_ms=one.now)
            seen = dict(one.target_ends)
        if second % 10 == 2:
            one.target_ends, real = seen, one.target_ends
            noted, one.b.heads.note = one.b.heads.note, lambda *_: None
            one.poll()
            one.b.heads.note, one.target_ends = noted, real
        one.flow.read_to_ms = one.now
        one.snapshot()
    (told_of,) = one.snapshot().findings
    assert told_of.records <= one.starts["orders", 0] - stood <= told_of.records_most
    assert told(one) == (Verdict.STALLED, Cause.OVERTAKEN)


def test_a_stalled_mirror_stays_stalled_where_its_target_does_not_answer_and_its_log_passes_it(flow):
    flow.b.heads.note = lambda *_: None
    for _ in range(2):
        flow.go(200, each=lambda: busy(flow, commits=False, copied=False))
        verdict = flow.verdict()
        assert (verdict.verdict, verdict.cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)
        flow.starts = {name: end - 500 for name, end in flow.ends.items()}
        flow.poll()
    assert "may be lost to retention" in verdict.sentence
    assert found(flow) == []


def test_records_that_come_after_all_leave_no_less_than_nothing():
    bounds = LossBounds(0, 0, start=2000, proved=Overtaken("orders", 0, 0, 2000, 0, 0), least=1500, most=1200)
    assert bounds.range() == (1200, 1200)
    bounds.most = -7
    assert bounds.range() == (0, 0)
