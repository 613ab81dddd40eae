"""Drills of the checksum: a fault on a topic with traffic, then a run of the checksum, then what is said.

Each has a topic, a store and a service of its own, without canary and offsets: what the service says of the
flow comes from the run alone, which it finds in the store.
"""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException

from deploy.drills.bringing_back import bring_back
from deploy.drills.checksum_runs import DEADLINE_S, typed
from deploy.drills.checksum_traces import TRACES
from deploy.drills.listening import LOOK_S, DrillError, do_act
from deploy.drills.result import Result
from deploy.drills.runs import second_mirror
from deploy.local import topics, traffic
from deploy.local.pair import Pair
from deploy.local.properties import write_properties
from deploy.local.service import Service, cause_of
from deploy.local.several import Several
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from deploy.drills.catalogue_checksum import Audit

_FLOW: Final = "A->B"
_SOME: Final = 200  # records on the target before the fault begins
_READY_S, _COPIED_S, _TOLD_S = 60.0, 90.0, 60.0
# For so long the target has to stand: its mirror has copied all then, and told where that is.
_STILL_S: Final = 6.0
RATE_PER_S: Final = 100.0


class AuditBench(Several):
    """The stack on which the drills of the checksum run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = Pair(folder / "pair")
        self._settings: Mapping[str, str] | None = {}  # of the mirror; None where they are not known to hold

    def bring_up(self) -> None:
        """Start the stack."""
        self.pair.bring_up()
        self.pair.companions = {"second": second_mirror(self.pair)}

    def kill(self) -> None:
        """End all of it at once."""
        self.pair.kill()

    def run(
        self, audits: list[Audit], keep: Callable[[Audit, Result], None], fail: Callable[[str], None]
    ) -> None:
        """Run drills in order; `fail` is told of those that could not be run."""
        for audit in audits:
            try:
                self._set(audit.settings)
                keep(audit, self._audit(audit))
            except (DrillError, TimeoutError, KafkaException) as error:
                fail(audit.label)
                print(f"FAILED {audit.label}: {error}", flush=True)
                bring_back(self.pair, audit, audit.topic)
            assert self.pair.mirror is not None
            self.pair.mirror.switch.off()

    def _set(self, settings: Mapping[str, str]) -> None:
        mirror = self.pair.mirror
        assert mirror is not None
        if settings != self._settings:
            self._settings = None
            write_properties(mirror.properties_file, mirror.settings | dict(settings))
            mirror.restart()
            mirror.wait_ready()
            self.pair.write_stack_file()
            self._settings = settings

    def _audit(self, audit: Audit) -> Result:
        result = Result(audit.label, day=f"{datetime.now(UTC):%Y-%m-%d}")
        folder = self.folder / audit.label
        service = Service(folder, self._document())
        with self._written(audit):
            service.start()
            try:
                wait_until(lambda: _FLOW in service.flows(), deadline_s=_READY_S, what="The service's answer")
                self._look(audit, result)
                began = time.monotonic()
                do_act(self.pair, audit.name, audit.topic, "begin")
                self._attend(audit.lasts_s)
                if not audit.mended_after:
                    self._mend(audit, result, began)
                    self._attend(audit.lasts_s)
            except BaseException:
                service.kill()
                raise
        try:
            self._wait_copied(audit)
            self._look(audit, result)
            ordered = time.monotonic()
            run = _checksum(service, audit, folder / "result.json")
            result.took_s = round(time.monotonic() - ordered, 1)
            flow = _wait_told(service, run["run"])
            told = flow["verdict"], cause_of(flow)
            result.said.append((round(time.monotonic() - began, 1), *told))
            result.sentence = flow["parts"]["checksum"]
            result.books = dict(run["records"])
            result.status, result.coverage = run["status"], run["coverage"]
        finally:
            service.kill()
        if audit.mended_after:
            self._mend(audit, result, began)
        return result

    def _mend(self, audit: Audit, result: Result, began: float) -> None:
        result.mended_s = round(time.monotonic() - began, 1)
        do_act(self.pair, audit.name, audit.topic, "end")

    def _look(self, audit: Audit, result: Result) -> None:
        """Note what the fault is to change, as it is now."""
        if audit.changes:
            result.changed.append(TRACES[audit.changes](self.pair, audit.topic))

    def _document(self) -> dict[str, object]:
        assert self.pair.mirror is not None
        return {
            "mm2": str(self.pair.mirror.properties_file),
            "canary": {"mode": "off"},
            "lag": {"commits": "off"},
        }

    @contextmanager
    def _written(self, audit: Audit) -> Iterator[None]:
        """Write to the drill's topic while the block lasts, which begins when some of it is copied."""
        client = self.pair.a.client_properties()
        stream = traffic.Stream(
            topic=audit.topic, partitions=2, records_per_s=RATE_PER_S, headers=True, tombstones=0.05
        )
        traffic.create_topics(client, [stream])
        stop = threading.Event()
        writer = threading.Thread(target=traffic.run, args=(client, stop), kwargs={"streams": [stream]})
        writer.start()
        try:
            wait_until(
                lambda: self._copies(audit) > _SOME, deadline_s=_READY_S, what=f"Copies of {audit.topic}"
            )
            yield
        finally:
            stop.set()
            writer.join()

    def _attend(self, for_s: float) -> None:
        until = time.monotonic() + for_s
        while time.monotonic() < until:
            self.pair.attend()
            time.sleep(LOOK_S)

    def _wait_copied(self, audit: Audit) -> None:
        """Wait until nothing more comes to the target."""
        until = time.monotonic() + _COPIED_S
        seen, since = -1, time.monotonic()
        while time.monotonic() < until:
            self._attend(LOOK_S)
            now = self._copies(audit)
            if now != seen or now < 0:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > _STILL_S:
                return
        raise DrillError(f"the copies of {audit.topic} do not come to an end")

    def _copies(self, audit: Audit) -> int:
        try:
            return topics.log_end(self.pair.b.client_properties(), f"A.{audit.topic}")
        except KafkaException:  # a broker that was killed is not back yet
            return -1


def _wait_told(service: Service, run: str) -> dict[str, Any]:
    """Return what the service says of the flow once it knows this run."""
    told: dict[str, Any] = {}

    def knows() -> bool:
        told.update(service.flows().get(_FLOW, {}))
        # It is listed a moment before the flow is judged by it.
        return (told.get("checksum") or {}).get("run") == run and "checksum" in told["parts"]

    wait_until(knows, deadline_s=_TOLD_S, what="The service's word of the run", every_s=0.3)
    return told


def _checksum(service: Service, audit: Audit, file: Path) -> dict[str, Any]:
    """Compare the drill's topic, and return the run's document."""
    try:
        ended, runs = typed(service.config, file, "--topic", audit.topic)
    except subprocess.TimeoutExpired:
        raise DrillError(f"the checksum did not end within {DEADLINE_S:g} s") from None
    if len(runs) != 1 or "run" not in runs[0]:
        raise DrillError(
            f"the checksum ended with {ended.returncode}: {(ended.stdout + ended.stderr)[-2000:]}"
        )
    return runs[0]
