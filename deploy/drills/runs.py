"""One stack, its services and the drills on it: what was said when, and how the flow came back."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from deploy.drills.alerts import LISTEN_ON_S, WAIT_S, AlertWatch
from deploy.drills.bringing_back import bring_back
from deploy.drills.listening import DrillError, Listening, begin_act
from deploy.drills.result import Result
from deploy.drills.service import Watched
from deploy.drills.settings import PROXIED
from deploy.drills.truth import Reading
from deploy.local import topics
from deploy.local.fault import CANARY_TOPIC
from deploy.local.faults import BY_NAME
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.ports import free_port
from deploy.local.process import python_process
from deploy.local.properties import write_properties
from deploy.local.proxy import listen_behind
from deploy.local.several import Several
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from deploy.drills.drill import Drill

AHEAD = 5  # services that run at once
_LOOKS_FOR_TOPICS_S = 900.0  # by default every ten minutes: a partition that a drill added waits for that
_SETTLED_S, _NOTES_S = 100.0, 2.0  # a number settles within 90 s once the mirror continues
_REFRESH = "refresh.topics.interval.seconds"
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


def second_mirror(pair: Pair) -> MirrorMaker:
    """Return a mirror beside the first on the same flow, with its own storage."""
    folder = pair.folder / "second"
    return MirrorMaker((pair.a, pair.b), folder, name="second", settings=_SECOND, switchable=False)


class Bench(Several):
    """The stack with traffic, and the services of the drills that run on it.

    With `both`, those that have a canary judge by offsets as well. With `hold_s` the alerts' rules have the
    times of users, and faults last for at least so long.
    """

    def __init__(self, folder: Path, *, both: bool = False, hold_s: float = 0.0) -> None:
        self.folder = folder
        self._both = both
        self._hold_s = hold_s
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
        self._watches = 0  # so many folders of those that watched alerts
        self._current = dict(self.pair.mirror.settings) if self.pair.mirror is not None else {}

    def bring_up(self) -> None:
        """Start the stack and its traffic."""
        self._proxy.start()
        self.pair.bring_up()
        self._traffic.start()

    def kill(self) -> None:
        """End all of it at once."""
        for watched in self._services.values():
            watched.kill()
        self._traffic.kill()
        self.pair.kill()
        self._proxy.kill()

    def run(
        self, drills: list[Drill], keep: Callable[[Drill, Result], None], fail: Callable[[str], None]
    ) -> None:
        """Run drills of the same settings in order; `fail` is told of those that could not be run."""
        # A mirror that looks for topics rarely takes up what is there when it starts, and no more.
        for drill in drills:
            if _REFRESH in drill.settings or (drill.by_offsets and drill.own):
                topics.create_topic(self.pair.a.client_properties(), f"canary-{drill.label}", partitions=2)
        self._set(drills[0].settings)
        for number, drill in enumerate(drills):
            for soon in drills[number : number + AHEAD]:
                self._service(soon)  # what one takes to begin, the others take as well
                if soon.sweeping:
                    break
            try:
                result = self._drill(drill)
                self._see_traffic()
                keep(drill, result)
                if result.wrong(drill):
                    self._show_logs()
            except DrillError as error:
                fail(drill.label)
                print(f"FAILED {drill.label}: {error}", flush=True)
                bring_back(self.pair, drill, self._topic(drill))
            if drill.alone:
                self._end_service(drill.label)
        for label in list(self._services):
            self._end_service(label)

    def _see_traffic(self) -> None:
        """Raise DrillError where the traffic has ended: without it many a fault is none."""
        if not self._traffic.running:
            raise DrillError(f"The traffic has ended: {self._traffic.logged()[-300:].strip()}")

    def _show_logs(self) -> None:
        """Print the mirror's last errors and what companions said last, for the person who has to look."""
        said = self.pair.mirror.logged().splitlines() if self.pair.mirror is not None else []
        wrong = [line for line in said if " ERROR " in line or "Caused by" in line]
        print("".join(f"    mirror: {line[:300]}\n" for line in wrong[-12:]), end="", flush=True)
        for name, one in self.pair.companions.items():
            for line in one.logged().splitlines()[-4:]:
                print(f"    {name}: {line[:300]}", flush=True)

    def _set(self, settings: Mapping[str, str]) -> None:
        mirror = self.pair.mirror
        assert mirror is not None
        extra = {name: value for name, value in settings.items() if name not in PROXIED}
        if PROXIED.items() <= settings.items():
            extra["A.bootstrap.servers"] = f"127.0.0.1:{self._proxy_port}"
        wanted = mirror.settings | extra
        if wanted != self._current:
            self._current = wanted
            write_properties(mirror.properties_file, wanted)
            mirror.restart()
            mirror.wait_ready()
            self.pair.write_stack_file()
        pair = self.pair
        way_back = pair.folder / "way-back"
        pair.companions = {
            "second": second_mirror(pair),
            "worker": MirrorMaker(
                (pair.a, pair.b), pair.folder / "worker", name="worker", settings=extra, switchable=False
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
        label = drill.label if drill.alone else drill.shared
        if label not in self._services:
            topic = f"canary-{drill.label}" if drill.alone else CANARY_TOPIC
            folder = self.folder / f"service-{label}-{len(list(self.folder.iterdir()))}"
            self._services[label] = Watched(
                folder,
                self.pair,
                topic=topic,
                canary=drill.canary,
                lag=drill.lag,
                told=drill.told,
                by_offsets=drill.by_offsets,
                both=self._both,
            )
            self._services[label].start()
        return self._services[label]

    def _end_service(self, label: str) -> None:
        watched = self._services.pop(label)
        status = watched.end()
        logged = watched.logged()
        if status != 0 or "Traceback" in logged:
            raise SystemExit(f"The service of {label or 'all'} ended with {status}:\n{logged[-3000:]}")

    def _topic(self, drill: Drill) -> str:
        """Return the topic on the source that the fault is done to."""
        named = BY_NAME[drill.name].topic
        return drill.topic or (self._service(drill).topic if named == CANARY_TOPIC or drill.own else named)

    def _drill(self, drill: Drill) -> Result:
        """Run one drill from healthy to healthy."""
        watched, pair = self._service(drill), self.pair
        result = Result(drill.label, day=f"{datetime.now(UTC):%Y-%m-%d}")
        try:
            wait_until(
                watched.is_well,
                deadline_s=_LOOKS_FOR_TOPICS_S if drill.by_offsets else drill.back_s,
                what=f"A healthy flow before {drill.label}",
                every_s=0.3,
            )
        except TimeoutError as error:
            raise DrillError(f"{error}. It is: {watched.flow()}\n{watched.logged()[-2000:]}") from None
        if drill.name == "neighbour":
            folder = self.folder / "neighbour"
            pair.companions["neighbour"] = Watched(folder, pair, topic=watched.topic, canary={})
        with self._alerts(drill, watched) as alerts:
            self._watch(drill, watched, result, alerts)
        return result

    @contextmanager
    def _alerts(self, drill: Drill, watched: Watched) -> Iterator[AlertWatch | None]:
        """Have Prometheus and Alertmanager on the drill's service meanwhile; None where not installed."""
        self._watches += 1
        alerts = AlertWatch(
            self.folder / f"alerts-{self._watches}", watched.config, drill, hold_s=self._hold_s
        )
        try:
            if alerts.can_watch:
                alerts.start()
            yield alerts if alerts.can_watch else None
        except (RuntimeError, TimeoutError) as error:
            raise DrillError(f"alerts of {drill.label}: {error}") from error
        finally:
            alerts.kill()

    def _watch(self, drill: Drill, watched: Watched, result: Result, alerts: AlertWatch | None) -> None:
        """Make the fault happen and end it, and note what is said and which alerts fire."""
        pair = self.pair
        topic = self._topic(drill)
        reading = self._reading(topic) if drill.counts else None
        before = watched.flow()["counters"]
        listening = Listening(watched, result, drill, time.monotonic(), topic=topic if reading else "")
        if alerts is not None:
            alerts.begin()
            listening.alerted = alerts.has_fired
            listening.alert_wait_s = max(WAIT_S, self._hold_s)
            listening.least_s = LISTEN_ON_S if drill.verdict is None else 0.0
        act = begin_act(pair.folder, drill.name, topic, "begin")
        listening.until(drill.watch_s, pair, act, ends=listening.said_enough)
        mended = time.monotonic()
        result.mended_s = round(mended - listening.began, 1)
        act = begin_act(pair.folder, drill.name, topic, "end")
        listening.until(drill.back_s, pair, act, ends=listening.is_back)
        if listening.is_back():
            result.healed_s = time.monotonic() - mended
        if alerts is not None:
            result.fired, result.paged = alerts.fired(), alerts.paged()
        if reading is not None:
            self._compare(drill, reading, listening)
        after = watched.flow().get("counters", before)
        result.books = {name: after[name] - before.get(name, 0) for name in after}
        if pair.mirror is not None:
            pair.mirror.switch.off()

    def _reading(self, topic: str) -> Reading:
        clients = {alias: broker.client_properties() for alias, broker in self.pair.brokers.items()}
        return Reading(clients, topic)

    def _compare(self, drill: Drill, reading: Reading, listening: Listening) -> None:
        """Read both sides in full once the mirror continues, and what the service states by then."""
        until = time.monotonic() + _SETTLED_S
        while time.monotonic() < until:
            self.pair.attend()
            listening.note_numbers()
            time.sleep(_NOTES_S)
        try:
            listening.result.truth = reading.truths(drill.cause)
        except (KafkaException, TimeoutError) as error:
            raise DrillError(f"both sides could not be read: {error}") from error
        finally:
            reading.end()
        listening.note_numbers()
