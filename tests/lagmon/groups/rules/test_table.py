"""Our rules over one window, each at its edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.table import judge
from lagmon.groups.rules.words import RANK, STATUS_OF, Reason, Status
from tests.lagmon.windows import MIN, NOW, S, position, window

# One every 5 s up to 5 s ago, with 5 to 9 records to read and rising; the head is 10 away.
STEADY = window(*[(100 + 10 * index, 50 - 5 * index, 5) for index in range(10)])
BEHIND = position(200, seen_ago=5, passed_ago=4)

NOTHING = window()
ONE = window((100, 30, 5))
SLOW = window((100, 3600, 5), (110, 1800, 5), (120, 0, 5))  # every half hour
BACK = window((100, 20, 5), (150, 10, 5), (40, 5, 90), (60, 0, 90))


def rising(*lags, over=90):
    """Return a group that moves by a record a commit, evenly over so many seconds, with these lags."""
    gap = over / (len(lags) - 1)
    return window(*[(100 + at, over - gap * at, lag) for at, lag in enumerate(lags)])


GROWING = rising(5, 5, 6, 6, 7, 8, 8, 9, 9, 10)


def standing(offset, first_ago, *, again=()):
    """Return a group that moved every 5 s up to then, and what it committed again since."""
    before = [(offset - 10 * back, first_ago + 5 * back, 5) for back in range(3, 0, -1)]
    return window(*before, (offset, first_ago, 5), *[(offset, ago, 5) for ago in again])


def hourly(last_ago):
    """Return a group that moved every hour up to then."""
    return window(*[(100 - 10 * back, last_ago + 3600 * back, 5) for back in range(9, -1, -1)])


CASES = {
    "nothing was committed": (NOTHING, BEHIND, Reason.NO_COMMIT),
    "no head": (STEADY, replace(BEHIND, head=-1), Reason.NO_HEAD),
    "no time of the head": (STEADY, replace(BEHIND, head_at_ms=-1), Reason.NO_HEAD),
    "a head of a minute": (STEADY, replace(BEHIND, head_at_ms=NOW - MIN), Reason.MOVING),
    "a head of more": (STEADY, replace(BEHIND, head_at_ms=NOW - MIN - 1), Reason.HEAD_STALE),
    "commits of a minute": (STEADY, replace(BEHIND, commits_read_to_ms=NOW - MIN), Reason.MOVING),
    "commits of more": (STEADY, replace(BEHIND, commits_read_to_ms=NOW - MIN - 1), Reason.COMMITS_STALE),
    "commits never read": (STEADY, replace(BEHIND, commits_read_to_ms=-1), Reason.COMMITS_STALE),
    "a topic made anew": (STEADY, replace(BEHIND, remade_ms=NOW), Reason.RECREATED),
    "a topic made anew that is empty": (
        STEADY,
        replace(BEHIND, remade_ms=NOW, head=0, end=0),
        Reason.RECREATED_EMPTY,
    ),
    "a topic made anew, and all of it deleted": (
        STEADY,
        replace(BEHIND, remade_ms=NOW, head=500, end=500, start=500),
        Reason.RECREATED_EMPTY,
    ),
    "a topic made anew, with a record": (
        STEADY,
        replace(BEHIND, remade_ms=NOW, head=1, end=1),
        Reason.RECREATED,
    ),
    "a negative offset": (window((5, 9, 0), (-3, 0, 0)), position(9), Reason.NEGATIVE_OFFSET),
    "a negative one before": (window((-3, 9, 0), (5, 0, 0)), position(9), Reason.NEGATIVE_OFFSET),
    "a negative one before, all read": (window((-3, 9, 0), (9, 0, 0)), position(9), Reason.CAUGHT_UP),
    "nothing read of a log": (window((0, 5, 9), (0, 0, 9)), position(9, passed_ago=1), Reason.MOVING),
    "an empty log": (window((0, 0, 0)), position(0), Reason.CAUGHT_UP),
    "beyond the end, read later": (STEADY, position(189, seen_ago=5, head_ago=5), Reason.BEYOND_END),
    "beyond the end, read before": (STEADY, position(189, seen_ago=5, head_ago=5.001), Reason.CAUGHT_UP),
    "beyond the stable offset, not the end": (STEADY, position(150, seen_ago=5, end=190), Reason.CAUGHT_UP),
    "beyond both": (STEADY, position(150, seen_ago=5, end=189), Reason.BEYOND_END),
    "only the head is known": (STEADY, position(189, seen_ago=5, end=-1), Reason.BEYOND_END),
    "stood beyond an end that was read before": (
        STEADY,
        position(189, seen_ago=0, head_ago=5, known_before=190),
        Reason.BEYOND_END,
    ),
    "moved on beyond an end that was read before": (
        STEADY,
        position(188, seen_ago=0, head_ago=5, known_before=189),
        Reason.BEYOND_END,
    ),
    "went back, and is beyond an end that was read before": (
        STEADY,
        position(188, seen_ago=0, head_ago=5, known_before=191),
        Reason.CAUGHT_UP,
    ),
    "was at an end that was read before": (
        STEADY,
        position(189, seen_ago=0, head_ago=5, known_before=189),
        Reason.CAUGHT_UP,
    ),
    "the log starts there": (STEADY, replace(BEHIND, start=190), Reason.MOVING),
    "the log starts behind it": (STEADY, replace(BEHIND, start=191), Reason.DELETED_UNREAD),
    "deleted, and nothing left: perhaps markers alone": (
        STEADY,
        replace(BEHIND, start=200),
        Reason.DELETED_OR_EMPTY,
    ),
    "deleted, and nothing left of more than markers": (
        STEADY,
        replace(BEHIND, start=1191, head=1191, end=1191),
        Reason.DELETED_UNREAD,
    ),
    "an hourly job between two runs": (
        window(*[(100 + step, 1800 - 5 * step, 0) for step in range(4)]),
        position(150, seen_ago=1785, passed_ago=1700, members=0, usual_pause_ms=60 * MIN),
        Reason.PAUSING,
    ),
    "an hourly job between two runs, without known members": (
        window(*[(100 + step, 1800 - 5 * step, 0) for step in range(4)]),
        position(150, seen_ago=1785, passed_ago=1700, members=-1, usual_pause_ms=60 * MIN),
        Reason.PAUSING,
    ),
    "an hourly job that did not run": (
        window(*[(100 + step, 4600 - 5 * step, 0) for step in range(4)]),
        position(150, seen_ago=4585, passed_ago=4501, members=0, usual_pause_ms=60 * MIN),
        Reason.STOPPED_EMPTY,
    ),
    "members that paused before": (
        window(*[(100 + step, 1800 - 5 * step, 0) for step in range(4)]),
        position(150, seen_ago=1785, passed_ago=1700, members=2, usual_pause_ms=60 * MIN),
        Reason.STOPPED,
    ),
    "all read": (STEADY, position(190, seen_ago=5), Reason.CAUGHT_UP),
    "all read up to the last stable offset": (
        STEADY,
        position(190, seen_ago=5, end=200),
        Reason.CAUGHT_UP,
    ),
    "past the stable offset, before the end": (
        STEADY,
        position(150, seen_ago=5, end=191),
        Reason.CAUGHT_UP,
    ),
    "nothing to read up to the last stable offset": (
        standing(100, 900),
        position(102, seen_ago=900, readable_from=102, end=200),
        Reason.NOTHING_READABLE,
    ),
    "all read, long ago": (STEADY, position(190, seen_ago=86400), Reason.CAUGHT_UP),
    "all read, back again": (BACK, position(60), Reason.CAUGHT_UP),
    "held by a transaction that hangs": (
        STEADY,
        position(190, seen_ago=5, end=200, hangs_ms=NOW - 20 * MIN),
        Reason.HELD,
    ),
    "held, and only markers before it": (
        standing(100, 900),
        position(102, seen_ago=900, readable_from=102, end=200, hangs_ms=NOW - 20 * MIN),
        Reason.HELD,
    ),
    "held further on, and behind": (
        STEADY,
        replace(BEHIND, end=300, hangs_ms=NOW - 20 * MIN),
        Reason.MOVING,
    ),
    "held, and what it waits for is deleted": (
        STEADY,
        position(190, seen_ago=5, start=195, end=200, hangs_ms=NOW - 20 * MIN),
        Reason.DELETED_UNREAD,
    ),
    "nothing to read up to the end": (
        standing(100, 900),
        position(102, seen_ago=900, passed_ago=900, readable_from=102),
        Reason.NOTHING_READABLE,
    ),
    "nothing to read up to what the end was": (
        standing(100, 900),
        position(103, seen_ago=900, passed_ago=20, readable_from=102),
        Reason.PAUSING,
    ),
    "nothing to read before the offset": (
        standing(100, 900),
        position(102, seen_ago=900, passed_ago=900, readable_from=99),
        Reason.STOPPED,
    ),
    "deleted, and it held nothing to read": (
        standing(100, 900),
        position(102, seen_ago=900, passed_ago=900, start=102, readable_from=102),
        Reason.CAUGHT_UP,
    ),
    "deleted, and of it only some held nothing to read": (
        standing(100, 900),
        position(200, seen_ago=900, passed_ago=900, start=110, readable_from=102),
        Reason.DELETED_UNREAD,
    ),
    "ten minutes ahead": (window((1, -590, 5), (2, -600, 5)), position(9, passed_ago=1), Reason.MOVING),
    "further ahead": (window((1, -590, 5), (2, -600.001, 5)), position(9, passed_ago=1), Reason.TIME_ABSURD),
    "one time of zero": (window((1, NOW / S, 5), (2, 0, 5)), position(9, passed_ago=1), Reason.TIME_ABSURD),
    "our own time missing": (STEADY, replace(BEHIND, seen_ms=-1), Reason.TIME_ABSURD),
    "our own time zero": (STEADY, replace(BEHIND, seen_ms=0), Reason.TIME_ABSURD),
    "our own time ahead, just believable": (STEADY, replace(BEHIND, seen_ms=NOW + 10 * MIN), Reason.MOVING),
    "our own time ahead": (STEADY, replace(BEHIND, seen_ms=NOW + 10 * MIN + 1), Reason.TIME_ABSURD),
    "passed ahead of time, just believable": (
        STEADY,
        replace(BEHIND, passed_ms=NOW + 10 * MIN),
        Reason.MOVING,
    ),
    "passed ahead of time": (STEADY, replace(BEHIND, passed_ms=NOW + 10 * MIN + 1), Reason.TIME_ABSURD),
    "stands a minute": (standing(100, 60), position(110, seen_ago=60, passed_ago=70), Reason.PAUSING),
    "stands longer": (standing(100, 60.001), position(110, seen_ago=60.001, passed_ago=70), Reason.STOPPED),
    "nothing to read until then": (
        standing(100, 900),
        position(110, seen_ago=900, passed_ago=60),
        Reason.PAUSING,
    ),
    "something to read for longer": (
        standing(100, 900),
        position(110, seen_ago=900, passed_ago=60.001),
        Reason.STOPPED,
    ),
    "no member": (
        standing(100, 90),
        position(110, seen_ago=90, passed_ago=90, members=0),
        Reason.STOPPED_EMPTY,
    ),
    "its reader moves elsewhere": (
        standing(100, 90),
        position(110, seen_ago=90, passed_ago=90, members=1, others_moved_ms=NOW - MIN),
        Reason.RESTING,
    ),
    "its reader, that is no member, moves elsewhere": (
        standing(100, 90),
        position(110, seen_ago=90, passed_ago=90, members=0, others_moved_ms=NOW - MIN),
        Reason.RESTING,
    ),
    "its reader moved elsewhere, too long ago": (
        standing(100, 90),
        position(110, seen_ago=90, passed_ago=90, others_moved_ms=NOW - MIN - 1),
        Reason.STOPPED,
    ),
    "its reader moves elsewhere, and it commits again": (
        standing(100, 90, again=(60, 30)),
        position(110, seen_ago=30, passed_ago=90, others_moved_ms=NOW),
        Reason.RESTING,
    ),
    "its reader moves elsewhere for five minutes": (
        standing(100, 300),
        position(110, seen_ago=300, passed_ago=300, others_moved_ms=NOW),
        Reason.RESTING,
    ),
    "its reader moves elsewhere for longer": (
        standing(100, 300.001),
        position(110, seen_ago=300.001, passed_ago=300.001, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "it commits again for longer, and its reader moves elsewhere": (
        standing(100, 320, again=(60, 30)),
        position(110, seen_ago=30, passed_ago=320, others_moved_ms=NOW - S),
        Reason.STALLED,
    ),
    "it rested for so long before": (
        window((60, 1020, 5), (70, 1010, 5), (80, 1005, 5), (90, 1000, 5), (90, 800, 5), (100, 600, 5)),
        position(110, seen_ago=600, passed_ago=600, others_moved_ms=NOW),
        Reason.RESTING,
    ),
    "it rests for more than twice as long as before": (
        window((60, 1221, 5), (70, 1211, 5), (80, 1206, 5), (90, 1201, 5), (90, 1001, 5), (100, 801, 5)),
        position(110, seen_ago=801, passed_ago=801, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "it rested for longer than anybody waits for a turn": (
        window((60, 9120, 5), (70, 9110, 5), (80, 9105, 5), (90, 9100, 5), (100, 1800, 5)),
        position(110, seen_ago=1800, passed_ago=1800, others_moved_ms=NOW),
        Reason.RESTING,
    ),
    "it rests for more than twice as long as anybody waits for a turn": (
        window((60, 9121, 5), (70, 9111, 5), (80, 9106, 5), (90, 9101, 5), (100, 1801, 5)),
        position(110, seen_ago=1801, passed_ago=1801, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "it had nothing to read for so long before": (
        window((60, 1020, 5), (70, 1010, 5), (80, 1005, 5), (90, 1000, 0), (90, 800, 0), (100, 600, 5)),
        position(110, seen_ago=600, passed_ago=600, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "it is not known to have had anything to read for so long before": (
        window((60, 1020, 5), (70, 1010, 5), (80, 1005, 5), (90, 1000, -1), (90, 800, -1), (100, 600, 5)),
        position(110, seen_ago=600, passed_ago=600, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "it rested for so long once there was something to read": (
        window((60, 1920, 5), (70, 1910, 5), (80, 1905, 5), (90, 1900, 0), (90, 1000, 5), (100, 600, 5)),
        position(110, seen_ago=600, passed_ago=600, others_moved_ms=NOW),
        Reason.RESTING,
    ),
    "it rests for more than twice as long as since there was something to read": (
        window((60, 1920, 5), (70, 1910, 5), (80, 1905, 5), (90, 1900, 0), (90, 1000, 5), (100, 801, 5)),
        position(110, seen_ago=801, passed_ago=801, others_moved_ms=NOW),
        Reason.STOPPED,
    ),
    "a slow pace, and somebody there": (
        window((100, 5400, 5), (110, 3600, 5), (120, 90, 5)),
        position(130, seen_ago=90, passed_ago=90, members=1),
        Reason.MOVING,
    ),
    "a job that leaves until it is due again": (
        window((100, 8000, 5), (110, 4400, 5), (120, 800, 5)),
        position(130, seen_ago=800, passed_ago=800, members=0),
        Reason.MOVING,
    ),
    "a job that is due": (
        window((100, 11_700, 0), (110, 8100, 0), (120, 4500, 0)),
        position(130, seen_ago=4500, passed_ago=4500, members=0),
        Reason.PAUSING,
    ),
    "a job that is late": (
        window((100, 11_700.001, 0), (110, 8100.001, 0), (120, 4500.001, 0)),
        position(130, seen_ago=4500.001, passed_ago=4500.001, members=0),
        Reason.STOPPED_EMPTY,
    ),
    "members": (standing(100, 90), position(110, seen_ago=90, passed_ago=90, members=2), Reason.STOPPED),
    "commits again": (
        standing(100, 90, again=(60, 30)),
        position(110, seen_ago=30, passed_ago=90),
        Reason.STALLED,
    ),
    "commits again, without members, as a single consumer does": (
        standing(100, 90, again=(60, 30)),
        position(110, seen_ago=30, passed_ago=90, members=0),
        Reason.STALLED,
    ),
    "one commit since it stands": (
        standing(100, 90, again=(30,)),
        position(110, seen_ago=30, passed_ago=90),
        Reason.STOPPED,
    ),
    "commits again, of which one since there was something to read": (
        standing(100, 200, again=(100, 30)),
        position(110, seen_ago=30, passed_ago=90),
        Reason.STOPPED,
    ),
    "committed the same just young enough": (
        standing(100, 300, again=(200, 60)),
        position(110, seen_ago=60, passed_ago=300),
        Reason.STALLED,
    ),
    "stopped committing the same": (
        standing(100, 300, again=(200, 61)),
        position(110, seen_ago=61, passed_ago=300),
        Reason.STOPPED,
    ),
    "three of its gaps": (SLOW, position(130, seen_ago=5400, passed_ago=5400), Reason.PAUSING),
    "more than three of its gaps": (SLOW, position(130, seen_ago=5401, passed_ago=5401), Reason.STOPPED),
    "of two gaps in the middle the longer counts": (
        window((100, 3605, 5), (110, 5, 5), (120, 0, 5)),
        position(130, seen_ago=10_000, passed_ago=10_000),
        Reason.PAUSING,
    ),
    "what was left out of plateaus is no gap": (
        window((1, 400, 5), (1, 315, 5), (2, 300, 5), (2, 215, 5), (3, 200, 5), (3, 110, 5), (4, 90, 5)),
        position(130, seen_ago=61, passed_ago=61),
        Reason.STOPPED,
    ),
    "the last gap of a plateau is one": (
        window((1, 90_000, 5), (1, 3660, 5), (1, 60, 5)),
        position(130, seen_ago=60, passed_ago=3601),
        Reason.PAUSING,
    ),
    "a time that runs backwards is a gap of nothing": (
        window((100, 0, 5), (110, 3600, 5)),
        position(130, seen_ago=61, passed_ago=61),
        Reason.STOPPED,
    ),
    "first committed longer ago than the window tells": (
        standing(100, 50),
        position(110, seen_ago=50, passed_ago=70, moved_ms=NOW - MIN - 1),
        Reason.STOPPED,
    ),
    "had not stopped when the cluster went away, which is back for a minute": (
        standing(100, 240),
        position(110, seen_ago=240, passed_ago=240, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN),
        Reason.CLUSTER_BACK,
    ),
    "and has not moved since it was back": (
        standing(100, 240),
        position(110, seen_ago=240, passed_ago=240, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN - 1),
        Reason.STOPPED,
    ),
    "had stopped when the cluster went away": (
        standing(100, 240.001),
        position(110, seen_ago=240.001, passed_ago=240.001, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN),
        Reason.STOPPED,
    ),
    "paces for longer, and its cluster was away for a moment": (
        hourly(10_890),
        position(200, seen_ago=10_890, passed_ago=10_890, left_ms=NOW - 630 * S, back_ms=NOW - 600 * S),
        Reason.CLUSTER_BACK,
    ),
    "paces for longer, and has stood for that and the moment and a minute": (
        hourly(10_890.001),
        position(
            200, seen_ago=10_890.001, passed_ago=10_890.001, left_ms=NOW - 630 * S, back_ms=NOW - 600 * S
        ),
        Reason.STOPPED,
    ),
    "had something to read only since the cluster was away": (
        standing(100, 3600),
        position(110, seen_ago=3600, passed_ago=90, left_ms=NOW - 2 * MIN, back_ms=NOW - MIN),
        Reason.CLUSTER_BACK,
    ),
    "one commit before the cluster went away": (
        window((100, 240, 5)),
        position(110, seen_ago=240, passed_ago=240, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN),
        Reason.CLUSTER_BACK,
    ),
    "gone back before the cluster went away": (
        BACK,
        position(200, seen_ago=240, passed_ago=240, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN),
        Reason.REWOUND,
    ),
    "stands since the cluster is back": (
        standing(100, 30),
        position(110, seen_ago=30, passed_ago=30, left_ms=NOW - 3 * MIN, back_ms=NOW - MIN),
        Reason.PAUSING,
    ),
    "committed the same until the cluster went away": (
        standing(100, 900, again=(300, 240)),
        position(110, seen_ago=240, passed_ago=900, left_ms=NOW - 4 * MIN, back_ms=NOW - MIN),
        Reason.STALLED,
    ),
    "committed the same until the cluster went away, and not since it is back": (
        standing(100, 900, again=(300, 240)),
        position(110, seen_ago=240, passed_ago=900, left_ms=NOW - 4 * MIN, back_ms=NOW - MIN - 1),
        Reason.STOPPED,
    ),
    "gone back": (BACK, position(200, passed_ago=0), Reason.REWOUND),
    "gone back, and stands": (BACK, position(200, seen_ago=61, passed_ago=61), Reason.STOPPED),
    "gone back twice from the same offset": (
        window((150, 40, 9), (40, 30, 9), (150, 20, 9), (60, 10, 9), (70, 5, 9)),
        position(200, seen_ago=5, passed_ago=0),
        Reason.REWOUND,
    ),
    "gone back, there again": (
        window((150, 20, 5), (40, 10, 9), (150, 0, 9)),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "gone back twice, the second time unrecovered": (
        window((100, 30, 9), (90, 20, 9), (120, 10, 9), (80, 0, 9)),
        position(200, passed_ago=0),
        Reason.REWOUND,
    ),
    "gone back long ago": (
        window((100, 30, 9), (110, 20, 9), went_back=(150, 40, NOW - 60 * MIN)),
        position(200, passed_ago=0),
        Reason.REWOUND,
    ),
    "gone back long ago, there again": (
        window((100, 30, 9), (110, 20, 9), went_back=(110, 40, NOW - 60 * MIN)),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "gone back long ago from an offset that the log has not": (
        window((100, 30, 9), (110, 20, 9), went_back=(201, 40, NOW - 60 * MIN)),
        position(150, end=200, passed_ago=0),
        Reason.MOVING,
    ),
    "one commit": (ONE, position(110, seen_ago=60, passed_ago=60), Reason.ONE_COMMIT),
    "one commit, too long": (ONE, position(110, seen_ago=60.001, passed_ago=60.001), Reason.STOPPED),
    "committed long ago, unknown how long there was something to read": (
        standing(100, 900),
        position(110, seen_ago=900, passed_ago=30, passed_exact=False),
        Reason.HISTORY_SHORT,
    ),
    "committed just now, unknown how long there was something to read": (
        standing(100, 30),
        position(110, seen_ago=30, passed_ago=30, passed_exact=False),
        Reason.PAUSING,
    ),
    "committed a minute ago, unknown how long there was something to read": (
        standing(100, 60),
        position(110, seen_ago=60, passed_ago=30, passed_exact=False),
        Reason.PAUSING,
    ),
    "something to read at least that long": (
        standing(100, 900),
        position(110, seen_ago=900, passed_ago=61, passed_exact=False),
        Reason.STOPPED,
    ),
    "passed at the beginning of time": (
        standing(100, 900),
        position(110, seen_ago=900, passed_ms=0, passed_exact=True),
        Reason.STOPPED,
    ),
    "no time of passing: the head's own counts": (
        standing(100, 900),
        position(110, seen_ago=900, head_ago=40),
        Reason.HISTORY_SHORT,
    ),
    "no time of passing, said to be exact": (
        standing(100, 900),
        position(110, seen_ago=900, head_ago=40, passed_exact=True),
        Reason.HISTORY_SHORT,
    ),
    "falls behind": (GROWING, position(200, passed_ago=0), Reason.GROWING),
    "falls behind for just a minute": (
        rising(5, 5, 6, 6, 7, 8, 8, 9, 9, 10, over=60),
        position(200, passed_ago=0),
        Reason.GROWING,
    ),
    "falls behind for less than a minute": (
        rising(5, 5, 6, 6, 7, 8, 8, 9, 9, 10, over=59.994),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "rose too rarely": (rising(5, 5, 5, 5, 6, 7, 8, 9, 9, 9), position(200, passed_ago=0), Reason.MOVING),
    "rose once, by much": (
        rising(5, 5, 5, 5, 5, 5, 5, 5, 5, 80),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "lag rose by less than is written in ten seconds": (
        window(*[(100 + 10 * at, 90 - 10 * at, 5 + at) for at in range(10)]),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "lag rose by more than is written in ten seconds": (
        window(*[(100 + 7 * at, 90 - 10 * at, 5 + at) for at in range(10)]),
        position(200, passed_ago=0),
        Reason.GROWING,
    ),
    "lag fell once": (rising(5, 6, 7, 8, 9, 8, 9, 10, 11, 12), position(200, passed_ago=0), Reason.MOVING),
    "nine known lags": (rising(-1, 2, 3, 4, 5, 6, 7, 8, 9, 10), position(200, passed_ago=0), Reason.GROWING),
    "eight known lags": (rising(-1, 2, 3, 4, 5, 6, 7, 8, 9, -1), position(200, passed_ago=0), Reason.MOVING),
    "lag was nothing before all others": (
        rising(0, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        position(200, passed_ago=0),
        Reason.MOVING,
    ),
    "lag grows, and nothing is read": (
        window(*[(100, 90 - 10 * at, 5 + at) for at in range(10)]),
        position(200, seen_ago=0, passed_ago=50),
        Reason.PAUSING,
    ),
    "commits as it should": (STEADY, BEHIND, Reason.MOVING),
    "a commit is due": (STEADY, position(200, seen_ago=5.001, passed_ago=6), Reason.PAUSING),
}


@pytest.mark.parametrize("case", CASES)
def test_rules_at_their_edges(case):
    shape, where, reason = CASES[case]
    assert judge(shape, where, now_ms=NOW, policy=Policy()).reason is reason


def test_the_cases_reach_every_reason_of_ours():
    ours = {reason for reason in Reason if not reason.name.startswith("BURROW_")}
    # see test_carried.py, test_unlisted_partitions.py, test_unreadable_commits.py, test_mirror_tails.py
    after = {Reason.CARRIED, Reason.NO_PARTITION, Reason.UNREADABLE_COMMIT, Reason.UNREAD}
    assert {reason for _, _, reason in CASES.values()} == ours - after


@pytest.mark.parametrize(
    ("allowed", "reason"), [(4, Reason.MOVING), (5, Reason.CAUGHT_UP), (9, Reason.CAUGHT_UP)]
)
def test_a_lag_that_is_allowed_is_well(allowed, reason):
    where = position(195, seen_ago=5, passed_ago=5)
    assert judge(STEADY, where, now_ms=NOW, policy=Policy(allowed_lag=allowed)).reason is reason


@pytest.mark.parametrize(
    ("ago", "reason"), [(0, Reason.MOVING), (60, Reason.PAUSING), (60.001, Reason.STOPPED)]
)
def test_one_commit_is_enough_where_the_pace_is_known_without_it(ago, reason):
    where = position(110, seen_ago=ago, passed_ago=ago)
    assert judge(ONE, where, now_ms=NOW, policy=Policy(paced=True)).reason is reason


def test_one_commit_of_long_ago_is_not_enough_where_it_is_not_known_since_when_there_is_more():
    where = position(110, seen_ago=900, passed_ago=30, passed_exact=False)
    assert judge(ONE, where, now_ms=NOW, policy=Policy(paced=True)).reason is Reason.HISTORY_SHORT


def test_a_lag_that_was_allowed_is_no_falling_behind():
    where = position(200, passed_ago=0)
    assert judge(GROWING, where, now_ms=NOW, policy=Policy(allowed_lag=4)).reason is Reason.GROWING
    assert judge(GROWING, where, now_ms=NOW, policy=Policy(allowed_lag=5)).reason is Reason.MOVING


@pytest.mark.parametrize(("allowed", "reason"), [(4, Reason.RESTING), (5, Reason.STOPPED)])
def test_with_no_more_to_read_than_is_allowed_nobody_rests(allowed, reason):
    shape, where, _ = CASES["it rested for so long before"]
    assert judge(shape, where, now_ms=NOW, policy=Policy(allowed_lag=allowed)).reason is reason


@pytest.mark.parametrize(("allowed", "reason"), [(1, Reason.NOTHING_READABLE), (3, Reason.CAUGHT_UP)])
def test_what_is_allowed_counts_from_where_there_is_something_to_read(allowed, reason):
    where = position(103, seen_ago=900, passed_ago=900, readable_from=102)
    verdict = judge(standing(100, 900), where, now_ms=NOW, policy=Policy(allowed_lag=allowed))
    assert (verdict.reason, verdict.facts.lag) == (reason, 1)


def test_what_is_known_to_be_bad_is_worse_than_what_is_unknown_and_that_worse_than_well():
    bad = {Status.ERR, Status.STOP, Status.STALL, Status.REWIND}
    assert min(RANK[one] for one in bad) > RANK[Status.WARN] > RANK[Status.UNKNOWN] > RANK[Status.OK]
    assert len({STATUS_OF[reason] for reason in Reason}) == len(Status)
