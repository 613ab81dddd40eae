"""What one commit does to Burrow's ring of commits, as a reference for the intake. Pure.

Worked out from github.com/linkedin/Burrow, core/internal/storage/inmemory.go. Burrow reads the offsets topic
from its end, and its beginning with a second reader at the same time, so there a commit can come late.
Read once and in the topic's order, as here, a commit is always the newest, and a ring can differ from
Burrow's only in this:
- Burrow drops a commit to a partition whose log end it has not sampled yet, and all that came before it
  read any; what was read at the start-up goes in without a lag;
- it drops a commit older than the expiry of groups, and all rings of a group at the first question after it;
- a commit whose time is before its predecessor's overwrites that one and takes its time, also with a
  minimum distance of zero: brokers' clocks differ, so a change of leader is enough for this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.burrow.rules import Commit


def store(
    ring: tuple[Commit | None, ...], commit: Commit, broker_end: int, *, min_distance_s: int = 0
) -> tuple[Commit | None, ...]:
    """Return the ring, oldest first behind its empty places, after a commit; its own lag counts for nothing.

    `broker_end` is the log end sampled last, of which the lag is told where the commit is the newest.
    """
    length = len(ring)
    kept = [one for one in ring if one is not None]
    if any(one.order == commit.order for one in kept):
        return ring
    place = sum(one.order < commit.order for one in kept)
    if place == 0 and len(kept) == length:
        return ring  # older than all in a full ring
    newest = place == len(kept)
    stored = replace(commit, lag=max(0, broker_end - commit.offset) if newest else None)
    # A full ring gives its oldest place to a late commit right after it, before any distance is looked at.
    takes_oldest = place == 1 and len(kept) == length and not newest
    before = kept[place - 1] if place and not takes_oldest else None
    if before is not None and commit.committed_ms - before.committed_ms < min_distance_s * 1000:
        kept[place - 1] = replace(stored, committed_ms=before.committed_ms)
    else:
        kept.insert(place, stored)
    kept = kept[-length:]
    return (*(None,) * (length - len(kept)), *kept)
