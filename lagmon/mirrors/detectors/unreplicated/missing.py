"""Records that may be missing by log ends and by offset syncs, each partition once. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, GROUP
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.unreplicated.missing_by_ends import MissingByEnds, MissingByPartition
from lagmon.mirrors.detectors.unreplicated.missing_by_syncs import MissingBySyncs
from lagmon.mirrors.detectors.unreplicated.missing_by_topic import MissingByTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView


@dataclass(slots=True)
class MissingRecords(Detector):
    """Compares a target topic's growth with what the mirror passed."""

    lag_from: str
    _by_ends: MissingByEnds[Any] | None = field(init=False)  # None if no offset shows what the mirror passed
    _by_syncs: MissingBySyncs = field(default_factory=MissingBySyncs)
    _found: list[MirrorFinding] = field(default_factory=list)

    def __post_init__(self) -> None:
        kinds: dict[str, type[MissingByEnds[Any]]] = {
            CONNECT_OFFSETS: MissingByPartition,
            GROUP: MissingByTopic,
        }
        self._by_ends = kinds[self.lag_from]() if self.lag_from in kinds else None

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Compare both ways; what a sync shows of a partition replaces what the ends show."""
        gapped = flow.transactions.topics
        by_ends = [] if self._by_ends is None else self._by_ends.poll(flow, partitions, gapped)
        by_syncs = self._by_syncs.poll(flow, partitions, gapped)
        known = {(one.topic, one.partition, one.side) for one in by_syncs}
        # A target topic that lost its end also grew by less than the mirror passed.
        known |= {(topic, partition, "source") for topic, partition, _ in known}
        self._found = [
            *(one for one in by_ends if (one.topic, one.partition, one.side) not in known),
            *by_syncs,
        ]

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:  # noqa: ARG002 - of the newest poll
        """Return what may be missing, for as long as it is shown."""
        return self._found

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""
        if self._by_ends is not None:
            self._by_ends.forget(flow, is_gone)
        self._by_syncs.forget(flow, is_gone)
