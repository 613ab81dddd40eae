"""The file of a group's offsets on a target: written by `offsets export`, read by `offsets apply`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from fleet.dialect import moment_ms_text
from fleet.errors import ConfigurationError, Problem
from lagmon.failover.translation import Basis, translate_offset
from runtime.config.documents import read_document, write_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from lagmon.failover.readiness import PartitionFacts
    from mirrorwatch.failover.facts import FlowFailover

MOST_BYTES = 20_000_000
_Basis = Basis | Literal["replaced", "time", "end"]
_Chosen = tuple[int, _Basis]  # an offset, and what it is derived from
_Offset = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]


class Position(BaseModel):
    """One partition of the target: the offset to commit, and the one that is committed, None for none.

    `topic_id` is the topic's at the export, None from a broker without topic ids. `basis` says what the
    offset is derived from: `replaced`, that it was committed before; `time`, that it is the first record
    since a moment; `end`, that there was none, and it is the log end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: Annotated[str, Field(min_length=1, max_length=249)]
    topic_id: str | None = None
    partition: Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]
    offset: _Offset
    current: _Offset | None
    basis: _Basis
    source_topic: str | None = None
    source_offset: _Offset | None = None


class OffsetsFile(BaseModel):
    """The offsets of one group on the target of one flow, with the ids of the clusters that they are of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["mirrorwatch-offsets/1"] = "mirrorwatch-offsets/1"
    at: str
    flow: str
    group: Annotated[str, Field(min_length=1)]
    source_cluster_id: str
    target_cluster_id: str
    positions: list[Position]


def exported(found: FlowFailover, *, now_ms: int) -> tuple[OffsetsFile, tuple[str, ...]]:
    """Return the file of the only group of a flow, and the partitions whose offset is unknown."""

    def translated(facts: PartitionFacts) -> _Chosen | None:
        one = translate_offset(facts)
        return None if one is None else (one.offset, one.basis)

    return _file(found, translated, now_ms=now_ms)


def exported_at(
    found: FlowFailover,
    offsets: Mapping[tuple[str, int], int],
    ends: Mapping[tuple[str, int], int],
    *,
    now_ms: int,
) -> tuple[OffsetsFile, tuple[str, ...]]:
    """Return the file of the only group with these offsets of the target, and the partitions without one.

    `ends` are the log ends, read after the offsets.
    """

    def at_time(facts: PartitionFacts) -> _Chosen | None:
        place = found.flow.remote_topic(facts.topic), facts.partition
        offset = offsets.get(place)
        return None if offset is None else (offset, "end" if offset == ends.get(place) else "time")

    return _file(found, at_time, now_ms=now_ms)


def _file(
    found: FlowFailover, choose: Callable[[PartitionFacts], _Chosen | None], *, now_ms: int
) -> tuple[OffsetsFile, tuple[str, ...]]:
    (group,) = found.groups
    positions: list[Position] = []
    unknown: list[str] = []
    for facts in group.by_place():
        chosen = choose(facts)
        if chosen is None:
            unknown.append(f"{facts.topic}-{facts.partition}")
            continue
        offset, basis = chosen
        topic = found.flow.remote_topic(facts.topic)
        positions.append(
            Position(
                topic=topic,
                topic_id=found.target_ids.get(topic),
                partition=facts.partition,
                offset=offset,
                current=facts.target_committed,
                basis=basis,
                source_topic=facts.topic,
                source_offset=facts.committed,
            )
        )
    file = OffsetsFile(
        at=moment_ms_text(now_ms) or "",
        flow=found.flow.name,
        group=group.group,
        source_cluster_id=found.source_cluster_id,
        target_cluster_id=found.target_cluster_id,
        positions=positions,
    )
    return file, tuple(unknown)


def write_offsets(path: Path, file: OffsetsFile) -> None:
    """Write the file whole or not at all; raises ConfigurationError if that fails or something is there."""
    write_document(path, file)


def read_offsets(path: Path) -> OffsetsFile:
    """Read a file; raises ConfigurationError with every problem."""
    file = read_document(path, OffsetsFile, command="offsets export", most_bytes=MOST_BYTES)
    refuse_repeated(path, "positions", (f"{one.topic}-{one.partition}" for one in file.positions))
    return file


def refuse_repeated(path: Path, key: str, rows: Iterable[str]) -> None:
    """Raise ConfigurationError if rows of a file are about the same partition or topic."""
    repeated = [name for name, count in Counter(rows).items() if count > 1]
    if repeated:
        raise ConfigurationError(
            [Problem(str(path), key, f"{name} is listed twice; remove one row") for name in repeated]
        )
