"""One flow from the properties of its connectors and its worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from fleet.mm2.filters import EVERYTHING, GroupFilter, TopicFilter
from fleet.mm2.handling import handling_of
from fleet.mm2.names import WORKER_NAMES, client_names, connector_names
from fleet.mm2.replication import OLDEST_KNOWN, POLICY_CLASSES, PolicyKind, ReplicationPolicy
from fleet.mm2.resolution import CHECKPOINT, HEARTBEAT, SOURCE, Mm2Properties
from fleet.mm2.topic_sync import topic_sync_of
from fleet.mm2.values import Values
from fleet.verdicts.flow import EARLIEST, Flow

if TYPE_CHECKING:
    from fleet.errors import Problem

_PACKAGE = "org.apache.kafka.connect.mirror."
_BY_OVERRIDE = "name the flow's topics and policy by hand under flows: in Mirrorwatch's own configuration"
_DEFAULT_TOPIC_FILTER = f"{_PACKAGE}DefaultTopicFilter"
_F = TypeVar("_F", TopicFilter, GroupFilter)


@dataclass(frozen=True, slots=True)
class FlowOverrides:
    """Settings of a flow in Mirrorwatch's configuration; each replaces that of the mirror's file."""

    topics: str | None = None
    policy: PolicyKind | None = None
    separator: str | None = None


@dataclass(frozen=True, slots=True)
class FlowReader:
    """Reads the flows of one file; adds problems to the list."""

    file: str
    mm2: Mm2Properties
    mirror_version: str | None
    problems: list[Problem]

    def is_enabled(self, source: str, target: str) -> bool:
        """Return whether MirrorMaker replicates records from source to target."""
        if (source, target) not in self.mm2.pairs:
            return False
        return self._connector(source, target, SOURCE).boolean("enabled", default=False)

    def check_worker(self, source: str, target: str) -> None:
        """Add the problems that stop the worker of a herder, and so all of MirrorMaker, from starting."""
        names = WORKER_NAMES | client_names(self.mm2.major)
        self._worker(source, target).check(names, self.mirror_version)

    def flow(self, source: str, target: str, flow_overrides: FlowOverrides) -> Flow:
        """Return the flow; a wrong value becomes a problem, and its default is used."""
        values = self._connector(source, target, SOURCE)
        checkpoint = self._connector(source, target, CHECKPOINT)
        heartbeat = self._connector(source, target, HEARTBEAT)
        worker = self._worker(source, target)
        policy = self._policy(values, flow_overrides)
        topic_filter, unread = self._topic_filter(values, flow_overrides)
        flow = Flow(
            source,
            target,
            source_alias=values.optional("source.cluster.alias"),
            target_alias=values.optional("target.cluster.alias"),
            policy=policy,
            topic_filter=topic_filter,
            group_filter=self._filter(checkpoint, GroupFilter, "Group"),
            mirror_version=self.mirror_version,
            heartbeats_enabled=heartbeat.boolean("emit.heartbeats.enabled", default=True),
            heartbeats_interval_s=heartbeat.interval_s("emit.heartbeats", 1),
            heartbeats_replicated=self.mm2.major == OLDEST_KNOWN  # which does not know the key
            or values.boolean("heartbeats.replication.enabled", default=True),
            tasks_max=values.number("tasks.max", 1),
            refresh_topics_interval_s=values.interval_s("refresh.topics", 600),
            offset_lag_max=max(0, values.number("offset.lag.max", 100)),
            offset_syncs_location=values.choice("offset-syncs.topic.location", "source"),
            offset_flush_interval_s=max(0, worker.number("offset.flush.interval.ms", 60_000)) / 1000,
            emit_offset_syncs=values.boolean("emit.offset-syncs.enabled", default=True),
            emit_checkpoints_interval_s=checkpoint.interval_s("emit.checkpoints", 60),
            sync_group_offsets=checkpoint.boolean("sync.group.offsets.enabled", default=False),
            sync_group_offsets_interval_s=max(
                0, checkpoint.number("sync.group.offsets.interval.seconds", 60)
            ),
            exactly_once=worker.text("exactly.once.source.support", "disabled").lower() == "enabled",
            isolation_level=self._of_consumer(values, "isolation.level", "read_uncommitted"),
            offset_reset=self._of_consumer(values, "auto.offset.reset", EARLIEST).lower(),
            handling=handling_of(values, worker, worker_known=self._worker_known),
            topic_sync=topic_sync_of(values, self.mm2.major),
            offset_storage_topic=worker.text("offset.storage.topic", ""),
            config_storage_topic=worker.text("config.storage.topic", ""),
            status_storage_topic=worker.text("status.storage.topic", ""),
            own_topics=flow_overrides.topics is not None,
            unread_exclusion=unread,
        )
        values.check(connector_names(self.mm2.major), self.mirror_version)
        return flow

    def _policy(self, values: Values, flow_overrides: FlowOverrides) -> ReplicationPolicy:
        # A variable without a value is no problem if the policy is set by hand.
        unneeded = values.troubles if flow_overrides.policy is not None else {}

        def given(key: str) -> str | None:
            return None if key in unneeded else values.given(key)

        # The policy gets the values untrimmed, and reads the switch only with a separator.
        separator = flow_overrides.separator
        if separator is None:
            separator = given("replication.policy.separator")
        switch = given("replication.policy.internal.topic.separator.enabled") or "true"
        return ReplicationPolicy(
            flow_overrides.policy or self._policy_kind(values),
            "." if separator is None else separator,
            separator is None or switch.lower() == "true",
        )

    def _policy_kind(self, values: Values) -> PolicyKind:
        key = "replication.policy.class"
        name = values.text(key, f"{_PACKAGE}DefaultReplicationPolicy")
        kind = POLICY_CLASSES.get(name)
        if kind is None:
            known = ", ".join(POLICY_CLASSES)
            values.problem(key, f"names a class that is not supported (supported: {known}); {_BY_OVERRIDE}")
            return PolicyKind.DEFAULT
        return kind

    def _topic_filter(self, values: Values, flow_overrides: FlowOverrides) -> tuple[TopicFilter, str]:
        """Return the filter, and why the file's exclusion is not used, or an empty text.

        Topics of Mirrorwatch's configuration are the remedy if the file cannot be read: that is no problem.
        """
        if flow_overrides.topics is None:
            return self._filter(values, TopicFilter, "Topic"), ""
        include, unread = flow_overrides.topics, ""
        try:
            TopicFilter(include)
        except ValueError:  # reported when Mirrorwatch's configuration was read
            include = EVERYTHING
        filter_class = values.properties.get("topic.filter.class", _DEFAULT_TOPIC_FILTER)
        if filter_class.strip() != _DEFAULT_TOPIC_FILTER:
            return TopicFilter(include), ""
        kept: dict[str, str] = {}
        for part, key in _filter_keys(TopicFilter.kind, self.mm2.major):
            text = values.properties.get(key)
            if part == "include" or text is None:
                continue
            written = values.written.get(key, key)
            if key in values.troubles:
                unread = f"{written} has a variable without a value"
                continue
            try:
                TopicFilter(**{part: text})
            except ValueError as error:
                unread = f"{written}: {error}"
            else:
                kept[part] = text
        return TopicFilter(include, **kept), unread

    def _filter(self, values: Values, kind: type[_F], name: str) -> _F:
        """Return the filter of topics or groups, with a problem for each invalid list."""
        key = f"{name.lower()}.filter.class"
        default = f"{_PACKAGE}Default{name}Filter"
        if values.text(key, default) != default:
            values.problem(key, f"names a class that is not supported (supported: {default}); {_BY_OVERRIDE}")
        found: dict[str, str] = {}
        for part, property_key in _filter_keys(kind.kind, self.mm2.major):
            text = values.given(property_key)
            if text is None:
                continue
            try:
                kind(include=text)
            except ValueError as error:
                values.problem(property_key, f"{error}; fix it, or {_BY_OVERRIDE}")
                continue
            found[part] = text
        return kind(**found)

    def _of_consumer(self, values: Values, name: str, default: str) -> str:
        """Return a setting of the mirror's source consumer, from all places that can set it."""
        found = default
        for prefix in ("source.cluster.", "consumer.", "source.consumer."):
            if prefix == "source.cluster." and name not in client_names(self.mm2.major):
                continue  # only common client keys reach the consumer from there
            found = values.text(f"{prefix}{name}", found)
        return found

    @property
    def _worker_known(self) -> bool:
        """Return whether the worker's own configuration is known."""
        return True

    def _connector(self, source: str, target: str, connector: str) -> Values:
        properties = self.mm2.connector_config(source, target, connector)
        written = {key: self._written(key, f"{source}->{target}.") for key in properties}
        resolved = {key: self.mm2.read(value) for key, value in properties.items()}
        # Without providers `${` is text, with a warning.
        troubles = {
            key: (*each.troubles, *each.left)
            for key, each in resolved.items()
            if (each.troubles or each.left) and self.mm2.providers
        }
        found = {key: each.value for key, each in resolved.items()}
        return Values(self.file, found, self.problems, written, troubles)

    def _worker(self, source: str, target: str) -> Values:
        config = self.mm2.worker_config(source, target)
        properties = {key: self.mm2.read(value).value for key, value in config.items()}
        written = {key: self._written(key, f"{target}.") for key in properties}
        return Values(self.file, properties, self.problems, written)

    def _written(self, key: str, prefix: str) -> str:
        return prefix + key if prefix + key in self.mm2.raw else key


def _filter_keys(kind: str, major: int | None) -> tuple[tuple[str, str], ...]:
    keys = (("include", kind), ("exclude", f"{kind}.exclude"))
    return keys if major == 4 else (*keys, ("blacklist", f"{kind}.blacklist"))
