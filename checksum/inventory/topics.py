"""What both clusters say of a flow's topics: their ids, partitions and settings."""

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
    """What `runtime.kafka.admin.ClusterAdmin` does."""

    async def list_topics(self) -> tuple[str, ...]:
        """Return the names of all topics."""
        ...

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each topic by its name, None where there is none."""
        ...

    async def describe_topic_config(self, name: str) -> dict[str, str]:
        """Return the settings of a topic."""
        ...

    async def describe_topic_configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the settings of topics by their names."""
        ...


@dataclass(slots=True)
class PlannedTopic:
    """A topic that is on both sides, with the partitions that both have; ids are None where none is told.

    `compacted`: either side may drop a record for the sake of a later one of its key, which is no loss.
    `stamps`: the target gives records its own time.
    """

    name: str
    target: str
    source_id: str | None
    target_id: str | None
    partitions: tuple[int, ...]
    compacted: bool = False
    stamps: bool = False


def planned_topic(original: TopicDescription, copy: TopicDescription) -> PlannedTopic:
    """Return what the plan takes of a topic and its copy."""
    both = tuple(range(min(original.partitions, copy.partitions)))
    return PlannedTopic(original.name, copy.name, original.known_id, copy.known_id, both)


async def read_settings(topics: Iterable[PlannedTopic], source: Admin, target: Admin) -> None:
    """Find out which topics are compacted, and where the target stamps records."""
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
    """Tell whether a topic with these settings may drop a record for the sake of a later one of its key."""
    return "compact" in split_list(settings.get("cleanup.policy", ""))


async def refuse_others(topics: Sequence[PlannedTopic], flow: Flow, source: Admin, target: Admin) -> None:
    """Raise UnavailableError where a topic was made anew meanwhile: its offsets would be those of two."""
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
                    f"{name} on {alias} was deleted or made anew while it was being planned for; try again"
                )
