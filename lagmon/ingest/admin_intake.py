"""Add what the Admin API tells of groups, as if it had been read from `__consumer_offsets`. Pure.

The API tells where a group stands, and not since when. So an offset that is as it was is no commit, and one
that has moved counts as committed when the answer with it came: as late as it can have been. Everything
else goes the way of commits that are read: the same windows, members and verdicts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.wire.commits import GroupDescribed, GroupGone, Member, encode_commit_key, encode_commit_value
from lagmon.ingest.admin_plan import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from lagmon.cluster.state import ClusterLag

    Assigned: TypeAlias = Iterable[tuple[str, Iterable[int]]]

_SOMEBODY = ("preparing_rebalancing", "completing_rebalancing", "stable")  # states of groups with members
_VERSION = 3  # of the values that are made up: any will do
LOOKS_STANDING = 2.5  # cycles: what has not moved for so long was asked for twice meanwhile, at least


class AdminIntake:
    """What is known of one cluster's groups from the Admin API; `begin` before anything else."""

    def __init__(self, lag: ClusterLag) -> None:
        self._lag = lag
        self._policy = lag.policy
        self._known: dict[str, dict[tuple[str, int], int]] = {}  # by group, the offsets as told last

    def begin(self) -> None:
        """Forget what was known of groups from elsewhere."""
        self._lag.begin_asking()
        self._known.clear()

    def end(self) -> None:
        """Leave the cluster's groups to another source."""
        self._lag.end_asking()
        self._lag.policy = self._policy

    def allow_for(self, cycle_s: float) -> None:
        """Record how often groups are asked: none is stale or stopped before it was asked twice.

        Ends of logs are read at each look all the same, and not allowed for.
        """
        least_ms = int(LOOKS_STANDING * cycle_s * 1000)
        self._lag.policy = replace(
            self._policy,
            stale_after_ms=max(self._policy.stale_after_ms, least_ms),
            stopped_after_ms=max(self._policy.stopped_after_ms, least_ms),
        )

    def wanted(self, group: str) -> bool:
        """Return whether to ask for a group's offsets."""
        return self._lag.intake.wanted(group, None)

    def take_offsets(
        self, group: str, offsets: Iterable[Sequence[object]], *, asked_ms: int, answered_ms: int
    ) -> None:
        """Take all offsets of a group, as topic, partition and offset, with when it was asked and answered.

        What is not among them any more was taken away. Topics that the cluster does not show are left out.
        """
        lag = self._lag
        found = {(str(topic), int(str(partition))): int(str(offset)) for topic, partition, offset in offsets}
        kept = {
            place: offset
            for place, offset in found.items()
            if offset >= 0 and place[1] < lag.topics.get(place[0], 0) and lag.intake.wanted(group, place[0])
        }
        if any(offset >= 0 for offset in found.values()):
            lag.membership.note_committed(group)
        before = self._still_held(group)
        gone = before.keys() - kept.keys()
        moved = [place for place, offset in kept.items() if before.get(place) != offset]
        if gone or moved:
            keys = [encode_commit_key(group, topic, partition) for topic, partition in (*gone, *moved)]
            values: list[bytes | None] = [None] * len(gone)
            values += [encode_commit_value(kept[place], answered_ms, version=_VERSION) for place in moved]
            lag.intake.take(keys, values, read_ms=answered_ms, live=True)
        if kept:
            self._known[group] = kept
        else:
            self._known.pop(group, None)
        lag.asked_ms[group] = asked_ms

    def take_state(self, group: str, state: str) -> None:
        """Take the state of a group: one that is empty has no members, which needs no question.

        Who came into one that was empty is not known before that is answered, and somebody did.
        """
        states, membership = self._lag.group_states, self._lag.membership
        before = states.get(group)
        if before == state:
            return
        states[group] = state
        if state in NOBODY:
            self.take_members(group, ())
        elif before in NOBODY:
            membership.forget(group)
        if state in _SOMEBODY:
            membership.note_joined(group)

    def take_members(self, group: str, members: Iterable[tuple[str, str, str, Assigned]]) -> None:
        """Take who is in a group: member id, client id, host, and what each was given, by topic."""
        found = tuple(
            Member(
                id=member,
                instance_id=None,
                client_id=client_id,
                client_host=host,
                assigned=tuple((topic, tuple(partitions)) for topic, partitions in assigned),
                subscribed=(),
            )
            for member, client_id, host, assigned in members
        )
        self._lag.membership.take(GroupDescribed(group, "consumer", 0, None, None, None, found))

    def forget(self, group: str) -> None:
        """Forget a group that is there no more."""
        self.take_offsets(group, (), asked_ms=0, answered_ms=0)
        self._lag.asked_ms.pop(group, None)
        self._lag.group_states.pop(group, None)
        self._lag.membership.take(GroupGone(group))

    def _still_held(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets as told last, without those that were removed with their topic since."""
        before = self._known.get(group, {})
        slots = self._lag.slots.held_by(group)
        if len(slots) == len(before):
            return before
        there = {self._lag.places.name(place) for place in self._lag.slots.place[slots].tolist()}
        return {place: offset for place, offset in before.items() if place in there}
