"""The lag monitor on real brokers: its bars, one part after the other, each by itself where it is named.

- evaluation, exposition: 100,000 windows and 100,000 series, no broker.
- backlog: an ingest process, started as the service starts it, reads what stands in `__consumer_offsets`;
  then it is scraped, and what it holds is read off. live: then groups commit at a rate. positions: then
  nobody does, and it looks at where all partitions end.
- service: the whole service on the same cluster, scraped.
- growth: ten times as many group-partitions, and fifty times.
- admin: 5,000 groups that are asked one by one instead (bench/lagmon_admin.py).
- canary: how exactly the canary stamps meanwhile (bench/lagmon_canary.py).

Processor time is that of processes with all their threads, user and system, in ticks of 10 ms.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import exposition, lagmon_admin, lagmon_canary, lagmon_evaluation, lagmon_service, plain_offsets
from bench.found import Found
from bench.lagmon_commits import PARTITIONS, RECORDS, offset_of, topic_name, write_commits
from bench.lagmon_ingest import Ingest
from bench.lagmon_stack import SINGLE, Wide, fill, larger_heap, make_topics, scratch
from deploy.local.broker import Broker
from deploy.local.process import python_process

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("evaluation", "exposition", "backlog", "live", "positions", "service", "growth", "admin", "canary")
_ON_WIDE = {"backlog", "live", "positions", "service"}
COMMITS = 2_000_000
GROUPS, TURNS, TOPICS = 1_000, 20, 500
LIVE_PER_S = 20_000
ASKED = 5_000  # groups, in Admin mode
_PER_BROKER = 125  # topics, of 100 partitions each
_READ_S = 180.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How much there is; smaller ones are for trying the benchmark out."""

    groups: int = GROUPS
    turns: int = TURNS
    topics: int = TOPICS
    live_s: float = 20.0
    idle_s: float = 60.0
    scrape_every_s: float = 5.0
    canary_s: float = 15.0
    runs: int = 3
    growth: tuple[int, ...] = (100, 1_000, 5_000)  # groups, of 100 partitions each
    asked: int = ASKED  # groups, of 20 partitions each

    @property
    def commits(self) -> int:
        """Return how many commits the backlog has."""
        return self.groups * PARTITIONS * self.turns

    @classmethod
    def of(cls, commits: int) -> Scale:
        """Return the scale for a backlog of so many commits."""
        if commits >= COMMITS:
            return cls()
        quick: dict[str, Any] = {
            "live_s": 8.0,
            "idle_s": 25.0,
            "scrape_every_s": 1.0,
            "canary_s": 8.0,
            "runs": 1,
            "asked": max(10, ASKED * commits // COMMITS),
        }
        if commits >= GROUPS * PARTITIONS:
            return replace(cls(), turns=commits // (GROUPS * PARTITIONS), **quick)
        groups = max(10, commits // (PARTITIONS * TURNS))
        return replace(
            cls(),
            groups=groups,
            topics=max(1, groups // 2),
            growth=(groups // 10, groups, groups * 5),
            **quick,
        )


def measure(*, parts: tuple[str, ...] = PARTS, commits: int = COMMITS) -> dict[str, Any]:
    """Return the figures of these parts, each printed as soon as it is there.

    Raises ValueError for a part that there is not.
    """
    if unknown := set(parts) - set(PARTS):
        raise ValueError(f"no part is called {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    scale, found = Scale.of(commits), Found()
    if "evaluation" in parts:
        found.keep("evaluation", lagmon_evaluation.measure())
    if "exposition" in parts or "service" in parts:
        found.keep("exposition", exposition.measure())
    with scratch() as folder:
        if _ON_WIDE & set(parts):
            _on_wide(folder, parts, scale, found)
        if "growth" in parts:
            found.keep("growth", _growth(folder / "growth", scale))
        if "admin" in parts:
            found.keep(
                "admin", lagmon_admin.measure(folder / "admin", groups=scale.asked, idle_s=scale.idle_s)
            )
        if "canary" in parts:
            found.keep(
                "canary",
                lagmon_canary.measure(
                    folder / "canary",
                    groups=min(100, scale.groups),
                    turns=TURNS,
                    seconds=scale.canary_s,
                    commits_per_s=LIVE_PER_S,
                ),
            )
    return found.figures


def _on_wide(folder: Path, parts: tuple[str, ...], scale: Scale, found: Found) -> None:
    began = time.monotonic()
    brokers = -(-scale.topics // _PER_BROKER)
    names = [topic_name(number) for number in range(scale.topics)]
    with Wide(folder / "wide", brokers=brokers) as wide:
        up_s = time.monotonic() - began
        made_s = make_topics(wide.client, names, partitions=PARTITIONS, deadline_s=240)
        fill(wide.client, names, partitions=PARTITIONS, records=RECORDS, deadline_s=180)
        commits_s = write_commits(wide.client, range(scale.groups), topics=scale.topics, turns=scale.turns)
        found.keep(
            "preparing",
            {
                "up_s": round(up_s, 1),
                "partitions_made_s": round(made_s, 1),
                "commits_made_s": round(commits_s, 1),
            },
        )
        if {"backlog", "live", "positions"} & set(parts):
            _ingest(folder, parts, scale, found, wide)
        if "service" in parts:
            with larger_heap():
                other = Broker("B", folder / "B")
                other.start()
            try:
                other.wait_ready()
                clusters = {"A": wide.client, "B": other.client_properties()}
                figures = lagmon_service.measure(
                    folder / "service",
                    clusters,
                    series=scale.groups * PARTITIONS,
                    every_s=scale.scrape_every_s,
                )
            finally:
                other.kill()
            library_ms = found.figures["exposition"]["library_ms"]
            plain = figures["without_canary"]["plain"]
            figures["library_ms_by_loop_cpu_ms"] = round(library_ms / max(plain["loop_cpu_ms"], 0.01), 1)
            figures["library_ms_by_all_cpu_ms"] = round(library_ms / max(plain["cpu_ms"], 0.01), 1)
            found.keep("service", figures)


def _ingest(folder: Path, parts: tuple[str, ...], scale: Scale, found: Found, wide: Wide) -> None:
    runs = []
    for _ in range(scale.runs if "backlog" in parts else 0):
        with Ingest(folder / "ingest", wide.client) as ingest:
            ours = _read(ingest, scale)
        # In turn with it, so that what the machine has to give that minute is known beside.
        runs.append(ours | plain_offsets.measure(wide.client["bootstrap.servers"]))
    with ExitStack() as held:
        ingest = held.enter_context(Ingest(folder / "ingest", wide.client))
        _read(ingest, scale)
        if "backlog" in parts:
            figures = {name: median(run[name] for run in runs) for name in runs[0]}
            found.keep("backlog", figures | _scrape(ingest, scale))
        else:
            _scrape(ingest, scale)  # it holds what it holds when it is scraped
        if {"positions", "live"} & set(parts):
            idle = _share(ingest, scale.idle_s)
        if "live" in parts:
            found.keep("live", _live(folder, ingest, scale, wide) | {"core_share_idle": idle})
    if "positions" in parts:
        # Without a group: where groups stand before ends, the logs are read there as well.
        with Ingest(folder / "ingest", wide.client, groups_exclude=".*") as ingest:
            ingest.read(deadline_s=_READ_S)
            figures = {"core_share": _share(ingest, scale.idle_s), "core_share_with_groups": idle}
            took_s = round(ingest.state()["look_took_s"], 2)
            found.keep(
                "positions", {"partitions": scale.topics * PARTITIONS, "look_took_s": took_s} | figures
            )


def _read(ingest: Ingest, scale: Scale) -> dict[str, float]:
    """Read the backlog and wait for right lags; raises TimeoutError where either does not come."""
    state = ingest.read(deadline_s=_READ_S)
    ready = time.monotonic()
    wanted = PARTITIONS * (RECORDS - offset_of(scale.turns - 1))
    while True:
        lags = ingest.lags()
        if len(lags) == scale.groups and set(lags.values()) == {wanted}:
            break
        if time.monotonic() - ready > _READ_S:
            wrong = {name: lag for name, lag in lags.items() if lag != wanted}
            told = f"{len(lags)} groups, of which {len(wrong)} have not a lag of {wanted}: "
            raise TimeoutError(f"Right lags did not come: {told}{list(wrong.items())[:5]}")
        time.sleep(0.1)
    return {
        "commits": state["commits"],
        "commits_per_cpu_s": round(state["commits"] / max(state["cpu_s"], 0.01)),
        "commits_per_s_by_the_clock": round(state["commits"] / max(state["ready_after_s"], 0.001)),
        "reading_s": round(state["ready_after_s"], 2),
        "reading_cpu_s": round(state["cpu_s"], 2),
        "before_reading_cpu_s": round(state["before_cpu_s"], 2),
        "right_lags_after_s": round(time.monotonic() - ready, 2),
        "pss_when_ready_mb": round(ingest.pss_mb(), 1),
    }


def _scrape(ingest: Ingest, scale: Scale) -> dict[str, float]:
    """Scrape it a few times, as text and compressed; return what it held at most, and the cost of each."""
    peak_mb, spent = 0.0, {False: [], True: []}  # type: tuple[float, dict[bool, list[float]]]
    size = 0
    for packed in (False, True) * 3:
        used_s = ingest.cpu_s()
        _, body = ingest.ask("metrics", form="text/plain", gzip=packed)
        spent[packed].append(ingest.cpu_s() - used_s)
        size = size if packed else len(body)
        until = time.monotonic() + scale.scrape_every_s
        while time.monotonic() < until:
            peak_mb = max(peak_mb, ingest.pss_mb())
            time.sleep(0.25)
    return {
        "pss_with_scrapes_mb": round(peak_mb, 1),
        "scrape_bytes": size,
        "scrape_cpu_ms": round(median(spent[False]) * 1000, 1),
        "scrape_gzip_cpu_ms": round(median(spent[True]) * 1000, 1),
    }


def _share(ingest: Ingest, seconds: float) -> float:
    used_s, began = ingest.cpu_s(), time.monotonic()
    time.sleep(seconds)
    return round((ingest.cpu_s() - used_s) / (time.monotonic() - began), 4)


def _live(folder: Path, ingest: Ingest, scale: Scale, wide: Wide) -> dict[str, float]:
    settle_s = 3.0
    committing = python_process(
        "committing",
        "bench.lagmon_commits",
        wide.client["bootstrap.servers"],
        *(str(one) for one in (scale.groups, scale.topics, LIVE_PER_S, scale.live_s + 2 * settle_s)),
        str(folder / "made.json"),
        folder=folder,
    )
    committing.start()
    try:
        time.sleep(settle_s)
        before = ingest.state()["commits"]
        began = time.monotonic()
        share = _share(ingest, scale.live_s)
        rate = (ingest.state()["commits"] - before) / (time.monotonic() - began)
        committing.wait(deadline_s=120)
    finally:
        committing.kill()
    return {"commits_per_s": round(rate), "core_share": share, "pss_mb": round(ingest.pss_mb(), 1)}


def _growth(folder: Path, scale: Scale) -> dict[str, Any]:
    """Read ever more groups of one topic, two turns each, with a process that starts anew."""
    turns = 2
    with larger_heap():
        broker = Broker("A", folder, properties=SINGLE)
        broker.start()
    rows: dict[str, Any] = {}
    try:
        broker.wait_ready()
        client = broker.client_properties()
        make_topics(client, [topic_name(0)], partitions=PARTITIONS, deadline_s=60)
        fill(client, [topic_name(0)], partitions=PARTITIONS, records=RECORDS, deadline_s=60)
        there = 0
        for groups in scale.growth:
            write_commits(client, range(there, groups), topics=1, turns=turns)
            there = groups
            with Ingest(folder / "ingest", client) as ingest:
                read = ingest.read(deadline_s=_READ_S)
                scrapes = _scrape(ingest, scale)
            rows[f"{groups * PARTITIONS}"] = {
                "commits": read["commits"],
                "ready_after_s": round(read["ready_after_s"], 2),
                "cpu_s": round(read["cpu_s"], 2),
                **scrapes,
            }
    finally:
        broker.kill()
    return rows
