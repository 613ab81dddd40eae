"""Read a configuration: Mirrorwatch's own YAML, or a mirror's file. Reports every problem at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alerts.objectives import FlowFacts, objectives_of, rate_advice
from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from fleet.mm2.filters import TopicFilter, lacks_comma, split_list
from fleet.mm2.properties import FlowOverrides
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.quantity import duration_text
from fleet.topology import Cluster, Topology
from fleet.verdicts.flow import Flow
from mirrorwatch.check.cost import costs
from mirrorwatch.configuration.burrow_names import names_for_burrow
from mirrorwatch.configuration.configuration import Configuration
from mirrorwatch.configuration.connect import ConnectAddress
from mirrorwatch.configuration.flow_canaries import canary_flows
from mirrorwatch.configuration.forms import Form, form_of, own_document
from mirrorwatch.configuration.lag_sources import flows_kept_at, problems_of_sources, sources_of_lag
from mirrorwatch.configuration.mirror import Mirror, MirrorFile, for_own_clients, is_remark, where_to_write
from mirrorwatch.configuration.problems import (
    as_problem,
    groups_warning,
    in_order,
    secrets_in,
    unknown_cluster,
)
from mirrorwatch.configuration.sections import FlowSection, RootSection
from mirrorwatch.configuration.text import read_bytes
from mirrorwatch.configuration.validation import PLACEHOLDER, sections_of
from runtime.config.interpolation import interpolate
from runtime.config.web import WebConfig, load_web_config
from runtime.kafka.properties.translation import translate
from runtime.store.address import secrets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from alerts.objectives import Objective
    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow
    from mirrorwatch.configuration.configuration import LagSource
    from runtime.config.strict_yaml import Document
    from runtime.kafka.properties.client_settings import ClientSettings


def read_configuration(
    path: Path, *, environ: Mapping[str, str], running: CanaryConfig | None = None, serving: bool = True
) -> Configuration:
    """Return the configuration in this file; raises ConfigurationError with every problem found in it.

    With `running`, the canary's topic and mode are those of that section instead of the file's: a running
    service keeps them. Without `serving`, the files of the server's TLS are not read.
    """
    content = read_bytes(path)
    if form_of(path, content) is not Form.OURS:
        bare = _with_running(RootSection(mm2=path.name), running)
        return _Reading(path, bare, None, environ, content, serving=serving).configuration()
    document = own_document(path, content, frozenset(RootSection.model_fields))
    document, unresolved = interpolate(document, environ=environ, directory=path.parent)
    root, problems = sections_of(document)
    if root is None:
        raise ConfigurationError(in_order([*unresolved, *problems], document.secrets, unresolved))
    reading = _Reading(path, _with_running(root, running), document, environ, serving=serving)
    reading.unresolved = unresolved
    reading.problems += [*unresolved, *problems]
    return reading.configuration()


def _with_running(root: RootSection, running: CanaryConfig | None) -> RootSection:
    if running is None:
        return root
    canary = root.canary.model_copy(update={"topic": running.topic, "mode": running.mode})
    return root.model_copy(update={"canary": canary})


class _Reading:
    """One configuration that is being read; collects problems and warnings."""

    def __init__(
        self,
        path: Path,
        root: RootSection,
        document: Document | None,
        environ: Mapping[str, str],
        content: bytes | None = None,
        *,
        serving: bool,
    ) -> None:
        self._serving = serving
        self.problems: list[Problem] = []
        self.unresolved: list[Problem] = []
        self._path = path
        self._root = root
        self._clusters = root.properties
        self._document = document
        self._warnings: list[Problem] = []
        self._remarks: list[Problem] = []
        self._unavailable: UnavailableError | RefusedError | None = None
        self._mirror: Mirror | None = None
        if root.mm2 is not None:
            self._mirror = MirrorFile(path.parent / root.mm2, environ, content)
        elif root.connect is not None:
            self._mirror = ConnectAddress(root.connect, self._problem)
        if root.mm2 is not None and root.connect is not None:
            sentence = "cannot be set together with mm2; keep one of the two"
            self.problems.append(self._problem(("connect",), sentence))

    def configuration(self) -> Configuration:
        topology, known = self._topology()
        written = where_to_write(self._path) if self._document is None else ""
        lag_sources, unknown = sources_of_lag(
            topology, self._root.flows, where=self._problem, written=written
        )
        self._warn_of_names(topology, known, lag_sources)
        self._warn_of_topics(topology)
        clients = self._clients(topology, lag_sources)
        flows, problems, warnings = canary_flows(
            topology,
            self._root.canary,
            self._root.flows,
            added_headers=frozenset(self._root.checksum.exclude_headers),
            where=self._problem,
        )
        self.problems += problems
        self._warnings += warnings
        web_config = self._web_config()
        self._warnings += unknown
        burrow_names = self._burrow_names(topology, clients)
        facts = self._flow_facts(topology, flows)
        objectives = self._objectives(facts)
        of_clusters = self._secrets_of_clusters(topology, clients)
        secrets = self._secrets() | of_clusters
        if self.problems:
            hidden = secrets | self._mirrors_secrets
            raise ConfigurationError(in_order(self.problems, hidden, self.unresolved))
        if self._unavailable is not None:  # problems are reported first
            raise self._unavailable
        return Configuration(
            path=self._path,
            topology=topology,
            clients=clients,
            canary=self._root.canary,
            canary_flows=flows,
            http=self._root.http,
            store=self._root.store,
            warnings=tuple(dict.fromkeys(self._warnings)),
            secrets=secrets,
            cluster_secrets=of_clusters,
            remarks=frozenset(self._remarks),
            mm2_path=self._mirror.path if self._mirror is not None else None,
            connectors=self._mirror.connectors if self._mirror is not None else (),
            connect=self._root.connect,
            lag_sources=lag_sources,
            burrow_names=burrow_names,
            flow_facts=facts,
            objectives=objectives,
            links=self._root.links,
            web_config=web_config,
            lag=self._root.lag,
            failover=self._root.failover,
            checksum=self._root.checksum,
        )

    # --- clusters and flows

    def _topology(self) -> tuple[Topology, frozenset[str]]:
        """Return clusters and flows without those that have problems, and the flow names of the mm2 file."""
        found = self._from_mirror()
        self._check_topics()
        clusters, flows = found or ((), ())
        aliases = None if found is None else frozenset(cluster.alias for cluster in clusters)
        self.problems += problems_of_sources(self._root.flows, aliases, where=self._problem)
        usable = self._check_flows(aliases)
        if found is None:
            return Topology((), ()), frozenset()
        known = frozenset(flow.name for flow in flows)
        flows = tuple(self._refine(flow) for flow in flows)
        flows += tuple(self._own_flow(name, self._root.flows[name]) for name in usable if name not in known)
        if not flows and not self.problems and not (clusters and self._root.lag.on):
            sentence = (
                "no flow; set mm2 to the path of the mirror's mm2.properties, or write a flow, for example"
                " A->B: {topics: 'orders.*'}; to watch only groups, write clusters, and do not set"
                " lag.commits: off"
            )
            self.problems.append(self._problem(("flows",), sentence))
        return Topology(clusters, flows), known

    def _from_mirror(self) -> tuple[tuple[Cluster, ...], tuple[Flow, ...]] | None:
        if self._mirror is None:
            return tuple(Cluster(alias, client) for alias, client in self._clusters.items()), ()
        flow_overrides = {
            name: FlowOverrides(
                section.topics, PolicyKind(section.policy) if section.policy else None, section.separator
            )
            for name, section in self._root.flows.items()
        }
        try:
            mm2 = self._mirror.read(
                mirror_version=self._root.mirror_version,
                clusters=self._clusters,
                flow_overrides=flow_overrides,
            )
        except (UnavailableError, RefusedError) as error:
            self._unavailable = error
            return None
        except ConfigurationError as error:
            named = self._document is not None
            for problem in error.problems:
                if named and not problem.key and problem.file == self._mirror.name:
                    sentence = f"{problem.file}: {problem.sentence}"
                    self.problems.append(self._problem(("mm2",), sentence))
                else:
                    self.problems.append(problem)
            return None
        aliases = frozenset(cluster.alias for cluster in mm2.topology.clusters)
        for warning in mm2.warnings:
            self._warnings.append(warning)
            if is_remark(warning, aliases):
                self._remarks.append(warning)
        return mm2.topology.clusters, mm2.topology.flows

    def _check_flows(self, aliases: frozenset[str] | None) -> list[str]:
        """Return the flows with valid names; `aliases` is None if not all clusters are known."""
        usable = []
        for name in self._root.flows:
            before = len(self.problems)
            source, target = name.split("->")
            if source == target:
                sentence = f"source and target are both {source}; name two clusters"
                self.problems.append(self._problem(("flows", name), sentence))
            for alias in dict.fromkeys((source, target)):
                if aliases is not None and alias not in aliases:
                    self.problems.append(self._problem(("flows", name), unknown_cluster(alias, aliases)))
            if len(self.problems) == before:
                usable.append(name)
        return usable

    def _check_topics(self) -> None:
        for name, section in self._root.flows.items():
            try:
                TopicFilter(section.topics or "")
            except ValueError as error:
                self.problems.append(self._problem(("flows", name, "topics"), f"{error}; fix it"))

    def _refine(self, flow: Flow) -> Flow:
        section = self._root.flows.get(flow.name)
        if section is None:
            return flow
        if section.delivery is not None:
            flow = replace(flow, exactly_once=section.delivery == "exactly_once")
        if section.offsets is not None:
            home = section.offsets.kafka_cluster or flow.target
            flow = replace(flow, offset_storage_topic=section.offsets.topic, offset_storage_cluster=home)
        return flow

    def _own_flow(self, name: str, section: FlowSection) -> Flow:
        """Return a flow that the mm2 file does not have."""
        source, target = name.split("->")
        try:
            topics = TopicFilter() if section.topics is None else TopicFilter(section.topics)
        except ValueError:  # reported by _check_topics
            topics = TopicFilter()
        return Flow(
            source=source,
            target=target,
            offset_storage_topic=section.offsets.topic if section.offsets else None,
            offset_storage_cluster=section.offsets.kafka_cluster if section.offsets else None,
            policy=ReplicationPolicy(PolicyKind(section.policy or "default"), section.separator or "."),
            topic_filter=topics,
            own_topics=True,
            mirror_version=self._root.mirror_version,
            exactly_once=section.delivery == "exactly_once",
        )

    # --- clients

    def _clients(self, topology: Topology, lag_sources: Mapping[str, LagSource]) -> dict[str, ClientSettings]:
        """Return the settings of the clients for each cluster that is read: all, if the lag monitor is on.

        An invalid cluster of the mm2 file is not a problem if no flow needs it: the mirror itself may not use
        it either.
        """
        clients: dict[str, ClientSettings] = {}
        lag_on = self._root.lag.on
        needed = topology.touched | {one.kafka_cluster for one in lag_sources.values() if lag_on}
        for cluster in topology.clusters:
            own = self._clusters.get(cluster.alias, {})
            used = lag_on or cluster.alias in needed
            # A cluster of Mirrorwatch's own file is checked even if it is not used.
            if (not used and not own) or own == PLACEHOLDER:
                continue
            try:
                settings = self._client(cluster, own)
            except ConfigurationError as error:
                if cluster.alias in needed or cluster.alias in self._clusters:
                    self.problems += error.problems
                else:
                    hidden = secrets_in(cluster.client) | self._mirrors_secrets
                    found = in_order(error.problems, hidden)
                    self._warnings += [groups_warning(cluster.alias, problem) for problem in found]
                continue
            if used:
                clients[cluster.alias] = settings
                self._warnings += [as_problem(note) for note in settings.notes]
        return clients

    def _burrow_names(self, topology: Topology, clients: Iterable[str]) -> dict[str, str]:
        """Return the names of the clusters that are read; the names of all known clusters must differ."""
        known = {cluster.alias for cluster in topology.clusters} | self._clusters.keys()
        usable = [alias for alias in known if self._clusters.get(alias) != PLACEHOLDER]
        found, problems = names_for_burrow(usable, self._root.burrow_names, where=self._problem)
        self.problems += problems
        return {alias: found[alias] for alias in clients if alias in found}

    def _client(self, cluster: Cluster, own: Mapping[str, str]) -> ClientSettings:
        def locate(key: str) -> tuple[str, str]:
            if self._mirror is not None and key not in own:
                there = self._mirror.locate(cluster.alias, key)
                if there is not None or self._document is None:
                    return there or (str(self._path), f"{cluster.alias}.{key}")
            return self._where(("clusters", cluster.alias, key)), f"clusters.{cluster.alias}.{key}"

        properties = for_own_clients(cluster.client, own)
        return translate(properties, cluster=cluster.alias, file=str(self._path), locate=locate)

    def _secrets_of_clusters(
        self, topology: Topology, clients: Mapping[str, ClientSettings]
    ) -> frozenset[str]:
        # Some are only the mirror's, and its errors quote them.
        found = set(self._mirror.passwords) if self._mirror is not None else set()
        for cluster in topology.clusters:
            found |= secrets_in(cluster.client)
        for settings in clients.values():
            found |= secrets_in(settings.librdkafka)
        return frozenset(found)

    def _secrets(self) -> frozenset[str]:
        """Return interpolated values, and the passwords of other sections than the clusters."""
        found = set(self._document.secrets) if self._document is not None else set()
        for token in (self._root.http.tokens.audit, self._root.http.tokens.operator):
            if token is not None:
                found.add(token.get_secret_value())
        if self._root.connect is not None and self._root.connect.password is not None:
            found.add(self._root.connect.password.get_secret_value())
        found |= secrets_of(self._root.store.database_url(self._path.parent))
        return frozenset(found)

    @property
    def _mirrors_secrets(self) -> set[str]:
        return self._mirror.secrets if self._mirror is not None else set()

    # --- the rest

    def _web_config(self) -> WebConfig:
        path = self._root.http.web_config_path(self._path.parent)
        if path is None:
            return WebConfig()
        try:
            return load_web_config(path, serving=self._serving)
        except ConfigurationError as error:
            for problem in error.problems:
                if problem.key or problem.file != str(path):
                    self.problems.append(problem)
                else:
                    sentence = f"{path}: {problem.sentence}"
                    self.problems.append(self._problem(("http", "web_config_file"), sentence))
            return WebConfig()  # never used: a configuration with problems is refused

    def _warn_of_names(
        self, topology: Topology, known: frozenset[str], lag_sources: Mapping[str, LagSource]
    ) -> None:
        touched = topology.touched or self._clusters  # without a flow all clusters are wanted
        for alias in self._clusters:
            if alias not in touched:
                kept = flows_kept_at(lag_sources, alias)
                fate = "only its consumer groups are watched"
                if not self._root.lag.on:
                    fate = "it is not used"
                elif kept:
                    fate = f"only its consumer groups and the offsets of {', '.join(kept)} are watched"
                sentence = f"not part of a flow; {fate}"
                self._warnings.append(self._problem(("clusters", alias), sentence))
        if self._mirror is None:
            return
        for name in self._root.flows:
            if name not in known:
                sentence = f"not enabled in {self._mirror.name}; it is watched as a flow of another mirror"
                self._warnings.append(self._problem(("flows", name), sentence))

    def _warn_of_topics(self, topology: Topology) -> None:
        for flow in topology.flows:
            key = ("flows", flow.name, "topics")
            for entry in split_list(flow.topic_filter.include):
                if lacks_comma(entry):
                    sentence = f"the entry '{entry[:100]}' matches no topic; separate its parts by commas"
                    self._warnings.append(self._problem(key, sentence))
            if flow.unread_exclusion:
                sentence = (
                    f"the exclusion in the mirror's configuration is not used: {flow.unread_exclusion};"
                    " excluded topics count as replicated"
                )
                self._warnings.append(self._problem(key, sentence))

    def _objectives(self, facts: Sequence[FlowFacts]) -> tuple[Objective, ...]:
        found, problems = objectives_of(self._root.objectives, facts)
        for number, key, sentence in problems:
            self.problems.append(self._problem(("objectives", str(number), key), sentence))
        longest = max(found, key=lambda one: one.period_s, default=None)
        kept_s = self._root.store.keep.minutes
        if longest is not None and kept_s < longest.period_s:  # a missed objective would heal by forgetting
            sentence = (
                f"must be at least {duration_text(longest.period_s)}, the objectives.period of {longest.kind}"
                f" of {longest.flow}, not {duration_text(kept_s)}; raise it, or shorten the period"
            )
            self.problems.append(self._problem(("store", "keep", "minutes"), sentence))
        rates = {one.name: one.probes_per_s for one in facts}
        advice = (rate_advice(one, rates[one.flow]) for one in found)
        self._warnings += [self._problem(("objectives",), sentence) for sentence in advice if sentence]
        return found

    def _flow_facts(self, topology: Topology, flows: Sequence[CanaryFlow]) -> tuple[FlowFacts, ...]:
        """Return the facts of flows for objectives; the probe rate is that of the fewest partitions."""
        probed = {one.name for one in flows if not one.off}
        rates = {
            one.source: one.records_per_s for one in costs(flows, self._root.canary, brokers={}, existing={})
        }
        return tuple(
            FlowFacts(
                name=one.name,
                source=one.source,
                target=one.target,
                has_canary=one.name in probed,
                probes_per_s=rates.get(one.source, 0.0) if one.name in probed else 0.0,
                exactly_once=one.exactly_once,
            )
            for one in topology.flows
        )

    def _problem(self, key: tuple[str, ...], sentence: str) -> Problem:
        return Problem(self._where(key), ".".join(key), sentence)

    def _where(self, key: tuple[str, ...]) -> str:
        """Return the file with the line of this key, or of the nearest key above it."""
        if self._document is not None:
            for length in range(len(key), 0, -1):
                line = self._document.line_of(key[:length])
                if line is not None:
                    return f"{self._path}:{line}"
        return str(self._path)
