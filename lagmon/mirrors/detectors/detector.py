"""The shape of all detectors of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView


class Detector(Protocol):
    """Finds one kind of fault in a flow.

    Pure: it keeps its own state and never assigns to the flow. It requests log reads through
    `flow.questions`, and finds the answer there at a later poll.
    """

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Take in what is known of the flow now."""

    def findings(self, flow: FlowView, now_ms: int) -> Sequence[MirrorFinding]:
        """Return the findings, for as long as they are shown."""

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:  # noqa: ARG002 - see below
        """Forget topics that are removed, or were re-created on either side, by their names on the source.

        The default does nothing, for a detector that keeps nothing by topic or finds out by itself.
        """
        return

    def explained(self, flow: FlowView) -> Collection[str]:  # noqa: ARG002 - most explain none
        """Return the topics without an offset of the mirror that its findings explain."""
        return ()
