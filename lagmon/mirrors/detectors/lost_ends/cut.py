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
    whole_ms: int  # when the log was seen last to reach as far as the mirror
    lowest: int  # where it ended at its shortest
    lowest_ms: int
    copy_end: int  # where the copy ended then, or before; -1 where that is not known
    between_looks: int  # how many records may have come between two looks at both logs
    start: int  # where the log began then
    grows: bool = False  # whether it was seen to grow again below N + 1
    moved_ms: int = -1  # when N was seen to be another one, -1 not yet
    first_low: int = -1  # where the mirror was at least when it seemed first to have passed it over
    is_decided: bool = False
    found: MirrorFinding | None = None
