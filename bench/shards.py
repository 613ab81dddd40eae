"""Three shards on real clusters: what a flow costs in one replica and in three, and what a death costs.

- flows: every pair of 14 clusters, 182 flows. First one replica alone with the flows of one shard, then three
  leaders and a standby with all of them, and one leader killed. Copying is done by `bench.plain_mirror`.
- groups: 10,000 groups with 100 partitions each on one cluster, over three leaders; one of them killed.

The replicas share a PostgreSQL. Processor time is that of all their processes.
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.fleet import Clusters
from bench.found import Found
from bench.lagmon_commits import PARTITIONS, RECORDS, topic_name, write_commits
from bench.lagmon_stack import SINGLE, fill, larger_heap, make_topics, scratch
from bench.processes import cpu_s, pss_mb, tree
from bench.replica import Replica
from deploy.local.broker import Broker
from deploy.local.postgresql import PostgreSql
from deploy.local.service import Service
from deploy.local.waiting import wait_until
from fleet.shards import shards_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PARTS = ("flows", "groups")
SHARDS = 3
CLUSTERS = 14
CANARY = {"interval": "5s", "threshold": "10s", "horizon": "60s"}
GROUPS, TOPICS = 10_000, 20
_UP_S = 600.0
_LOOK_S = 0.25


def measure(*, parts: tuple[str, ...] = PARTS, seconds: float = 60.0) -> dict[str, Any]:
    """Return the figures of these parts; each cost is measured for so many seconds."""
    found = Found()
    with PostgreSql() as database:
        if "flows" in parts:
            found.keep("flows", _flows(database, seconds))
        if "groups" in parts:
            with scratch() as folder:
                found.keep("groups", _groups(folder, database, seconds))
    return found.figures


def _flows(database: PostgreSql, seconds: float) -> dict[str, Any]:
    aliases = [f"c{number:02}" for number in range(1, CLUSTERS + 1)]
    pairs = list(permutations(aliases, 2))
    numbers = shards_of((f"{source}->{target}" for source, target in pairs), SHARDS)
    some = [pair for pair in pairs if numbers["->".join(pair)] == 1]
    with (
        tempfile.TemporaryDirectory(prefix="mirrorwatch-shards-") as name,
        Clusters(Path(name), partitions=dict.fromkeys(aliases, 1), flows=pairs) as clusters,
    ):
        common = {"canary": CANARY, "lag": {"commits": "off"}}
        store = {"url": _new_database(database, "alone")}
        alone = Service(Path(name) / "alone", {"mm2": str(clusters.mm2(some)), **common, "store": store})
        with running([alone]):
            _wait_healthy(alone, len(some))
            one = _cost([alone], len(some), seconds)
        document = {"mm2": clusters.mm2(pairs), **common}
        with replicas(Path(name), document, _new_database(database, "flows")) as four:
            _wait_healthy(four[-1], len(pairs))
            three = _cost(four, len(pairs), seconds)
            watched = sum(len(one.labels("mirrorwatch_flow_info")) for one in four)
            takeover = _kill(four, lambda rest: _healthy(rest[0]) == len(pairs))
    return {
        "flows": len(pairs),
        "flows_watched_twice_or_not_at_all": abs(watched - len(pairs)),
        "one_replica": one,
        "three_and_a_standby": three,
        "cpu_of_a_flow_ratio": round(three["cpu_ms_a_flow_and_minute"] / one["cpu_ms_a_flow_and_minute"], 2),
        "healthy_again_after_kill_s": takeover,
    }


def _groups(folder: Path, database: PostgreSql, seconds: float) -> dict[str, Any]:
    names = [topic_name(number) for number in range(TOPICS)]
    with larger_heap():
        broker = Broker("A", folder / "A", properties=SINGLE)
        broker.start()
    try:
        broker.wait_ready(deadline_s=120.0)
        client = broker.client_properties()
        make_topics(client, names, partitions=PARTITIONS, deadline_s=240)
        fill(client, names, partitions=PARTITIONS, records=RECORDS, deadline_s=180)
        made_s = write_commits(client, range(GROUPS), topics=TOPICS, turns=1)
        print(f"{GROUPS * PARTITIONS:,} commits made in {made_s:.0f} s", flush=True)
        document = {
            "clusters": {"A": client},
            "canary": {},
            "lag": {"commits": "topic", "groups": "group-.*"},
        }
        began = time.monotonic()
        with replicas(folder, document, _new_database(database, "groups")) as four:
            wait_until(lambda: _all_groups(four), deadline_s=_UP_S, what="Every group", every_s=1.0)
            ready_s = time.monotonic() - began
            shares = sorted(len(one.labels("mirrorwatch_group_max_lag_records")) for one in four)
            cost = _cost(four, GROUPS * PARTITIONS // 1000, seconds)
            answers = [_groups_listed(one) for one in four]
            takeover = _kill(four, _all_groups)
    finally:
        broker.kill()
    return {
        "group_partitions": GROUPS * PARTITIONS,
        "groups_of_replicas": ", ".join(map(str, shares)),
        "groups_listed_by_each": ", ".join(map(str, answers)),
        "ready_after_start_s": round(ready_s, 1),
        "pss_mb": cost["pss_mb"],
        "cores": cost["cores"],
        "every_group_again_after_kill_s": takeover,
    }


@contextmanager
def replicas(folder: Path, document: Mapping[str, Any], url: str) -> Iterator[list[Replica]]:
    """Give one replica for each shard and a standby, all started, the standby last."""
    found = [
        Replica(folder, f"replica-{number}", store=url, group="bench", shards=SHARDS, **document)
        for number in range(1, SHARDS + 2)
    ]
    with ExitStack() as stack:
        for number, one in enumerate(found, 1):
            stack.enter_context(running([one]))
            if number <= SHARDS:
                wait_until(lambda: bool(one.shard), deadline_s=180.0, what=f"Replica {number}")  # noqa: B023
        yield found


@contextmanager
def running(services: Sequence[Service]) -> Iterator[None]:
    """Run these services."""
    try:
        for one in services:
            one.start()
        yield
    finally:
        for one in services:
            one.kill()


def _new_database(server: PostgreSql, name: str) -> str:
    server.say(f"create database {name}")
    return server.url(name)


def _healthy(service: Service) -> int:
    return sum(flow["verdict"] == "healthy" for flow in service.flows().values())


def _wait_healthy(service: Service, flows: int) -> None:
    began = time.monotonic()
    wait_until(
        lambda: _healthy(service) == flows, deadline_s=_UP_S, what=f"{flows} healthy flows", every_s=1.0
    )
    print(f"{flows} flows healthy after {time.monotonic() - began:.0f} s", flush=True)


def _groups_listed(one: Replica) -> int:
    """Return how many groups a replica lists, of all shards."""
    return int(json.loads(one.get("/api/v1/groups?limit=1"))["count"])


def _all_groups(some: Sequence[Replica]) -> bool:
    """Return whether the series of all replicas have each group once."""
    return sum(len(one.labels("mirrorwatch_group_max_lag_records")) for one in some) == GROUPS


def _cost(services: Sequence[Service], flows: int, seconds: float) -> dict[str, float]:
    """Return what all processes of these services cost."""
    pids = [pid for one in services for pid in tree(one.pid)]
    before, began = cpu_s(pids), time.monotonic()
    time.sleep(seconds)
    used_s, took_s = cpu_s(pids) - before, time.monotonic() - began
    memory = pss_mb(pids)
    return {
        "cores": round(used_s / took_s, 3),
        "cpu_ms_a_flow_and_minute": round(used_s / took_s * 60_000 / flows, 1),
        "pss_mb": round(memory, 1),
        "pss_mb_a_flow": round(memory / flows, 2),
    }


def _kill(four: list[Replica], back: Any) -> float:
    """Kill the first leader; return the seconds until the others have everything again."""
    rest = four[1:]
    four[0].kill()
    began = time.monotonic()
    wait_until(
        lambda: sorted(one.shard for one in rest) == [str(number) for number in range(1, SHARDS + 1)],
        deadline_s=60.0,
        what="A new leader",
        every_s=_LOOK_S,
    )
    print(f"a new leader after {time.monotonic() - began:.1f} s", flush=True)
    wait_until(lambda: back(rest), deadline_s=_UP_S, what="Everything", every_s=_LOOK_S)
    return round(time.monotonic() - began, 1)
