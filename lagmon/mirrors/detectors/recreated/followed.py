"""A topic that was re-created, and what its flow is followed by. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.logs.heads import Heads
    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.detectors.recreated.passage import Base, Passage
    from lagmon.mirrors.partitions.window import MirrorWindows


@dataclass(slots=True)
class Remade:
    """A source topic that was made anew, and by partition what the mirror made of it, once that is known."""

    topic: str
    at_ms: int  # when its new id was read
    gone_ms: int = -1  # when a list was read that lacked it, -1 where none did
    known_ms: int = -1  # when it was surely not there yet: the old id was read, or a list lacked both
    open: dict[int, Base] = field(default_factory=dict)  # by partition
    decided: dict[int, Passage] = field(default_factory=dict)
    found: list[MirrorFinding] = field(default_factory=list)
    seemed_ms: dict[int, int] = field(default_factory=dict)  # looks by which a beginning seemed passed over


@dataclass(frozen=True, slots=True)
class Followed:
    """What a flow's mirror is followed by: its windows, both sides' logs, and the source's name."""

    windows: MirrorWindows
    source: Heads
    target: Heads
    source_name: str
    compacted: bool = False
    transactional: bool = False  # whether a transaction was seen in the new log
    by_record: bool = False  # whether each offset is written with its record alone, and again with that only
    copied_anew_ms: int = -1  # when the newest id of its copy was read that was another one
    copy_read_ms: int | None = None  # when the copy's id was read last, None where it is not read
    ids_within_ms: float = 0.0  # for how long an id is waited for
