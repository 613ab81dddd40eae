"""A cluster in memory that answers like `ClusterAdmin`."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.errors import UnavailableError
from fleet.topic_acls import TopicAcls
from mirrorwatch.drift.facts import Cluster


@dataclass
class FakeAdmin:
    sizes: dict = field(default_factory=dict)  # partitions by topic
    settings: dict = field(default_factory=dict)  # by topic; an error instead of them is yielded
    acls: TopicAcls = field(default_factory=TopicAcls)
    hidden: frozenset = frozenset()
    oldest_ms: dict = field(default_factory=dict)
    away: bool = False
    asked: list = field(default_factory=list)  # topics whose settings were asked for

    async def count_partitions(self):
        if self.away:
            raise UnavailableError("cannot connect to any broker")
        return dict(self.sizes)

    async def describe_topic_acls(self):
        return self.acls

    async def hidden_topics(self, names):
        return self.hidden & frozenset(names)

    async def oldest_records_ms(self, partitions):
        assert all(self.sizes[topic] == count for topic, count in partitions.items())
        return {topic: at_ms for topic, at_ms in self.oldest_ms.items() if topic in partitions}

    async def describe_topic_settings(self, names):
        for name in names:
            self.asked.append(name)
            yield name, self.settings.get(name, {})


async def clusters(**admins):
    """Return clusters that have been read."""
    found = {alias: Cluster(alias, admin) for alias, admin in admins.items()}
    for one in found.values():
        await one.read()
    return found
