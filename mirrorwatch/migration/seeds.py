"""The offsets with which a new mirror starts where the old one has ended. Pure.

A mirror reads its offsets by the name of its connector and the alias of its source, so both are those of the
new mirror.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.connect.json import posted_offsets
from fleet.wire.connect import encode_source_offset
from fleet.wire.records import SourceOffset, SourceOffsetKey, Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.verdicts.flow import Flow
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.migration.positions import MirrorPositions

    Seed = SourceOffset | Tombstone[SourceOffsetKey]

NULL = "null"  # stands for a null value in the lines


def seeds_of(file: MirrorPositions, flow: Flow, held: Mapping[Place, int]) -> list[Seed]:
    """Return the offsets that the new mirror of a flow still needs; `held` are those that it has.

    A tombstone removes an offset in a partition in which the old mirror has none.
    """
    wanted = wanted_offsets(file, flow)
    found: list[Seed] = [
        SourceOffset(_key(flow, place), offset)
        for place, offset in wanted.items()
        if held.get(place) != offset
    ]
    found += [Tombstone(_key(flow, place)) for place in sorted(held) if place not in wanted]
    return found


def wanted_offsets(file: MirrorPositions, flow: Flow) -> dict[Place, int]:
    """Return the offset with which the new mirror of a flow starts in each partition that it replicates."""
    replicated = {one.topic for one in file.topics if flow.decide(one.topic).replicated}
    return {
        place: position.offset
        for place, position in file.places.items()
        if place[0] in replicated and position.offset is not None
    }


def unlisted_places(file: MirrorPositions, flow: Flow, topics: Mapping[str, int]) -> list[Place]:
    """Return the partitions of the source that the flow replicates and the file does not have.

    `topics` are those of the source, with their numbers of partitions.
    """
    listed = file.places
    return [
        (topic, number)
        for topic, count in topics.items()
        if flow.decide(topic).replicated
        for number in range(count)
        if (topic, number) not in listed
    ]


def rest_document(seeds: Iterable[Seed]) -> str:
    """Return the body for PATCH /connectors/{name}/offsets of Kafka Connect (KIP-875, since 3.6)."""
    return json.dumps(posted_offsets(seeds), indent=1) + "\n"


def record_lines(seeds: Iterable[Seed]) -> str:
    """Return the records for the worker's offsets topic, as lines for kafka-console-producer."""
    lines = []
    for seed in seeds:
        key, value = encode_source_offset(seed)
        lines.append(f"{key.decode()}\t{NULL if value is None else value.decode()}\n")
    return "".join(lines)


def _key(flow: Flow, place: Place) -> SourceOffsetKey:
    return SourceOffsetKey(flow.connector, flow.named_source, *place)
