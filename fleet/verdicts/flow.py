"""A flow, and whether it replicates a topic.

Rule, from MirrorSourceConnector of Kafka 3.9 and 4.3: a topic is replicated if the topic filter matches it or
it is a heartbeats topic. It must not be internal, and its name must not show that it was replicated from the
target.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fleet.mm2.filters import GroupFilter, TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.replication import (
    NEWEST_KNOWN,
    OLDEST_KNOWN,
    READINGS,
    PolicyKind,
    ReplicationPolicy,
    major_version,
)
from fleet.mm2.topic_sync import TopicSync

SOURCE_CONNECTOR = "MirrorSourceConnector"  # its name in a dedicated MirrorMaker
EARLIEST = "earliest"  # auto.offset.reset, MirrorMaker's default

_ANY_TOPIC = "orders"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one flow replicates one topic, with the rule that decided and a sentence.

    `rule` is one of replicated, heartbeats, filtered, internal, cycle and version_unknown. The last is for an
    unknown version of MirrorMaker if 3.x and 4.x differ: then `readings` has both answers, and `replicated`
    and `remote_topic` are those of 4.x.
    """

    replicated: bool
    remote_topic: str | None
    rule: str
    sentence: str
    readings: tuple[tuple[str, Decision], ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """Records replicated from one cluster to another by one mirror; the defaults are MirrorMaker's own.

    `source` and `target` are the aliases of the clusters. `source_alias` and `target_alias` are
    source.cluster.alias and target.cluster.alias of the mirror's connectors: the same, unless its
    configuration overrides them. MirrorMaker derives all names from these two.

    `refresh_topics_interval_s`, `emit_checkpoints_interval_s` and `heartbeats_interval_s` are None if
    disabled. `offset_flush_interval_s` is that of the worker. `heartbeats_enabled` is whether the mirror's
    herder of this flow writes heartbeats to the target.
    """

    source: str
    target: str
    policy: ReplicationPolicy = field(default_factory=ReplicationPolicy)
    topic_filter: TopicFilter = field(default_factory=TopicFilter)
    group_filter: GroupFilter = field(default_factory=GroupFilter)
    mirror_version: str | None = None
    heartbeats_enabled: bool = True
    heartbeats_interval_s: float | None = 1.0
    heartbeats_replicated: bool = True
    tasks_max: int = 1
    refresh_topics_interval_s: float | None = 600.0
    offset_lag_max: int = 100
    offset_syncs_location: str = "source"  # or target
    offset_flush_interval_s: float = 60.0
    emit_offset_syncs: bool = True
    emit_checkpoints_interval_s: float | None = 60.0
    sync_group_offsets: bool = False
    sync_group_offsets_interval_s: float = 60.0
    exactly_once: bool = False
    isolation_level: str = "read_uncommitted"  # of the mirror's consumer
    offset_reset: str = EARLIEST  # of the mirror's consumer: where it starts in a new partition
    offset_storage_topic: str | None = None  # with the source offsets of the worker; None if unknown
    offset_storage_cluster: str | None = None  # the alias of the cluster with that topic; None: the target
    config_storage_topic: str | None = None  # with the configurations of its tasks; None if unknown
    status_storage_topic: str | None = None  # with the states of its tasks; None if unknown
    handling: Handling = field(default_factory=Handling)
    topic_sync: TopicSync = field(default_factory=TopicSync)
    connector: str = SOURCE_CONNECTOR  # the connector name in the keys of its offsets
    source_alias: str | None = None  # None: as `source`; the empty text is an alias of its own
    target_alias: str | None = None
    on_connect: bool = False  # it runs on a Connect worker, not in a dedicated MirrorMaker
    # Where the topics and the exclusions are in the mirror's file; empty: A->B.topics, A->B.topics.exclude.
    topics_key: str = field(default="", compare=False)
    exclude_key: str = field(default="", compare=False)
    # Whether Mirrorwatch's configuration has the topics, and why the exclusion in the mirror's is not used.
    own_topics: bool = field(default=False, compare=False)
    unread_exclusion: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        # MirrorMaker configures the identity policy with its source, whatever the policy was made with.
        if self.policy.kind is PolicyKind.IDENTITY and self.policy.source_alias != self.named_source:
            object.__setattr__(self, "policy", replace(self.policy, source_alias=self.named_source))

    @property
    def name(self) -> str:
        """Return the name of the flow, `A->B`."""
        return f"{self.source}->{self.target}"

    @property
    def named_source(self) -> str:
        """Return the alias of the source in names of topics and in the keys of source offsets."""
        return self.source if self.source_alias is None else self.source_alias

    @property
    def named_target(self) -> str:
        """Return the alias of the target in names of topics."""
        return self.target if self.target_alias is None else self.target_alias

    @property
    def offset_syncs_topic(self) -> str:
        """Return the name of the offset syncs topic, which is on the cluster of `offset_syncs_location`."""
        return self.policy.offset_syncs_topic(
            self.named_target if self.offset_syncs_location == "source" else self.named_source
        )

    @property
    def checkpoints_topic(self) -> str:
        """Return the name of the checkpoints topic on the target."""
        return self.policy.checkpoints_topic(self.named_source)

    @property
    def settle_s(self) -> float:
        """Return how long MirrorMaker takes to write a group's last checkpoint, and to commit it."""
        emit_s = 60.0 if self.emit_checkpoints_interval_s is None else self.emit_checkpoints_interval_s
        return emit_s + (self.sync_group_offsets_interval_s if self.sync_group_offsets else 0.0)

    def remote_topic(self, topic: str) -> str:
        """Return the name that a topic of the source has on the target, replicated or not."""
        return self.policy.remote_topic(self.named_source, topic)

    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic of the source that this flow would replicate to a topic of this name; or None."""
        for prefix in ("", self.named_source + self.policy.separator):
            upstream = topic.removeprefix(prefix)
            if upstream and topic.startswith(prefix) and self.remote_topic(upstream) == topic:
                return upstream
        return None

    def decide(self, topic: str) -> Decision:
        """Return whether the topic of this name on the source is replicated, as which topic, and why."""
        if self.mirror_version is not None:
            return self._decide(topic, self.mirror_version)
        older, newer = (self._decide(topic, READINGS[major]) for major in (OLDEST_KNOWN, NEWEST_KNOWN))
        if older.replicated == newer.replicated:
            return newer
        sentence = f"It depends on MirrorMaker's version. 3.x: {older.sentence} 4.x: {newer.sentence}"
        return Decision(
            newer.replicated,
            newer.remote_topic,
            "version_unknown",
            sentence,
            (("3.x", older), ("4.x", newer)),
        )

    def _decide(self, topic: str, version: str) -> Decision:
        here = f"{topic} on {self.source}"
        major = major_version(version)
        if self.policy.is_internal(topic, version):
            why = f"MirrorMaker {major}.x takes its name for that of an internal topic"
            return self._refusal("internal", f"{here} is never mirrored {self.name} because {why}.")
        if self.sees_cycle(topic):
            return self._refusal(
                "cycle", f"{here} is never mirrored {self.name} because {self._cycle_reason(topic)}."
            )
        remote = self.remote_topic(topic)
        result = f"{here} is mirrored {self.name} as {remote}"
        if self.topic_filter.matches(topic, major=major):
            why = self.topic_filter.why(topic, major=major)
            return Decision(True, remote, "replicated", f"{result} because {why}.")
        if self.heartbeats_replicated and self.policy.is_heartbeats(topic):
            why = "heartbeats are mirrored regardless of the filter"
            return Decision(True, remote, "heartbeats", f"{result} because {why}.")
        why = self.topic_filter.why(topic, major=major)
        return self._refusal("filtered", f"{here} is not mirrored {self.name} because {why}.")

    def _refusal(self, rule: str, sentence: str) -> Decision:
        return Decision(False, None, rule, sentence)

    def sees_cycle(self, topic: str) -> bool:
        """Return whether the topic's name shows that it was replicated through the target."""
        return self.named_target in self.policy.sources(topic)

    def _cycle_reason(self, topic: str) -> str:
        how = "came from" if self.policy.topic_source(topic) == self.named_target else "passed through"
        return f"its name shows that it {how} {self.named_target or 'a cluster without a name'}"

    @property
    def keeps_names(self) -> bool:
        """Return whether topics keep their names, so that MirrorMaker cannot see a cycle.

        The default policy does so too, if both the alias of the source and the separator are empty.
        """
        return self.remote_topic(_ANY_TOPIC) == _ANY_TOPIC
