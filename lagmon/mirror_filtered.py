"""Topics of which the mirror leaves every record out: a filter or a transform that drops them all. Pure.

Such a topic has a copy that stays empty; the source has records, and the mirror writes no offset for any of
them while those of other topics move. A task that hangs looks alike, so nothing is said while any partition
of the flow stands. A mirror that leaves aborted transactions out does the same with a topic of such alone, so
of that it is a suspicion.

A copy that was seen to be made after the topic was made by the mirror, which so knows of the topic; for any
other it may yet have to find it, as long as it takes to look for topics anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.vocabulary import Cause
from lagmon.mirror_findings import MirrorFinding
from lagmon.mirror_sight import STOPPED
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorSight


@dataclass(slots=True)
class Filtered:
    """Since when the topics of a flow have looked like it."""

    _since_ms: dict[str, int] = field(default_factory=dict)
    _awaited: set[str] = field(default_factory=set)  # topics without a copy, once

    def look(
        self, flow: MirrorFlow, sight: MirrorSight, now_ms: int, *, refresh_ms: int
    ) -> list[MirrorFinding]:
        """Return every record that is left out, by partition, of topics that have looked so for long enough.

        `refresh_ms` is how often the mirror looks for topics.
        """
        if flow.read_to_ms < 0 or not flow.target.topics:
            return []
        remote = flow.topics.remote
        self._awaited &= remote.keys()
        self._awaited |= {topic for topic, name in remote.items() if name not in flow.target.topics}
        alike = _empty_copies(flow)
        self._since_ms = {topic: self._since_ms.get(topic, now_ms) for topic in alike}
        slots = np.flatnonzero(sight.used)
        if not alike or np.isin(sight.rows.reason[slots], STOPPED).any():
            return []
        moved_ms = int(flow.windows.moved_ms[slots].max(initial=-1))
        due = [
            topic
            for topic, since_ms in self._since_ms.items()
            for wait_ms in (sight.stopped_after_ms + (0 if topic in self._awaited else refresh_ms),)
            if now_ms - since_ms > wait_ms + sight.stopped_after_ms and moved_ms > since_ms + wait_ms
        ]
        return [one for topic in sorted(due) for one in self._findings(flow, topic, now_ms)]

    def _findings(self, flow: MirrorFlow, topic: str, now_ms: int) -> list[MirrorFinding]:
        ends = flow.readable_ends
        heads, remote, target = flow.source.heads, flow.topics.remote[topic], flow.order.flow.target
        since = instant_text(self._since_ms[topic])
        committed_only = flow.order.flow.isolation_level == "read_committed"
        aborted = (
            " They may all be of aborted transactions, which it does not copy." if committed_only else ""
        )
        found = []
        for partition, place in enumerate(flow.source.places.of(topic)):
            start, end = max(0, int(heads.start[place])), int(ends[place])
            if end > start:
                sentence = (
                    f"{topic}-{partition} has {count_text(end - start, 'record')} on "
                    f"{flow.order.flow.source}, {start} to {end - 1}, and its copy {remote} on {target} has "
                    "never had any: the mirror copies other topics and none of these, since "
                    f"{since} at the latest.{aborted}"
                )
                found.append(
                    MirrorFinding(
                        code=Cause.FILTERED,
                        topic=topic,
                        partition=partition,
                        at_ms=now_ms,
                        records=end - start,
                        first_offset=start,
                        last_offset=end - 1,
                        proved=not committed_only,
                        sentence=sentence,
                    )
                )
        return found


def _empty_copies(flow: MirrorFlow) -> list[str]:
    """Return the topics with records, no offset of the mirror, and a copy that never had a record."""
    source, target, ends = flow.source, flow.target, flow.readable_ends
    found = []
    for topic, remote in flow.topics.remote.items():
        if remote not in target.topics or flow.windows.slot(topic, 0) is not None:
            continue
        places = source.places.of(topic)
        if any(flow.windows.slot(topic, number) is not None for number in range(len(places))):
            continue
        copies = target.heads.end[target.places.of(remote)]
        if not len(copies) or (copies != 0).any():
            continue
        if (ends[places] > np.maximum(source.heads.start[places], 0)).any():
            found.append(topic)
    return found
