"""Topics that a mirror replicates although its configuration, as Mirrorwatch read it, excludes them. Pure.

The mirror's file or its connector was changed since, so these topics are not judged. The mirror's offsets of
them show it. Only offsets written a while after the configuration was read count: a mirror that restarts at
that moment with another configuration still writes offsets of the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.partitions.snapshot import POLL_MS

if TYPE_CHECKING:
    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

LATELY_MS = 300_000  # before an instant: topics with older offsets may no longer be replicated
_SHOWN = 3


class Unwatched(Detector):
    """Finds the replicated topics that the configuration excludes."""

    def __init__(self) -> None:
        self.topics: tuple[str, ...] = ()
        self._since_ms = -1

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Find the source topics that are replicated though they are excluded, by name."""
        self.topics = self._find(flow, partitions)

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:  # noqa: ARG002 - nothing is lost
        """Return none: the sentence about the flow names the topics."""
        return []

    def _find(self, flow: FlowView, partitions: PartitionsSnapshot) -> tuple[str, ...]:
        if self._since_ms < 0:
            self._since_ms = partitions.now_ms
        if not flow.order.topics_known:
            return ()
        from_ms = max(self._since_ms + partitions.cadence_ms + POLL_MS, partitions.now_ms - LATELY_MS)
        moved = flow.windows.moved_ms[: len(partitions.used)] > from_ms
        names = {flow.windows.name(slot)[0] for slot in np.flatnonzero(moved & ~partitions.used).tolist()}
        return tuple(sorted((names & flow.source.topics.keys()) - flow.topics.remote.keys()))


def sentence(flow: FlowView, topics: tuple[str, ...]) -> str:
    """Return which topics are replicated but not watched, "" if there are none."""
    if not topics:
        return ""
    shown, more = ", ".join(topics[:_SHOWN]), len(topics) - _SHOWN
    names = f"{shown} and {more:,} more" if more > 0 else shown
    return (
        f"Not watched: the mirror replicates {count_text(len(topics), 'topic')} of {flow.order.flow.source}"
        f" that its configuration leaves out, as Mirrorwatch read it: {names}. Reload Mirrorwatch (SIGHUP),"
        " or restart the mirror if it still runs with an older configuration."
    )
