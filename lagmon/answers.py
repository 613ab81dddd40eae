"""What the ingest process answers: a question by its name, a head and bytes back."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lagmon import burrow_api
from lagmon.exposition_format import Form
from lagmon.exposition_gzip import Deflated
from lagmon.group_rows import partition_rows
from lagmon.telling import Telling
from lagmon.words import RANK, Status
from runtime.channel import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lagmon.cluster import GroupSight
    from lagmon.orders import Orders
    from lagmon.watching import ClusterWatch
    from runtime.clock import Clock
    from runtime.supervision import State

SIGHT_S = 1.0  # verdicts that are younger are not made again


class Answers:
    """Answers from what the watches know; verdicts are made when they are asked for."""

    def __init__(self, orders: Orders, watches: Sequence[ClusterWatch], *, clock: Clock) -> None:
        self.states: dict[str, State] = {}
        self._watches = {watch.alias: watch for watch in watches}
        self._clock = clock
        self._sights: dict[str, tuple[float, GroupSight]] = {}
        self._telling = Telling(
            {watch.alias: watch.lag for watch in watches},
            per_partition=orders.per_partition,
            max_series=orders.max_series,
        )
        self._burrow_clusters = {
            orders.burrow_names[watch.alias]: burrow_api.BurrowCluster(
                orders.burrow_names[watch.alias],
                watch.lag,
                servers=tuple(orders.clients[watch.alias].librdkafka["bootstrap.servers"].split(",")),
            )
            for watch in watches
        }
        self._answers: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "state": self._state,
            "metrics": self._metrics,
            "burrow": self._burrow,
            "groups": self._groups,
            "group": self._group,
        }

    async def answer(self, question: dict[str, Any]) -> Answer:
        """Return the answer to one question; raises KeyError for one that is not known."""
        return self._answers[question["question"]](question)

    def _state(self, _question: dict[str, Any]) -> Answer:
        return Answer({alias: self._state_of(watch) for alias, watch in self._watches.items()})

    def _state_of(self, watch: ClusterWatch) -> dict[str, Any]:
        state, reader = self.states.get(watch.alias), watch.reader
        progress = reader.progress if reader is not None else None
        taken = watch.lag.intake.taken
        return {
            "phase": state.phase.value if state is not None else "",
            "sentence": state.sentence if state is not None else "",
            "looked_at": watch.looked_at,
            "look_took_s": watch.look_took_s,
            "groups": len(list(watch.lag.slots.groups())),
            "positions": watch.lag.slots.used,
            "total_records": progress.total_records if progress else 0,
            "read_records": progress.read_records if progress else 0,
            "ready_after_s": progress.ready_after_s if progress else None,
            "problem": progress.problem if progress else "",
            "commits": taken.commits,
            "malformed": taken.malformed,
            "sample": taken.sample,
        }

    def _metrics(self, question: dict[str, Any]) -> Answer:
        form = Form(question["form"])
        pieces = self._telling.tell({alias: self._sight(alias) for alias in self._watches}, form)
        if not question.get("gzip"):
            return Answer({}, pieces)
        deflated = Deflated(pieces)
        compressed = list(deflated)
        return Answer({"crc": deflated.checksum.crc, "size": deflated.checksum.size}, compressed)

    def _burrow(self, question: dict[str, Any]) -> Answer:
        """Answer as Burrow does, by its rules and in its words."""
        path = question["path"]
        with ExitStack() as held:
            for watch in self._watches.values():
                held.enter_context(watch.lock)
            status, found = burrow_api.answer(
                path,
                self._burrow_clusters,
                host=socket.gethostname(),
                url=unquote(path),
                now_ms=int(self._clock.wall_s() * 1000),
            )
        text = isinstance(found, str)
        body = found.encode() if isinstance(found, str) else _json(found)
        return Answer(
            {"status": status, "content_type": "text/plain" if text else "application/json"}, [body]
        )

    def _groups(self, question: dict[str, Any]) -> Answer:
        """Answer with a page of groups, worst first, then by lag."""
        search, only = question.get("search", ""), question.get("kafka_cluster", "")
        found: list[tuple[int, int, str, str, int]] = []
        for alias, watch in self._watches.items():
            if only in ("", alias):
                sight = self._sight(alias).groups
                found += [
                    (
                        -RANK[Status(int(sight.status[number]))],
                        -int(sight.total_lag[number]),
                        name,
                        alias,
                        number,
                    )
                    for number, name in watch.lag.slots.groups()
                    if search in name
                ]
        found.sort()
        first = question.get("first", 0)
        page = found[first : first + question.get("most", 100)]
        told = [self._group_line(alias, name, number) for _, _, name, alias, number in page]
        return Answer({"status": 200}, [_json({"groups": told, "count": len(found), "offset": first})])

    def _group_line(self, alias: str, name: str, number: int) -> dict[str, Any]:
        sight = self._sight(alias)
        row = sight.groups.row(number)
        return {
            "kafka_cluster": alias,
            "group": name,
            "status": row.status.name,
            "sentence": sight.rows.sentence(row.worst_row) if row.worst_row >= 0 else row.sentence,
            "partitions": {
                status.name: row.partitions[status] for status in Status if row.partitions[status]
            },
            "lag_records": row.total_lag if row.max_lag >= 0 else None,
            "max_lag_records": row.max_lag if row.max_lag >= 0 else None,
            "lag_s": round(row.lag_s, 3) if row.lag_s >= 0 else None,
        }

    def _group(self, question: dict[str, Any]) -> Answer:
        """Answer with one group and each of its partitions, its window included."""
        alias, name = question["kafka_cluster"], question["group"]
        watch = self._watches.get(alias)
        if watch is None:
            known = ", ".join(sorted(self._watches))
            return Answer(
                {"status": 404}, [_json({"error": f"No cluster is called {alias} (known: {known})."})]
            )
        number = watch.lag.slots.number(name)
        if number is None:
            sentence = f"No group of this name has an offset on {alias}."
            return Answer({"status": 404}, [_json({"error": sentence})])
        sight = self._sight(alias)
        with watch.lock:
            document = self._group_line(alias, name, number)
            document["members"] = watch.lag.membership.members(name)
            document["rows"] = partition_rows(watch.lag, sight, name)
        return Answer({"status": 200}, [_json(document)])

    def _sight(self, alias: str) -> GroupSight:
        now_s = self._clock.wall_s()
        before = self._sights.get(alias)
        if before is not None and 0 <= now_s - before[0] < SIGHT_S:
            return before[1]
        watch = self._watches[alias]
        with watch.lock:
            sight = watch.lag.see(int(now_s * 1000))
        self._sights[alias] = now_s, sight
        return sight


def _json(document: object) -> bytes:
    return json.dumps(document).encode()
