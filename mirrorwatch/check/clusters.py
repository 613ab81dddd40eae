"""What `check` asks each cluster: all at once, each within a time limit, a failure in one sentence."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fleet.errors import ConfigurationError, MirrorwatchError, RefusedError, UnavailableError
from mirrorwatch.web.words import counted
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
    """Who answers for one cluster: `ClusterAdmin`, or what stands for it in a test."""

    async def open(self) -> None:
        """Make ready to ask."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...

    async def describe_cluster(self) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        ...

    async def list_topics(self) -> tuple[str, ...]:
        """Return the names of all topics."""
        ...

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each of these topics, None where it does not exist."""
        ...

    async def describe_topic_config(self, name: str) -> dict[str, str]:
        """Return the settings of a topic; raises RefusedError without the right DescribeConfigs."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """What a cluster said: None stands for what it did not say, and `errors` for why.

    `own` are the canary's and the control topic, looked for by name, `settings` theirs where they are there,
    and `unread` the names of those whose settings we may not read.
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
        """Tell whether there may be topics beyond those that were listed."""
        return self.topics is not None and len(self.topics) >= MAX_TOPICS

    @property
    def misconfigured(self) -> bool:
        """Tell whether the client's settings could not be used at all."""
        return any(isinstance(error, ConfigurationError) for error in self.errors)


async def look_all(
    clients: Mapping[str, ClientSettings],
    wanted: Mapping[str, Iterable[str]],
    *,
    ask: Callable[[str, ClientSettings], Asked],
) -> dict[str, ClusterLook]:
    """Look at every cluster at once; raises nothing of ours."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(look(alias, ask(alias, settings), wanted.get(alias, ())))
            for alias, settings in clients.items()
        ]
    return {task.result().alias: task.result() for task in tasks}


async def look(alias: str, asked: Asked, wanted: Iterable[str], *, limit_s: float = LIMIT_S) -> ClusterLook:
    """Return what the cluster says within the limit."""
    found = _Finding(alias)
    try:
        async with asyncio.timeout(limit_s):
            await found.ask(asked, tuple(wanted))
    except TimeoutError:
        sentence = f"cluster {alias}: no complete answer within {limit_s:g} s; the rest is not checked"
        found.errors.append(UnavailableError(sentence))
    finally:
        await asked.close()
    return ClusterLook(
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
    """What is found while it is asked for, kept when the time runs out."""

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


def print_clusters(sheet: Sheet, looks: Mapping[str, ClusterLook], topology: Topology) -> None:
    """Write how each cluster was found."""
    sheet.heading(f"Connections ({len(looks)})")
    for cluster in topology.clusters:
        look = looks.get(cluster.alias)
        if look is not None:
            _print_cluster(sheet, look)
    by_id: dict[str, list[str]] = {}
    for look in looks.values():
        if look.description is not None:
            by_id.setdefault(look.description.cluster_id, []).append(look.alias)
    for cluster_id, aliases in by_id.items():
        if len(aliases) > 1:
            sheet.say(
                f"Note: {', '.join(aliases)} all have the id {cluster_id}, so they are one cluster. If"
                " this is not intended, correct bootstrap.servers."
            )


def _print_cluster(sheet: Sheet, look: ClusterLook) -> None:
    if look.description is not None:
        seen = "" if look.topics is None else f", {counted(len(look.topics), 'topic')} visible"
        brokers = counted(len(look.description.brokers), "broker")
        sheet.say(f"{look.alias}: id {look.description.cluster_id}, {brokers}{seen}", hang=4)
    else:
        sheet.say(f"{look.alias}: not reached", hang=4)
    for error in look.errors:
        sheet.say(f"{error}", indent=4)
    if look.cut_off:
        sentence = f"The list is cut at {MAX_TOPICS:,} topics; any others are not checked."
        sheet.say(sentence, indent=4)
