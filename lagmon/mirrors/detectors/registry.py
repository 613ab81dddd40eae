"""The detectors of one flow, in the order in which they observe it; a new one is one line here. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from lagmon.mirrors.detectors.lost_ends.cuts import SourceCuts
from lagmon.mirrors.detectors.recreated.losses import RecreatedTopics
from lagmon.mirrors.detectors.retention.losses import RetentionLosses
from lagmon.mirrors.detectors.retimed import RetimedRecords
from lagmon.mirrors.detectors.rewinds.repeats import Repeats
from lagmon.mirrors.detectors.rewinds.rewinds import Rewinds
from lagmon.mirrors.detectors.unreplicated.filtered import Filtered
from lagmon.mirrors.detectors.unreplicated.missing import MissingRecords
from lagmon.mirrors.detectors.unreplicated.unwatched import Unwatched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.mirrors.detectors.detector import Detector


@dataclass(slots=True)
class Detectors:
    """One detector of each kind, by name; iterating returns them in order."""

    order: MirrorOrder
    retention: RetentionLosses = field(default_factory=RetentionLosses)
    recreated: RecreatedTopics = field(default_factory=RecreatedTopics)
    cuts: SourceCuts = field(default_factory=SourceCuts)
    rewinds: Rewinds = field(init=False)
    filtered: Filtered = field(default_factory=Filtered)
    missing: MissingRecords = field(init=False)
    retimed: RetimedRecords = field(default_factory=RetimedRecords)
    repeats: Repeats = field(default_factory=Repeats)
    unwatched: Unwatched = field(default_factory=Unwatched)

    def __post_init__(self) -> None:
        self.rewinds, self.missing = Rewinds(self.cuts), MissingRecords(self.order.lag_from)

    def __iter__(self) -> Iterator[Detector]:
        return (getattr(self, one.name) for one in fields(self) if one.name != "order")
