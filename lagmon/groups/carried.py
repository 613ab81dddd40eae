"""Groups whose offsets MirrorMaker syncs to this cluster ("carried") and of which no member reads here. Pure.

With `sync.group.offsets.enabled` MirrorMaker translates the offsets of the source's groups and commits them
on the target, if the group has no member there (MirrorCheckpointTask of Kafka 4.3). A group is carried if

- each of its offsets is on a topic of a flow that syncs offsets and whose group filter matches it, and
- no member of it was ever seen on this cluster.

Several flows may write one topic: with IdentityReplicationPolicy all target topics have the source's name.
The lag of such a group is the lag after a failover, not a sign that it is stopped.

A consumer with assigned partitions that commits without joining its group looks the same.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from fleet.mm2.replication import NEWEST_KNOWN, major_version
from lagmon.groups.rules.sentences import carried_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fleet.verdicts.flow import Flow
    from lagmon.cluster.membership import Membership
    from lagmon.cluster.names import Places, Slots
    from lagmon.groups.sweep import Sweep
    from lagmon.groups.verdicts import Verdicts

    Carried: TypeAlias = Mapping[int, tuple[str, ...]]

_NOBODY = 0  # number of the empty set of writers
_NOT_FOUND = -1  # of a place whose writers are not determined yet
_KEPT = 4  # cached filter results, for each group and flow


class Carriers:
    """The flows that sync offsets to one cluster, and which of its topics and groups are theirs."""

    def __init__(self, flows: Iterable[Flow] = ()) -> None:
        self._flows = tuple(flow for flow in flows if carries_groups(flow))
        self._writers: list[tuple[int, ...]] = [()]  # each set of flows that write a topic, once
        self._of_topic: dict[str, int] = {}  # by topic of the cluster, the number of its set of writers
        self._of_place = np.full(1, _NOT_FOUND, np.int32)
        self._lets_through: dict[tuple[int, str], bool] = {}  # by flow and group

    def note_topics(self, topics: Iterable[str], places: Places) -> None:
        """Record all topics of the cluster, each with its places."""
        if not self._flows:
            return
        self._of_topic = {topic: self._writers_of(topic) for topic in topics}
        held = [places.of(topic) for topic in self._of_topic]
        listed = np.fromiter(chain.from_iterable(held), np.int32)
        writers = np.fromiter(self._of_topic.values(), np.int32)
        self._of_place = np.full(int(listed.max(initial=0)) + 1, _NOT_FOUND, np.int32)
        self._of_place[listed] = np.repeat(writers, np.fromiter(map(len, held), np.intp))

    def of(
        self, slots: Slots, count: int, places: Places, membership: Membership, *, asking: bool
    ) -> Carried:
        """Return by number of a group the names of the flows that sync its offsets.

        Only the first `count` slots count. In Admin mode (`asking`) a group whose members are not known yet
        is not included.
        """
        if not self._flows:
            return {}
        used = slots.place[:count] >= 0
        group, place = slots.group[:count][used], slots.place[:count][used]
        self._find_new(place, places)
        writers = self._of_place[place]
        held = np.bincount(group, minlength=1)
        elsewhere = np.bincount(group[writers == _NOBODY], minlength=len(held))
        candidates = (held > 0) & (elsewhere == 0)
        rows = candidates[group]
        pairs = np.unique(group[rows].astype(np.int64) * len(self._writers) + writers[rows])
        by_group: dict[int, tuple[int, ...]] = {}
        for pair in pairs.tolist():
            number, one = divmod(pair, len(self._writers))
            by_group[number] = (*by_group.get(number, ()), one)
        if len(self._lets_through) > _KEPT * len(self._flows) * (len(held) + 1):
            self._lets_through.clear()
        return dict(self._carried(by_group, slots, membership, asking=asking))

    def _carried(
        self,
        by_group: Mapping[int, tuple[int, ...]],
        slots: Slots,
        membership: Membership,
        *,
        asking: bool,
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        for number, written_by in by_group.items():
            name = slots.group_name(number)
            if membership.joined(name) or (asking and membership.members(name) < 0):
                continue
            carriers = [{one for one in self._writers[each] if self._lets(one, name)} for each in written_by]
            if all(carriers):
                yield number, tuple(self._flows[one].name for one in sorted(set().union(*carriers)))

    def _find_new(self, place: NDArray[np.int32], places: Places) -> None:
        """Find the writers of topics that are newer than the last list of topics."""
        more = int(place.max(initial=0)) + 1 - len(self._of_place)
        if more > 0:
            self._of_place = np.append(self._of_place, np.full(more, _NOT_FOUND, np.int32))
        for one in np.unique(place[self._of_place[place] == _NOT_FOUND]).tolist():
            topic, _ = places.name(one)
            self._of_place[one] = self._of_topic[topic] = self._writers_of(topic)

    def _writers_of(self, topic: str) -> int:
        """Return the number of the set of flows that write a topic."""
        known = self._of_topic.get(topic)
        if known is not None:
            return known
        found = tuple(number for number, flow in enumerate(self._flows) if writes(flow, topic))
        if found not in self._writers:
            self._writers.append(found)
        return self._writers.index(found)

    def _lets(self, number: int, group: str) -> bool:
        known = self._lets_through.get((number, group))
        if known is None:
            flow = self._flows[number]
            major = NEWEST_KNOWN if flow.mirror_version is None else major_version(flow.mirror_version)
            known = self._lets_through[number, group] = flow.group_filter.matches(group, major=major)
        return known


def carries_groups(flow: Flow) -> bool:
    """Return whether the flow's mirror syncs offsets of groups, which requires checkpoints."""
    return flow.sync_group_offsets and flow.emit_checkpoints_interval_s is not None


def writes(flow: Flow, topic: str) -> bool:
    """Return whether the flow's mirror writes a topic of the target, judging by its name."""
    upstream = flow.upstream_topic(topic)
    return upstream is not None and flow.decide(upstream).replicated


def sentence_of(rows: Verdicts, row: int, flows: Sequence[str]) -> str:
    """Return the sentence of one row of a group; `flows` are those that sync its offsets."""
    if flows and rows.reason[row] == Reason.CARRIED:
        return carried_text(" and ".join(flows), rows.facts(row))
    return rows.sentence(row)


def mark_carried(rows: Sweep, group: NDArray[np.int32], carried: Carried) -> Sweep:
    """Return the verdicts with CARRIED for rows of carried groups with a known lag.

    `group` is the number of the group of each row.
    """
    if not carried:
        return rows
    by_number = np.zeros(int(group.max(initial=0)) + 1, np.bool_)
    by_number[[number for number in carried if number < len(by_number)]] = True
    told = (group >= 0) & by_number[np.maximum(group, 0)] & (rows.lag >= 0)
    values = {one.name: getattr(rows, one.name) for one in fields(rows)}
    return type(rows)(**(values | {"reason": np.where(told, np.int8(Reason.CARRIED), rows.reason)}))
