"""One source log that lost its end. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.mirrors.answers.findings import MirrorFinding


@dataclass(slots=True)
class Cut:
    """A log that was seen to end before N + 1."""

    next_offset: int  # that the mirror had written
    written_ms: int
    complete_ms: int  # when the log was last seen to reach as far as the mirror
    lowest: int  # its lowest end
    lowest_ms: int
    target_end: int  # the target's end then, or before; -1: unknown
    between_polls: int  # how many records may arrive between two polls of both logs
    start: int  # the log start then
    grows: bool = False  # whether it grew again below N + 1
    moved_ms: int = -1  # when N changed; -1: not yet
    first_low: int = -1  # the mirror's least position when it first seemed to have skipped records
    is_decided: bool = False
    found: MirrorFinding | None = None
