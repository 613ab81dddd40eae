"""Groups that mirrors carry: offsets that a mirror writes on its target, where nobody reads. Pure.

MirrorMaker with `sync.group.offsets.enabled` translates the offsets of the source's groups and commits them
on the target, without being a member there and only where nobody is (MirrorCheckpointTask of Kafka 4.3). A
group is carried where all its offsets are on topics that such flows write, their filters of groups let it
through, and no member of it was ever seen on the target. Its lag says how far behind it would be after a
failover: nobody reads, so nobody stands.

A consumer that assigns partitions to itself and commits without joining its group looks the same.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from fleet.replication import NEWEST_KNOWN, major_version
from lagmon.rules_sentences import carried_text
from lagmon.words import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fleet.flow import Flow
    from lagmon.membership import Membership
    from lagmon.names import Places, Slots
    from lagmon.sweep import Sweep

    Carried: TypeAlias = Mapping[int, tuple[str, ...]]

_NONE = -1
_KEPT = 4  # answers of filters, for each group that there is


class Carriers:
    """The flows that carry groups to one cluster, and which of its topics and groups are theirs."""

    def __init__(self, flows: Iterable[Flow] = ()) -> None:
        self._flows = tuple(flow for flow in flows if carries_groups(flow))
        self._of_topic: dict[str, int] = {}  # by topic of the cluster, the flow that writes it
        self._of_place = np.full(1, _NONE, np.int16)
        self._lets_through: dict[tuple[int, str], bool] = {}  # by flow and group

    def note_topics(self, topics: Iterable[str], places: Places) -> None:
        """Take note of every topic that the cluster has, each with its places."""
        if not self._flows:
            return
        before = self._of_topic
        self._of_topic = {one: before[one] if one in before else self._writer(one) for one in topics}
        written = [(places.of(topic), flow) for topic, flow in self._of_topic.items() if flow != _NONE]
        highest = max((max(numbers) for numbers, _ in written if numbers), default=0)
        self._of_place = np.full(highest + 1, _NONE, np.int16)
        for numbers, flow in written:
            self._of_place[numbers] = flow

    def of(self, slots: Slots, count: int, membership: Membership, *, asking: bool) -> Carried:
        """Return the names of the flows that carry a group, by the number of each that is carried.

        Only the first `count` slots count. Where groups are asked for (`asking`), a group of whose members
        nothing is known yet is not carried.
        """
        if not self._flows:
            return {}
        used = slots.place[:count] >= 0
        group, flow = slots.group[:count][used], self._writers(slots.place[:count][used])
        held = np.bincount(group, minlength=1)
        elsewhere = np.bincount(group[flow == _NONE], minlength=len(held))
        candidates = (held > 0) & (elsewhere == 0)
        rows = candidates[group]
        pairs = np.unique(group[rows].astype(np.int64) * len(self._flows) + flow[rows])
        by_group: dict[int, tuple[int, ...]] = {}
        for pair in pairs.tolist():
            number, one = divmod(pair, len(self._flows))
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
        for number, flows in by_group.items():
            name = slots.group_name(number)
            known = not asking or membership.members(name) >= 0
            if known and not membership.joined(name) and all(self._lets(one, name) for one in flows):
                yield number, tuple(self._flows[one].name for one in flows)

    def _writers(self, place: NDArray[np.int32]) -> NDArray[np.int16]:
        listed = place < len(self._of_place)  # others came since the last list of topics
        return np.where(listed, self._of_place[np.where(listed, place, 0)], np.int16(_NONE))

    def _writer(self, topic: str) -> int:
        return next((number for number, flow in enumerate(self._flows) if writes(flow, topic)), _NONE)

    def _lets(self, number: int, group: str) -> bool:
        known = self._lets_through.get((number, group))
        if known is None:
            flow = self._flows[number]
            major = NEWEST_KNOWN if flow.mirror_version is None else major_version(flow.mirror_version)
            known = self._lets_through[number, group] = flow.group_filter.matches(group, major=major)
        return known


def carries_groups(flow: Flow) -> bool:
    """Tell whether the flow's mirror writes offsets of groups on the target, which takes checkpoints."""
    return flow.sync_group_offsets and flow.emit_checkpoints_interval_s is not None


def writes(flow: Flow, topic: str) -> bool:
    """Tell whether a topic of the target is one that the flow's mirror writes, by its name."""
    if flow.policy.topic_source(topic) != flow.source:
        return False
    upstream = flow.policy.upstream_topic(topic)
    return upstream is not None and flow.decide(upstream).replicated


def sentence_of(rows: Sweep, row: int, flows: Sequence[str]) -> str:
    """Return why the verdict on one row of a group was given; `flows` are those that carry the group."""
    if flows and rows.reason[row] == Reason.CARRIED:
        who = f"{' and '.join(flows)} {'carries' if len(flows) == 1 else 'carry'}"
        return carried_text(who, rows.facts(row))
    return rows.sentence(row)


def tell_carried(rows: Sweep, group: NDArray[np.int32], carried: Carried) -> Sweep:
    """Return the verdicts with CARRIED where that is so; what is unknown of a position stays unknown.

    `group` is the number of the group of each row.
    """
    if not carried:
        return rows
    by_number = np.zeros(int(group.max(initial=0)) + 1, np.bool_)
    by_number[[number for number in carried if number < len(by_number)]] = True
    told = (group >= 0) & by_number[np.maximum(group, 0)] & (rows.lag >= 0)
    values = {one.name: getattr(rows, one.name) for one in fields(rows)}
    return type(rows)(**(values | {"reason": np.where(told, np.int8(Reason.CARRIED), rows.reason)}))
