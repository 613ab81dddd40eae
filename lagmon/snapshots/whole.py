"""Restore the state of an earlier lag monitor's process, and return the current one.

Each cluster and each flow is a part. A cluster is restored when its topics are first listed, before any poll
of a log; topics that are missing in that list, with the second list (a broker that has just started may list
too few). A flow is restored once both of its clusters are. Until then a part is passed on unchanged, so that
a cluster that is down for the whole life of a process loses nothing.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError
from fleet.quantity import duration_text
from lagmon.snapshots import cluster as snapshot_cluster
from lagmon.snapshots import flow as snapshot_flow
from lagmon.snapshots.file import MAX_BYTES, unpack
from lagmon.snapshots.frames import check
from runtime.process.channel import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lagmon.ingest.watching import ClusterWatch
    from lagmon.mirrors.answers.flows import MirrorAnswers
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.snapshots.cluster import KeptCluster
    from runtime.process.clock import Clock
    from runtime.process.logs import Logger

_EMPTY = "starting without the state from before the restart"


class Snapshots:
    """Keeps earlier parts until they are restored, and returns the current ones."""

    def __init__(
        self, watches: Sequence[ClusterWatch], mirrors: MirrorAnswers, *, clock: Clock, log: Logger
    ) -> None:
        self._watches = {watch.alias: watch for watch in watches}
        self._mirrors = mirrors
        self._clock = clock
        self._log = log
        self._former: dict[str, bytes] = {}
        self._cluster_ids: dict[str, str] = {}  # of clusters whose topics were listed
        # By cluster, its state and the topics that the first list lacked, until the second list.
        self._rest: dict[str, tuple[KeptCluster, set[str]]] = {}
        self._turn = threading.Lock()  # guards both; acquired before the locks of watches and flows
        for watch in watches:
            watch.looks.on_reached = self.reached

    def load(self, path: Path) -> None:
        """Read and delete the file; a part that is not whole is dropped and logged."""
        try:
            try:
                size = path.stat().st_size
                if size > MAX_BYTES:
                    raise MalformedError(f"snapshot: {size} bytes, more than {MAX_BYTES}")
                parts = unpack(path.read_bytes())
            finally:
                path.unlink(missing_ok=True)
            for payload in parts.values():
                check(payload)
        except FileNotFoundError:
            return  # nothing was stored
        except (OSError, MalformedError) as error:
            self._log.warning(f"{_sentence(error)}; {_EMPTY}")
            return
        self._former = parts

    def reached(self, alias: str, cluster_id: str, partitions: Mapping[str, int]) -> None:
        """Restore a cluster and its flows, now that its topics are listed."""
        with self._turn:
            if alias in self._cluster_ids:
                self._take_up_rest(alias, partitions)
                return
            payload = self._former.get(_cluster(alias))
            if payload is not None:
                self._take_up_cluster(alias, cluster_id, partitions, payload)
            self._cluster_ids[alias] = cluster_id
            if alias not in self._rest:
                self._former.pop(_cluster(alias), None)
            for name, flow in self._mirrors.flows.items():
                ids = self._ids_of(flow)
                payload = self._former.get(_flow(name))
                if payload is not None and ids is not None and alias in _sides(flow):
                    self._take_up_flow(flow, ids, payload)

    async def answer(self, question: dict[str, Any]) -> Answer:
        """Answer with one part's bytes, or with the names of all parts."""
        part = str(question.get("part", ""))
        if not part:
            names = [*map(_cluster, self._watches), *map(_flow, self._mirrors.flows)]
            return Answer({"parts": names})
        kind, _, name = part.partition(":")
        pieces: list[bytes] = []
        if kind == "cluster" and name in self._watches:
            pieces = await asyncio.to_thread(self._cluster_part, name)
        elif kind == "flow" and name in self._mirrors.flows:
            pieces = await asyncio.to_thread(self._flow_part, name)
        return Answer({"part": part, "there": bool(pieces)}, pieces)

    def _cluster_part(self, alias: str) -> list[bytes]:
        watch = self._watches[alias]
        with self._turn:
            cluster_id, former = self._cluster_ids.get(alias), self._former.get(_cluster(alias))
        if former is not None:  # it is not, or not completely, restored yet
            return [former]
        if cluster_id is None:
            return []
        now_ms = self._now_ms()
        return list(snapshot_cluster.frames_of(watch.lag, watch.lock, cluster_id=cluster_id, now_ms=now_ms))

    def _flow_part(self, name: str) -> list[bytes]:
        flow = self._mirrors.flows[name]
        with self._turn:
            ids, former = self._ids_of(flow), self._former.get(_flow(name))
            if ids is None or flow.when_read is not None:
                return [] if former is None else [former]
            self._former.pop(_flow(name), None)
        with self._mirrors.locked():
            copied = snapshot_flow.CopiedFlow.of(flow)
            told = self._mirrors.verdict_since(name)
        return [snapshot_flow.frame_of(copied, cluster_ids=ids, now_ms=self._now_ms(), told=told)]

    def _take_up_cluster(
        self, alias: str, cluster_id: str, partitions: Mapping[str, int], payload: bytes
    ) -> None:
        watch, now_ms = self._watches[alias], self._now_ms()
        try:
            kept = snapshot_cluster.read_cluster(payload)
        except MalformedError as error:
            self._log.warning(f"{_sentence(error)}; {_EMPTY}", kafka_cluster=alias)
            return
        if kept.cluster_id != cluster_id or not cluster_id:
            self._log.warning(
                f"snapshot: of cluster {kept.cluster_id}, not of {cluster_id}; {_EMPTY}",
                kafka_cluster=alias,
            )
            return
        with watch.lock:
            count = snapshot_cluster.take_up(watch.lag, kept, partitions=partitions, now_ms=now_ms)
        self._log.info(
            "restored the state from before the restart",
            kafka_cluster=alias,
            topics=count,
            age=duration_text(max(0, now_ms - kept.taken_ms) / 1000),
        )
        lacking = kept.names - partitions.keys()
        if lacking:
            self._rest[alias] = kept, lacking

    def _take_up_rest(self, alias: str, partitions: Mapping[str, int]) -> None:
        """Restore, with a cluster's second list, the topics that the first one lacked."""
        if alias not in self._rest:
            return
        kept, lacking = self._rest.pop(alias)
        del self._former[_cluster(alias)]
        back = {name: partitions[name] for name in lacking & partitions.keys()}
        if not back:
            return
        watch = self._watches[alias]
        with watch.lock:
            snapshot_cluster.take_up_topics(watch.lag, kept, partitions=back, now_ms=self._now_ms())
        self._log.info(
            "restored the state of topics that the first list lacked",
            kafka_cluster=alias,
            topics=len(back),
        )

    def _take_up_flow(self, flow: MirrorFlow, ids: tuple[str, str], payload: bytes) -> None:
        name = flow.order.name
        try:
            kept = snapshot_flow.read_flow(payload)
        except MalformedError as error:
            self._log.warning(f"{_sentence(error)}; {_EMPTY}", flow=name)
        else:
            if kept.cluster_ids == ids and all(ids):
                with self._mirrors.locked():
                    is_believed = snapshot_flow.restore(flow, kept, now_ms=self._now_ms())
                    if is_believed and kept.told is not None:
                        self._mirrors.restore_since(name, *kept.told)
                if is_believed:
                    return
                why = "snapshot: the source of the flow's offsets or the names of its target topics changed"
                self._log.info(f"{why}; {_EMPTY}", flow=name)
            else:
                self._log.warning(f"snapshot: of other clusters; {_EMPTY}", flow=name)
        del self._former[_flow(name)]

    def _ids_of(self, flow: MirrorFlow) -> tuple[str, str] | None:
        """Return the ids of a flow's clusters, None while one of them was not reached."""
        source, target = (self._cluster_ids.get(alias) for alias in _sides(flow))
        return None if source is None or target is None else (source, target)

    def _now_ms(self) -> int:
        return int(self._clock.wall_s() * 1000)


def _sides(flow: MirrorFlow) -> tuple[str, str]:
    return flow.order.flow.source, flow.order.flow.target


def _cluster(alias: str) -> str:
    return f"cluster:{alias}"


def _flow(name: str) -> str:
    return f"flow:{name}"


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, MalformedError) else f"snapshot: cannot be read: {error}"
