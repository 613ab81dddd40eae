"""A mirror before the end of a quiet log: whether there is anything left to copy is looked up, not guessed."""

from __future__ import annotations

import pytest

from fleet.vocabulary import Verdict
from lagmon.readable_gaps import Seen
from tests.lagmon.mirrors import Mirrored


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
