"""What MirrorMaker's Java client, MirrorClient, answers about a cluster from its topics. Pure.

Source: the classes MirrorClient and RemoteClusterUtils of Kafka 3.9.2 and 4.3.0, which follow the same rules
and leave the names to the replication policy. tests/real/mirrors/test_mirror_client.py compares the answers.

| question | answer |
|---|---|
| heartbeatTopics | topics that are a heartbeats topic after any number of hops, also `heartbeats` itself |
| checkpointTopics | topics with the name of a checkpoints topic, of any cluster |
| upstreamClusters | aliases in the names of the heartbeats topics |
| replicationHops | the fewest hops by which a heartbeats topic came from this cluster; -1 if none did |
| remoteTopics | topics that are not internal and have a source, replicated or not: only names count |
| remoteConsumerOffsets | partition 0 of one checkpoints topic: the policy's name for this source |

A name in which a cluster comes twice is a cycle: the client reads the aliases before the second one only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.mm2.replication import NEWEST_KNOWN, OLDEST_KNOWN, READINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.mm2.replication import ReplicationPolicy

UNREACHABLE = -1


@dataclass(frozen=True, slots=True)
class MirrorClientView:
    """The answers of a MirrorClient with this policy about one cluster; topics are sorted.

    `hops` has the hops of every upstream cluster. `remote_by_source` has the remote topics by the last hop's
    source. `internal_in_3x` are the remote topics that 3.x leaves out as internal; empty if the version is
    known.
    """

    policy: ReplicationPolicy
    hops: Mapping[str, int]
    heartbeat_topics: tuple[str, ...]
    checkpoint_topics: tuple[str, ...]
    remote_by_source: Mapping[str, tuple[str, ...]]
    internal_in_3x: tuple[str, ...] = ()

    @property
    def upstream_clusters(self) -> tuple[str, ...]:
        """Return the aliases of the upstream clusters, nearest first."""
        return tuple(sorted(self.hops, key=lambda alias: (self.hops[alias], alias)))

    @property
    def remote_topics(self) -> tuple[str, ...]:
        """Return the remote topics of all sources."""
        return tuple(sorted(topic for topics in self.remote_by_source.values() for topic in topics))

    def replication_hops(self, alias: str) -> int:
        """Return the fewest hops from this upstream cluster; -1 if it is not upstream."""
        return self.hops.get(alias, UNREACHABLE)

    def remote_topics_of(self, source: str) -> tuple[str, ...]:
        """Return the remote topics that were replicated directly from this cluster."""
        return self.remote_by_source.get(source, ())

    def has_checkpoints_of(self, source: str) -> bool:
        """Return whether the cluster has the topic from which offsets of `source` are translated.

        Its name is `policy.checkpoints_topic(source)`.
        """
        return self.policy.checkpoints_topic(source) in self.checkpoint_topics


def view_of(topics: Iterable[str], policy: ReplicationPolicy, version: str | None) -> MirrorClientView:
    """Return the answers of MirrorClient `version` about a cluster with these topics.

    With the version None the answers are those of 4.x; 3.x answers the same except for `internal_in_3x`.
    """
    names = sorted(set(topics))
    heartbeats = tuple(topic for topic in names if policy.is_heartbeats(topic))
    newest = version or READINGS[NEWEST_KNOWN]
    remote: dict[str, list[str]] = {}
    for topic in names:
        source = policy.topic_source(topic)
        if source is not None and not policy.is_internal(topic, newest):
            remote.setdefault(source, []).append(topic)
    unsure = (topic for each in remote.values() for topic in each) if version is None else ()
    return MirrorClientView(
        policy=policy,
        hops=_hops(heartbeats, policy),
        heartbeat_topics=heartbeats,
        checkpoint_topics=tuple(topic for topic in names if policy.is_checkpoints(topic)),
        remote_by_source={source: tuple(remote[source]) for source in sorted(remote)},
        internal_in_3x=tuple(
            sorted(topic for topic in unsure if policy.is_internal(topic, READINGS[OLDEST_KNOWN]))
        ),
    )


def _hops(heartbeats: Iterable[str], policy: ReplicationPolicy) -> dict[str, int]:
    """Return the fewest hops of each cluster in these names; each name counts up to its first cycle."""
    found: dict[str, int] = {}
    for topic in heartbeats:
        passed: set[str] = set()
        for hops, source in enumerate(policy.sources(topic), start=1):
            if source in passed:
                break
            passed.add(source)
            found[source] = min(hops, found.get(source, hops))
    return found
