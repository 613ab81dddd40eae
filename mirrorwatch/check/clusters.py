"""Queries of `check` to the clusters: all clusters at once, each within a time limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fleet.errors import ConfigurationError, MirrorwatchError, RefusedError, UnavailableError
from mirrorwatch.check.mirror_clients import client_texts
from mirrorwatch.web.texts import counted
from runtime.kafka.admin import MAX_TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fleet.topology import Topology
    from mirrorwatch.check.sheet import Sheet
    from runtime.kafka.admin import ClusterDescription, TopicDescription
    from runtime.kafka.properties.client_settings import ClientSettings

LIMIT_S = 10.0
ANSWER_S = 8.0  # for one question, so that the client can say what is wrong before the limit


class Asked(Protocol):
    """Answers for one cluster: `ClusterAdmin`, or a fake in tests."""

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Close the client."""
        ...

    async def describe_cluster(self) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        ...

    async def list_topics(self) -> tuple[str, ...]:
        """Return the names of all topics."""
        ...

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each of these topics, None if it does not exist."""
        ...

    async def describe_topic_config(self, name: str) -> dict[str, str]:
        """Return the settings of a topic; raises RefusedError without DescribeConfigs."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """The answers of a cluster: None means no answer, and `errors` say why.

    `own` are the canary topic and the control topic, requested by name; `settings` are theirs if they exist,
    `unread` those whose settings Mirrorwatch may not read.
    """

    alias: str
    description: ClusterDescription | None = None
    topics: tuple[str, ...] | None = None
    own: Mapping[str, TopicDescription | None] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    errors: tuple[MirrorwatchError, ...] = ()

    @property
    def cut_off(self) -> bool:
        """Return whether there may be more topics than listed."""
        return self.topics is not None and len(self.topics) >= MAX_TOPICS

    @property
    def misconfigured(self) -> bool:
        """Return whether the client rejected its settings."""
        return any(isinstance(error, ConfigurationError) for error in self.errors)


async def check_clusters(
    clients: Mapping[str, ClientSettings],
    wanted: Mapping[str, Iterable[str]],
    *,
    ask: Callable[[str, ClientSettings], Asked],
) -> dict[str, ClusterCheck]:
    """Query all clusters at once; raises no error of Mirrorwatch."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(check_cluster(alias, ask(alias, settings), wanted.get(alias, ())))
            for alias, settings in clients.items()
        ]
    return {task.result().alias: task.result() for task in tasks}


async def check_cluster(
    alias: str, asked: Asked, wanted: Iterable[str], *, limit_s: float = LIMIT_S
) -> ClusterCheck:
    """Return the answers of a cluster within the limit."""
    found = _Finding(alias)
    try:
        async with asyncio.timeout(limit_s):
            await found.ask(asked, tuple(wanted))
    except TimeoutError:
        sentence = f"cluster {alias}: no complete answer within {limit_s:g} s; the rest is not checked"
        found.errors.append(UnavailableError(sentence))
    finally:
        await asked.close()
    return ClusterCheck(
        alias,
        found.description,
        found.topics,
        found.own,
        found.settings,
        tuple(found.unread),
        tuple(found.errors),
    )


@dataclass(slots=True)
class _Finding:
    """Partial answers, kept if the time runs out."""

    alias: str
    description: ClusterDescription | None = None
    topics: tuple[str, ...] | None = None
    own: dict[str, TopicDescription | None] = field(default_factory=dict)
    settings: dict[str, Mapping[str, str]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    errors: list[MirrorwatchError] = field(default_factory=list)

    async def ask(self, asked: Asked, wanted: tuple[str, ...]) -> None:
        try:
            await asked.open()
            self.description = await asked.describe_cluster()
        except MirrorwatchError as error:
            self.errors.append(error)
            return
        try:
            self.topics = await asked.list_topics()
        except MirrorwatchError as error:
            self.errors.append(error)
        for name in wanted:  # one by one, so that one refusal does not hide the others
            try:
                self.own |= await asked.describe_topics([name])
            except MirrorwatchError as error:
                self.errors.append(error)
        for name in [name for name, topic in self.own.items() if topic is not None]:
            try:
                self.settings[name] = await asked.describe_topic_config(name)
            except RefusedError:
                self.unread.append(name)
            except MirrorwatchError as error:
                self.errors.append(error)


def print_clusters(sheet: Sheet, results: Mapping[str, ClusterCheck], topology: Topology) -> None:
    """Write the connection state of each cluster."""
    sheet.heading(f"Connections ({len(results)})")
    for cluster in topology.clusters:
        result = results.get(cluster.alias)
        if result is not None:
            _print_cluster(sheet, result, topology)
    by_id: dict[str, list[str]] = {}
    for result in results.values():
        if result.description is not None:
            by_id.setdefault(result.description.cluster_id, []).append(result.alias)
    for cluster_id, aliases in by_id.items():
        if len(aliases) > 1:
            sheet.say(
                f"Note: {', '.join(aliases)} all have the id {cluster_id}, so they are one cluster. If"
                " this is not intended, correct bootstrap.servers."
            )


def _print_cluster(sheet: Sheet, result: ClusterCheck, topology: Topology) -> None:
    if result.description is not None:
        seen = "" if result.topics is None else f", {counted(len(result.topics), 'topic')} visible"
        brokers = counted(len(result.description.brokers), "broker")
        sheet.say(f"{result.alias}: id {result.description.cluster_id}, {brokers}{seen}", hang=4)
    else:
        sheet.say(f"{result.alias}: not reached", hang=4)
    if result.topics:
        for text in client_texts(topology, result.alias, result.topics):
            sheet.say(text, indent=4, hang=6)
    for error in result.errors:
        sheet.say(f"{error}", indent=4)
    if result.cut_off:
        sentence = f"The list is cut at {MAX_TOPICS:,} topics; any others are not checked."
        sheet.say(sentence, indent=4)
