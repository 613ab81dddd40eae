"""Answers of the ingest process: a question by name in, a head and bytes out."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lagmon.burrow import api as burrow_api
from lagmon.cluster.readiness import not_ready, unread
from lagmon.exposition.commits import CommitMetrics
from lagmon.exposition.compression import Deflated
from lagmon.exposition.format import Form
from lagmon.exposition.lag_metrics import LagMetrics
from lagmon.groups.answers import GroupAnswers
from runtime.process.channel import Answer
from runtime.process.memory import give_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lagmon.groups.view import GroupView
    from lagmon.ingest.orders import Orders
    from lagmon.ingest.watching import ClusterWatch
    from lagmon.mirrors.answers.flows import MirrorAnswers
    from lagmon.snapshots.whole import Snapshots
    from lagmon.syncs.answers import SyncAnswers
    from runtime.process.clock import Clock
    from runtime.process.supervision import State

CLIENTS = "mirrorwatch"  # prefix of our client ids, which end with what the client does
_MUCH_BYTES = 1 << 18
VIEW_S = 1.0  # younger verdicts are reused


class Answers:
    """Answers from the state of the watches; verdicts are made on request."""

    def __init__(
        self,
        orders: Orders,
        watches: Sequence[ClusterWatch],
        *,
        clock: Clock,
        mirrors: MirrorAnswers | None = None,
        syncs: SyncAnswers | None = None,
    ) -> None:
        self.states: dict[str, State] = {}
        self.snapshots: Snapshots | None = None
        self._watches = {watch.alias: watch for watch in watches}
        self._clock = clock
        self._views: dict[str, tuple[float, GroupView]] = {}
        self._telling = LagMetrics(
            {watch.alias: watch.lag for watch in watches},
            per_partition=orders.per_partition,
            max_series=orders.max_series,
            mirrors=mirrors.series(orders) if mirrors is not None else None,
            commits=CommitMetrics(self._watches),
        )
        self._mirrors = mirrors
        self._burrow_clusters = [
            (
                watch,
                burrow_api.BurrowCluster(
                    orders.burrow_names[watch.alias],
                    watch.lag,
                    servers=tuple(orders.clients[watch.alias].librdkafka["bootstrap.servers"].split(",")),
                    client_id=CLIENTS,
                ),
            )
            for watch in watches
        ]
        groups = GroupAnswers(self._watches, self.states, view=self._view, now_s=clock.wall_s)
        self._answers: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "state": self._state,
            "metrics": self._metrics,
            "burrow": self._burrow,
            "groups": groups.groups,
            "group": groups.group,
            "group_counts": groups.counts,
        }
        if mirrors is not None:
            self._answers |= {
                "flows": self._flows,
                "flow": mirrors.answer_flow,
                "connect_states": mirrors.take_states,
            }
        if syncs is not None:
            self._answers |= {"syncs": syncs.answer, "sync_ids": syncs.ids}

    async def answer(self, question: dict[str, Any]) -> Answer:
        """Return the answer to one question; raises KeyError for an unknown one."""
        if question["question"] == "snapshot" and self.snapshots is not None:
            return await self.snapshots.answer(question)
        found = self._answers[question["question"]](question)
        if self._views:
            asyncio.get_running_loop().call_later(VIEW_S, self._forget_old_views)
        return Answer(found.head, _tidied(found.pieces))

    def _forget_old_views(self) -> None:
        """Free verdicts that are too old to be reused: about 45 bytes a group-partition."""
        now_s = self._clock.wall_s()
        old = [alias for alias, (at, _) in self._views.items() if not 0 <= now_s - at < VIEW_S]
        for alias in old:
            del self._views[alias]
        if old:
            give_back()

    def _state(self, _question: dict[str, Any]) -> Answer:
        return Answer({alias: self._state_of(watch) for alias, watch in self._watches.items()})

    def _state_of(self, watch: ClusterWatch) -> dict[str, Any]:
        state, progress = self.states.get(watch.alias), watch.progress
        taken = watch.lag.intake.taken
        with watch.lock:
            groups = len(list(watch.lag.slots.groups()))
            other_groups, failing = watch.other_groups, watch.lag.failing
        return {
            "not_ready": not_ready(state, progress, failing),
            "phase": state.phase.value if state is not None else "",
            "sentence": state.sentence if state is not None else "",
            "polled_at": watch.looks.polled_at,
            "look_took_s": watch.looks.took_s,
            "groups": groups,
            "positions": watch.lag.slots.used,
            "total_records": progress.total_records if progress else 0,
            "read_records": progress.read_records if progress else 0,
            "ready_after_s": progress.ready_after_s if progress else None,
            "problem": watch.problem or (progress.problem if progress else "") or watch.tails.problem,
            "commits_from": watch.commits_from,
            "commits_refused": watch.refusal,
            "commits_cycle_s": watch.cycle_s,
            "other_groups": other_groups,
            "ready_s": watch.ready_s,
            "commits": taken.commits,
            "malformed": taken.malformed,
            "sample": taken.sample,
        }

    def _flows(self, question: dict[str, Any]) -> Answer:
        """Answer about every flow; the head tells how reading of each cluster goes.

        That is the last success (epoch s), the number of failures, and clusters that do not answer or deny
        access.
        """
        assert self._mirrors is not None
        found = self._mirrors.answer_flows(question)
        return Answer({**found.head, "collected": self._collected()}, found.pieces)

    def _collected(self) -> dict[str, dict[str, dict[str, Any]]]:
        succeeded, failed = {}, {}
        away: dict[str, Any] = {}
        refused: dict[str, Any] = {}
        for alias, watch in self._watches.items():
            with watch.lock:
                read_to_ms, failing = watch.lag.read_to_ms, watch.lag.failing
            if failing is not None:
                kind = refused if failing.refused else away
                kind[alias] = {"since_ms": failing.since_ms, "why": failing.why}
            known = {
                "positions": watch.looks.polled_at,
                "commits": read_to_ms / 1000 if read_to_ms >= 0 else None,
            }
            succeeded[alias] = {name: at for name, at in known.items() if at is not None}
            failed[alias] = {"positions": float(watch.failed_polls), "commits": float(watch.failed_reads)}
        return {"last_success_at": succeeded, "errors": failed, "away": away, "refused": refused}

    def _metrics(self, question: dict[str, Any]) -> Answer:
        form = Form(question["form"])
        views = {alias: self._view(alias) for alias in self._watches}
        if self._mirrors is None:
            pieces: Iterable[bytes] = self._telling.tell(views, form)
        else:
            with self._mirrors.locked_snapshots() as flows:  # the text is made later, as of now
                pieces = self._telling.tell(views, form, flows=flows)
        if not question.get("gzip"):
            return Answer({}, pieces)
        deflated = Deflated(pieces)
        compressed = list(deflated)
        return Answer({"crc": deflated.checksum.crc, "size": deflated.checksum.size}, compressed)

    def _burrow(self, question: dict[str, Any]) -> Answer:
        """Answer like Burrow, by its rules."""
        path = question["path"]
        with ExitStack() as held:
            for watch in self._watches.values():
                held.enter_context(watch.lock)
            status, found = burrow_api.answer(
                path,
                {one.name: replace(one, unread=self._unread(watch)) for watch, one in self._burrow_clusters},
                host=socket.gethostname(),
                url=unquote(path),
                now_ms=int(self._clock.wall_s() * 1000),
            )
        return Answer({"status": status}, [_json(found)])

    def _unread(self, watch: ClusterWatch) -> str:
        """Return why a cluster's groups are not known yet, "" if they are; its lock is held."""
        lag, progress = watch.lag, watch.progress
        lacking = not_ready(self.states.get(watch.alias), progress, lag.failing)
        if lacking is None or not unread(progress, known=lag.read_to_ms >= 0):
            return ""
        return str(lacking["sentence"])

    def _view(self, alias: str, least: int = 0) -> GroupView:
        """Return verdicts on a cluster's groups, at least on the given number of groups that have begun."""
        now_s = self._clock.wall_s()
        before = self._views.get(alias)
        fresh = before is not None and 0 <= now_s - before[0] < VIEW_S
        if before is not None and fresh and before[1].begun >= least:
            return before[1]
        before = None
        self._views.pop(alias, None)  # else both would be in memory
        watch = self._watches[alias]
        with watch.lock:
            view = watch.lag.see(int(now_s * 1000))
        self._views[alias] = now_s, view
        return view


def _tidied(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces; after many, release the memory that making them took."""
    size = 0
    for piece in pieces:
        size += len(piece)
        yield piece
    if size >= _MUCH_BYTES:
        give_back()


def _json(document: object) -> bytes:
    return json.dumps(document).encode()
