"""What of a partition is compared and what is left out, told by stories of one mirror each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from checksum.anchors.pairs import Logs, Pair, Usable, equal_pairs
from checksum.anchors.search import Anchors, search_anchors
from checksum.plan.cuts import MOST, equal_cuts
from checksum.plan.facts import PartitionFacts, Verified
from checksum.plan.ranges import (
    beginnings_before,
    candidates,
    partition_ranges,
    still_verified,
    tail_offset,
)
from checksum.plan.shape import Anchored, OffsetRange, Run
from tests.checksum.pretend_mirror import Mirrored, drive


def healthy(count=250, **settings):
    mirrored = Mirrored(**settings)
    mirrored.write(count)
    mirrored.copy()
    mirrored.flush()
    return mirrored


def verified(plan, mirrored):
    return Verified(plan.source.until, plan.target.until, mirrored.source_id, mirrored.target_id)


def whys(left):
    return [(one.records, one.later, one.why) for one in left]


def test_a_healthy_partition_is_compared_whole_by_two_readings():
    mirrored = healthy()
    plan, left, anchors = mirrored.plan()
    assert (plan.source, plan.target) == (OffsetRange(0, 250), OffsetRange(0, 250))
    assert plan.runs == (Run(0, 250, 0),)
    assert left == ()
    assert anchors.read == 2


def test_what_is_not_mirrored_yet_is_for_a_later_run():
    mirrored = healthy()
    mirrored.write(30)
    plan, left, _ = mirrored.plan()
    assert plan.source == plan.target == OffsetRange(0, 250)
    assert whys(left) == [
        (30, True, "not replicated when the plan was made, or after MirrorMaker's newest offset sync")
    ]


def test_a_tail_of_markers_is_compared_and_so_is_what_somebody_else_wrote_there():
    mirrored = healthy()
    mirrored.mark()
    mirrored.intrude()
    plan, left, _ = mirrored.plan()
    assert plan.source == OffsetRange(0, 251)
    assert plan.target == OffsetRange(0, 251)
    assert left == ()


def test_a_record_behind_the_end_keeps_what_follows_on_the_target_out():
    mirrored = healthy()
    mirrored.write(1)
    mirrored.intrude()
    plan, _, _ = mirrored.plan()
    assert plan.target == OffsetRange(0, 250)


def test_the_second_run_reads_only_what_is_new():
    mirrored = healthy()
    first, _, _ = mirrored.plan()
    mirrored.write(120)
    mirrored.copy()
    mirrored.flush()
    plan, left, anchors = mirrored.plan(verified=verified(first, mirrored))
    assert (plan.source, plan.target) == (OffsetRange(250, 370), OffsetRange(250, 370))
    assert plan.runs == (Run(250, 370, 0),)
    assert left == ()
    assert anchors.read <= 3


def test_a_second_run_with_nothing_new_compares_nothing_and_leaves_nothing_out():
    mirrored = healthy()
    first, _, _ = mirrored.plan()
    plan, left, anchors = mirrored.plan(verified=verified(first, mirrored))
    assert (plan, left, anchors.read) == (None, (), 0)


def test_records_without_a_newer_sync_wait_for_the_next_run():
    mirrored = healthy()
    first, _, _ = mirrored.plan()
    mirrored.write(5)
    plan, left, _ = mirrored.plan(verified=verified(first, mirrored))
    assert plan is None
    assert [(one.records, one.later) for one in left] == [(5, True)]


def test_what_appears_on_the_target_alone_is_compared_with_nothing():
    mirrored = healthy()
    first, _, _ = mirrored.plan()
    mirrored.intrude()
    plan, left, _ = mirrored.plan(verified=verified(first, mirrored))
    assert (plan.source, plan.target) == (OffsetRange(250, 250), OffsetRange(250, 251))
    assert (plan.runs, left) == ((), ())


def test_a_partition_that_nobody_ever_wrote_to_is_compared_with_what_the_target_holds():
    mirrored = Mirrored()
    assert mirrored.plan()[:2] == (None, ())
    mirrored.intrude()
    plan, left, _ = mirrored.plan()
    assert (plan.source, plan.target, left) == (OffsetRange(0, 0), OffsetRange(0, 1), ())


def test_a_first_record_that_was_left_out_belongs_to_the_comparison():
    mirrored = Mirrored()
    mirrored.write(50)
    mirrored.copy(3, drop=True)
    mirrored.copy()
    mirrored.flush()
    plan, left, _ = mirrored.plan()
    assert (plan.source, plan.target, left) == (OffsetRange(0, 50), OffsetRange(0, 47), ())


def test_retention_on_the_target_leaves_out_what_it_took():
    mirrored = healthy(500)
    mirrored.expire(target=150)
    plan, left, _ = mirrored.plan()
    # The oldest sync within both logs is that of offset 202.
    assert (plan.source, plan.target) == (OffsetRange(202, 500), OffsetRange(202, 500))
    assert whys(left) == [
        (
            202,
            False,
            "older than the oldest offset sync within both logs; the target's log starts at offset 150",
        )
    ]


def test_retention_that_took_what_was_never_compared_is_told_with_numbers():
    mirrored = healthy(100)
    first, _, _ = mirrored.plan()
    mirrored.write(400)
    mirrored.copy()
    mirrored.flush()
    mirrored.expire(source=180)
    plan, left, _ = mirrored.plan(verified=verified(first, mirrored))
    gone, before = left
    assert (gone.records, gone.later) == (80, False)
    assert "its log starts at offset 180" in gone.why
    assert plan.source.first - 180 == before.records
    assert plan.source.until == 500


OVERTAKEN = (
    "deleted on the source before they were replicated: MirrorMaker jumped from offset 249 to 300, where the"
    " source's log starts"
)


def overtaken_by(count):
    """A mirror that had copied 250 records, and of whose next ones so many were deleted."""
    mirrored = healthy()
    mirrored.write(100)
    mirrored.source.start = 250 + count
    mirrored.copy()
    mirrored.flush()
    return mirrored


def test_what_was_deleted_before_it_was_copied_is_told_by_the_pairs_on_both_sides_of_it():
    plan, left, _ = overtaken_by(50).plan()
    assert (plan.source, plan.target.until) == (OffsetRange(300, 350), 300)
    assert whys(left) == [(50, False, OVERTAKEN)]


def test_what_was_deleted_before_it_was_compared_is_told_apart_from_what_was_never_copied():
    mirrored = overtaken_by(50)
    _, left, _ = mirrored.plan(verified=Verified(200, 200, mirrored.source_id, mirrored.target_id))
    assert [(one.records, one.why == OVERTAKEN) for one in left] == [(50, True), (50, False)]
    _, left, _ = mirrored.plan(verified=Verified(260, 250, mirrored.source_id, mirrored.target_id))
    assert whys(left) == [(40, False, OVERTAKEN)]


@pytest.mark.parametrize("change", ["a marker", "retention went on", "something else was written"])
def test_a_jump_that_says_less_is_no_proof_that_records_were_deleted(change):
    mirrored = overtaken_by(1 if change == "a marker" else 50)
    if change == "retention went on":
        mirrored.expire(source=5)
    if change == "something else was written":
        mirrored.pairs = [
            pair if pair.upstream < 300 else pair._replace(downstream=pair.downstream + 1)
            for pair in mirrored.pairs
        ]
        mirrored.target.records.insert(250, mirrored.target.records[0])
    _, left, _ = mirrored.plan()
    assert not any("before they were replicated" in one.why for one in left)


@pytest.mark.parametrize(("moved", "behind"), [(60, 61), (60, 130), (3, 7)])
def test_order_is_compared_where_a_mirror_tells_that_it_went_back(moved, behind):
    # The pairs of a record that changed places end the chains on both sides of it.
    mirrored = Mirrored()
    mirrored.write(300)
    order = [at for at in range(300) if at != moved]
    order.insert(behind, moved)
    for at in order:
        mirrored.position = at
        mirrored.copy(1)
    mirrored.flush()
    plan, left, _ = mirrored.plan()
    assert (plan.source, plan.target, left) == (OffsetRange(0, 300), OffsetRange(0, 300), ())
    (run,) = [run for run in plan.runs if run.first <= moved < run.until]
    assert run.delta == 0


def test_a_topic_that_was_made_anew_is_not_continued():
    mirrored = healthy()
    first, _, _ = mirrored.plan()
    seen = verified(first, mirrored)
    mirrored.remake_source()
    mirrored.write(400)
    mirrored.copy()  # the mirror stood at 250: it goes on there, and passes over 0 to 249 of the new log
    mirrored.flush()
    same = still_verified(seen, source_id=mirrored.source_id, target_id=mirrored.target_id)
    assert same is None
    plan, left, _ = mirrored.plan(verified=same)
    # Its first sync of the new log is that of offset 350. Of the new log the target may hold what it copied before,
    # behind the last pair of the old one.
    assert (plan.source, plan.target) == (OffsetRange(0, 400), OffsetRange(350, 400))
    assert plan.recreated == (350, 250)
    assert left == ()


def test_without_ids_a_topic_that_was_made_anew_shows_in_its_records():
    mirrored = healthy()
    mirrored.remake_source()
    mirrored.write(400)
    mirrored.copy()
    mirrored.flush()
    plan, left, anchors = mirrored.plan(ids=False)
    assert (plan.source, plan.target) == (OffsetRange(0, 400), OffsetRange(350, 400))
    assert anchors.rejected is not None
    # Three pairs of the old log are read, as one alone may hold an altered record.
    assert [pair.upstream for pair in anchors.before] == [101, 202, 249]
    assert plan.recreated == (350, 102)
    assert left == ()


def test_copies_that_the_mirror_altered_are_not_those_of_another_topic():
    mirrored = Mirrored()
    mirrored.write(250)
    mirrored.copy(alter=lambda record: replace(record, value=b"?", at_ms=record.at_ms + 1))
    mirrored.write(150)
    mirrored.copy()
    mirrored.flush()
    plan, left, anchors = mirrored.plan()
    assert (anchors.before, plan.recreated) == ((), None)
    assert left[0].records == plan.source.first > 250


def test_a_target_that_was_made_anew_is_compared_with_all_that_the_source_holds():
    mirrored = healthy()
    mirrored.remake_target()
    mirrored.write(150)
    mirrored.copy()
    mirrored.flush()
    plan, left, _ = mirrored.plan()
    # The first record of the new log is that of offset 250: what stood before it is on no target any more.
    assert (plan.source, plan.target) == (OffsetRange(0, 400), OffsetRange(0, 150))
    assert left == ()


def test_offset_0_proves_nothing_where_a_topic_was_made_anew():
    logs, pairs = Logs(0, 50, 0, 90), (Pair(20, 60),)
    for known, beginnings in (
        (Usable(pairs), [0, 20]),
        (Usable(pairs, of_other_topics=1), [20]),
        (Usable(pairs, before_a_fall=1), [20]),
    ):
        facts = PartitionFacts("t", 0, logs, known, Anchored.OFFSET_SYNCS)
        assert [pair.upstream for pair in beginnings_before(facts, Pair(20, 60))] == beginnings


def test_a_beginning_found_by_time_goes_before_the_syncs_and_never_behind_the_end():
    logs, known = Logs(5, 90, 5, 90), Usable((Pair(40, 40), Pair(80, 80)))
    facts = PartitionFacts("t", 0, logs, known, Anchored.OFFSET_SYNCS)
    for timed, found in (
        (Pair(7, 7), [7, 40, 80]),
        (Pair(50, 50), [50, 80]),
        (Pair(81, 70), [40, 80]),
        (Pair(70, 81), [40, 80]),
    ):
        pairs = beginnings_before(replace(facts, beginning=timed), Pair(80, 80))
        assert [pair.upstream for pair in pairs] == found
    seen = replace(facts, beginning=Pair(7, 7), verified=Verified(20, 3, "S", "T"))
    assert [pair.upstream for pair in beginnings_before(seen, Pair(80, 80))] == [40, 80]


def test_an_id_that_is_not_known_continues_nothing():
    seen = Verified(5, 5, "S", "T")
    assert still_verified(seen, source_id="S", target_id="T") is seen
    for ids in ({"source_id": None, "target_id": "T"}, {"source_id": "S", "target_id": "U"}):
        assert still_verified(seen, **ids) is None
    assert still_verified(Verified(5, 5, None, None), source_id=None, target_id=None) is None


def test_a_log_that_ends_before_what_was_compared_is_compared_anew():
    mirrored = healthy()
    seen = Verified(250, 400, mirrored.source_id, mirrored.target_id)  # the target has lost its tail since
    plan, left, _ = mirrored.plan(verified=seen)
    assert (plan.source, plan.target, left) == (OffsetRange(0, 250), OffsetRange(0, 250), ())


def test_a_mirror_on_its_way_back_is_cut_before_it_went_back():
    mirrored = healthy(101)
    mirrored.write(200)
    mirrored.copy(150)  # syncs at 101 and 202; the offsets that were written last are those of 101
    mirrored.crash()
    mirrored.copy(20)
    plan, left, _ = mirrored.plan()
    assert plan.source.until <= 203
    copies = mirrored.target.numbers(plan.target.first, plan.target.until)
    assert copies == list(range(plan.source.until))
    assert all(one.later for one in left)


def test_an_end_is_behind_all_that_the_mirror_can_have_copied_before_it_went_back():
    mirrored = healthy(50)
    mirrored.write(100)
    mirrored.copy(90)  # to 140, of which no sync tells
    mirrored.crash()  # back to 50
    mirrored.copy(30)
    mirrored.flush()  # a sync at 79: further than any before, and 80 to 139 are on the target already
    plan, _, _ = mirrored.plan()
    assert plan.source.until == 50
    mirrored.copy()
    mirrored.flush()
    plan, left, _ = mirrored.plan()
    assert (plan.source.until, plan.target.until, left) == (150, 240, ())


def test_under_exactly_once_what_was_copied_twice_is_not_seen():
    mirrored = healthy(50)
    mirrored.write(5)
    mirrored.mark(target=True)
    mirrored.mark(target=True)
    mirrored.copy()
    mirrored.flush()
    mirrored.write(1)  # the tail is not quiet
    once, _, _ = mirrored.plan(exactly_once=True)
    repeated, _, _ = mirrored.plan()
    assert (once.source.until, repeated.source.until) == (55, 50)


def test_a_beginning_is_none_behind_which_the_mirror_went_back():
    mirrored = Mirrored(lag_max=10)
    mirrored.write(60)
    mirrored.copy(20)
    mirrored.flush()
    mirrored.expire(source=5)
    mirrored.copy()
    mirrored.crash()  # back to 20
    mirrored.copy()
    mirrored.flush()
    plan, _, _ = mirrored.plan()
    assert plan.source.first == 11  # not one of the syncs from 22 on that were told before it went back
    facts = mirrored.facts()
    found = beginnings_before(facts, candidates(facts).ends[-1])
    assert [pair.upstream for pair in found] == [11, 19, 20, 31, 42, 53, 59]


def test_a_mirror_that_went_back_behind_the_end_takes_no_beginning_away():
    mirrored = healthy(50, lag_max=10)
    mirrored.expire(source=15, target=15)
    before, _, _ = mirrored.plan()
    mirrored.write(40)
    mirrored.position = 20  # another mirror, or its offsets were set back
    mirrored.crash()
    mirrored.committed = mirrored.position = 20
    mirrored.copy(1)
    plan, _, _ = mirrored.plan()
    assert (plan.source, plan.target) == (before.source, before.target)
    assert plan.source == OffsetRange(22, 50)


def test_anchors_take_the_place_of_times_where_the_target_stamps():
    mirrored = healthy(350)
    for log in (mirrored.target,):
        log.records = [replace(record, at_ms=1) for record in log.records]
    plan, _, _ = mirrored.plan(timestamps=False)
    assert plan.segments == ((0, 0), (101, 101), (202, 202), (303, 303), (349, 349))


def test_both_sides_are_cut_where_the_mirror_tells_pairs():
    # What differs is read again between two cuts: without any, that would be the whole partition.
    plan, _, _ = healthy(350).plan()
    assert plan.segments == ((0, 0), (101, 101), (202, 202), (303, 303), (349, 349))


def test_no_cut_parts_a_copy_from_its_original():
    mirrored = Mirrored(lag_max=10)
    mirrored.write(60)
    mirrored.copy(20)
    mirrored.flush()
    mirrored.copy(30)  # syncs at 31 and 42
    mirrored.crash()  # back to 20
    mirrored.copy()
    mirrored.flush()
    plan, _, _ = mirrored.plan()
    # From 20 to 49 the target holds everything twice; where it goes on alone is not known before 53.
    assert plan.segments == ((0, 0), (11, 11), (19, 19), (53, 83), (59, 89))


def test_a_mirror_that_alters_every_record_has_anchors_all_the_same():
    mirrored = Mirrored()
    mirrored.write(250, key=None)
    mirrored.copy(alter=lambda record: replace(record, value=b"other"))
    mirrored.flush()
    # Nothing but the time agrees: that is believed as every pair has another time, and none disagrees.
    plan, left, _ = mirrored.plan()
    assert (plan.source, plan.target, left) == (OffsetRange(0, 250), OffsetRange(0, 250), ())


def test_pairs_that_do_not_hold_are_told_with_offsets():
    mirrored = healthy()
    mirrored.pairs = [
        pair._replace(downstream=pair.downstream - 1) for pair in mirrored.pairs if pair.downstream
    ]
    mirrored.expire(source=1)
    plan, left, _ = mirrored.plan()
    assert plan is None
    (one,) = left
    assert one.records == 249
    assert "offset syncs checked, none valid: source offset 249 and target offset 248" in one.why
    assert not one.later


def test_no_pair_at_all():
    mirrored = healthy()
    mirrored.pairs = []
    plan, left, _ = mirrored.plan()
    assert plan is None
    assert whys(left) == [(250, False, "no offset sync of this partition")]


def test_pairs_of_another_topic_only():
    mirrored = healthy()
    mirrored.source_id = "S9"
    _, left, _ = mirrored.plan()
    assert "only 4 offset syncs of an earlier topic with this name" in left[0].why


# --- a mirror that keeps offsets


def equal(logs, verified=None, *, against=()):
    facts = PartitionFacts("t", 0, logs, Usable(equal_pairs(logs)), Anchored.EQUAL_OFFSETS, verified=verified)
    found = candidates(facts)
    mirrored = Mirrored()
    mirrored.write(max(logs.source_end, logs.target_end))
    mirrored.target.records = [
        replace(record, value=b"?", at_ms=3, key=None) if at in against else record
        for at, record in enumerate(mirrored.source.records)
    ]
    anchors = drive(
        search_anchors(found.ends, partial(beginnings_before, facts), (), timestamps=True), mirrored
    )
    tail = tail_offset(facts, found, anchors)
    behind = None if tail is None or tail >= logs.source_end else tail
    return partition_ranges(facts, found, anchors, behind=behind)


def test_equal_offsets_are_compared_where_both_logs_hold_them():
    plan, left = equal(Logs(10, 500, 30, 450))
    assert plan.source == plan.target == OffsetRange(30, 450)
    assert plan.runs == (Run(30, 450, 0),)
    assert plan.segments == ()
    assert plan.anchored is Anchored.EQUAL_OFFSETS
    assert whys(left) == [
        (20, False, "the target's log starts at offset 30"),
        (50, True, "not replicated when the plan was made: the target's log end offset was 450"),
    ]


def test_a_mirror_that_keeps_offsets_is_cut_anywhere_but_not_too_often():
    plan, _ = equal(Logs(0, 2_500, 0, 2_400))
    assert plan.segments == ((1000, 1000), (2000, 2000))
    found = equal_cuts(OffsetRange(0, 10**7), OffsetRange(5, 10**7))
    assert [pair.upstream for pair in found[:2]] == [20_005, 40_005]
    assert len(equal_cuts(OffsetRange(0, 10**9), OffsetRange(0, 10**9))) < MOST


def test_equal_offsets_go_on_where_the_last_run_ended_and_tell_what_the_target_has_beyond():
    plan, left = equal(Logs(10, 500, 30, 510), Verified(400, 400, "S", "T"))
    assert (plan.source, plan.target) == (OffsetRange(400, 500), OffsetRange(400, 510))
    assert (plan.runs, left) == ((Run(400, 500, 0),), ())


def test_a_source_that_ends_in_markers_has_no_order_beyond_the_target_s_end():
    facts = PartitionFacts(
        "t", 0, Logs(0, 45, 0, 40), Usable(equal_pairs(Logs(0, 45, 0, 40))), Anchored.EQUAL_OFFSETS
    )
    plan, left = partition_ranges(facts, candidates(facts), Anchors(end=Pair(39, 39)), behind=None)
    assert (plan.source, plan.target, left) == (OffsetRange(0, 45), OffsetRange(0, 40), ())
    assert plan.runs == (Run(0, 40, 0),)


def test_offsets_that_are_not_equal_are_found_out():
    plan, left = equal(Logs(0, 40, 0, 40), against=range(40))
    assert plan is None
    assert whys(left) == [(40, False, "source offset 39 and target offset 39 hold different records")]


def test_a_single_altered_record_at_the_end_is_compared_all_the_same():
    plan, _ = equal(Logs(0, 40, 0, 40), against=[39])
    assert plan.source == OffsetRange(0, 40)


def test_logs_without_an_offset_in_common():
    plan, left = equal(Logs(0, 10, 20, 30))
    assert plan is None
    assert left[0].why == "both logs have no offset in common"


@pytest.mark.parametrize("logs", [Logs(0, 0, 0, 0), Logs(5, 5, 9, 9)])
def test_empty_logs_leave_nothing_out(logs):
    facts = PartitionFacts("t", 0, logs, Usable(()), Anchored.OFFSET_SYNCS)
    assert partition_ranges(facts, candidates(facts), Anchors(), behind=facts.logs.source_end) == (None, ())


def test_a_pair_outside_both_logs_is_no_candidate():
    logs = Logs(10, 20, 5, 15)
    pairs = Usable((Pair(9, 5), Pair(10, 6), Pair(18, 14), Pair(19, 15), Pair(20, 16)))
    found = candidates(PartitionFacts("t", 0, logs, pairs, Anchored.OFFSET_SYNCS))
    assert [pair.upstream for pair in found.ends] == [10, 18]
