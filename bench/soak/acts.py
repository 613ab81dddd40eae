"""How each fault starts and ends. An act returns once its component is ready again."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.soak.stack import ComponentError
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.soak.faults import Fault
    from bench.soak.stack import SoakReplica, SoakStack
    from deploy.local.process import Process

READY_S = 150.0  # for a component to come back; several times of what it takes on a loaded machine
CHILDREN_END_S = 15.0  # after the end of the process that started them
ENDS_S = 60.0
LEADS_S = 10.0
POLL_S = 0.25
KILLED, ORDERLY, LOST_LEAD = -9, 0, 4  # exit statuses


@dataclass(slots=True)
class Acts:
    """Starts and ends faults; notes what no replica may do."""

    stack: SoakStack
    trouble: list[str] = field(default_factory=list)
    restarts: int = 0
    """How often a replica was started again."""
    may_lose_lead: bool = False
    """Whether the fault of the window may move the lead, so that a former leader ends."""
    _struck: SoakReplica | None = None
    _children: list[int] = field(default_factory=list)

    def start(self, fault: Fault) -> None:
        """Start a fault; it is in effect when this returns."""
        what, _, whom = fault.name.partition("-")
        self._struck = None
        self.may_lose_lead = fault.moves_lead
        match what, whom:
            case "kill", "A" | "B":
                self.stack.down.add(f"broker {whom}")
                self.stack.pair.brokers[whom].kill()
            case "freeze", "A" | "B":
                self.stack.pair.brokers[whom].freeze()
            case "kill", "mirror":
                self.stack.down.add("mirror")
                self.stack.mirror.kill()
            case "freeze", "mirror":
                self.stack.mirror.freeze()
            case "kill", "store":
                self.stack.database.kill()
            case "cut", "store":
                for cut in self.stack.cuts.values():
                    cut.hold()
            case "reload", _:
                self._reload(lag=whom == "lag")
            case _, "leader":
                self._strike(self.stack.leader, what)
            case _:
                self._strike(self.stack.other(self.stack.leader), what)

    def end(self, fault: Fault) -> None:
        """End a fault and wait for the component. Raises ComponentError if it does not come back."""
        what, _, whom = fault.name.partition("-")
        try:
            match what, whom:
                case "kill", "A" | "B":
                    self._restart(f"broker {whom}", self.stack.pair.brokers[whom])
                    self.stack.pair.brokers[whom].wait_ready(deadline_s=READY_S)
                case "freeze", "A" | "B":
                    self.stack.pair.brokers[whom].thaw()
                    self.stack.pair.brokers[whom].wait_ready(deadline_s=READY_S)
                case "kill", "mirror":
                    self._restart("mirror", self.stack.mirror)
                    self.stack.mirror.wait_ready(deadline_s=READY_S)
                case "freeze", "mirror":
                    self.stack.mirror.thaw()
                case "kill", "store":
                    self.stack.database.start()
                case "cut", "store":
                    for cut in self.stack.cuts.values():
                        cut.let_pass()
                    self._await_group()
                case "reload", _:
                    pass
                case _:
                    self._release(what)
        except (TimeoutError, RuntimeError) as error:
            raise ComponentError(f"{fault.name}: {error}") from error

    def supervise(self) -> None:
        """Start a replica that ended by itself, as systemd does, and note it."""
        for one in self.stack.replicas.values():
            if not one.running:
                if not (self.may_lose_lead and one.exit_status == LOST_LEAD):
                    self._note(f"replica {one.replica} ended by itself with status {one.exit_status}")
                self._start_replica(one)

    def _restart(self, name: str, process: Process) -> None:
        process.start()
        self.stack.down.discard(name)
        self.stack.pair.write_stack_file()

    def _reload(self, *, lag: bool) -> None:
        number = int(time.time())
        for one in self.stack.replicas.values():
            if lag:
                one.use("lag", "groups_exclude", f"console-consumer-.*, soak-{number}-.*")
            else:
                one.use("canary", "per_partition", bool(number % 2))
            one.send(signal.SIGHUP)

    def _strike(self, replica: SoakReplica, what: str) -> None:
        self._struck, self._children = replica, replica.children()
        match what:
            case "kill":
                replica.send(signal.SIGKILL)
                wait_until(lambda: not replica.running, deadline_s=ENDS_S, what=f"The end of {replica.name}")
                self._check_children(replica)
            case "stop":
                replica.send(signal.SIGTERM)
            case "freeze":
                replica.freeze()
            case _:
                self.stack.cuts[replica.replica].hold()

    def _release(self, what: str) -> None:
        replica = self._struck
        assert replica is not None
        if what == "freeze":
            replica.thaw()
        if what == "cut":
            self.stack.cuts[replica.replica].let_pass()
        other = self.stack.other(replica)
        if what in {"freeze", "cut"} and not wait_for(lambda: other.leads, LEADS_S):
            return  # it kept the lead, which is reported as a missed fault
        wait_until(
            lambda: not replica.running, deadline_s=ENDS_S, what=f"The end of replica {replica.replica}"
        )
        status = {"kill": KILLED, "stop": ORDERLY}.get(what, LOST_LEAD)
        if replica.exit_status != status:
            self._note(f"replica {replica.replica}: status {replica.exit_status} after {what}, not {status}")
        self._check_children(replica)
        self._start_replica(replica)

    def _check_children(self, replica: SoakReplica) -> None:
        """Note children that outlive the process that started them."""

        def gone() -> bool:
            return not any(_runs(pid) for pid in self._children)

        try:
            wait_until(gone, deadline_s=CHILDREN_END_S, what="it")
        except TimeoutError:
            alive = [pid for pid in self._children if _runs(pid)]
            self._note(f"replica {replica.replica} has ended, {len(alive)} of its processes run on")
        self._children = []

    def _start_replica(self, replica: SoakReplica) -> None:
        replica.start()
        self.restarts += 1
        what = f"The start of replica {replica.replica}"
        wait_until(
            lambda: _is_up(replica) or not replica.running, deadline_s=READY_S, what=what, every_s=POLL_S
        )
        if not replica.running:
            raise ComponentError(f"replica {replica.replica} ended with status {replica.exit_status}")

    def _await_group(self) -> None:
        """Wait until one replica leads and the other is on standby; start one that has lost the lead."""
        until = time.monotonic() + READY_S

        def whole() -> bool:
            for one in self.stack.replicas.values():
                if not one.running:
                    if one.exit_status != LOST_LEAD:
                        self._note(f"replica {one.replica}: status {one.exit_status}, not {LOST_LEAD}")
                    self._start_replica(one)
            roles = [(one.leads, one.stands_by) for one in self.stack.replicas.values()]
            return sorted(roles) == [(False, True), (True, False)]

        wait_until(whole, deadline_s=until - time.monotonic(), what="A leader and a standby", every_s=POLL_S)

    def _note(self, sentence: str) -> None:
        self.trouble.append(sentence)
        print(f"TROUBLE {sentence}", flush=True)


def _is_up(replica: SoakReplica) -> bool:
    return replica.stands_by or replica.leads


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_for(condition: Callable[[], bool], seconds: float, *, every_s: float = POLL_S) -> bool:
    """Return whether a condition came true within some seconds."""
    try:
        wait_until(condition, deadline_s=seconds, what="it", every_s=every_s)
    except TimeoutError:
        return False
    return True
