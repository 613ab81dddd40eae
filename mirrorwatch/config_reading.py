"""Read a configuration: a YAML file of ours, or an mm2.properties as it is. Every problem at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from fleet.errors import ConfigurationError, Problem
from fleet.filters import TopicFilter
from fleet.flow import Flow
from fleet.mm2 import ByHand, read_mm2
from fleet.replication import PolicyKind, ReplicationPolicy
from fleet.topology import Cluster, Topology
from mirrorwatch.config import LATER_FLOW_KEYS, LATER_SECTIONS, FlowSection, RootSection
from mirrorwatch.configuration import Configuration
from mirrorwatch.flow_canaries import canary_flows
from runtime import strict_yaml
from runtime.config import problems_of
from runtime.interpolation import interpolate
from runtime.kafka.redaction import is_secret
from runtime.kafka.translation import ClientSettings, translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.strict_yaml import Document

MAX_BYTES = 1_000_000


def read_configuration(path: Path, *, environ: Mapping[str, str]) -> Configuration:
    """Return the configuration in this file; raises ConfigurationError with every problem found in it."""
    if path.suffix == ".properties":
        return _Reading(path, RootSection(mm2=path.name), None, environ).configuration()
    document = strict_yaml.read(path)
    problems: list[Problem] = []
    document, unresolved = interpolate(document, environ=environ, directory=path.parent)
    problems += unresolved
    try:
        root = RootSection.model_validate(document.data)
    except ValidationError as error:
        problems += problems_of(
            error,
            file=str(path),
            prefix="",
            line_of=document.line_of,
            model=RootSection,
            secrets=document.secrets,
        )
        raise ConfigurationError(problems) from error
    reading = _Reading(path, root, document, environ)
    reading.problems += problems
    return reading.configuration()


class _Reading:
    """One configuration being read; problems and warnings collect until the end."""

    def __init__(
        self, path: Path, root: RootSection, document: Document | None, environ: Mapping[str, str]
    ) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._root = root
        self._document = document
        self._environ = environ
        self._warnings: list[Problem] = []
        self._mm2_path = path.parent / root.mm2 if root.mm2 is not None else None

    def configuration(self) -> Configuration:
        topology = self._topology()
        if topology is None:
            raise ConfigurationError(self.problems)
        clients = self._clients(topology)
        flows, problems, warnings = canary_flows(
            topology, self._root.canary, self._root.flows, where=self._problem
        )
        self.problems += problems
        self._warnings += warnings
        self._warn_of_later_parts()
        if self.problems:
            raise ConfigurationError(self.problems)
        return Configuration(
            path=self._path,
            topology=topology,
            clients=clients,
            canary=self._root.canary,
            canary_flows=flows,
            http=self._root.http,
            store=self._root.store,
            warnings=tuple(self._warnings),
            secrets=self._secrets(topology, clients),
        )

    # --- clusters and flows

    def _topology(self) -> Topology | None:
        """Return clusters and flows of the mm2 file and of our own, or None with problems."""
        if self._mm2_path is not None:
            found = self._from_mm2(self._mm2_path)
            if found is None:
                self._check_flows(frozenset(self._root.clusters), partial=True)
                return None
            clusters, flows = found
        else:
            clusters = tuple(Cluster(alias, client) for alias, client in self._root.clusters.items())
            flows = ()
        if not self._check_flows(frozenset(cluster.alias for cluster in clusters), partial=False):
            return None
        known = {flow.name for flow in flows}
        flows = tuple(self._refine(flow) for flow in flows) + tuple(
            flow
            for name, said in self._root.flows.items()
            if name not in known and (flow := self._made(name, said))
        )
        if not flows:
            sentence = (
                "no flow is configured: write mm2: mm2.properties to take those of MirrorMaker, or name one,"
                " for example A->B: {topics: 'orders.*'}"
            )
            self.problems.append(self._problem(("flows",), sentence))
        return Topology(clusters, flows) if not self.problems else None

    def _from_mm2(self, path: Path) -> tuple[tuple[Cluster, ...], tuple[Flow, ...]] | None:
        file = str(path)
        try:
            with path.open("rb") as stream:
                text = stream.read(MAX_BYTES + 1).decode("latin-1")
        except OSError as error:
            where = ("mm2",) if self._document is not None else ()
            sentence = f"{file} cannot be read: {(error.strerror or 'unknown reason').lower()}"
            self.problems.append(self._problem(where, sentence))
            return None
        by_hand = {
            name: ByHand(said.topics, self._policy(name, said)) for name, said in self._root.flows.items()
        }
        try:
            mm2 = read_mm2(
                text,
                file=file,
                mirror_version=self._root.mirror_version,
                environ=self._environ,
                read_file=lambda name: Path(name).read_text(encoding="utf-8"),
                clusters=self._root.clusters,
                by_hand=by_hand,
            )
        except ConfigurationError as error:
            self.problems += error.problems
            return None
        self._warnings += mm2.warnings
        return mm2.topology.clusters, mm2.topology.flows

    def _check_flows(self, aliases: frozenset[str], *, partial: bool) -> bool:
        """Check what can be said of the names of flows; `partial` where not all clusters are known."""
        before = len(self.problems)
        for name in self._root.flows:
            source, target = name.split("->")
            if source == target:
                sentence = f"a flow from {source} to itself mirrors nothing: name two clusters"
                self.problems.append(self._problem(("flows", name), sentence))
            for alias in dict.fromkeys((source, target)):
                if alias not in aliases and not partial:
                    known = ", ".join(sorted(aliases)) or "none"
                    sentence = f"no cluster is called {alias}; known are: {known}"
                    self.problems.append(self._problem(("flows", name), sentence))
        return len(self.problems) == before

    def _policy(self, name: str, said: FlowSection) -> ReplicationPolicy | None:
        if said.policy is None and said.separator is None:
            return None
        kind = PolicyKind(said.policy or "default")
        return ReplicationPolicy(
            kind=kind,
            separator=said.separator or ".",
            source_alias=name.split("->", maxsplit=1)[0] if kind is PolicyKind.IDENTITY else None,
        )

    def _refine(self, flow: Flow) -> Flow:
        said = self._root.flows.get(flow.name)
        if said is None or said.delivery is None:
            return flow
        return replace(flow, exactly_once=said.delivery == "exactly_once")

    def _made(self, name: str, said: FlowSection) -> Flow | None:
        """Return a flow that no mm2 file has; None, and a problem, where its topics cannot be read."""
        source, target = name.split("->")
        try:
            topics = TopicFilter() if said.topics is None else TopicFilter(said.topics)
        except ValueError as error:
            self.problems.append(self._problem(("flows", name, "topics"), f"{error}"))
            return None
        return Flow(
            source=source,
            target=target,
            policy=self._policy(name, said) or ReplicationPolicy(),
            topic_filter=topics,
            mirror_version=self._root.mirror_version,
            exactly_once=said.delivery == "exactly_once",
        )

    # --- clients

    def _clients(self, topology: Topology) -> dict[str, ClientSettings]:
        """Return the settings of our clients for each cluster that a flow touches."""
        used = {alias for flow in topology.flows for alias in (flow.source, flow.target)}
        clients: dict[str, ClientSettings] = {}
        for cluster in topology.clusters:
            if cluster.alias not in used:
                continue
            try:
                clients[cluster.alias] = self._client(cluster)
            except ConfigurationError as error:
                self.problems += error.problems
            else:
                self._warnings += [Problem("", "", note) for note in clients[cluster.alias].notes]
        return clients

    def _client(self, cluster: Cluster) -> ClientSettings:
        ours = self._root.clusters.get(cluster.alias, {})

        def locate(key: str) -> tuple[str, str]:
            if self._mm2_path is not None and key not in ours and self._in_mm2(cluster, key):
                return str(self._mm2_path), f"{cluster.alias}.{key}"
            return str(self._path), f"clusters.{cluster.alias}.{key}"

        return translate(cluster.client, cluster=cluster.alias, file=str(self._path), locate=locate)

    def _in_mm2(self, cluster: Cluster, key: str) -> bool:
        return self._document is None or (self._mm2_path is not None and key in cluster.client)

    def _secrets(self, topology: Topology, clients: Mapping[str, ClientSettings]) -> frozenset[str]:
        found = set(self._document.secrets) if self._document is not None else set()
        for cluster in topology.clusters:
            found |= {value for key, value in cluster.client.items() if is_secret(key) and value}
        for settings in clients.values():
            found |= {value for key, value in settings.librdkafka.items() if is_secret(key) and value}
        for token in (self._root.http.tokens.audit, self._root.http.tokens.operator):
            if token is not None:
                found.add(token.get_secret_value())
        return frozenset(found)

    # --- words

    def _warn_of_later_parts(self) -> None:
        sentence = "is kept for a part that this version does not have; it does nothing"
        for name in LATER_SECTIONS:
            if getattr(self._root, name) is not None:
                self._warnings.append(self._problem((name,), sentence))
        for flow, said in self._root.flows.items():
            self._warnings += [
                self._problem(("flows", flow, key), sentence)
                for key in LATER_FLOW_KEYS
                if getattr(said, key) is not None
            ]

    def _problem(self, key: tuple[str, ...], sentence: str) -> Problem:
        line = None
        if self._document is not None:
            for length in range(len(key), 0, -1):
                line = line or self._document.line_of(key[:length])
        return Problem(f"{self._path}:{line}" if line else str(self._path), ".".join(key), sentence)
