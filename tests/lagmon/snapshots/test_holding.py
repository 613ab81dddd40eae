"""What holds of a flow's topics over a restart, and what of a flow is not believed after one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fleet.errors import MalformedError
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.detectors.lost_ends.cuts import KeptCuts
from lagmon.mirrors.flow import MirrorFlow
from lagmon.snapshots.flow import read_flow, restore
from lagmon.snapshots.frames import seal
from lagmon.snapshots.holding import holding_document
from tests.lagmon.mirror_flows import Mirrored, S, told
from tests.lagmon.mirrors.detectors.lost_ends.test_cuts import down
from tests.lagmon.mirrors.detectors.unreplicated.test_filtered import written
from tests.lagmon.mirrors.metadata.test_topics import APPEND, CREATE, Watched, lost, stamped
from tests.lagmon.snapshots.test_flow import WHOLE, _cluster, busy, kept, read_again, restarted


def taken_up(one):
    """Return the same world after a restart, as one that can go on by itself."""
    again = restarted(one)
    again.__class__ = Watched
    return again


def left_out(refresh_s, *, for_s):
    """Give a flow that carries `other` and nothing of `orders`, which has records."""
    one = Watched(refresh_topics_interval_s=refresh_s)
    one.goes = {"other"}
    one.write(10, copied=False)
    return one.run(for_s)


@pytest.mark.parametrize("refresh_s", [2.0, 600.0])
def test_a_topic_that_is_skipped_is_reported_at_the_first_poll_after_a_restart(refresh_s):
    one = left_out(refresh_s, for_s=60 + int(refresh_s) + 60)
    before = lost(one)
    assert [each[0] for each in before] == ["filtered"]
    again = taken_up(one)
    again.now += S
    again.poll()
    assert lost(again) == before
    assert [each.code for each in again.snapshot().missing] == []
    again.run(60)
    assert (told(again), lost(again)) == ((Verdict.HEALTHY, None), before)


def test_what_was_not_reported_before_a_restart_is_reported_once_the_mirror_had_its_time_since():
    one = left_out(600.0, for_s=600)
    assert lost(one) == []
    again = taken_up(one)
    again.now += 600 * S  # nobody looks
    again.run(50)
    assert lost(again) == []
    again.run(50)
    assert [each[0] for each in lost(again)] == ["filtered"]


def test_what_a_failed_task_left_is_no_loss_before_its_state_is_read_again():
    one = left_out(2.0, for_s=30)
    written(one, "FAILED")
    one.run(600)
    again = taken_up(one)
    for _ in range(6):
        again.run(10)
        assert lost(again) == []


def stamped_read(one):
    one.flow.note_settings("B", "A.orders", APPEND, asked_ms=one.now)


def retimed(one):
    return [
        (each.code, each.records, each.proved, each.at_ms)
        for each in one.snapshot().findings
        if each.code is Cause.RETIMED
    ]


def test_what_the_target_restamped_is_reported_and_counted_on_after_a_restart():
    one = Watched().run(60)
    one.flow.note_settings("A", "orders", CREATE)
    stamped(one, 70, APPEND)
    one.go(60)  # nothing comes
    stamped_read(one)
    before = retimed(one)
    assert before[0][1:3] == (10_000, True)
    again = taken_up(one)
    again.poll()
    assert retimed(again) == before
    again.flow.note_settings("A", "orders", CREATE)
    stamped_read(again)
    again.go(20)
    assert retimed(again) == before
    stamped(again, 10, APPEND)
    stamped_read(again)
    assert [each[1] for each in retimed(again)] == [before[0][1] + 2000]


def test_an_end_that_was_kept_before_the_count_of_what_is_restamped_is_of_the_same_topic():
    one = Watched().run(60)
    one.flow.note_settings("A", "orders", CREATE)
    stamped(one, 70, APPEND)
    stamped_read(one)
    ((_, records, *_),) = retimed(one)
    newest = dict(one.target_ends)
    found = kept(one)
    again = Watched.__new__(Watched)
    again.__dict__.update(one.__dict__)
    again.flow = MirrorFlow(one.flow.order, one.a, one.b)
    places = np.array(one.b.places.of("A.orders"), np.int32)
    as_kept = one.b.heads.state(places)  # in its cluster's part
    lower = replace(as_kept, ends=np.minimum(as_kept.ends, as_kept.ends[-1] - 500))
    one.b.heads.take_up(places, lower)
    restore(again.flow, found, now_ms=one.now)
    read_again(one, again)
    again.snapshot()
    for alias, topic, settings in (("A", "orders", CREATE), ("B", "A.orders", APPEND)):
        again.flow.note_settings(alias, topic, settings)
    again.snapshot()
    again.target_ends = newest
    again.now += S
    again.poll()
    assert [each[1] for each in retimed(again)] == [records]
    stamped_read(again)
    assert [each[1] for each in retimed(again)] == [records]
    again.target_ends = {name: end // 2 for name, end in newest.items()}  # below what was kept: another one
    again.now += S
    again.poll()
    assert [each[1] for each in retimed(again)] == [0]


def test_what_was_repeated_is_reported_for_as_long_after_a_restart():
    one = Mirrored(flush_s=5.0)
    one.poll()
    one.go(120, each=lambda: busy(one), step=5, poll=10)
    at = one.ends["orders", 0]
    one.now += 5 * S
    one.commit(to=at - 30)
    one.target_ends["A.orders", 0] += 30
    one.poll()
    before = [each for each in one.snapshot().findings if each.code is Cause.DUPLICATING]
    assert [each.records for each in before] == [30]
    again = restarted(one, with_offsets=False)
    for partition in (0, 1):  # of the step back nothing is in the topic any more
        again.commit(partition=partition, live=False)
    again.flow.read_to_ms = again.now
    assert [each for each in again.snapshot().findings if each.code is Cause.DUPLICATING] == before
    again.now += HELD_MS + S
    again.poll()
    assert again.snapshot().findings == ()


def with_cut(one):
    """Return the same world after a restart, whose source may lose its end."""
    again = restarted(one)
    again.__class__ = type(one)
    return again


def test_what_was_skipped_of_a_log_that_lost_its_end_is_reported_over_a_restart():
    one = down().cut(500).pass_(120)
    one.runs = True
    one.pass_(300)
    before = one.found()
    assert [each[:2] for each in before] == [("unexplained", True)]
    again = with_cut(one)
    again.poll()
    assert again.found() == before
    again.pass_(300)
    assert again.found() == before
    again.pass_(700)
    assert again.found() == []


@pytest.mark.parametrize(("before_s", "away_s"), [(30, 0), (30, 10), (0, 10)])
def test_what_is_skipped_is_proved_where_the_restart_was_during_the_outage(before_s, away_s):
    one = down()
    if before_s:  # else the log loses its end while nobody watches
        one.cut(500).pass_(before_s)
    again = with_cut(one)
    if not before_s:
        again.cut(500)
    again.pass_(away_s, poll=1 << 30).pass_(120 - before_s - away_s)
    again.runs = True
    again.pass_(300)
    ((code, proved, records),) = again.found()
    assert (code, proved, records > 0) == ("unexplained", True, True)


def test_a_topic_recreated_during_a_restart_has_not_lost_its_end():
    again = with_cut(down())
    again.ids = ("2", "1")
    again.cut(500).pass_(120)
    again.runs = True
    again.pass_(300)
    assert [each for each in again.found() if each[0] == "unexplained"] == []


def of_another(one, **changes):
    """Return the world after a restart in which the flow's order is another."""
    again = Watched.__new__(Watched)
    again.__dict__.update(one.__dict__)
    again.target_ends, again.ends = dict(one.target_ends), dict(one.ends)
    again.a, again.b = (_cluster(old, one.now) for old in (one.a, one.b))
    lag_from = changes.pop("lag_from", "connect-offsets")
    flow = replace(one.flow.order.flow, **changes)
    again.flow = MirrorFlow(order_of(flow, lag_from=lag_from), again.a, again.b)
    return again, restore(again.flow, kept(one), now_ms=one.now)


@pytest.mark.parametrize(
    ("before", "after", "others"),
    [
        (ReplicationPolicy(), ReplicationPolicy(separator="_"), "A_"),
        (ReplicationPolicy(PolicyKind.IDENTITY), ReplicationPolicy(), ""),
    ],
)
def test_targets_of_other_names_are_no_topics_recreated(before, after, others):
    """The policy is corrected, and both names are there on the target: of its own, or of an older mirror."""
    one = Watched(policy=before)
    there = {f"{others}orders": 2, f"{others}other": 1}
    for topic, count in there.items():
        one.ids["B"][topic] = f"of {topic}"
        one.target_ends |= {(topic, number): 777 for number in range(count)}
    one.b.note_topics({"A.orders": 2, "A.other": 1} | there)
    one.run(120)
    same, is_believed = of_another(one)
    assert is_believed
    again, is_believed = of_another(one, policy=after)
    assert not is_believed
    for world in (same, again):
        read_again(one, world)
        world.run(30)
        assert lost(world) == []
        assert world.flow.topics.recreated_total == {}


@pytest.mark.parametrize(
    "changes", [{"lag_from": "offset-syncs"}, {"offset_storage_topic": "elsewhere"}, {"on_connect": True}]
)
def test_what_other_offsets_show_starts_again(changes):
    one = Watched().run(30)
    again, is_believed = of_another(one, **changes)
    assert not is_believed
    assert again.flow.topics.ids == {}
    assert again.flow.when_read is None


HOLDING = {
    "filtered": [["t", 5, 1], ["u", 6, 0]],
    "stamped": [["t", 5, 0, 9, -1, 1]],
    "again": [[5, ["duplicating", "t", 0, 7, "So.", 3, 4, 6, "source", True]]],
}
SKIPPED = ["unexplained", "t", 0, 7, "So.", 3, 4, 6, "source", True, 9]
CUT = [9, 5, 4, 6, 6, -1, 2, 0, 1, 7, 8, 1]
CUTS = {"cuts": [["t", 0, *CUT, SKIPPED], ["t", 1, *CUT, None]], "complete": [["t", [0, 3], [5, 6]]]}


def test_logs_that_lost_their_end_can_be_read():
    found = read_flow(seal(WHOLE | {"holding": HOLDING | CUTS})).holding
    first, second = found.cuts.cuts["t", 0], found.cuts.cuts["t", 1]
    assert (first.next_offset, first.lowest, first.grows, first.is_decided) == (9, 6, True, True)
    assert (first.found.records, first.found.records_most, second.found) == (3, 9, None)
    assert found.cuts.complete_ms == {("t", 0): 5, ("t", 3): 6}
    again = holding_document(found)
    assert json.loads(json.dumps({name: again[name] for name in CUTS})) == CUTS
    assert read_flow(seal(WHOLE | {"holding": HOLDING})).holding.cuts == KeptCuts()


def test_the_whole_of_it_can_be_read_and_that_of_an_earlier_program():
    found = read_flow(seal(WHOLE | {"holding": HOLDING, "told_by": ["group", "A"]}))
    assert found.progress_key == ("group", "A")
    filtered = found.holding.filtered
    assert (filtered.since_ms, filtered.reported) == ({"t": 5, "u": 6}, {"t"})
    assert (found.holding.stamped["t"].end, found.holding.stamped["t"].holds) == (9, True)
    assert [(back.at_ms, back.peak, one.records) for back, one in found.holding.again] == [(5, 7, 3)]
    earlier = read_flow(seal(WHOLE))
    one = Mirrored()
    assert restore(one.flow, earlier, now_ms=one.now)
    assert one.flow.topics.ids == {("t", "source"): "a"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"filtered": [["t", 5]]}, "expected a list"),
        ({"filtered": [["t", "then", 1]]}, "expected a number"),
        ({"stamped": [["t", 5, 0, 9, -2, 1]]}, "expected a number"),
        (
            {"again": [[5, ["duplicating", "t", 0, 7, "So.", None, 4, 6, "source", True]]]},
            "invalid range of repeated records",
        ),
        ({"again": [["t"]]}, "expected a list"),
        (CUTS | {"cuts": [["t", 0, *CUT]]}, "expected a list"),
        (CUTS | {"cuts": [["t", 0, *CUT[1:], -2, None]]}, "expected a number"),
        (CUTS | {"cuts": [["t", 0, *CUT, ["lost"]]]}, "expected a list"),
        (CUTS | {"complete": [["t", [0, 3], [5]]]}, "expected a list"),
        (CUTS | {"complete": [["t", [-1], [5]]]}, "expected a number"),
    ],
)
def test_what_is_wrong_is_reported(change, sentence):
    with pytest.raises(MalformedError, match=sentence):
        read_flow(seal(WHOLE | {"holding": HOLDING | change}))
