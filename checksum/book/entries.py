"""What the store keeps of checksums, as plain values: runs, how far is verified, counts by time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Place = tuple[str, int]
"""A topic, by its name on the source, and a partition."""


@dataclass(frozen=True, slots=True)
class VerifiedTo:
    """Up to where a partition was compared, on both sides, of which topics, and when (epoch ms).

    Offsets are the first that were not compared. `held` counts the runs, one after another, that could not
    tell what became of some records behind it (`verified_to`).
    """

    source_topic_id: str | None
    target_topic_id: str | None
    source_offset: int
    target_offset: int
    at_ms: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """How many records of a partition a run found in the bucket of time that begins at `bucket_at_ms`.

    `since_offset` is where on the source the run's range of this partition begins, of the topic with this id:
    what is counted again, from there on or from before, takes the place of what was counted.
    """

    topic: str
    partition: int
    bucket_at_ms: int
    source_records: int
    target_records: int
    since_offset: int = 0
    source_topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is on, as far as its own heart tells; instants are epoch ms, `who` is for people."""

    run: str
    flow: str
    plan: str  # its id; "" until it is made
    who: str
    process: str  # runtime.process.identity
    begun_ms: int
    beaten_ms: int
    counts_only: bool


@dataclass(frozen=True, slots=True)
class RunRow:
    """A finished run; `document` is what `result_document` made of it, None where it was not asked for.

    `taken_ms` is when a service was told of it, None for one that ended on this store.
    """

    run: str
    flow: str
    plan: str
    who: str
    begun_ms: int
    ended_ms: int
    status: int
    counts_only: bool
    coverage: float | None
    findings: int
    source_records: int
    target_records: int
    document: dict[str, Any] | None = None
    taken_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A finished run as it is written: what its row says, and its packed document."""

    row: RunRow
    content: bytes
