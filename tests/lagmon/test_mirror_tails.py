"""A mirror before the end of a quiet log: whether there is anything left to copy is looked up, not guessed."""

from __future__ import annotations

import pytest

from fleet.vocabulary import Cause, Verdict
from lagmon.readable import MOST_OFFSETS
from lagmon.readable_gaps import Seen
from tests.lagmon.mirrors import Mirrored, told


def quiet(**flow):
    """Return a flow of a single partition that was mirrored, and where one offset more has come since."""
    one = Mirrored({"orders": 1}, **flow)

    def moves():
        one.write(10)
        one.commit()

    one.look()
    one.go(60, each=moves)
    one.write(1, copied=False)
    return one


def looked(one, *, record, committed=False):
    """Answer what is asked about ends of logs; return how many times anything was."""
    due = one.a.tails_due(one.now, committed=committed)
    readable = one.a.readable if committed else one.a.readable_uncommitted
    for asked in due:
        readable.note_asked([asked.place], one.now)
        readable.note([Seen(asked.place, asked.first, asked.first if record else asked.end, record)])
    return len(due)


def test_by_offsets_alone_a_marker_behind_the_only_partition_is_a_stall():
    assert quiet().go(300).verdict().verdict is Verdict.STALLED


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_where_the_log_holds_nothing_more_the_mirror_has_all_there_is(isolation):
    one, asked = quiet(isolation_level=isolation), 0
    for _ in range(30):
        one.go(10)
        asked += looked(one, record=False, committed=isolation == "read_committed")
        assert one.verdict().verdict is Verdict.HEALTHY
    assert asked == 1
    (tail,) = one.sight().sight.tail[:1].tolist()
    assert (tail, one.verdict().lag) == (1, 0)


def test_where_the_log_holds_a_record_the_mirror_has_stalled_and_is_looked_at_once():
    one, asked = quiet(), 0
    for _ in range(30):
        one.go(10)
        asked += looked(one, record=True)
    assert (one.verdict().verdict, asked) == (Verdict.STALLED, 1)


def test_what_is_copied_behind_it_goes_on_as_before():
    one = quiet()
    one.go(30)
    assert looked(one, record=False) == 1
    one.go(30)
    one.write(5)
    one.commit()
    one.go(20)
    assert (one.verdict().verdict, one.verdict().lag) == (Verdict.HEALTHY, 0)
    assert one.sight().sight.tail[0] == 0


@pytest.mark.parametrize("lag_from", ["group", "equal-offsets"])
def test_a_mirror_whose_progress_stops_at_no_tail_is_not_asked_about(lag_from):
    one = quiet(lag_from=lag_from, group=".*")
    one.go(60)
    assert looked(one, record=False) == looked(one, record=False, committed=True) == 0


def aborted(count, *, then=0):
    """Return a flow of committed records alone that stands before so many aborted ones, and look at these."""
    one = quiet(isolation_level="read_committed")
    stood = one.ends["orders", 0] - 1
    one.write(count - 1, copied=False)
    one.write(then, copied=False)
    asked = 0
    for _ in range(20):
        one.go(10)
        assert then or one.verdict().verdict is Verdict.HEALTHY
        for each in one.a.tails_due(one.now, committed=True):
            asked += 1
            one.a.readable.note_asked([each.place], one.now)
            one.a.readable.note([Seen(each.place, each.first, max(each.first, stood + count), then > 0)])
    return one, stood, asked


def test_a_mirror_that_leaves_aborted_records_out_is_as_far_as_these_reach_however_many():
    one, stood, asked = aborted(50 * MOST_OFFSETS)
    assert (told(one), one.verdict().lag, asked) == ((Verdict.HEALTHY, None), 0, 1)
    one.starts["orders", 0] = stood + 50 * MOST_OFFSETS
    one.go(200)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.sight().findings == ()


@pytest.mark.parametrize("lost", [0, 7])
def test_aborted_records_that_are_deleted_before_a_mirror_that_leaves_them_out_are_no_loss(lost):
    count = 5 * MOST_OFFSETS
    one, stood, asked = aborted(count, then=20)
    assert (told(one), asked) == ((Verdict.STALLED, Cause.MIRROR_DOWN), 1)
    assert one.verdict().lag == 20  # records that it may read
    one.starts["orders", 0] = stood + count + lost
    one.go(30)
    found = one.sight().findings
    assert [(each.records, each.records_most, each.first_offset) for each in found if each.proved] == (
        [(lost, None, stood + count)] if lost else []
    )
    assert told(one)[1] is (Cause.OVERTAKEN if lost else Cause.MIRROR_DOWN)
    assert one.flow_rows()[0]["headroom_records"] == -lost
    # It goes on behind what was deleted.
    one.target_ends["A.orders", 0] += 20 - lost
    one.commit()
    one.go(300, each=lambda: (one.write(10), one.commit()))
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.flow.overtaken_total["orders"] == lost


def test_a_loss_behind_aborted_records_says_where_the_next_record_was():
    one, stood, _ = aborted(5 * MOST_OFFSETS, then=20)
    first = stood + 5 * MOST_OFFSETS
    one.starts["orders", 0] = first + 7
    one.go(30)
    (found,) = one.sight().findings
    assert (
        f"the mirror had written {stood} as its next offset (the next record is at {first}), and none of what"
        " is behind that had come to B"
    ) in found.sentence
    assert "By the" not in one.verdict().sentence


def test_a_mirror_that_copies_what_is_aborted_is_not_looked_at_far_before_the_end():
    one = quiet()
    one.write(2 * MOST_OFFSETS, copied=False)
    one.go(100)
    assert looked(one, record=False) == looked(one, record=False, committed=True) == 0


def test_a_tail_grows_by_what_the_log_was_seen_to_hold_no_record_of_and_by_nothing_else():
    one = quiet(isolation_level="read_committed")
    one.go(30)
    assert looked(one, record=False, committed=True) == 1
    one.go(30)
    assert one.flow_rows()[0]["sentence"].endswith(
        "The record before that is passed when more is written: a marker of a transaction, one that a filter"
        " leaves out, or one that was not copied."
    )
    one.write(2 * MOST_OFFSETS, copied=False)
    one.go(10)
    assert one.sight().sight.tail[0] == 1
    one.go(30)
    assert looked(one, record=False, committed=True) == 1
    row = one.go(10).flow_rows()[0]
    assert (row["tail_records"], row["reason"], row["status"]) == (1 + 2 * MOST_OFFSETS, "caught_up", "OK")
    one.write(1, copied=False)
    row = one.go(10).flow_rows()[0]
    assert (row["tail_records"], row["next_offset"], row["end_offset"]) == (
        1 + 2 * MOST_OFFSETS,
        60 * 10,
        60 * 10 + 2 + 2 * MOST_OFFSETS,
    )
