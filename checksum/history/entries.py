"""What the store keeps of checksums, as plain values: runs, positions, counts by time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Place = tuple[str, int]
"""Topic (the source's name) and partition."""


@dataclass(frozen=True, slots=True)
class VerifiedTo:
    """The position of a partition: up to where it was compared on both sides, topic ids, and when.

    Offsets are the first that were not compared. `held` counts the consecutive runs that could not resolve
    some records (plan/verified_to.py).
    """

    source_topic_id: str | None
    target_topic_id: str | None
    source_offset: int
    target_offset: int
    at_ms: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """How many records of a partition a run found in the time bucket that starts at `bucket_at_ms`.

    `since_offset` is the source offset at which the run's range of this partition starts, of the topic with
    this id: a later count of the same offsets replaces this one.
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
    """An active run, by its heartbeat; times are epoch ms, `who` is for messages."""

    run: str
    flow: str
    plan: str  # its id; "" until the plan is made
    who: str
    process: str  # runtime.process.identity
    begun_ms: int
    beaten_ms: int
    counts_only: bool


@dataclass(frozen=True, slots=True)
class RunRow:
    """A finished run; `document` is from report/result_document.py, None if it was not requested.

    `taken_ms` is when a service received it, None if it ended on this store.
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
    """A finished run as it is written: its row, and its packed document."""

    row: RunRow
    content: bytes
