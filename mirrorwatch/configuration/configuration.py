"""What a configuration comes to: clusters with their clients, flows with canaries, our own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alerts.config import LinksConfig
from checksum.config import ChecksumConfig
from fleet.errors import ConfigurationError, Problem
from lagmon.config import LagConfig
from runtime.config.web import WebConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from alerts.objectives import FlowFacts, Objective
    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow
    from fleet.connect.connectors import Connector
    from fleet.topology import Topology
    from mirrorwatch.configuration.sections import ConnectSection
    from runtime.config.sections import HttpConfig, StoreConfig
    from runtime.kafka.properties.client_settings import ClientSettings


@dataclass(frozen=True, slots=True)
class LagSource:
    """From what it is known how far one flow has come.

    `lag_from` is connect-offsets, group, equal-offsets or offset-syncs. `group` is a pattern of names, for
    the second alone; `kafka_cluster` and `topic` are where offsets are kept, for the first: the topic is None
    where nothing says its name. `worker_topics` are the others of its worker that the operator names, by key
    of OffsetsSection. `topics_read` is whether the mirror's own configuration says which topics it carries.
    """

    lag_from: str
    group: str | None = None
    kafka_cluster: str | None = None
    topic: str | None = None
    worker_topics: Mapping[str, str] = field(default_factory=dict)
    topics_read: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that was read in full.

    `warnings` are for the operator and stop nothing. `remarks` are those of them that change nothing of what
    is watched, such as keys of its own clients that do not reach them. `mm2_path` is the mirror's file,
    None where there is none. `connectors` are those of a mirror on Connect, without what they hold, each as
    it was when this was read. `clients` are of every cluster that we read: those that a flow touches and,
    while the lag monitor is on, all others that can be read. `lag_sources` has every flow by name,
    `burrow_names` every cluster that we read by alias. `cluster_secrets` are those of `secrets` that
    clients have, ours and the mirror's own. `connect` is where a mirror on Connect is asked about.
    `web_config` is what the file of http.web_config_file holds; without such a file it asks nobody.
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
    checksum: ChecksumConfig = field(default_factory=ChecksumConfig)
    flow_facts: tuple[FlowFacts, ...] = ()
    objectives: tuple[Objective, ...] = ()
    links: LinksConfig = field(default_factory=LinksConfig)
    web_config: WebConfig = field(default=WebConfig(), repr=False)  # with the hashes of passwords

    @property
    def touched(self) -> dict[str, ClientSettings]:
        """Return the clients of the clusters that a flow touches: to no other anything is written."""
        used = self.topology.touched
        return {alias: settings for alias, settings in self.clients.items() if alias in used}

    @property
    def lone(self) -> tuple[str, ...]:
        """Return the clusters that no flow touches and that we read: the lag monitor alone does."""
        used = self.topology.touched
        return tuple(alias for alias in self.clients if alias not in used)

    @property
    def worth_reading(self) -> tuple[Problem, ...]:
        """Return the warnings without the remarks: what a person should read each time the service starts."""
        return tuple(warning for warning in self.warnings if warning not in self.remarks)

    def objectives_to(self, do: str) -> tuple[Objective, ...]:
        """Return the objectives; raises ConfigurationError without any, where there is nothing to `do`."""
        if not self.objectives:
            sentence = f"no objective fits any flow, so there is nothing to {do}; add a flow, or an objective"
            raise ConfigurationError([Problem(str(self.path), "objectives", sentence)])
        return self.objectives

    @property
    def directory(self) -> Path:
        """Return the folder that relative paths are taken from."""
        return self.path.parent
