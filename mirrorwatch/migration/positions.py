"""The file of a mirror's positions: written by `migrate export`, read by `migrate plan` and `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from fleet.errors import ConfigurationError, Problem
from mirrorwatch.failover.offsets_file import refuse_repeated
from runtime.config.documents import read_document, write_document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST_BYTES = 200_000_000
_Offset = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
_Topic = Annotated[str, Field(min_length=1, max_length=249)]


class Sync(BaseModel):
    """An offset sync: the record at one offset of the source is at another on the target."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_offset: _Offset
    target_offset: _Offset


class Position(BaseModel):
    """One partition of the source, as the old mirror has left it.

    `offset` is the last source offset that is known to be on the target, by an offset sync or because it is
    `committed`; None for none. `source_start` and `source_end` are log start and log end offsets.
    `target_end` is the log end offset of the replicated partition, None if it does not exist. `sync` is the
    newest offset sync up to `offset`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]
    offset: _Offset | None
    committed: _Offset | None
    source_start: _Offset
    source_end: _Offset
    target_end: _Offset | None
    sync: Sync | None = None

    @property
    def fits(self) -> bool:
        """Return whether its offsets can be of one partition."""
        if self.offset is None:
            return self.committed is None and self.sync is None
        sync_offset = self.offset if self.sync is None else self.sync.source_offset
        return (self.committed or 0) <= self.offset < self.source_end and sync_offset <= self.offset

    @property
    def next_offset(self) -> int:
        """Return the source offset at which a mirror with this position continues."""
        return self.source_start if self.offset is None else self.offset + 1

    @property
    def repeated_most(self) -> int | None:
        """Return how many records after the position are on the target at most; None if unknown.

        These are the records on the target after the newest sync. Some of them may be before the position:
        how many is not known, because not every offset of the source is a record that was replicated.
        """
        if not self.target_end or self.offset is None:
            return self.target_end or 0
        if self.sync is None:
            return None
        return max(0, self.target_end - self.sync.target_offset - 1)


class TopicPositions(BaseModel):
    """One topic of the source, and the topic that the old mirror replicates it to; ids if known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: _Topic
    topic_id: str | None
    target_topic: _Topic
    target_topic_id: str | None
    partitions: list[Position]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Return topic and partition of each position on the source."""
        return [(self.topic, each.partition) for each in self.partitions]

    def is_recreated(self, ids: Mapping[str, str]) -> bool:
        """Return whether the source topic has another id among those of today; False if one is unknown."""
        return bool(self.topic_id) and ids.get(self.topic, self.topic_id) != self.topic_id

    def is_target_recreated(self, ids: Mapping[str, str]) -> bool:
        """Return the same of the target topic."""
        before = self.target_topic_id
        return bool(before) and ids.get(self.target_topic, before) != before


class MirrorPositions(BaseModel):
    """The positions of a mirror in all topics of a flow, with the ids of the clusters that they are of.

    `stopped` is whether the mirror did not run at the export, None if that was not visible. `worker_group` is
    the group of its workers on the cluster `worker_cluster`, of a dedicated MirrorMaker.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["mirrorwatch-migration/1"] = "mirrorwatch-migration/1"
    at: str
    flow: str
    source_cluster_id: str
    target_cluster_id: str
    stopped: bool | None
    worker_group: str | None = None
    worker_cluster: str | None = None
    topics: Annotated[list[TopicPositions], Field(min_length=1)]

    @property
    def places(self) -> dict[tuple[str, int], Position]:
        """Return the positions by topic and partition of the source."""
        return {(one.topic, each.partition): each for one in self.topics for each in one.partitions}


def write_positions(path: Path, file: MirrorPositions) -> None:
    """Write the file whole or not at all; raises ConfigurationError if that fails or something is there."""
    write_document(path, file)


def read_positions(path: Path) -> MirrorPositions:
    """Read a file; raises ConfigurationError with every problem."""
    file = read_document(path, MirrorPositions, command="migrate export", most_bytes=MOST_BYTES)
    refuse_repeated(path, "topics", (one.topic for one in file.topics))
    rows = (f"{topic}-{number}" for one in file.topics for topic, number in one.places)
    refuse_repeated(path, "partitions", rows)
    wrong = [
        Problem(
            str(path),
            f"{topic}-{number}",
            f"offset {one.offset} does not fit the other offsets; export again",
        )
        for (topic, number), one in file.places.items()
        if not one.fits
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return file
