"""A flow at one instant: every partition, what is missing, what was found. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.detectors.left_out.held import Held
    from lagmon.mirrors.detectors.recreated.followed import Remade
    from lagmon.mirrors.detectors.retention.overtaken import Overtaken
    from lagmon.mirrors.detectors.rewinds.repeats import Repeat
    from lagmon.mirrors.detectors.rewinds.steps import Step
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.partitions.sight import MirrorSight

    Slots = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """A flow at one instant."""

    now_ms: int
    read_to_ms: int
    sight: MirrorSight
    missing: tuple[Missing, ...]
    overtaken: tuple[Overtaken, ...]
    findings: tuple[MirrorFinding, ...] = ()
    undecided: tuple[Remade, ...] = ()  # re-created source topics that may yet show what was replicated
    rewinds: Mapping[tuple[str, int], Step] = field(default_factory=dict)
    uncounted: Mapping[tuple[str, int], Overtaken] = field(default_factory=dict)  # of those overtaken: as yet
    stood: frozenset[int] = frozenset()  # slots that stand before records that were deleted, lost or not
    held: tuple[Held, ...] = ()  # partitions that an open transaction keeps from being read
    unwatched: tuple[str, ...] = ()  # topics that it replicates and that its configuration leaves out
    emptied: Slots = field(default_factory=lambda: np.zeros(0, np.intp))  # slots: retention/emptied.py
    repeats: tuple[Repeat, ...] = ()  # what was replicated again of late, whatever the verdict is
    fell_with_source: frozenset[int] = frozenset()  # slots whose target lost its end with its source
    restarted: str = ""  # what came again after a restart of the mirror, in a sentence
