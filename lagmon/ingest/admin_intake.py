"""Add answers of the Admin API about groups, as if they had been read from `__consumer_offsets`. Pure.

The API returns offsets without times. An unchanged offset is no commit; a changed one counts as committed
when the answer arrived, the latest possible time. Windows, members and verdicts are the same as for commits
that are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.wire.commits import GroupDescribed, GroupGone, Member, encode_commit_key, encode_commit_value
from lagmon.ingest.admin_plan import WITHOUT_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from lagmon.cluster.state import ClusterLag

    Assigned: TypeAlias = Iterable[tuple[str, Iterable[int]]]

_WITH_MEMBERS = ("preparing_rebalancing", "completing_rebalancing", "stable")  # states of groups with members
_VERSION = 3  # of the encoded values; any version works
IDLE_CYCLES = 2.5  # cycles; within this time every group is polled at least twice


class AdminIntake:
    """Adds answers about one cluster's groups; call `begin` first."""

    def __init__(self, lag: ClusterLag) -> None:
        self._lag = lag
        self._policy = lag.policy
        self._known: dict[str, dict[tuple[str, int], int]] = {}  # by group, the last returned offsets

    def begin(self) -> None:
        """Start Admin mode; groups from another source are forgotten."""
        self._lag.begin_asking()
        self._known.clear()

    def end(self) -> None:
        """Leave Admin mode."""
        self._lag.end_asking()
        self._lag.policy = self._policy

    def allow_for(self, cycle_s: float) -> None:
        """Adapt limits to the polling cycle: no group is stale or stopped before it was polled twice.

        Log ends are polled as usual and need no adaption.
        """
        least_ms = int(IDLE_CYCLES * cycle_s * 1000)
        self._lag.policy = replace(
            self._policy,
            stale_after_ms=max(self._policy.stale_after_ms, least_ms),
            stopped_after_ms=max(self._policy.stopped_after_ms, least_ms),
        )

    def wanted(self, group: str) -> bool:
        """Return whether to poll a group's offsets."""
        return self._lag.intake.wanted(group, None)

    def take_offsets(
        self, group: str, offsets: Iterable[Sequence[object]], *, asked_ms: int, answered_ms: int
    ) -> None:
        """Add all offsets of a group (topic, partition, offset) with the times of the poll.

        Known offsets that are missing here were deleted. Topics that the cluster does not list are left out.
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

    def take_state(self, group: str, state: str, *, had_members: bool = False) -> None:
        """Set the state of a group; one that is empty has no members.

        If it was empty before, its members are unknown until it is described. `had_members` is whether it is
        known that it has or had one.
        """
        states, membership = self._lag.group_states, self._lag.membership
        if had_members or state in _WITH_MEMBERS:
            membership.note_joined(group)
        before = states.get(group)
        if before == state:
            return
        states[group] = state
        if state in WITHOUT_MEMBERS:
            self.take_members(group, ())
        elif before in WITHOUT_MEMBERS:
            membership.forget(group)

    def take_members(self, group: str, members: Iterable[tuple[str, str, str, Assigned]]) -> None:
        """Set the members of a group: member id, client id, host, partitions by topic."""
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
        """Forget a group that no longer exists."""
        self.take_offsets(group, (), asked_ms=0, answered_ms=0)
        self._lag.asked_ms.pop(group, None)
        self._lag.group_states.pop(group, None)
        self._lag.membership.take(GroupGone(group))

    def _still_held(self, group: str) -> dict[tuple[str, int], int]:
        """Return the last returned offsets, without those of topics removed since."""
        before = self._known.get(group, {})
        slots = self._lag.slots.held_by(group)
        if len(slots) == len(before):
            return before
        there = {self._lag.places.name(place) for place in self._lag.slots.place[slots].tolist()}
        return {place: offset for place, offset in before.items() if place in there}
