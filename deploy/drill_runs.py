"""One stack, its services and the drills on it: what was said when, and how the flow came back."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from deploy.drill_list import PROXIED, Drill
from deploy.drill_result import Result
from deploy.drill_service import Watched
from deploy.local import topics
from deploy.local.fault import CANARY_TOPIC
from deploy.local.faults import BY_NAME
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.ports import free_port
from deploy.local.process import python_process
from deploy.local.properties import write_properties
from deploy.local.proxy import listen_behind
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

LOOK_S = 0.1
AHEAD = 5  # services that run at once
_REFRESH = "refresh.topics.interval.seconds"
LISTEN_ON_S = 3.0  # after what was expected was said, in case something else follows
_QUICK_BROKERS = {"log.retention.check.interval.ms": "1000"}  # what is past its time goes at once
_KINDS = ("offset", "status", "config")

# A mirror beside the first is one of its own: workers of one group share all tasks, and a group is by target.
_SECOND = {
    "B.group.id": "second-mm2",
    "B->A.emit.heartbeats.enabled": "false",  # or it would join the first one's group for that way
    **{f"B.{kind}.storage.topic": f"second-{kind}" for kind in _KINDS},
}
_WAY_BACK = {
    "A.group.id": "way-back-mm2",
    "A->B.emit.heartbeats.enabled": "false",
    "B->A.topics": "canary-.*",
    **{f"A.{kind}.storage.topic": f"way-back-{kind}" for kind in _KINDS},
}


class DrillError(Exception):
    """A drill that could not be run; the others go on."""


class Bench:
    """A context manager: the stack with traffic, and the services of the drills that run on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = Pair(folder / "pair", properties=_QUICK_BROKERS)
        self._proxy_port = free_port()
        behind = listen_behind(self.pair.a, self._proxy_port)
        self._proxy = python_process(
            "proxy",
            "deploy.local.proxy",
            str(self._proxy_port),
            str(behind),
            str(self.pair.folder / "proxy.order"),
            folder=folder,
        )
        self._traffic = python_process(
            "traffic", "deploy.local.traffic", str(self.pair.folder), folder=folder
        )
        self._services: dict[str, Watched] = {}
        self._current = dict(self.pair.mirror.settings) if self.pair.mirror is not None else {}

    def __enter__(self) -> Self:
        try:
            self._proxy.start()
            self.pair.__enter__()
            self._traffic.start()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for watched in self._services.values():
            watched.process.kill()
        self._traffic.kill()
        self.pair.kill()
        self._proxy.kill()

    def run(self, drills: list[Drill], keep: Callable[[Drill, Result], None]) -> list[str]:
        """Run drills of the same settings in order; return those that could not be made to happen."""
        if _REFRESH in drills[0].settings:  # such a mirror takes up what is there when it starts, and no more
            for drill in drills:
                topics.create_topic(self.pair.a.client_properties(), f"canary-{drill.label}", partitions=2)
        self._set(drills[0].settings)
        failed = []
        for number, drill in enumerate(drills):
            for soon in drills[number : number + AHEAD]:
                self._service(soon)  # what one takes to begin, the others take as well
                if soon.sweeping:
                    break
            try:
                result = self._drill(drill)
                keep(drill, result)
                if result.wrong(drill):
                    self._show_logs()
            except DrillError as error:
                failed.append(drill.label)
                print(f"FAILED {drill.label}: {error}", flush=True)
                self._mend()
            if drill.alone:
                self._end_service(drill.label)
        for label in list(self._services):
            self._end_service(label)
        return failed

    def _show_logs(self) -> None:
        """Print the mirror's last errors and what companions said last, for the person who has to look."""
        said = self.pair.mirror.logged().splitlines() if self.pair.mirror is not None else []
        wrong = [line for line in said if " ERROR " in line or "Caused by" in line]
        print("".join(f"    mirror: {line[:300]}\n" for line in wrong[-12:]), end="", flush=True)
        for name, one in self.pair.companions.items():
            for line in one.logged().splitlines()[-4:]:
                print(f"    {name}: {line[:300]}", flush=True)

    def _mend(self) -> None:
        """Bring back what a drill that failed may have left."""
        for process in (*self.pair.brokers.values(), self.pair.mirror):
            if process is not None:
                process.thaw()
                if not process.running:
                    process.start()
        self.pair.write_stack_file()

    def _set(self, settings: Mapping[str, str]) -> None:
        mirror = self.pair.mirror
        assert mirror is not None
        extra = dict(settings)
        if settings == PROXIED:
            extra = {"A.bootstrap.servers": f"127.0.0.1:{self._proxy_port}"}
        wanted = mirror.settings | extra
        if wanted != self._current:
            self._current = wanted
            write_properties(mirror.properties_file, wanted)
            mirror.restart()
            mirror.wait_ready()
            self.pair.write_stack_file()
        pair = self.pair
        second, way_back = pair.folder / "second", pair.folder / "way-back"
        pair.companions = {
            "second": MirrorMaker(
                (pair.a, pair.b),
                second,
                name="second",
                settings=_SECOND,
                switchable=False,
            ),
            "way-back": MirrorMaker(
                (pair.a, pair.b),
                way_back,
                name="way-back",
                flows=("B->A",),
                settings={**extra, **_WAY_BACK},
                switchable=False,
            ),
        }

    def _service(self, drill: Drill) -> Watched:
        label = drill.label if drill.alone else ""
        if label not in self._services:
            topic = f"canary-{drill.label}" if drill.alone else CANARY_TOPIC
            folder = self.folder / f"service-{label or 'shared'}-{len(list(self.folder.iterdir()))}"
            self._services[label] = Watched(
                folder, self.pair, topic=topic, canary=drill.canary, told=drill.told
            )
            self._services[label].process.start()
        return self._services[label]

    def _end_service(self, label: str) -> None:
        watched = self._services.pop(label)
        status = watched.end()
        logged = watched.process.logged()
        if status != 0 or "Traceback" in logged:
            raise SystemExit(f"The service of {label or 'all'} ended with {status}:\n{logged[-3000:]}")

    def _drill(self, drill: Drill) -> Result:
        """Run one drill from healthy to healthy."""
        watched, pair = self._service(drill), self.pair
        result = Result(drill.label, day=f"{datetime.now(UTC):%Y-%m-%d}")
        try:
            wait_until(
                watched.is_well, deadline_s=60, what=f"A healthy flow before {drill.label}", every_s=0.3
            )
        except TimeoutError as error:
            raise DrillError(
                f"{error}. It is: {watched.flow()}\n{watched.process.logged()[-2000:]}"
            ) from None
        if drill.name == "neighbour":
            folder = self.folder / "neighbour"
            pair.companions["neighbour"] = Watched(folder, pair, topic=watched.topic, canary={}).process
        before = watched.flow()["books"]
        listening = _Listening(watched, result, drill, time.monotonic())
        topic = drill.topic or (
            watched.topic
            if BY_NAME[drill.name].topic == CANARY_TOPIC or drill.own
            else BY_NAME[drill.name].topic
        )
        act = _act(pair.folder, drill, topic, "begin")
        listening.until(drill.watch_s, pair, act, ends=listening.said_enough)
        mended = time.monotonic()
        result.mended_s = round(mended - listening.began, 1)
        act = _act(pair.folder, drill, topic, "end")
        listening.until(60, pair, act, ends=listening.is_back)
        if listening.is_back():
            result.healed_s = time.monotonic() - mended
        after = watched.flow().get("books", before)
        result.books = {name: after[name] - before.get(name, 0) for name in after}
        if pair.mirror is not None:
            pair.mirror.switch.off()
        return result


@dataclass(slots=True)
class _Listening:
    """Notes what is said of the flow while a fault goes on and after it."""

    watched: Watched
    result: Result
    drill: Drill
    began: float
    now: tuple[str, str | None] = ("", None)
    hit_at: float | None = None

    def until(
        self, wait_s: float, pair: Pair, act: subprocess.Popen[bytes], *, ends: Callable[[], bool]
    ) -> None:
        """Listen for that long, or until `ends` holds after the act is done."""
        until = time.monotonic() + wait_s
        latest = until + 120  # an act that waits for a start needs us to attend until it is done
        while time.monotonic() < until or (act.poll() is None and time.monotonic() < latest):
            pair.attend()
            self._look()
            if act.poll() is not None and ends():
                break
            time.sleep(LOOK_S)
        if act.poll() != 0:
            raise DrillError("it could not be made to happen, or to end")

    def said_enough(self) -> bool:
        """Tell whether what was expected was said a moment ago."""
        return self.hit_at is not None and time.monotonic() - self.hit_at > LISTEN_ON_S

    def is_back(self) -> bool:
        """Tell whether the flow is where it comes back to, and what was expected has been said."""
        done = self.drill.verdict is None or self.hit_at is not None
        since_s = time.monotonic() - self.began - (self.result.mended_s or 0.0)
        return done and since_s >= self.drill.after_s and self.now[0] == self.drill.then

    def _look(self) -> None:
        flow = self.watched.flow()
        if not flow:
            return
        told = (flow["verdict"], flow["cause"]["code"])
        if told != self.now:
            self.now = told
            self.result.said.append((round(time.monotonic() - self.began, 1), *told))
            if self.hit_at is None and self.result.hit(self.drill) is not None:
                self.hit_at = time.monotonic()
                self.result.sentence = flow["cause"]["sentence"]


def _act(stack: Path, drill: Drill, topic: str, what: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "deploy.local.faults", str(stack), what, drill.name, "--topic", topic]
    )
