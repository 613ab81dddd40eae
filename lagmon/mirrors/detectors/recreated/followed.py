"""A re-created source topic, and the data by which it is followed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.logs.heads import Heads
    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.detectors.recreated.outcome import Base, StartOutcome
    from lagmon.mirrors.partitions.window import MirrorWindows


@dataclass(slots=True)
class RecreatedTopic:
    """A re-created source topic, and by partition what the mirror made of it, once known."""

    topic: str
    at_ms: int  # when its new id was read
    gone_ms: int = -1  # when a list without it was read; -1: never
    known_ms: int = -1  # when it surely did not exist yet: the old id was read, or a list lacked both
    open: dict[int, Base] = field(default_factory=dict)  # by partition
    decided: dict[int, StartOutcome] = field(default_factory=dict)
    found: list[MirrorFinding] = field(default_factory=list)
    seemed_ms: dict[int, int] = field(default_factory=dict)  # polls by which a start seemed skipped


@dataclass(frozen=True, slots=True)
class Followed:
    """The data by which a flow is followed: windows, both sides' logs, and the source's name."""

    windows: MirrorWindows
    source: Heads
    target: Heads
    source_name: str
    compacted: bool = False
    transactional: bool = False  # whether the new log has had a transaction
    by_record: bool = False  # whether an offset is written only with its record, and again only with that one
    target_recreated_ms: int = -1  # when the target's last change of id was read
    target_id_read_ms: int | None = None  # when the target's id was read last; None: never
    ids_within_ms: float = 0.0  # for how long an id is awaited
