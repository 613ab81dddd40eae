"""The processes of a soak: two brokers, MirrorMaker, traffic, readers, PostgreSQL, and two replicas.

Each cluster is one broker. With three brokers, clients do not notice that one is lost, so no fault of a
cluster could be detected.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from bench.processes import tree
from bench.replica import Replica
from bench.soak.faults import FLOWS
from deploy.local.cut import Cut
from deploy.local.jars import StackError
from deploy.local.pair import Pair
from deploy.local.postgresql import PostgreSql
from deploy.local.process import Process, python_process
from deploy.local.several import Several
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GROUP = "soak"
DATABASE = "mirrorwatch"
CANARY_TOPIC = "mirrorwatch-canary"
TASKS = 2  # of MirrorMaker for each flow; the canary topic has as many partitions
HORIZON_S = 60.0  # longer than any fault is held
CANARY = {"interval": "1s", "threshold": "5s", "horizon": f"{HORIZON_S:g}s"}  # the defaults
TRAFFIC_RATE = 0.1  # times 390 records a second
# Kafka's default. The local stack uses 3 s, too short for a broker that shares two cores.
PROPERTIES = {"broker.session.timeout.ms": "9000"}
SETTINGS = {
    "tasks.max": str(TASKS),
    # By default Connect leaves the tasks of a worker that was away unassigned for 5 minutes. The flow hangs
    # for so long after a frozen target, as no second worker takes them over.
    **{f"{alias}.scheduled.rebalance.max.delay.ms": "3000" for alias in "AB"},
}
UP_S = 120.0
LEADS_S = 20.0


class ComponentError(StackError):
    """A component that does not come back, so the run cannot continue."""


class SoakReplica(Replica):
    """One of two replicas of a group, with its own way to the store."""

    def __init__(self, folder: Path, name: str, *, store: str, mm2: Path) -> None:
        super().__init__(
            folder, name, store=store, group=GROUP, mm2=mm2, canary=CANARY, lag={"commits": "topic"}
        )
        # Folders that it leaves after kill -9 are in the folder of the run, and end with it.
        self.scratch = folder / name / "tmp"
        self.scratch.mkdir()
        self.environment["TMPDIR"] = str(self.scratch)

    def document(self, path: str) -> dict[str, Any]:
        """Return a document of its API; empty while it does not answer."""
        try:
            found: dict[str, Any] = json.loads(self.get(path))
        except (OSError, HTTPException, ValueError):
            return {}
        return found

    def use(self, section: str, key: str, value: object) -> None:
        """Change one key of its file."""
        document = json.loads(self.config.read_text(encoding="utf-8"))
        self._change({section: {**document.get(section, {}), key: value}})

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the main process alone: its children must find out by themselves."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def children(self) -> list[int]:
        """Return the processes that it has started."""
        return tree(self.pid)[1:]

    def _change(self, sections: dict[str, object]) -> None:
        document = json.loads(self.config.read_text(encoding="utf-8"))
        draft = self.config.with_suffix(".draft")
        draft.write_text(json.dumps({**document, **sections}), encoding="utf-8")
        draft.rename(self.config)


class SoakStack(Several):
    """All processes of a run, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = Pair(folder / "pair", flows=FLOWS, settings=SETTINGS, properties=PROPERTIES)
        assert self.pair.mirror is not None
        self.mirror = self.pair.mirror
        self.database = PostgreSql()
        url = self.store_url()
        self.cuts = {name: Cut(name, url, folder / "cuts" / name) for name in ("left", "right")}
        self.replicas = {
            name: SoakReplica(folder, name, store=cut.url, mm2=self.mirror.properties_file)
            for name, cut in self.cuts.items()
        }
        self.applications: list[Process] = []
        self.down: set[str] = set()
        """Names of processes that a fault has ended, and that are not watched meanwhile."""

    def bring_up(self) -> None:
        """Start everything and wait until both flows are healthy."""
        self.database.start()
        self.database.say(f"create database {DATABASE}")
        for cut in self.cuts.values():
            cut.process.start()
        self.pair.start()
        for broker in self.pair.brokers.values():
            broker.wait_ready(deadline_s=UP_S)
        self._start_applications()
        self.pair.wait_ready(deadline_s=UP_S)
        for replica in self.replicas.values():
            replica.start()
            deadline_s = UP_S if replica.replica == "left" else 60.0
            wait_until(
                lambda: replica.leads or replica.stands_by,  # noqa: B023 - called within the turn
                deadline_s=deadline_s,
                what=f"The start of replica {replica.replica}",
                every_s=0.25,
            )

    @property
    def leader(self) -> SoakReplica:
        """Return the replica that leads. Raises ComponentError if none does for a while."""
        found: list[SoakReplica] = []

        def known() -> bool:
            found[:] = [one for one in self.replicas.values() if one.running and one.leads]
            return bool(found)

        try:
            wait_until(known, deadline_s=LEADS_S, what="It", every_s=0.5)
        except TimeoutError:
            raise ComponentError(f"no replica leads for {LEADS_S:g} s") from None
        return found[0]

    def other(self, replica: SoakReplica) -> SoakReplica:
        """Return the other replica."""
        return next(one for one in self.replicas.values() if one is not replica)

    def store_url(self) -> str:
        """Return the address of the store without a proxy."""
        return self.database.url(DATABASE)

    def processes(self) -> Iterator[tuple[str, Process]]:
        """Yield each process that must run, by its name, except the replicas and PostgreSQL."""
        yield "mirror", self.mirror
        yield from ((f"broker {alias}", broker) for alias, broker in self.pair.brokers.items())
        yield from ((one.name, one) for one in self.applications)
        yield from ((cut.process.name, cut.process) for cut in self.cuts.values())

    def check(self) -> None:
        """Raise ComponentError with the name of a process that has ended by itself."""
        for name, process in self.processes():
            if name not in self.down and not process.running:
                tail = " / ".join(process.logged().splitlines()[-3:])
                raise ComponentError(f"{name} has ended with status {process.exit_status}: {tail}")

    def kill(self) -> None:
        """End all of it at once."""
        for replica in self.replicas.values():
            children = replica.children() if replica.running else []
            replica.kill()
            for pid in children:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self.applications:
            process.kill()
        for cut in self.cuts.values():
            cut.process.kill()
        self.pair.kill()
        self.database.close()

    def _start_applications(self) -> None:
        folder = self.folder / "applications"
        stack = str(self.pair.folder)
        for alias in self.pair.brokers:
            arguments = (stack, "--cluster", alias, "--rate", str(TRAFFIC_RATE))
            traffic = python_process(f"traffic-{alias}", "deploy.local.traffic", *arguments, folder=folder)
            self.applications.append(traffic)
        self.applications.append(python_process("readers", "deploy.local.demo.readers", stack, folder=folder))
        for process in self.applications:
            process.start()
