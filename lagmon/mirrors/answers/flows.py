"""Answers of the ingest process about flows, judged on request, at most once a second.

A bug at one flow is logged, makes that flow unknown, and does not affect answers about others.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from fleet.dialect import unknown_name
from fleet.verdicts.vocabulary import Verdict
from lagmon.exposition.mirrors import MirrorSeries
from lagmon.groups.answers import form_of, refusal
from lagmon.groups.documents import offsets_document
from lagmon.ingest.connect_states import take_states
from lagmon.ingest.faults import fault_text, let_through
from lagmon.mirrors.answers.pages import partition_page
from lagmon.mirrors.answers.rows import flow_document
from lagmon.mirrors.failed_flow import failed_flow
from lagmon.mirrors.progress.movement import movement_document
from lagmon.mirrors.verdict import judge_flow
from runtime.process.channel import Answer

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from lagmon.ingest.orders import Orders
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.verdict import MirrorVerdict
    from runtime.process.clock import Clock

FRESH_S = 0.9  # younger verdicts are reused
BACK_AFTER_MS = 600_000  # after a restart: an older verdict that returns later has a new start


class MirrorAnswers:
    """Answers about the flows; `locks` guard the data, taken in this order.

    `wrong` is called with a flow and the error of a bug.
    """

    def __init__(
        self,
        flows: Sequence[MirrorFlow],
        locks: Sequence[threading.Lock],
        *,
        clock: Clock,
        wrong: Callable[[str, Exception], None] = let_through,
    ) -> None:
        self.flows = {flow.order.name: flow for flow in flows}
        self._locks = list(locks)
        self._clock = clock
        self._wrong = wrong
        self._seen: dict[str, tuple[FlowSnapshot, MirrorVerdict]] = {}
        self._versions: dict[str, tuple[int, int]] = {}  # of the slots at that time
        self._seen_at: float | None = None
        self._since: dict[str, tuple[tuple[str, str | None], int]] = {}
        self._former: dict[str, tuple[tuple[str, str | None], int]] = {}  # before a restart
        self._started_ms = int(clock.wall_s() * 1000)

    def snapshots(self) -> dict[str, tuple[FlowSnapshot, MirrorVerdict]]:
        """Return the snapshot and verdict of every flow, by name."""
        now_s = self._clock.wall_s()
        if self._seen_at is None or not 0 <= now_s - self._seen_at < FRESH_S:
            now_ms = int(now_s * 1000)
            with self.locked():
                for name, flow in self.flows.items():
                    self._seen[name] = self._judged(flow, now_ms)
            for name, (_, verdict) in self._seen.items():
                self._follow(name, _words(verdict), now_ms)
            self._seen_at = now_s
        return self._seen

    @contextmanager
    def locked_snapshots(self) -> Iterator[dict[str, tuple[FlowSnapshot, MirrorVerdict]]]:
        """Hold every lock, and return every flow's snapshot and verdict with the present slots.

        A slot may have been freed or assigned to another partition since its flow was judged. Such a flow is
        judged again.
        """
        snapshots = self.snapshots()
        with self.locked():
            for name, flow in self.flows.items():
                if self._versions[name] != flow.windows.version:
                    now_ms = int(self._clock.wall_s() * 1000)
                    snapshots[name] = self._judged(flow, now_ms)
                    self._follow(name, _words(snapshots[name][1]), now_ms)
            yield snapshots

    def _judged(self, flow: MirrorFlow, now_ms: int) -> tuple[FlowSnapshot, MirrorVerdict]:
        self._versions[flow.order.name] = flow.windows.version
        try:
            snapshot = flow.take_snapshot(now_ms)
            return snapshot, judge_flow(flow, snapshot)
        except Exception as error:  # noqa: BLE001 - a bug with one flow must not affect the others
            self._wrong(flow.order.name, error)
            return failed_flow(now_ms, fault_text(error))

    def verdict_since(self, flow: str) -> tuple[tuple[str, str | None], int] | None:
        """Return verdict and cause of a flow and since when it has them, None if not judged yet."""
        return self._former.get(flow) or self._since.get(flow)

    def restore_since(self, flow: str, words: tuple[str, str | None], since_ms: int) -> None:
        """Restore an earlier verdict of a flow and its start, which holds if the verdict returns soon."""
        self._former[flow] = words, since_ms

    def _follow(self, flow: str, words: tuple[str, str | None], now_ms: int) -> None:
        """Note since when a flow has its verdict; "unknown" soon after a restart does not end it."""
        if self._since.get(flow, (None, 0))[0] == words:
            return
        former = self._former.get(flow)
        if former is not None and former[0] == words:
            self._since[flow] = former
        else:
            self._since[flow] = words, now_ms
        if former is None or words[0] != Verdict.UNKNOWN or now_ms - self._started_ms > BACK_AFTER_MS:
            self._former.pop(flow, None)

    def answer_flows(self, question: dict[str, Any]) -> Answer:
        """Answer with the summary of every flow, for a verdict; each second, so without windows.

        `canary_topic` is the topic of the service's canary.
        """
        topic = str(question.get("canary_topic", ""))
        with self.locked_snapshots() as snapshots:
            documents = [self._in_short(name, snapshots, topic) for name in self.flows]
        for row in (row for document in documents for row in document["worst"]):
            row.pop("commits", None)
        return Answer({"status": 200}, [json.dumps({"flows": documents}).encode()])

    def take_states(self, question: dict[str, Any]) -> Answer:
        """Take in the task states of the mirrors from Kafka Connect."""
        with self.locked():
            take_states(self.flows, question)
        return Answer()

    def answer_flow(self, question: dict[str, Any]) -> Answer:
        """Answer with one flow and a page of its partitions, the worst first; `search` filters by topic.

        A question with an `address` is one of /api/v1, and is answered in that form.
        """
        name = question["flow"]
        if name not in self.flows:
            return refusal("unknown_flow", unknown_name("flow", name, self.flows), status=404)
        with self.locked_snapshots() as snapshots:
            document = self._document(name, snapshots)
            first, snapshot = question.get("first", 0), snapshots[name][0]
            most, search = question.get("most"), question.get("search", "")
            rows, count = partition_page(self.flows[name], snapshot, first=first, most=most, search=search)
            document |= {"rows": rows, "count": count, "offset": first, "now_ms": snapshot.now_ms}
        if "address" in question:
            document = offsets_document(document, **form_of(question))
        return Answer({"status": 200}, [json.dumps(document).encode()])

    def _in_short(
        self, name: str, snapshots: dict[str, tuple[FlowSnapshot, MirrorVerdict]], canary_topic: str
    ) -> dict[str, Any]:
        flow = self.flows[name]
        try:
            moves = movement_document(flow, snapshots[name][0], canary_topic=canary_topic)
            return self._document(name, snapshots) | moves
        except Exception as error:  # noqa: BLE001 - as above
            self._wrong(name, error)
            snapshots[name] = failed_flow(snapshots[name][0].now_ms, fault_text(error))
            moves = movement_document(flow, snapshots[name][0], canary_topic=canary_topic)
            return self._document(name, snapshots) | moves

    def _document(
        self, name: str, snapshots: dict[str, tuple[FlowSnapshot, MirrorVerdict]]
    ) -> dict[str, Any]:
        snapshot, verdict = snapshots[name]
        return flow_document(self.flows[name], snapshot, verdict, since_ms=self._since[name][1])

    def series(self, orders: Orders) -> MirrorSeries:
        """Return the series of these flows."""
        flows = self.flows.values()
        return MirrorSeries(
            flows, per_partition=orders.per_partition, max_series=orders.max_series, wrong=self._wrong
        )

    def locked(self) -> AbstractContextManager[Any]:
        """Hold every lock, as a context manager."""
        stack = ExitStack()
        for lock in self._locks:
            stack.enter_context(lock)
        return stack


def _words(verdict: MirrorVerdict) -> tuple[str, str | None]:
    return str(verdict.verdict), None if verdict.cause is None else str(verdict.cause)
