"""Statuses with Burrow's numbers, and the reasons that lead to each. Pure.

A reason determines its status: `STATUS_OF[reason]`. Numbers of statuses are values of metrics; numbers of
reasons never leave the process.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Status(IntEnum):
    """The status of a partition or group: Burrow's names and numbers, and UNKNOWN, which only ours has."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6
    UNKNOWN = 7


# From best to worst. A known problem ranks above missing data, and missing data above OK, so that one
# partition without data neither hides a stopped one nor counts as OK.
WORSE = (
    Status.NOTFOUND,
    Status.OK,
    Status.UNKNOWN,
    Status.WARN,
    Status.REWIND,
    Status.STALL,
    Status.STOP,
    Status.ERR,
)
RANK = {status: rank for rank, status in enumerate(WORSE)}


class Reason(IntEnum):
    """The reason of a verdict: ours in the order in which they are tried, then Burrow's."""

    NO_COMMIT = 0
    NO_HEAD = 1
    HEAD_STALE = 2
    COMMITS_STALE = 3
    RECREATED = 4
    NEGATIVE_OFFSET = 5
    BEYOND_END = 6
    DELETED_UNREAD = 7
    CAUGHT_UP = 8
    NOTHING_READABLE = 9
    TIME_ABSURD = 10
    STALLED = 11
    STOPPED_EMPTY = 12
    STOPPED = 13
    REWOUND = 14
    ONE_COMMIT = 15
    HISTORY_SHORT = 16
    GROWING = 17
    PAUSING = 18
    MOVING = 19
    CARRIED = 20  # instead of any of these with a known offset: `groups/carried.py`
    RECREATED_EMPTY = 21  # instead of RECREATED
    RESTING = 22  # instead of PAUSING
    CLUSTER_BACK = 23  # instead of STOPPED
    NO_PARTITION = 24  # instead of NO_HEAD: `cluster/unlisted_partitions.py`
    HELD = 25  # instead of CAUGHT_UP
    UNREAD = 26  # instead of STOPPED, STALLED and HISTORY_SHORT of mirrors: `mirrors/view.py`
    DELETED_OR_EMPTY = 27  # instead of DELETED_UNREAD
    UNREADABLE_COMMIT = 28  # instead of any of these: `cluster/unreadable_commits.py`

    BURROW_NO_RING = 32
    BURROW_NO_COMMIT = 33
    BURROW_INCOMPLETE = 34
    BURROW_LAG_ALLOWED = 35
    BURROW_STOPPED = 36
    BURROW_REWOUND = 37
    BURROW_LAG_WAS_ALLOWED = 38
    BURROW_STALLED = 39
    BURROW_NOT_DECREASING = 40
    BURROW_DECREASING = 41
    BURROW_GROUP_NOT_FOUND = 48
    BURROW_GROUP_EXPIRED = 49
    BURROW_GROUP_NO_PARTITION = 50
    BURROW_GROUP_ERR = 51
    BURROW_GROUP_WARN = 52
    BURROW_GROUP_OK = 53


STATUS_OF = {
    Reason.NO_COMMIT: Status.UNKNOWN,
    Reason.NO_HEAD: Status.UNKNOWN,
    Reason.HEAD_STALE: Status.UNKNOWN,
    Reason.COMMITS_STALE: Status.UNKNOWN,
    Reason.RECREATED: Status.UNKNOWN,
    Reason.NEGATIVE_OFFSET: Status.UNKNOWN,
    Reason.BEYOND_END: Status.UNKNOWN,
    Reason.DELETED_UNREAD: Status.ERR,
    Reason.CAUGHT_UP: Status.OK,
    Reason.NOTHING_READABLE: Status.OK,
    Reason.TIME_ABSURD: Status.UNKNOWN,
    Reason.STALLED: Status.STALL,
    Reason.STOPPED_EMPTY: Status.STOP,
    Reason.STOPPED: Status.STOP,
    Reason.REWOUND: Status.REWIND,
    Reason.ONE_COMMIT: Status.UNKNOWN,
    Reason.HISTORY_SHORT: Status.UNKNOWN,
    Reason.GROWING: Status.WARN,
    Reason.PAUSING: Status.OK,
    Reason.MOVING: Status.OK,
    Reason.CARRIED: Status.OK,
    Reason.RECREATED_EMPTY: Status.OK,
    Reason.RESTING: Status.OK,
    Reason.CLUSTER_BACK: Status.OK,
    Reason.NO_PARTITION: Status.UNKNOWN,
    Reason.HELD: Status.STALL,
    Reason.UNREAD: Status.UNKNOWN,
    Reason.DELETED_OR_EMPTY: Status.UNKNOWN,
    Reason.UNREADABLE_COMMIT: Status.UNKNOWN,
    Reason.BURROW_NO_RING: Status.OK,
    Reason.BURROW_NO_COMMIT: Status.OK,
    Reason.BURROW_INCOMPLETE: Status.OK,
    Reason.BURROW_LAG_ALLOWED: Status.OK,
    Reason.BURROW_STOPPED: Status.STOP,
    Reason.BURROW_REWOUND: Status.REWIND,
    Reason.BURROW_LAG_WAS_ALLOWED: Status.OK,
    Reason.BURROW_STALLED: Status.STALL,
    Reason.BURROW_NOT_DECREASING: Status.WARN,
    Reason.BURROW_DECREASING: Status.OK,
    Reason.BURROW_GROUP_NOT_FOUND: Status.NOTFOUND,
    Reason.BURROW_GROUP_EXPIRED: Status.NOTFOUND,
    Reason.BURROW_GROUP_NO_PARTITION: Status.OK,
    Reason.BURROW_GROUP_ERR: Status.ERR,
    Reason.BURROW_GROUP_WARN: Status.WARN,
    Reason.BURROW_GROUP_OK: Status.OK,
}


class How(StrEnum):
    """The origin of headroom in seconds."""

    OVERTAKEN = "overtaken"
    BY_RETENTION = "by retention.ms"
    BY_RECORD_TIME = "by retention.ms and the record's own time"
    AT_MOST = "by retention.ms, at most"
    BY_SPEED = "by speed"
    NOT_IN_SIGHT = "not in view"
    NOT_KNOWN = "not known"
