"""Fifty flows over twenty clusters in one process: what one dead or slow cluster changes for the others.

Twenty brokers, each a cluster of its own; every source goes to two or three others. Copying is done by
`bench.plain_mirror`, which is no MirrorMaker (it says why). Phases of equal length: all well; one cluster
killed (kill -9); that one back; another one frozen (SIGSTOP); thawed, and all well again.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.fleet_figures import Phase, figures_of
from bench.watched_service import WatchedService
from deploy.local.broker import Broker, start_together
from deploy.local.mirror import mirror_settings
from deploy.local.process import python_process
from deploy.local.properties import write_properties
from deploy.local.several import Several
from deploy.local.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TOPIC = "mirrorwatch-canary"
CLUSTERS = 20
AT_ONCE = 4  # brokers that start together
KILLED, FROZEN = "c05", "c12"
HEALTHY_WITHIN_S = 180.0
CANARY = {"interval": "1s", "threshold": "5s"}


def flows() -> list[tuple[str, str]]:
    """Return the fifty flows: each cluster to the next two, every other one to the fifth after it too."""
    names = aliases()
    return [
        (source, names[(number + step) % CLUSTERS])
        for number, source in enumerate(names)
        for step in ((1, 2) if number % 2 else (1, 2, 5))
    ]


def aliases() -> list[str]:
    """Return the names of the clusters."""
    return [f"c{number:02}" for number in range(1, CLUSTERS + 1)]


class Clusters(Several):
    """Brokers, each a cluster of its own, and the plain mirror of these flows between them."""

    def __init__(
        self, folder: Path, *, partitions: Mapping[str, int], flows: Sequence[tuple[str, str]]
    ) -> None:
        """Create it: `partitions` are of the canary topic on each cluster, by alias."""
        self.folder = folder
        self.flows = flows
        self.partitions = partitions
        self.brokers = {alias: Broker(alias, folder / alias) for alias in partitions}
        plan = folder / "plan.json"
        targets: dict[str, list[str]] = {}
        for source, target in flows:
            targets.setdefault(source, []).append(target)
        clusters = {alias: broker.bootstrap for alias, broker in self.brokers.items()}
        plan.write_text(
            json.dumps(
                {"topic": TOPIC, "clusters": clusters, "partitions": dict(partitions), "flows": targets}
            ),
            encoding="utf-8",
        )
        self.mirror = python_process("plain-mirror", "bench.plain_mirror", str(plan), folder=folder)

    def mm2(self, flows: Sequence[tuple[str, str]]) -> Path:
        """Return a mirror's file with these flows."""
        file = self.folder / f"mm2-{len(flows)}.properties"
        names = [f"{source}->{target}" for source, target in flows]
        settings = mirror_settings(list(self.brokers.values()), names, {"tasks.max": "1"}, None)
        write_properties(file, settings)
        return file

    def bring_up(self) -> None:
        """Start brokers and mirror, with every topic there is to be."""
        brokers = list(self.brokers.values())
        for start in range(0, len(brokers), AT_ONCE):
            some = brokers[start : start + AT_ONCE]
            start_together(some)
            for broker in some:
                broker.wait_ready(deadline_s=120.0)
        for source in self.partitions:
            self._create(source, TOPIC, source)
        for source, target in self.flows:
            self._create(target, f"{source}.{TOPIC}", source)
        self.mirror.start()

    def kill(self) -> None:
        """End all of it at once."""
        self.mirror.kill()
        for broker in self.brokers.values():
            broker.kill()

    def _create(self, on: str, topic: str, source: str) -> None:
        create_topic(self.brokers[on].client_properties(), topic, partitions=self.partitions[source])


class Fleet(Clusters):
    """The clusters, and the service that watches; it is started later."""

    def __init__(self, folder: Path) -> None:
        """Create it."""
        partitions = {alias: 1 + number % 3 for number, alias in enumerate(aliases())}
        super().__init__(folder, partitions=partitions, flows=flows())
        self.service = WatchedService(
            folder / "service", mm2=self.mm2(flows()), canary=CANARY, module="bench.timed_service"
        )

    def kill(self) -> None:
        """End all of it at once."""
        self.service.kill()
        super().kill()


def measure(*, seconds: float) -> dict[str, Any]:
    """Return the figures of every phase, each so many seconds long."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-fleet-") as name, Fleet(Path(name)) as fleet:
        names = [f"{source}->{target}" for source, target in flows()]
        began_at = time.time()
        fleet.service.start()
        fleet.service.wait_healthy(*names, deadline_s=HEALTHY_WITHIN_S)
        print(f"all {len(names)} flows healthy {time.time() - began_at:.1f} s after the start", flush=True)
        phases = [_phase(fleet, what, ill, act, seconds) for what, ill, act in _acts(fleet)]
        fleet.service.request_stop()
        status = fleet.service.wait(deadline_s=60.0)
        found = figures_of(
            fleet.folder / "service", phases, fleet.service.changes(), names, began_at=began_at
        )
    return {"exit_status": status, **found}


def _acts(fleet: Fleet) -> Iterator[tuple[str, str, Callable[[], None]]]:
    killed, frozen = fleet.brokers[KILLED], fleet.brokers[FROZEN]
    yield "all well", "", lambda: None
    yield "one killed", KILLED, killed.kill
    yield "it is back", KILLED, killed.start
    yield "one frozen", FROZEN, frozen.freeze
    yield "it is thawed", FROZEN, frozen.thaw


def _phase(fleet: Fleet, what: str, ill: str, act: Callable[[], None], seconds: float) -> Phase:
    """Do something to a cluster, look on for so long, and say what it cost meanwhile."""
    phase = Phase.begin(what, ill, fleet.service)
    act()
    phase.look(fleet.service)
    while time.monotonic_ns() < phase.began_ns + seconds * 1e9:
        time.sleep(min(5.0, seconds / 4))
        phase.look(fleet.service)
    phase.end(fleet.service)
    print(f"{what}: {phase.cost()}", flush=True)
    return phase
