"""What is kept of a flow over a restart, and how it is judged after one."""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.flow import MirrorFlow
from lagmon.mirrors.target_ends.ends import TargetPoll
from lagmon.mirrors.verdict import judge_flow
from lagmon.snapshots import cluster as snapshot_cluster
from lagmon.snapshots.flow import CopiedFlow, frame_of, read_flow, restore
from lagmon.snapshots.frames import seal
from lagmon.snapshots.losses import CopiedLosses, losses_document
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told

IDS = ("X", "Y")


def kept(one, *, told=None):
    return read_flow(frame_of(CopiedFlow.of(one.flow), cluster_ids=IDS, now_ms=one.now, told=told))


def restarted(one, *, with_offsets=True):
    """Return the same world, watched by a process that took up what another knew."""
    again = Mirrored.__new__(Mirrored)
    again.__dict__.update(one.__dict__)
    again.a, again.b = (_cluster(old, one.now) for old in (one.a, one.b))
    again.flow = MirrorFlow(one.flow.order, again.a, again.b)
    restore(again.flow, kept(one), now_ms=one.now)
    if with_offsets:
        read_again(one, again)
    return again


def read_again(one, again):
    """Read the offsets topic as its compaction leaves it: of each partition what the window holds."""
    windows = one.flow.windows
    for topic, partition, slot in windows.slots():
        rings, filled = windows.rings, int(windows.rings.filled[slot])
        for column in range(rings.length - filled, rings.length):
            offset = int(rings.offset[slot, column])
            if offset == windows.rest[slot]:
                offset = int(windows.next_offset[slot])
            again.flow.windows.take(
                topic, partition, offset - 1, int(rings.committed_ms[slot, column]), live=False
            )
    again.flow.read_to_ms = one.now


def _cluster(lag, now_ms):
    frames = snapshot_cluster.frames_of(lag, contextlib.nullcontext(), cluster_id="X", now_ms=now_ms)
    again = type(lag)(wanted=lambda *_: True)
    found = snapshot_cluster.read_cluster(b"".join(frames))
    snapshot_cluster.take_up(again, found, partitions=lag.topics, now_ms=now_ms)
    again.note_topics(lag.topics)
    return again


def busy(one):
    for partition in (0, 1):
        one.write(10, partition=partition)
        one.commit(partition=partition)


@pytest.fixture
def flow():
    """Give a flow that has been watched for two minutes and is well."""
    one = Mirrored()
    one.poll()
    return one.rest().go(118, each=lambda: busy(one))


def test_a_stalled_mirror_is_reported_stalled_as_of_the_same_time(flow):
    flow.go(120, each=lambda: [flow.write(10, partition=partition, copied=False) for partition in (0, 1)])
    before = flow.snapshot().partitions
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    again = restarted(flow)
    again.now += 5 * S
    again.poll()
    assert told(again) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    after = again.snapshot().partitions
    for partition in (0, 1):
        old, new = flow.slot(partition=partition), again.slot(partition=partition)
        assert after.rows.since_ms[new] == before.rows.since_ms[old]
        assert after.lag[new] == before.lag[old]


def test_a_mirror_that_moves_is_well_at_the_first_poll(flow):
    again = restarted(flow)
    again.now += 30 * S
    for partition in (0, 1):
        again.write(900, partition=partition)
        again.commit(partition=partition)
    again.poll()
    assert told(again) == (Verdict.HEALTHY, None)


def test_what_retention_took_is_counted_once_whenever_the_restart_was(flow):
    flow.go(20, each=lambda: flow.write(10, copied=False))
    flow.starts["orders", 0] = flow.ends["orders", 0] - 50
    flow.poll()
    (before,) = flow.snapshot().overtaken
    assert before.records == 150
    again = restarted(flow, with_offsets=False)
    again.now += 10 * S
    again.flow.read_to_ms = -1
    again.snapshot()  # nothing is known of the mirror's offsets yet: that it has passed them least of all
    read_again(flow, again)
    again.poll()
    (after,) = again.snapshot().overtaken
    assert replace(after, at_ms=before.at_ms) == before  # with when it was seen first
    assert again.flow.detectors.retention.total["orders"] == 0
    again.commit()
    again.poll()
    (settled,) = again.snapshot().overtaken
    assert again.flow.detectors.retention.total["orders"] == 150
    third = restarted(again)
    third.poll()
    assert third.snapshot().overtaken == (settled,)
    assert third.flow.detectors.retention.total["orders"] == 150


def test_a_loss_is_not_forgotten_where_it_is_asked_for_while_the_offsets_are_read(flow):
    flow.go(20, each=lambda: flow.write(10, copied=False))
    flow.starts["orders", 0] = flow.ends["orders", 0] - 50
    flow.poll()
    (before,) = flow.snapshot().overtaken
    again = restarted(flow, with_offsets=False)
    again.now += 60 * S
    read_again(flow, again)
    again.flow.read_to_ms = -1
    assert again.snapshot().overtaken == ()
    again.target_ends["A.orders", 0] = again.ends["orders", 0] - before.records
    again.commit(live=False)
    again.flow.read_to_ms = again.now
    again.poll()
    again.snapshot()
    assert again.flow.detectors.retention.total["orders"] == before.records


def test_what_is_counted_of_a_loss_that_settles_is_not_counted_again_after_a_restart(flow):
    flow.go(20, each=lambda: flow.write(10, copied=False))
    flow.starts["orders", 0] = flow.ends["orders", 0] - 50
    flow.poll()
    (before,) = flow.snapshot().overtaken
    flow.flow.detectors.retention.open["orders", 0] = replace(before, counted=100)
    flow.flow.detectors.retention.total["orders"] = 100
    again = restarted(flow, with_offsets=False)
    again.now += 60 * S
    read_again(flow, again)
    again.target_ends["A.orders", 0] = again.ends["orders", 0] - before.records
    again.commit(live=False)
    again.poll()
    again.snapshot()
    assert again.flow.detectors.retention.total["orders"] == before.records == 150


def test_what_retention_took_while_we_were_away_is_found_at_the_first_poll(flow):
    flow.rest()
    again = restarted(flow)
    again.now += 600 * S
    again.write(500, copied=False)
    again.starts["orders", 0] = again.ends["orders", 0] - 100
    again.poll()
    (found,) = again.snapshot().overtaken
    assert (found.topic, found.partition, found.records) == ("orders", 0, 400)
    assert told(again) == (Verdict.STALLED, Cause.OVERTAKEN)


def overtaken_after(one):
    """Let the mirror hang for two minutes, and retention delete what it has not replicated."""
    one.go(120, each=lambda: [one.write(10, partition=number, copied=False) for number in (0, 1)])
    one.starts["orders", 0] = one.ends["orders", 0] - 50
    one.poll()
    one.go(10)
    (found,) = one.snapshot().findings
    return found.records, found.records_most


def test_of_a_topic_that_has_had_transactions_not_each_offset_is_a_record_after_a_restart(flow):
    place = np.array([flow.a.places.of("orders")[0]], np.int32)
    flow.a.heads.note_stable(place, flow.a.heads.end[place] - 5)
    flow.snapshot()  # an open transaction
    flow.go(30, each=lambda: busy(flow))
    again = restarted(flow)
    least, most = overtaken_after(again)
    assert (least <= most // 2, most) == (True, 1150)


SETTINGS = {"cleanup.policy": "compact,delete", "retention.ms": "60000"}


def test_a_compacted_topic_is_known_as_such_before_its_settings_are_read_after_a_restart(flow):
    flow.flow.note_settings("A", "orders", SETTINGS)
    again = restarted(flow)
    assert overtaken_after(again) == (1, 1150)


def test_gaps_of_a_log_from_before_a_restart_are_not_those_of_a_newer_one(flow):
    note_ids(flow, "one", "copy")
    flow.flow.note_settings("A", "orders", SETTINGS)
    flow.flow.transactions.topics.add("orders")
    found = kept(flow)
    assert found.gapped == ({"orders"}, {"orders"})
    again = Mirrored()
    again.now = flow.now
    again.snapshot()
    again.flow.note_settings("A", "orders", SETTINGS | {"cleanup.policy": "delete"})
    note_ids(again, "two", "copy")
    restore(again.flow, found, now_ms=again.now)
    assert again.flow.gapped == set()


def note_ids(one, source, target):
    one.flow.note_ids("A", {"orders": source}, one.now)
    one.flow.note_ids("B", {"A.orders": target}, one.now)


def test_a_topic_recreated_while_we_were_away_is_known_by_its_id(flow):
    note_ids(flow, "old", "copy")
    again = restarted(flow)
    again.now += 60 * S
    again.snapshot()
    note_ids(again, "new", "copy")
    (found,) = again.flow.topics.recreations
    assert (found.topic, found.side, found.before, found.after) == ("orders", "source", "old", "new")
    assert again.flow.topics.recreated_total == {("orders", "source"): 1}
    third = restarted(again)
    note_ids(third, "new", "copy")
    assert third.flow.topics.recreations == [found]
    assert third.flow.topics.recreated_total == {("orders", "source"): 1}


def test_an_id_that_was_read_before_what_was_kept_is_compared_too(flow):
    note_ids(flow, "old", "copy")
    found = kept(flow)
    again = Mirrored()
    again.now = flow.now
    again.snapshot()
    note_ids(again, "new", "copy")
    restore(again.flow, found, now_ms=again.now)
    assert [(one.side, one.before) for one in again.flow.topics.recreations] == [("source", "old")]
    assert again.flow.topics.ids["orders", "source"] == "new"


def test_offsets_of_the_log_before_are_no_step_back_after_a_restart(flow):
    note_ids(flow, "old", "copy")
    flow.ends = dict.fromkeys(flow.ends, 0)
    flow.now += 10 * S
    note_ids(flow, "new", "copy")
    flow.poll()
    flow.go(5, each=lambda: busy(flow), poll=1)
    again = restarted(flow, with_offsets=False)
    for offset, ago_s in ((1100, 30), (1200, 20), (10, 4), (50, 0)):  # what the topic still holds
        for partition in (0, 1):
            again.flow.windows.take("orders", partition, offset - 1, flow.now - ago_s * S, live=False)
    again.now += 901 * S  # the re-creation is old news by then
    again.poll()
    assert told(again)[0] is not Verdict.REPEATING
    assert again.flow.windows.rings.filled[again.slot()] == 2


def test_a_quiet_tail_stays_one_and_what_is_written_behind_it_is_lag(flow):
    flow.write(1, partition=1, record=False)  # a transaction's marker
    flow.go(120, each=lambda: [flow.write(10), flow.commit()])
    assert flow.snapshot().partitions.tail[flow.slot(partition=1)] == 1
    again = restarted(flow)
    again.poll()
    slot = again.slot(partition=1)
    assert again.snapshot().partitions.tail[slot] == 1
    again.write(5, partition=1, copied=False)
    third = restarted(again)
    third.poll()
    assert third.snapshot().partitions.tail[third.slot(partition=1)] == 1
    # Had the tail been forgotten, all six would have become one.
    assert third.flow.windows.rest[third.slot(partition=1)] == third.ends["orders", 1] - 5


def test_since_when_something_is_missing_is_known_over_a_restart(flow):
    flow.a.note_topics({"orders": 2, "new": 1})
    flow.ends["new", 0] = 5
    flow.poll()
    (before,) = (one for one in flow.snapshot().missing if one.code == "topic_missing")
    again = restarted(flow)
    again.now += 300 * S
    again.poll()
    (after,) = (one for one in again.snapshot().missing if one.code == "topic_missing")
    assert after.since_ms == before.since_ms


def test_verdict_retention_and_clusters_are_kept(flow):
    flow.flow.note_retention("orders", {"retention.ms": "60000", "cleanup.policy": "delete"})
    found = kept(flow, told=(("stalled", "mirror_down"), NOW))
    assert found.told == (("stalled", "mirror_down"), NOW)
    assert found.cluster_ids == IDS
    assert found.taken_ms == flow.now
    assert found.retention_ms == {"orders": 60_000}


def test_a_second_restart_before_the_offsets_are_read_loses_nothing(flow):
    again = restarted(flow, with_offsets=False)
    assert again.flow.when_read is not None  # so what was kept before is handed on as it came
    again.flow.read_to_ms = again.now
    again.snapshot()
    assert again.flow.when_read is None


def copies_lost(one):
    return [
        (each.topic, each.partition, each.records)
        for each in one.snapshot().findings
        if each.side == "target"
    ]


def test_targets_that_went_while_we_were_away_are_lost_by_number_and_reported_over_one_more_restart(flow):
    flow.poll()
    flow.snapshot()
    flow.now += S
    note_ids(flow, "one", "copy")
    held = flow.target_ends["A.orders", 0]
    again = restarted(flow)
    again.now += 60 * S
    again.target_ends = dict.fromkeys(again.target_ends, 0)
    again.poll()
    again.snapshot()
    note_ids(again, "one", "anew")
    assert copies_lost(again) == [("orders", 0, held), ("orders", 1, held)]
    third = restarted(again)
    third.now += 60 * S
    third.poll()
    assert copies_lost(third) == copies_lost(again)
    third.now += 900 * S
    third.poll()
    assert copies_lost(third) == []


def test_targets_that_went_while_we_were_away_are_lost_where_their_ids_are_read_before_what_was_kept(flow):
    note_ids(flow, "one", "copy")
    again = Mirrored()
    again.now, again.ends = flow.now + 60 * S, flow.ends
    again.snapshot()
    note_ids(again, "one", "anew")
    restore(again.flow, kept(flow), now_ms=again.now)
    assert copies_lost(again) == [("orders", 0, 1300), ("orders", 1, 1300)]
    for partition in (0, 1):
        again.commit(partition=partition, live=False)
    again.poll()
    assert copies_lost(again) == [("orders", 0, 1300), ("orders", 1, 1300)]


def test_a_target_that_went_with_the_offsets_while_we_were_away_is_sent_again(flow):
    note_ids(flow, "one", "copy")
    again = restarted(flow, with_offsets=False)
    again.now += 120 * S
    again.target_ends = dict.fromkeys(again.target_ends, 500)
    for partition in (0, 1):
        again.commit(partition=partition, to=500, live=False)
    again.poll()
    again.snapshot()  # what the mirror has written is read before the copy's id is
    again.now += 2 * S
    note_ids(again, "one", "anew")
    assert copies_lost(again) == []
    again.poll()
    assert copies_lost(again) == []


def test_of_a_target_the_last_poll_before_its_id_was_read_is_kept():
    early, late = (TargetPoll(at_ms, np.array([[0], [at_ms], [at_ms]])) for at_ms in (10, 30))
    copied = CopiedLosses([], [], {}, {"orders": deque([early, late])})
    for known_ms, at_ms in ((30, [30]), (29, [10]), (9, [])):
        found = losses_document(copied, {"orders": known_ms})["ends"]
        assert [row[1] for row in found] == at_ms
    assert losses_document(copied, {})["ends"] == []  # its id was never read


def test_what_the_mirror_skipped_is_reported_over_a_restart(flow):
    found = MirrorFinding(
        code=Cause.TOPIC_RECREATED, topic="orders", partition=1, at_ms=flow.now, sentence="So."
    )
    flow.flow.detectors.recreated.restore([], [found], {})
    again = restarted(flow)
    again.poll()
    assert again.snapshot().findings == (found,)
    again.now += 901 * S
    again.poll()
    assert again.snapshot().findings == ()


WHOLE = {
    "kind": "flow",
    "cluster_ids": ["X", "Y"],
    "taken_ms": NOW,
    "told": ["stalled", None, NOW],
    "ids": [["t", "source", "a", NOW]],
    "recreations": [["t", "target", NOW, "a", "b"]],
    "recreated_total": [["t", "source", 2]],
    "missing_since": [["topic_missing", "t", NOW]],
    "overtaken_total": [["t", 3]],
    "overtaken": [["t", 0, 5, 9, NOW, NOW]],
    "settled": [["t", 0, 5, 9, NOW, NOW]],
    "retention_ms": [["t", -1]],
    "rests": [["t", 0, 5, 9]],
    "ids_since": [["t", "source", NOW]],
    "gapped": [["t"], ["u"]],
    "first_starts": [["t", 1, 5]],
    "losses": {
        "copies": [["topic_recreated", "t", 0, NOW, "So.", 5, 0, 4, "target", True]],
        "passed_over": [["filtered", "t", 0, NOW, "So.", None, None, None, "source", False]],
        "sent_to": [["t", 0, 7]],
        "ends": [["t", NOW, [0, -1], [5, 6], [7, 8]], ["old", NOW, [0], [5]]],
    },
}


def losses(**changes):
    return {"losses": WHOLE["losses"] | changes}


def test_the_whole_of_it_can_be_read():
    found = read_flow(seal(WHOLE))
    assert [one.records for one in (*found.overtaken, *found.settled)] == [4, 4]
    assert found.rests == {("t", 0): (5, 9)}
    assert (found.ids_since_ms, found.gapped) == ({("t", "source"): NOW}, ({"t"}, {"u"}))
    assert found.first_starts == {("t", 1): 5}
    assert [one.records for one in (*found.losses.copies, *found.losses.passed_over)] == [5, None]
    assert found.losses.sent_to == {("t", 0): 7}
    assert found.losses.ends["t"].known.tolist() == [[0, -1], [5, 6], [7, 8], [-1, -1]]
    assert found.losses.ends["old"].known.tolist() == [[0], [5], [-1], [-1]]  # an older process kept no more


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "cluster"}, "not of a flow"),
        ({"cluster_ids": ["X"]}, "expected a list"),
        ({"taken_ms": "now"}, "expected a number"),
        ({"ids": [["t", "middle", "a", NOW]]}, "unknown side of a flow"),
        ({"ids": [["t", "source", "a"]]}, "expected a list"),
        ({"ids": [["t" * 1001, "source", "a", NOW]]}, "expected a text"),
        ({"recreations": WHOLE["recreations"] * 101}, "expected a list of at most 100"),
        ({"settled": WHOLE["settled"] * 1001}, "expected a list of at most 1000"),
        ({"overtaken_total": [["t", -3]]}, "expected a number"),
        ({"overtaken_total": [["t", True]]}, "expected a number"),
        ({"told": ["stalled", NOW]}, "expected a list"),
        ({"rests": None}, "expected a list"),
        ({"gapped": [["t"]]}, "expected a list"),
        ({"gapped": [["t"], [5]]}, "expected a text"),
        ({"ids_since": [["t", "source"]]}, "expected a list"),
        ({"first_starts": [["t", 1, -1]]}, "expected a number"),
        ({"losses": []}, "missing list of losses"),
        (
            losses(copies=[["no cause", *WHOLE["losses"]["copies"][0][1:]]]),
            "invalid finding about lost records",
        ),
        (losses(copies=[WHOLE["losses"]["copies"][0][:-1]]), "expected a list"),
        (losses(sent_to=[["t", 0, -1]]), "expected a number"),
        (losses(ends=[["t", NOW, [0], [5, 6]]]), "expected a list"),
        (losses(ends=[["t", NOW, [0], [-2]]]), "expected a number"),
        (losses(ends=[["t", NOW, [0], [5], [5, 6]]]), "expected a list"),
    ],
)
def test_what_is_wrong_is_reported(change, sentence):
    with pytest.raises(MalformedError, match=sentence):
        read_flow(seal(WHOLE | change))


NEWER = {"ids_since", "gapped", "first_starts"}


def test_what_an_earlier_program_stored_has_none_of_these():
    earlier = {name: one for name, one in WHOLE.items() if name not in NEWER}
    found = read_flow(seal(earlier))
    assert (found.ids_since_ms, found.gapped, found.first_starts) == ({}, (set(), set()), {})


@pytest.mark.parametrize("row", [["t", 0, 9, 5, NOW, NOW], ["t", 0, 5, 9, NOW, NOW, 5, -3], ["t"], "t"])
def test_one_loss_that_can_not_be_read_costs_no_others(row):
    good = ["t", 1, 5, 9, NOW, NOW, 4, 1, 2]
    found = read_flow(seal(WHOLE | {"overtaken": [row, good], "settled": [good, row]}))
    assert [(one.partition, one.records, one.counted) for one in found.overtaken] == [(1, 4, 2)]
    assert len(found.settled) == 1
    assert found.overtaken_total == {"t": 3}


def test_more_than_one_frame_is_none_of_a_flow():
    with pytest.raises(MalformedError, match="not of a flow"):
        read_flow(seal(WHOLE) * 2)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.just(NOW)
    | st.sampled_from(["t", "source", "orders"]),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), values))
@settings(max_examples=300, deadline=None)
def test_other_documents_are_refused_in_words_or_harmless(changes):
    try:
        found = read_flow(seal(WHOLE | changes))
    except MalformedError:
        return
    one = Mirrored()
    restore(one.flow, found, now_ms=one.now)
    one.poll()
    one.write(5)
    one.commit(to=3)
    one.poll()
    note_ids(one, "a", "b")
    judge_flow(one.flow, one.snapshot())


def test_nothing_known_is_kept_too():
    one = Mirrored()
    found = kept(one)
    again = Mirrored()
    restore(again.flow, found, now_ms=again.now)
    assert replace(found, taken_ms=0) == replace(kept(again), taken_ms=0)


def keeps_up(one, seconds, *, first, copied=True, commits=True, polls=True):
    """Let a mirror write its offsets each minute, beside a log of five seconds."""
    for second in range(first, first + seconds):
        one.now += S
        for partition in (0, 1):
            one.write(100, partition=partition, copied=copied)
            if commits and second % 60 == 7:
                one.commit(partition=partition)
        one.starts = {name: max(0, end - 500) for name, end in one.ends.items()}
        if polls and second % 10 == 0:
            one.poll()
            one.snapshot()


@pytest.mark.parametrize("away_s", [39, 999])
def test_a_short_log_of_which_an_offset_came_while_we_were_away_lost_nothing(away_s):
    one = Mirrored(flush_s=60.0)
    one.poll()
    keeps_up(one, 330, first=1)
    assert one.flow.detectors.retention.open
    keeps_up(one, away_s, first=331, polls=False)
    again = restarted(one)
    again.poll()
    assert again.snapshot().findings == ()
    keeps_up(again, 200, first=331 + away_s)
    assert again.snapshot().findings == ()
    assert again.flow.detectors.retention.total["orders"] == 0


def test_what_a_mirror_that_was_stalled_has_passed_while_we_were_away_is_counted():
    one = Mirrored(flush_s=60.0)
    one.poll()
    one.rest()
    keeps_up(one, 367, first=1)
    keeps_up(one, 203, first=368, copied=False, commits=False)
    assert one.flow.detectors.retention.open
    keeps_up(one, 40, first=571, polls=False)
    again = restarted(one)
    again.poll()
    again.snapshot()
    assert again.flow.detectors.retention.total["orders"] == 2 * (20300 - 500)


def test_a_burst_after_a_pause_that_was_replicated_while_we_were_away_lost_nothing():
    one = Mirrored(flush_s=60.0)
    one.poll()
    keeps_up(one, 367, first=1)
    for _ in range(70):
        one.now += 10 * S
        one.poll()
        one.snapshot()
    for partition in (0, 1):
        one.write(3000, partition=partition)
    one.starts = {name: end - 50 for name, end in one.ends.items()}
    one.now += S
    one.poll()
    one.snapshot()
    assert one.flow.detectors.retention.open
    one.now += 30 * S
    for partition in (0, 1):
        one.commit(partition=partition)
    again = restarted(one)
    again.poll()
    assert again.snapshot().findings == ()
    assert again.flow.detectors.retention.total["orders"] == 0
