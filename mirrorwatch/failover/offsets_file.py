"""The file of a group's offsets on a target: written by `offsets export`, read by `offsets apply`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fleet.dialect import moment_ms_text
from fleet.errors import ConfigurationError, Problem
from lagmon.failover.translation import Basis, translate_offset
from runtime.files.whole_files import written_whole

if TYPE_CHECKING:
    from pathlib import Path

    from mirrorwatch.failover.facts import FlowFailover

MOST_BYTES = 20_000_000
_Offset = Annotated[int, Field(ge=0, lt=1 << 63)]


class Position(BaseModel):
    """One partition of the target: the offset to commit, and the one that is committed, None for none.

    `basis` says what the offset is derived from, `replaced` that it was committed before.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: Annotated[str, Field(min_length=1, max_length=249)]
    partition: Annotated[int, Field(ge=0, lt=1 << 31)]
    offset: _Offset
    current: _Offset | None
    basis: Basis | Literal["replaced"]
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
    (group,) = found.groups
    positions, unknown = [], []
    for one in sorted(group.partitions, key=lambda one: (one.facts.topic, one.facts.partition)):
        facts = one.facts
        translated = translate_offset(facts)
        if translated is None:
            unknown.append(f"{facts.topic}-{facts.partition}")
            continue
        positions.append(
            Position(
                topic=found.flow.remote_topic(facts.topic),
                partition=facts.partition,
                offset=translated.offset,
                current=facts.target_committed,
                basis=translated.basis,
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
    """Write the file whole or not at all; raises ConfigurationError if something is there already."""
    if path.exists():
        raise ConfigurationError(
            [Problem(str(path), "", "exists already; choose another name, or remove it")]
        )
    with written_whole(path) as out:
        out.write(json.dumps(file.model_dump(mode="json"), indent=1) + "\n")


def read_offsets(path: Path) -> OffsetsFile:
    """Read a file; raises ConfigurationError with every problem."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigurationError([Problem(str(path), "", "is larger than 20 MB; it is not such a file")])
        return OffsetsFile.model_validate_json(path.read_bytes())
    except OSError as error:
        why = f"cannot be read ({(error.strerror or '').lower()}); check its name"
        raise ConfigurationError([Problem(str(path), "", why)]) from error
    except ValidationError as error:
        problems = [
            Problem(
                str(path), ".".join(map(str, one["loc"])), f"invalid: {one['msg'].lower()}; export it again"
            )
            for one in error.errors()
        ]
        raise ConfigurationError(problems) from error
