"""What the ingest process answers about flows: judged when asked, at most once a second."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from lagmon.mirror_rows import flow_document, partition_documents
from lagmon.mirror_telling import MirrorTelling
from lagmon.mirror_verdict import judge_flow
from runtime.channel import Answer

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from lagmon.mirror_flow import FlowSight, MirrorFlow
    from lagmon.mirror_verdict import MirrorVerdict
    from lagmon.orders import Orders
    from runtime.clock import Clock

SIGHT_S = 0.9  # verdicts that are younger are not made again


class MirrorAnswers:
    """Answers from the flows; `locks` guard what is read, taken in their order."""

    def __init__(self, flows: Sequence[MirrorFlow], locks: Sequence[threading.Lock], *, clock: Clock) -> None:
        self.flows = {flow.order.name: flow for flow in flows}
        self._locks = list(locks)
        self._clock = clock
        self._seen: dict[str, tuple[FlowSight, MirrorVerdict]] = {}
        self._seen_at: float | None = None
        self._since: dict[str, tuple[tuple[str, str | None], int]] = {}

    def sights(self) -> dict[str, tuple[FlowSight, MirrorVerdict]]:
        """Return every flow as it is seen, by name."""
        now_s = self._clock.wall_s()
        if self._seen_at is None or not 0 <= now_s - self._seen_at < SIGHT_S:
            now_ms = int(now_s * 1000)
            with self.held():
                for name, flow in self.flows.items():
                    found = flow.see(now_ms)
                    self._seen[name] = found, judge_flow(flow, found)
            for name, (_, told) in self._seen.items():
                words = str(told.verdict), None if told.cause is None else str(told.cause)
                if self._since.get(name, (None, 0))[0] != words:
                    self._since[name] = words, now_ms
            self._seen_at = now_s
        return self._seen

    def answer_flows(self, _question: dict[str, Any]) -> Answer:
        """Answer with every flow in short."""
        sights = self.sights()
        with self.held():
            told = [self._document(name, sights) for name in self.flows]
        return Answer({"status": 200}, [json.dumps({"flows": told}).encode()])

    def answer_flow(self, question: dict[str, Any]) -> Answer:
        """Answer with one flow and every partition of it."""
        name = question["flow"]
        if name not in self.flows:
            known = ", ".join(sorted(self.flows)) or "none"
            error = {"error": f"No flow {name[:200]} is watched by its offsets (known: {known})."}
            return Answer({"status": 404}, [json.dumps(error).encode()])
        sights = self.sights()
        with self.held():
            told = self._document(name, sights)
            told["rows"] = partition_documents(self.flows[name], sights[name][0])
        return Answer({"status": 200}, [json.dumps(told).encode()])

    def _document(self, name: str, sights: dict[str, tuple[FlowSight, MirrorVerdict]]) -> dict[str, Any]:
        found, told = sights[name]
        return flow_document(self.flows[name], found, told, since_ms=self._since[name][1])

    def telling(self, orders: Orders) -> MirrorTelling:
        """Return what tells the series of these flows."""
        flows = self.flows.values()
        return MirrorTelling(flows, per_partition=orders.per_partition, max_series=orders.max_series)

    def held(self) -> AbstractContextManager[Any]:
        """Hold every lock; a context manager."""
        stack = ExitStack()
        for lock in self._locks:
            stack.enter_context(lock)
        return stack
