"""The effect of one commit on Burrow's ring of commits, as a reference for the intake. Pure.

From github.com/linkedin/Burrow, core/internal/storage/inmemory.go. Burrow reads the offsets topic from its
end, and its beginning with a second reader at the same time, so commits may come late. Mirrorwatch reads it
once and in order, so a commit is always the newest. Rings differ from Burrow's only in this:
- Burrow drops a commit on a partition whose log end it has not sampled yet; commits from the start-up have no
  lag;
- it drops a commit older than the expiry of groups, and all rings of a group at the first request after it;
- a commit with a time before its predecessor's replaces that one and takes its time, even with a minimum
  distance of zero; a change of leader can cause this, as clocks of brokers differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.burrow.rules import Commit


def store(
    ring: tuple[Commit | None, ...], commit: Commit, broker_end: int, *, min_distance_s: int = 0
) -> tuple[Commit | None, ...]:
    """Return the ring, oldest first after its empty places, with a commit added; its own lag is ignored.

    `broker_end` is the last sampled log end; the lag is computed from it if the commit is the newest.
    """
    length = len(ring)
    kept = [one for one in ring if one is not None]
    if any(one.order == commit.order for one in kept):
        return ring
    place = sum(one.order < commit.order for one in kept)
    if place == 0 and len(kept) == length:
        return ring  # older than all others in a full ring
    newest = place == len(kept)
    stored = replace(commit, lag=max(0, broker_end - commit.offset) if newest else None)
    # A full ring puts a late commit in place of the oldest, before distances are compared.
    takes_oldest = place == 1 and len(kept) == length and not newest
    before = kept[place - 1] if place and not takes_oldest else None
    if before is not None and commit.committed_ms - before.committed_ms < min_distance_s * 1000:
        kept[place - 1] = replace(stored, committed_ms=before.committed_ms)
    else:
        kept.insert(place, stored)
    kept = kept[-length:]
    return (*(None,) * (length - len(kept)), *kept)
