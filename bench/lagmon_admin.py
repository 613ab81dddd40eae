"""Admin mode: thousands of groups of one broker, asked one by one, and what that costs both sides.

The lag monitor's process is started with `commits: admin` and knows the broker behind a counter of requests
(`bench.request_counter`). Three stretches are measured, one after the other:

- from its start until every group was asked once (`first_cycle_s`), and until all lags are right;
- a while in which nobody asks the monitor anything: what it and the process that asks for it use and hold,
  and what the broker is asked;
- every group commits anew, and the lags are looked at until all are right: that takes no longer than one
  cycle and the look after it (`whole_cycle_s`).

`offsets` are the questions proper, one for each group in a cycle; for each the client asks for the group's
coordinator as well.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bench.lagmon_commits import RECORDS, Committer, offset_of, topic_name, write_commits
from bench.lagmon_ingest import Ingest
from bench.lagmon_stack import SINGLE, fill, larger_heap, make_topics
from bench.processes import cpu_s, pss_mb
from bench.request_counter import OF_GROUPS, busiest
from deploy.local.broker import Broker
from deploy.local.ports import free_port
from deploy.local.process import python_process
from deploy.local.proxy import listen_behind
from deploy.local.waiting import wait_until
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

PARTITIONS = 20  # of each topic, and of each group, which reads one topic
_GROUPS_OF_A_TOPIC = 20
_LAST_TURN = 4 * RECORDS  # by then a group has come as far as it comes
_DEADLINE_S = 180.0
_LOOK_S = 0.5


def measure(folder: Path, *, groups: int, idle_s: float) -> dict[str, Any]:
    """Return the figures for so many groups; `idle_s` is how long the second stretch is.

    Raises TimeoutError where not all groups are asked or lags do not come right in time.
    """
    topics = -(-groups // _GROUPS_OF_A_TOPIC)
    with larger_heap():
        broker = Broker("A", folder, properties=SINGLE)
        counted_port, file = free_port(), folder / "requests.json"
        behind = listen_behind(broker, counted_port)
        broker.start()
    counter = python_process(
        "counter", "bench.request_counter", str(counted_port), str(behind), str(file), folder=folder
    )
    with ExitStack() as held:
        held.callback(broker.kill)
        held.callback(counter.kill)
        counter.start()
        broker.wait_ready()
        client = broker.client_properties()
        names = [topic_name(number) for number in range(topics)]
        make_topics(client, names, partitions=PARTITIONS, deadline_s=_DEADLINE_S)
        fill(client, names, partitions=PARTITIONS, records=RECORDS, deadline_s=_DEADLINE_S)
        write_commits(client, range(groups), topics=topics, turns=1, partitions=PARTITIONS)
        told = {"bootstrap.servers": f"127.0.0.1:{counted_port}"}
        ingest = held.enter_context(Ingest(folder / "ingest", told, commits="admin"))
        first = _first_cycle(ingest, groups)
        began_s = time.monotonic()
        used = _used(ingest, idle_s)
        until_s = time.monotonic()
        cycle_s = _whole_cycle_s(ingest, client, groups=groups, topics=topics)
        first["cycle_said_s"] = round(ingest.state()["commits_cycle_s"], 1)
        counter.stop()
        seen = [(at_s, key) for at_s, key in json.loads(file.read_text(encoding="utf-8"))]
    return {
        "groups": groups,
        "group_partitions": groups * PARTITIONS,
        **first,
        "whole_cycle_s": cycle_s,
        "requests_per_s": requests(seen, began_s, until_s),
        **used,
    }


def requests(seen: list[tuple[float, int]], began_s: float, until_s: float) -> dict[str, float]:
    """Return how many requests of each kind came in a second, and of those about groups in the fullest one.

    `seen` has an instant (monotonic s) and an API key of each. The means are those between the two instants,
    the fullest second is one of the whole run, the start included.
    """
    within = [key for at_s, key in seen if began_s <= at_s < until_s]
    kinds = [OF_GROUPS.get(key, "others") for key in within]
    names = [*dict.fromkeys(OF_GROUPS.values()), "others"]
    means = {name: round(kinds.count(name) / (until_s - began_s), 1) for name in names}
    of_kind: dict[str, list[float]] = {name: [] for name in names}
    for at_s, key in seen:
        of_kind[OF_GROUPS.get(key, "others")].append(at_s)
    fullest = {f"{name}_fullest_second": busiest(of_kind[name], 1.0) for name in ("offsets", "members")}
    return means | fullest


def _first_cycle(ingest: Ingest, groups: int) -> dict[str, float]:
    """Wait until every group was asked once and all lags are right."""
    began_s = time.monotonic()

    def asked() -> bool:
        try:
            state = ingest.state()
        except UnavailableError:  # it has not started yet
            return False
        return state["ready_after_s"] is not None and state["groups"] == groups

    wait_until(asked, deadline_s=_DEADLINE_S, what=f"An answer about {groups:,} groups", every_s=_LOOK_S)
    first_s = time.monotonic() - began_s
    _wait_for_lags(ingest, groups, PARTITIONS * (RECORDS - offset_of(0)))
    return {
        "first_cycle_s": round(first_s, 1),
        "right_lags_after_s": round(time.monotonic() - began_s, 1),
    }


def _used(ingest: Ingest, idle_s: float) -> dict[str, float]:
    """Return what the monitor and its asker use while nobody asks them anything, and what they hold."""
    monitor, *askers = ingest.pids
    processes = {"monitor": [monitor], "asker": askers}
    began_s = time.monotonic()
    before_s = {name: cpu_s(pids) for name, pids in processes.items()}
    time.sleep(idle_s)
    took_s = time.monotonic() - began_s
    shares = {
        f"{name}_core_share": round((cpu_s(pids) - before_s[name]) / took_s, 4)
        for name, pids in processes.items()
    }
    return shares | {f"{name}_pss_mb": round(pss_mb(pids), 1) for name, pids in processes.items()}


def _whole_cycle_s(ingest: Ingest, client: dict[str, str], *, groups: int, topics: int) -> float:
    """Have every group commit anew; return after how long the last of them was told of rightly."""
    committer = Committer(client, topics=topics, partitions=PARTITIONS)
    for number in range(groups):
        committer.commit(number, _LAST_TURN)
    committer.finish()
    began_s = time.monotonic()
    _wait_for_lags(ingest, groups, PARTITIONS * (RECORDS - offset_of(_LAST_TURN)))
    return round(time.monotonic() - began_s, 1)


def _wait_for_lags(ingest: Ingest, groups: int, wanted: int) -> None:
    def right() -> bool:
        lags = ingest.lags()
        return len(lags) == groups and set(lags.values()) == {wanted}

    wait_until(right, deadline_s=_DEADLINE_S, what=f"A lag of {wanted} of each group", every_s=_LOOK_S)
