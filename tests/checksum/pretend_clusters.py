"""Two clusters of pretend mirrors, as the planner asks them: admin clients and readers without a broker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from checksum.inventory.inventory import Cluster, EarlierState, make_plan
from checksum.plan.building import PlanRules
from fleet.verdicts.flow import Flow
from runtime.kafka.admin import TopicDescription
from runtime.kafka.picking import Picked, PickedRecord
from tests.checksum.pretend_mirror import MARKER

NOW_MS = 1_790_000_000_000


class PretendReader:
    """A `Picker` over logs by topic and partition."""

    def __init__(self, logs, stamped=()):
        self.logs, self.stamped = logs, stamped
        self.asked = []  # what was asked, in order
        self.picked = 0

    def starts(self, places):
        self.asked.append("starts")
        return {place: self.logs[place].start for place in places}

    def ends(self, places):
        self.asked.append("ends")
        return {place: self.logs[place].end for place in places}

    def since(self, times_ms):
        found = {}
        for place, at_ms in times_ms.items():
            log = self.logs[place]
            for offset in range(log.start, log.end):
                if log.records[offset] is not MARKER and log.records[offset].at_ms >= at_ms:
                    found[place] = offset
                    break
        return found

    def pick(self, wanted):
        found = {}
        for place, (offset, count) in wanted.items():
            log, picked = self.logs[place], Picked()
            if not log.start <= offset <= log.end:
                picked.lost = True
            else:
                held = [(at, log.records[at]) for at in range(offset, log.end)]
                held = [(at, record) for at, record in held if record is not MARKER]
                picked.ended = len(held) < count
                picked.records = [self._picked(place, *one) for one in held[:count]]
            self.picked += len(picked.records)
            found[place] = picked
        return found

    def _picked(self, place, offset, record):
        return PickedRecord(
            offset, record.at_ms, place[0] in self.stamped, record.key, record.value, list(record.headers)
        )


@dataclass
class PretendAdmin:
    topics: dict = field(default_factory=dict)  # by name: TopicDescription
    settings: dict = field(default_factory=dict)  # by name

    async def list_topics(self):
        return tuple(sorted(self.topics))

    async def describe_topics(self, names):
        return {name: self.topics.get(name) for name in names}

    async def describe_topic_config(self, name):
        return {
            "cleanup.policy": "delete",
            "message.timestamp.type": "CreateTime",
            **self.settings.get(name, {}),
        }

    async def describe_topic_configs(self, names):
        return {name: await self.describe_topic_config(name) for name in names}


class Clusters:
    """The flow A->B; `mirrors` is a pretend mirror by topic and partition."""

    def __init__(self, mirrors, *, stamped=(), **flow):
        self.flow = Flow("A", "B", **{"mirror_version": "4.3", **flow})
        self.mirrors = mirrors
        self.remote = {topic: self.flow.remote_topic(topic) for topic, _ in mirrors}
        self.source = PretendReader({place: one.source for place, one in mirrors.items()})
        self.target = PretendReader(
            {(self.remote[topic], number): one.target for (topic, number), one in mirrors.items()}, stamped
        )
        count = {topic: sum(name == topic for name, _ in mirrors) for topic, _ in mirrors}
        self.a = PretendAdmin(
            {
                topic: TopicDescription(topic, self._id(topic, "source_id"), (1,) * count[topic])
                for topic in count
            }
        )
        self.b = PretendAdmin(
            {
                self.remote[topic]: TopicDescription(
                    self.remote[topic], self._id(topic, "target_id"), (1,) * count[topic]
                )
                for topic in count
            }
        )

    def _id(self, topic, side):
        return getattr(self.mirrors[topic, 0], side)

    def plan(
        self, patterns=None, *, pairs=None, verified=None, equal_offsets=False, rules=None, wait_policy=None
    ):
        """Return the plan, made of the syncs that the mirrors wrote unless `pairs` says otherwise."""
        known = EarlierState(
            pairs or (lambda topic, number: self.mirrors[topic, number].pairs),
            verified or {},
            equal_offsets,
            None if wait_policy is None else self._no_more,
        )
        return asyncio.run(
            make_plan(
                self.flow,
                Cluster(self.a, self.source),
                Cluster(self.b, self.target),
                patterns=patterns,
                known=known,
                rules=rules or PlanRules(),
                now_ms=NOW_MS,
                wait_policy=wait_policy,
            )
        ).plan

    async def _no_more(self):
        return frozenset()
