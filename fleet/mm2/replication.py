"""Names of topics on a mirror's target, and of MirrorMaker's own topics.

Source: KIP-382 and KIP-690, and the answers of the real classes DefaultReplicationPolicy and
IdentityReplicationPolicy of Kafka 3.9 and 4.3, with which tests/fleet/golden compares this file.
LegacyReplicationPolicy was proposed (KAFKA-9726) and is in no Apache Kafka release; its rules are those
of the proposal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HEARTBEATS = "heartbeats"
_PACKAGE = "org.apache.kafka.connect.mirror."
OLDEST_KNOWN, NEWEST_KNOWN = 3, 4
READINGS = {OLDEST_KNOWN: "3.9", NEWEST_KNOWN: "4.3"}
"""A version for each set of rules, for a mirror whose version is unknown."""


class PolicyKind(StrEnum):
    """The supported replication policies."""

    DEFAULT = "default"
    IDENTITY = "identity"
    LEGACY = "legacy"


POLICY_CLASSES = {
    f"{_PACKAGE}DefaultReplicationPolicy": PolicyKind.DEFAULT,
    f"{_PACKAGE}IdentityReplicationPolicy": PolicyKind.IDENTITY,
    f"{_PACKAGE}LegacyReplicationPolicy": PolicyKind.LEGACY,
    # Strimzi's own from before Kafka 3.0; today it extends Kafka's.
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy": PolicyKind.IDENTITY,
}


def major_version(version: str) -> int:
    """Return 3 or 4: the rules that MirrorMaker `version` (such as `3.9` or `4.3.0`) follows.

    2.x follows the rules of 3.x. Raises ValueError with a sentence if it is not a version.
    """
    found = re.fullmatch(r"(\d{1,3})(\.\d{1,5}){0,3}([-+].{0,40})?", version.strip())
    if found is None or not (version.strip().startswith("2.") or int(found[1]) >= OLDEST_KNOWN):
        raise ValueError(f"invalid version '{version}'; write for example 4.3 or 3.9")
    return OLDEST_KNOWN if int(found[1]) <= OLDEST_KNOWN else NEWEST_KNOWN


@dataclass(frozen=True, slots=True)
class ReplicationPolicy:
    """The naming rules of one flow.

    `source_alias` is used only by the identity policy, for which every topic comes from there.
    `internal_separator_enabled` false keeps "." in the names of MirrorMaker's own topics.
    """

    kind: PolicyKind = PolicyKind.DEFAULT
    separator: str = "."
    internal_separator_enabled: bool = True
    source_alias: str | None = None

    def remote_topic(self, source_alias: str, topic: str) -> str:
        """Return the name of `topic` of cluster `source_alias` on the target."""
        if self._renames(topic):
            return source_alias + self.separator + topic
        return topic

    def topic_source(self, topic: str) -> str | None:
        """Return the source alias in the topic's name, or None."""
        if self._renames(topic):
            return self._prefix(topic)
        return self.source_alias if self.kind is PolicyKind.IDENTITY else None

    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic's name one hop upstream, or None if it is not a remote topic."""
        if not self._renames(topic):
            return topic
        source = self._prefix(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        """Return the name without its prefixes."""
        if self.kind is PolicyKind.LEGACY and not self._renames(topic):
            return topic
        upstream = self.upstream_topic(topic)
        while upstream is not None and upstream != topic:
            topic, upstream = upstream, self.upstream_topic(upstream)
        return topic

    def sources(self, topic: str) -> Iterator[str]:
        """Yield the aliases in the topic's name, the last hop's source first; an alias may come twice."""
        while (source := self.topic_source(topic)) is not None:
            yield source
            upstream = self.upstream_topic(topic)
            if upstream is None or upstream == topic:
                return
            topic = upstream

    def is_heartbeats(self, topic: str) -> bool:
        """Return whether this is the heartbeats topic, or a replicated one after any number of hops."""
        return self.original_topic(topic) == HEARTBEATS

    def is_checkpoints(self, topic: str) -> bool:
        """Return whether this is a checkpoints topic."""
        return topic.endswith(f"{self._own_separator}checkpoints{self._own_separator}internal")

    def is_internal(self, topic: str, version: str) -> bool:
        """Return whether MirrorMaker `version` treats the topic as internal and never replicates it.

        Up to 3.9 the end of the name alone makes it internal; from 4.0 it must start with mm2 as well.
        """
        if topic.startswith(("__", ".")):
            return True
        suffix = f"{self._own_separator}internal"
        if major_version(version) == OLDEST_KNOWN:
            return topic.endswith(("-internal", ".internal", suffix))
        return (topic.startswith("mm2") and topic.endswith(suffix)) or self.is_checkpoints(topic)

    @property
    def heartbeats_topic(self) -> str:
        """Return the name of the heartbeats topic on its own cluster: it has no separator."""
        return HEARTBEATS

    def offset_syncs_topic(self, other_alias: str) -> str:
        """Return the name of the offset syncs topic; `other_alias` is the flow's other cluster.

        That is the target's alias when the topic lies on the source (the default), else the source's.
        """
        return f"mm2-offset-syncs{self._own_separator}{other_alias}{self._own_separator}internal"

    def checkpoints_topic(self, source_alias: str) -> str:
        """Return the name of the topic on the target with the checkpoints of `source_alias`' groups."""
        return f"{source_alias}{self._own_separator}checkpoints{self._own_separator}internal"

    @property
    def _own_separator(self) -> str:
        # The legacy policy does not extend the default one; it uses the interface's names, with a dot.
        return (
            self.separator if self.internal_separator_enabled and self.kind is not PolicyKind.LEGACY else "."
        )

    def _renames(self, topic: str) -> bool:
        """Return whether the prefix rule applies; identity and legacy keep it for heartbeats."""
        match self.kind:
            case PolicyKind.DEFAULT:
                return True
            case PolicyKind.IDENTITY:
                return topic.endswith(HEARTBEATS)
            case PolicyKind.LEGACY:
                return ReplicationPolicy(separator=self.separator).is_heartbeats(topic)

    def _prefix(self, topic: str) -> str | None:
        """Return the text before the first separator if text follows it, as Java's split does.

        Java drops empty pieces at the end, so `A.` has no source, while `.foo` comes from a cluster
        without a name; an empty separator parts every character from the next.
        """
        if not self.separator:
            return topic[0] if len(topic) > 1 else None
        before, _, after = topic.partition(self.separator)
        return before if after.replace(self.separator, "") else None
