"""Ids, partitions and settings of a flow's topics on both clusters."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fleet.errors import UnavailableError
from fleet.mm2.filters import split_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fleet.verdicts.flow import Flow
    from runtime.kafka.admin import TopicDescription


class Admin(Protocol):
    """The part of `runtime.kafka.admin.ClusterAdmin` that the checksum needs."""

    async def list_topics(self) -> tuple[str, ...]:
        """Return the names of all topics."""
        ...

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each topic by its name, or None."""
        ...

    async def describe_topic_config(self, name: str) -> dict[str, str]:
        """Return the settings of a topic."""
        ...

    async def describe_topic_configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the settings of topics by their names."""
        ...


@dataclass(slots=True)
class PlannedTopic:
    """A topic that is on both sides, with the partitions that both have; ids are None if unknown.

    `compacted`: either side may delete a record that a later one of its key replaces. `stamps`: the target
    sets record timestamps itself.
    """

    name: str
    target: str
    source_id: str | None
    target_id: str | None
    partitions: tuple[int, ...]
    compacted: bool = False
    stamps: bool = False


def planned_topic(original: TopicDescription, copy: TopicDescription) -> PlannedTopic:
    """Return the planned topic for a topic of the source and its target topic."""
    both = tuple(range(min(original.partitions, copy.partitions)))
    return PlannedTopic(original.name, copy.name, original.known_id, copy.known_id, both)


async def read_settings(topics: Iterable[PlannedTopic], source: Admin, target: Admin) -> None:
    """Read which topics are compacted, and where the target sets timestamps."""
    several = list(topics)
    originals, copies = await asyncio.gather(
        source.describe_topic_configs([topic.name for topic in several]),
        target.describe_topic_configs([topic.target for topic in several]),
    )
    for topic in several:
        original, copy = originals[topic.name], copies[topic.target]
        topic.compacted = is_compacted(original) or is_compacted(copy)
        topic.stamps = copy.get("message.timestamp.type", "") == "LogAppendTime"


def is_compacted(settings: Mapping[str, str]) -> bool:
    """Return whether a topic with these settings is compacted."""
    return "compact" in split_list(settings.get("cleanup.policy", ""))


async def check_unchanged(topics: Sequence[PlannedTopic], flow: Flow, source: Admin, target: Admin) -> None:
    """Raise UnavailableError if a topic was re-created meanwhile: its offsets would be of two topics."""
    here, there = await asyncio.gather(
        source.describe_topics([topic.name for topic in topics]),
        target.describe_topics([topic.target for topic in topics]),
    )
    for topic in topics:
        for now, before, alias in (
            (here[topic.name], topic.source_id, flow.source),
            (there[topic.target], topic.target_id, flow.target),
        ):
            if now is None or now.known_id != before:
                name = topic.name if alias == flow.source else topic.target
                raise UnavailableError(
                    f"topic {name} on {alias} was deleted or re-created during planning; try again"
                )
