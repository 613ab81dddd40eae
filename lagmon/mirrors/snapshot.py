"""A flow at one instant: every partition, what is missing, and all findings. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.detectors.recreated.followed import RecreatedTopic
    from lagmon.mirrors.detectors.retention.overtaken import Overtaken
    from lagmon.mirrors.detectors.rewinds.repeats import Repeat
    from lagmon.mirrors.detectors.rewinds.steps import Step
    from lagmon.mirrors.detectors.unreplicated.blocked import BlockedPartition
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

    Slots = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """A flow at one instant."""

    now_ms: int
    read_to_ms: int
    partitions: PartitionsSnapshot
    missing: tuple[Missing, ...]
    overtaken: tuple[Overtaken, ...]
    findings: tuple[MirrorFinding, ...] = ()
    undecided: tuple[RecreatedTopic, ...] = ()  # re-created source topics, not decided yet
    rewinds: Mapping[tuple[str, int], Step] = field(default_factory=dict)
    uncounted: Mapping[tuple[str, int], Overtaken] = field(
        default_factory=dict
    )  # of those overtaken: may still change
    before_deleted: frozenset[int] = frozenset()  # stalled slots whose next records are deleted
    blocked: tuple[BlockedPartition, ...] = ()  # partitions blocked by an open transaction
    unwatched: tuple[str, ...] = ()  # topics replicated against the configuration
    emptied: Slots = field(default_factory=lambda: np.zeros(0, np.intp))  # slots: see retention/emptied.py
    repeats: tuple[Repeat, ...] = ()  # records replicated again lately, for any verdict
    fell_with_source: frozenset[int] = frozenset()  # slots whose source lost its log end too
    without_offset: int = 0  # partitions without an offset of the mirror that have records, or may have
    restarted: str = ""  # what a restart replicated again, as a sentence
