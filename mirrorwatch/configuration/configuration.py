"""The validated configuration: clusters with their clients, flows with canaries, settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from alerts.config import LinksConfig
from checksum.config import ChecksumConfig
from fleet.errors import ConfigurationError, Problem
from fleet.shards import WHOLE, Shard, shards_of
from lagmon.config import LagConfig
from mirrorwatch.failover.config import FailoverConfig
from runtime.config.web import WebConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from alerts.objectives import FlowFacts, Objective
    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow
    from fleet.connect.connectors import Connector
    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow
    from mirrorwatch.configuration.sections import ConnectSection
    from runtime.config.sections import HttpConfig, StoreConfig
    from runtime.kafka.properties.client_settings import ClientSettings


@dataclass(frozen=True, slots=True)
class LagSource:
    """The source of one flow's progress.

    `lag_from` is connect-offsets, group, equal-offsets or offset-syncs. `group` is a pattern of names, used
    with group. `kafka_cluster` and `topic` are where offsets are stored, used with connect-offsets; `topic`
    is None if its name is unknown. `worker_topics` are the configured other topics of the worker, by key of
    OffsetsSection. `topics_read`: the mirror's own configuration lists the topics that it replicates.
    """

    lag_from: str
    group: str | None = None
    kafka_cluster: str | None = None
    topic: str | None = None
    worker_topics: Mapping[str, str] = field(default_factory=dict)
    topics_read: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """A complete and valid configuration.

    `warnings` are for the operator and stop nothing. `remarks` are the warnings that do not change what is
    watched, such as keys that do not reach the mirror's own clients. `mm2_path` is the mirror's file, if any.
    `connectors` are those of a mirror on Connect at the time of reading, without their values. `clients` are
    of every cluster that Mirrorwatch reads: those of flows and, while the lag monitor is on, all others that
    can be read. `lag_sources` has every flow by name, `burrow_names` every cluster of `clients` by alias.
    `cluster_secrets` are the `secrets` of clients, Mirrorwatch's and the mirror's. `connect` is the address
    of the mirror's Connect worker. `web_config` is the content of http.web_config_file; without it, no user
    is required.
    """

    path: Path
    topology: Topology
    clients: Mapping[str, ClientSettings]
    canary: CanaryConfig
    canary_flows: tuple[CanaryFlow, ...]
    http: HttpConfig
    store: StoreConfig
    warnings: tuple[Problem, ...]
    secrets: frozenset[str] = field(repr=False)
    cluster_secrets: frozenset[str] = field(repr=False)
    remarks: frozenset[Problem] = frozenset()
    mm2_path: Path | None = None
    connectors: tuple[Connector, ...] = ()
    connect: ConnectSection | None = field(default=None, repr=False)
    lag_sources: Mapping[str, LagSource] = field(default_factory=dict)
    burrow_names: Mapping[str, str] = field(default_factory=dict)
    lag: LagConfig = field(default_factory=LagConfig)
    failover: FailoverConfig = field(default_factory=FailoverConfig)
    checksum: ChecksumConfig = field(default_factory=ChecksumConfig)
    flow_facts: tuple[FlowFacts, ...] = ()
    objectives: tuple[Objective, ...] = ()
    links: LinksConfig = field(default_factory=LinksConfig)
    web_config: WebConfig = field(default=WebConfig(), repr=False)  # with the hashes of passwords
    shard: Shard = WHOLE  # the part of the flows and groups that is watched
    flow_shards: Mapping[str, int] = field(default_factory=dict)  # of all flows, those of other shards too
    of_all: Configuration | None = field(default=None, repr=False)  # of all shards, None if this is it

    @property
    def touched(self) -> dict[str, ClientSettings]:
        """Return the clients of the clusters of flows, the only ones that Mirrorwatch writes to."""
        used = self.topology.touched
        return {alias: settings for alias, settings in self.clients.items() if alias in used}

    @property
    def lone(self) -> tuple[str, ...]:
        """Return the clusters that are part of no flow; only the lag monitor reads them."""
        used = self.topology.touched
        return tuple(alias for alias in self.clients if alias not in used)

    @property
    def audits_failover(self) -> bool:
        """Return whether the service audits where groups would start on the target."""
        return self.failover.audit and self.lag.on and bool(self.topology.flows)

    @property
    def worth_reading(self) -> tuple[Problem, ...]:
        """Return the warnings without the remarks: those that the service logs at each start."""
        return tuple(warning for warning in self.warnings if warning not in self.remarks)

    def of_shard(self, shard: Shard) -> Configuration:
        """Return the configuration of one shard: its flows, and all clusters for its groups."""
        numbers = shards_of((flow.name for flow in self.topology.flows), shard.count)
        mine = {name for name, number in numbers.items() if number == shard.number}
        topology = replace(self.topology, flows=tuple(one for one in self.topology.flows if one.name in mine))
        read = self.clients.keys() if self.lag.on else topology.touched
        return replace(
            self,
            topology=topology,
            clients={alias: client for alias, client in self.clients.items() if alias in read},
            canary_flows=tuple(one for one in self.canary_flows if one.name in mine),
            flow_facts=tuple(one for one in self.flow_facts if one.name in mine),
            objectives=tuple(one for one in self.objectives if one.flow in mine),
            shard=shard,
            flow_shards=numbers,
            of_all=self,
        )

    @property
    def whole(self) -> Configuration:
        """Return the configuration of all shards."""
        return self.of_all or self

    @property
    def flows_elsewhere(self) -> tuple[Flow, ...]:
        """Return the flows of other shards."""
        mine = {flow.name for flow in self.topology.flows}
        return tuple(flow for flow in self.whole.topology.flows if flow.name not in mine)

    def flows_named(self, name: str | None) -> tuple[Flow, ...]:
        """Return all flows, or one (`A->B` or `A:B`); raises ConfigurationError if there is none."""
        flows = self.topology.flows
        if not flows:
            raise ConfigurationError([Problem(str(self.path), "flows", "there is no flow; add one")])
        found = tuple(one for one in flows if name in (None, one.name, one.name.replace("->", ":")))
        if not found:
            names = ", ".join(one.name for one in flows)
            raise ConfigurationError([Problem("--flow", "", f"unknown flow '{name}'; the flows are {names}")])
        return found

    def objectives_to(self, do: str) -> tuple[Objective, ...]:
        """Return the objectives; raises ConfigurationError if there are none to `do` something with."""
        if not self.objectives:
            sentence = f"no objective fits any flow, so there is nothing to {do}; add a flow, or an objective"
            raise ConfigurationError([Problem(str(self.path), "objectives", sentence)])
        return self.objectives

    @property
    def directory(self) -> Path:
        """Return the folder of relative paths."""
        return self.path.parent
