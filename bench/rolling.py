"""Two clusters of three brokers under maintenance for an hour: what the canary says of it, and what is true.

Brokers are restarted one after the other on both sides, each only when every replica is in sync again, some
of them killed and some given an empty disk; leaders are elected, replicas moved, the mirror restarted and
killed. None of it loses a record, so whatever is called lost is held against a full read of both topics.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from bench.processes import pss_mb, tree
from bench.rolling_figures import flow_figures
from bench.topic_truth import Truth, compare
from bench.watched_service import WatchedService
from deploy.local import replicas
from deploy.local.broker import start_together
from deploy.local.cluster import Cluster
from deploy.local.jars import StackError
from deploy.local.mirror import MirrorMaker
from deploy.local.several import Several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deploy.local.process import Process

TOPIC = "mirrorwatch-canary"
FLOWS = ("A->B", "B->A")
PARTITIONS = 5
CANARY = {"interval": "500ms"}  # over five partitions: ten probes a second for each flow
HELD_S = 6.0  # longer than the threshold, so that what a step has done is seen before the next one
HEALTHY_WITHIN_S = 180.0
_FACTORS = (
    "replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "offset-syncs.topic.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
    "config.storage.replication.factor",
)


class Stack(Several):
    """Two clusters, a mirror for both ways, and the service that watches it."""

    def __init__(
        self, folder: Path, *, canary: Mapping[str, str] = CANARY, partitions: int = PARTITIONS
    ) -> None:
        self.clusters = {alias: Cluster(alias, folder / alias) for alias in "AB"}
        self.mirror = MirrorMaker(
            list(self.clusters.values()),
            folder / "mirror",
            flows=FLOWS,
            settings={**dict.fromkeys(_FACTORS, "3"), "tasks.max": str(partitions)},
            switchable=False,
        )
        self.service = WatchedService(folder / "service", mm2=self.mirror.properties_file, canary=canary)

    def bring_up(self) -> None:
        """Start everything and wait until both flows are healthy."""
        start_together(self.clusters.values())
        for cluster in self.clusters.values():
            cluster.wait_ready(deadline_s=120.0)
        self.mirror.start()
        self.service.start()
        self.mirror.wait_ready(deadline_s=120.0)
        self.service.wait_healthy(*FLOWS, deadline_s=120.0)

    def kill(self) -> None:
        """End all of it at once."""
        self.service.kill()
        self.mirror.kill()
        for cluster in self.clusters.values():
            cluster.kill()

    def truth(self, flow: str) -> Truth:
        """Read the canary's topic on both sides of a flow."""
        source, target = flow.split("->")
        return compare(
            (self.clusters[source].client_properties(), TOPIC),
            (self.clusters[target].client_properties(), f"{source}.{TOPIC}"),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One act of maintenance; it returns when the stack is whole again."""

    name: str
    act: Callable[[Stack], None]


def restart_broker(alias: str, place: int, *, kill: bool = False) -> Step:
    """Restart one broker, orderly or by kill -9, and wait until every replica is in sync again."""

    def act(stack: Stack) -> None:
        cluster = stack.clusters[alias]
        cluster.restart(cluster.brokers[place], kill=kill)
        cluster.wait_in_sync()

    return Step("broker killed" if kill else "broker restarted", act)


def replace_broker(alias: str, place: int) -> Step:
    """Give one broker an empty disk and wait until every replica is copied to it."""

    def act(stack: Stack) -> None:
        cluster = stack.clusters[alias]
        cluster.replace(cluster.brokers[place])
        cluster.wait_in_sync()

    return Step("broker replaced", act)


def elect(alias: str) -> Step:
    """Have every leadership go home to its preferred broker."""

    def act(stack: Stack) -> None:
        replicas.elect_preferred(stack.clusters[alias].client_properties())
        stack.clusters[alias].wait_in_sync()

    return Step("leaders elected", act)


def move_replicas(alias: str, topic: str) -> Step:
    """Take every partition of a topic from its first broker, then copy it there again, as the last one."""

    def act(stack: Stack) -> None:
        client = stack.clusters[alias].client_properties()
        before = replicas.replicas(client, topic)
        replicas.reassign(client, topic, {number: held[1:] for number, held in before.items()})
        turned = {number: [*held[1:], held[0]] for number, held in before.items()}
        replicas.reassign(client, topic, turned)
        stack.clusters[alias].wait_in_sync()

    return Step("replicas moved", act)


def restart_mirror(*, kill: bool = False) -> Step:
    """Restart the mirror, orderly or by kill -9, and wait until every flow copies."""

    def act(stack: Stack) -> None:
        if kill:
            stack.mirror.kill()
        else:
            stack.mirror.stop()
        stack.mirror.start()
        stack.mirror.wait_ready(deadline_s=120.0)

    return Step("mirror killed" if kill else "mirror restarted", act)


def steps() -> Iterable[Step]:
    """Yield round after round of maintenance, without end; each round is rough with another broker."""
    for number in itertools.count():
        rough = number % 3
        for alias, other in (("A", "B"), ("B", "A")):
            yield from (restart_broker(alias, place, kill=place == rough) for place in range(3))
            yield elect(alias)
            yield move_replicas(alias, TOPIC if rough else f"{other}.{TOPIC}")
            yield elect(alias)
            yield restart_mirror(kill=alias == "B")
        if rough == 1:
            yield replace_broker("A", number // 3 % 3)
            yield replace_broker("B", number // 3 % 3)


@dataclass(slots=True)
class Diary:
    """What was done, how long it took, and how long after its end both flows were healthy again."""

    took_s: dict[str, list[float]] = field(default_factory=dict)
    healthy_s: dict[str, list[float]] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)

    def do(self, stack: Stack, step: Step, *, held_s: float) -> None:
        """Take one step and wait until both flows were healthy for a while.

        What goes wrong is noted and passed over.
        """
        began = time.monotonic()
        try:
            step.act(stack)
            done = time.monotonic()
            self.took_s.setdefault(step.name, []).append(round(done - began, 2))
            waited_s = stack.service.wait_healthy(*FLOWS, deadline_s=HEALTHY_WITHIN_S, held_s=held_s)
            self.healthy_s.setdefault(step.name, []).append(round(waited_s, 2))
            print(f"{step.name}: {done - began:.1f} s, healthy {waited_s:.1f} s after that", flush=True)
        except (KafkaException, StackError, TimeoutError) as error:
            self.trouble.append(f"{step.name}: {error}")
            print(self.trouble[-1], flush=True)

    def figures(self) -> dict[str, dict[str, float]]:
        """Return by name of a step how often it was done, and its seconds."""
        return {
            name: {
                "times": len(took),
                "median_s": round(median(took), 2),
                "longest_s": max(took),
                "longest_until_healthy_s": max(self.healthy_s.get(name, [-1.0])),
            }
            for name, took in self.took_s.items()
        }


def measure(*, minutes: float) -> dict[str, Any]:
    """Return what was done, what the canary said of it and what was true, after this many minutes."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-rolling-") as name, Stack(Path(name)) as stack:
        until = time.monotonic() + minutes * 60
        return run(stack, itertools.takewhile(lambda _: time.monotonic() < until, steps()))


def run(stack: Stack, script: Iterable[Step], *, held_s: float = HELD_S) -> dict[str, Any]:
    """Take the steps one after the other, end the service and hold what it said against both topics.

    After each step both flows have to be healthy for `held_s`, after the last one for HELD_S.
    """
    diary = Diary()
    began, began_at = time.monotonic(), time.time()
    memory = {"service_at_the_beginning_mb": _memory_mb(stack.service)}
    for step in script:
        diary.do(stack, step, held_s=held_s)
        if not stack.service.running:
            break  # the diary says so, and nothing that is done from now on would be judged
    diary.do(stack, Step("the end", lambda _: None), held_s=HELD_S)
    memory["service_at_the_end_mb"] = _memory_mb(stack.service)
    processes = [stack.mirror, *(one for cluster in stack.clusters.values() for one in cluster.brokers)]
    memory["brokers_and_mirror_mb"] = _memory_mb(*processes)
    said = stack.service.flows()
    stack.service.request_stop()
    status = stack.service.wait(deadline_s=60.0)
    ended_at = time.time()
    books, changes = stack.service.last_books(), stack.service.changes()
    diary.trouble += [f"{flow}: no books at the end" for flow in FLOWS if flow not in books]
    return {
        "minutes": round((time.monotonic() - began) / 60, 1),
        "exit_status": status,
        "steps": diary.figures(),
        "trouble": diary.trouble,
        "memory": memory,
        "flows": {
            flow: flow_figures(
                books[flow],
                stack.truth(flow),
                [(loss["partition"], loss["source_offset"]) for loss in said.get(flow, {}).get("losses", ())],
                [change for change in changes if change.flow == flow],
                between=(began_at, ended_at),
            )
            for flow in FLOWS
            if flow in books
        },
    }


def _memory_mb(*processes: Process) -> float:
    """Return what those of them that run hold, with all that they have started."""
    return round(sum(pss_mb(tree(one.pid)) for one in processes if one.running), 1)
