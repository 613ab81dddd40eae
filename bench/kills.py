"""Kill -9 at random moments under load: do the store, the source topic and the target topic agree?

One service on one store is started and ended again and again, most times by kill -9: before its first
write, in the middle of its start, while it works, while it drains after SIGTERM; with the mirror frozen
meanwhile, so that outstanding probes are handed down, or with the mirror dropping some, so that losses are. A
last process stays until everything has its outcome. Then both topics are read whole and held against the
books, to the probe.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.book_truth import Truth, books_and_topics, read_books
from bench.topic_truth import read_topic
from bench.watched_service import WatchedService
from deploy.local.pair import Pair
from deploy.local.topics import partition_count
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from deploy.local.mirror import MirrorMaker

TOPIC = "mirrorwatch-canary"
FLOWS = {"A->B": ("A", "B")}
PARTITIONS = 4
HORIZON_S = 8.0
CANARY = {"interval": "50ms", "threshold": "2s", "horizon": f"{HORIZON_S:g}s"}  # 80 probes/s
SHORT_S = (0.3, 4.0)  # how long most processes live, from their start or from when they are up
EARLY_SHARE = 0.3  # of those that are ended before they are up, on a machine that is not very fast
LONG_S = (HORIZON_S, 2 * HORIZON_S)  # of some: what they took over reaches its horizon
LONG_SHARE = 0.08
PAUSE_S = 3.0
FROZEN_S = (1.0, 15.0)
DROPPED_S = (0.5, 4.0)
DROPPED_ONE_IN = 7
END_TRIES = 4
KILLED, IN_ITS_DRAIN, ENDED, BY_ITSELF = "killed", "killed in its drain", "ended", "ended by itself"
DRAINS_WITHIN_S = 60.0
TOO_OFTEN = 5  # by itself: such a service is not worth more kills
UP_WITHIN_S = 60.0
# A broker that is short of processors for a while is not to be taken for dead: that is another benchmark's.
PATIENT = {"broker.session.timeout.ms": "30000"}


@dataclass(slots=True)
class Weather:
    """What the mirror is made to suffer, and until when; monotonic seconds."""

    mirror: MirrorMaker
    dice: random.Random
    thaws_at: float | None = None
    heals_at: float | None = None
    froze: int = 0
    dropped: int = 0

    def turn(self) -> None:
        """End what is over, and perhaps begin something new."""
        now = time.monotonic()
        self.end(now)
        if self.thaws_at is None and self.dice.random() < 0.12:
            self.mirror.freeze()
            self.thaws_at = now + self.dice.uniform(*FROZEN_S)
            self.froze += 1
        elif self.heals_at is None and self.dice.random() < 0.06:
            self.mirror.switch.on("drop", topics=TOPIC, modulus=DROPPED_ONE_IN)
            self.heals_at = now + self.dice.uniform(*DROPPED_S)
            self.dropped += 1

    def end(self, now: float) -> None:
        """End what is over by this instant."""
        if self.thaws_at is not None and now >= self.thaws_at:
            self.mirror.thaw()
            self.thaws_at = None
        if self.heals_at is not None and now >= self.heals_at:
            self.mirror.switch.off()
            self.heals_at = None

    def live(self, seconds: float) -> None:
        """Let time pass, with what ends in it."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            self.end(now)
            due = [one for one in (until, self.thaws_at, self.heals_at) if one is not None]
            time.sleep(max(0.0, min(due) - now))


@dataclass(slots=True)
class Diary:
    """When each process began and ended (epoch seconds), and how."""

    lives: list[tuple[float, float]] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    trouble: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """Return how many were ended by kill -9."""
        return self.ends[KILLED] + self.ends[IN_ITS_DRAIN]

    def check(self, service: WatchedService) -> None:
        """Note what no process should say, however it ends."""
        said = service.logged()
        for word in ("Traceback", "fault of mirrorwatch"):
            if word in said:
                self.trouble.append(f"process {len(self.lives)} said {word}: {said[-2000:]}")


def measure(*, kills: int, seed: int = 1) -> dict[str, Any]:
    """Return what was done and what does not agree after so many kills."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-kills-") as name:
        folder = Path(name)
        settings = {"tasks.max": str(PARTITIONS)}
        with Pair(folder / "pair", flows=tuple(FLOWS), settings=settings, properties=PATIENT) as pair:
            return _measure(pair, folder, kills, seed)


def _measure(pair: Pair, folder: Path, kills: int, seed: int) -> dict[str, Any]:
    assert pair.mirror is not None
    dice = random.Random(seed)  # noqa: S311 - to be the same again, not to be secret
    service = WatchedService(folder / "service", mm2=pair.mirror.properties_file, canary=CANARY)
    weather, diary = Weather(pair.mirror, dice), Diary()
    began = time.monotonic()
    try:
        # Once in peace, so that topics are there and mirrored: a warm-up is not what is measured here.
        _first_life(service, pair, weather, diary)
        while diary.killed < kills and diary.ends[BY_ITSELF] < TOO_OFTEN:
            weather.turn()
            _one_life(service, weather, diary, dice)
        weather.end(float("inf"))
        store = folder / "service" / "mirrorwatch.db"
        for _ in range(END_TRIES):
            _last_life(service, weather, diary)
            truths = {flow: _truth(pair, store, flow) for flow in FLOWS}
            if not any("in no covered set" in one for truth in truths.values() for one in truth.violations):
                break
    finally:
        service.kill()
    violations = [f"{flow}: {one}" for flow, truth in truths.items() for one in truth.violations]
    for one in (*violations, *diary.trouble):
        print(f"VIOLATION {one}", flush=True)
    return {
        "seed": seed,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "kills": diary.killed,
        "processes": len(diary.lives),
        "ends": dict(diary.ends),
        "mirror": {"frozen": weather.froze, "made to drop": weather.dropped},
        "violations": len(violations),
        "trouble": len(diary.trouble),
        "what_does_not_agree": violations + diary.trouble,
        "start": _starts(diary, read_books(store, "A->B").incarnations, pair),
        "store_kb": round(sum(file.stat().st_size for file in store.parent.glob("mirrorwatch.db*")) / 1024),
        "flows": {flow: truth.figures for flow, truth in truths.items()},
    }


def _first_life(service: WatchedService, pair: Pair, weather: Weather, diary: Diary) -> None:
    started = _start(service)
    for source, target in FLOWS.values():
        _wait_mirrored(pair.brokers[target].client_properties(), f"{source}.{TOPIC}")
    wait_until(lambda: _all_probed(service, good=1), deadline_s=120.0, what="Probing", every_s=0.25)
    _end(service, weather, diary, started, KILLED, 0.0)


def _wait_mirrored(client: dict[str, str], topic: str) -> None:
    wait_until(lambda: partition_count(client, topic) == PARTITIONS, deadline_s=120.0, what=topic)


def _one_life(service: WatchedService, weather: Weather, diary: Diary, dice: random.Random) -> None:
    started = _start(service)
    if dice.random() > EARLY_SHARE:
        _wait_up(service, weather)
    lives_s = dice.uniform(*(LONG_S if dice.random() < LONG_SHARE else SHORT_S))
    how = dice.choices((KILLED, IN_ITS_DRAIN, ENDED), weights=(82, 10, 8))[0]
    weather.live(lives_s)
    drains_s = dice.uniform(0.0, 1.5)
    _end(service, weather, diary, started, how, DRAINS_WITHIN_S if how == ENDED else drains_s)
    if dice.random() < 0.2:
        weather.live(dice.uniform(0.0, PAUSE_S))


def _wait_up(service: WatchedService, weather: Weather) -> None:
    until = time.monotonic() + UP_WITHIN_S
    while "mirrorwatch is up" not in service.logged() and time.monotonic() < until:
        weather.live(0.05)


def _last_life(service: WatchedService, weather: Weather, diary: Diary) -> None:
    """Stay until everything has its outcome, what was read last included."""
    started = _start(service)
    wait_until(lambda: _all_probed(service), deadline_s=180.0, what="Probing", every_s=0.25)
    weather.live(2 * HORIZON_S + 2.0)
    _end(service, weather, diary, started, ENDED, DRAINS_WITHIN_S)


def _all_probed(service: WatchedService, *, good: int = 0) -> bool:
    """Tell whether every flow is probed; not whether it is healthy, which a loss forbids for a while."""
    said = service.flows()
    return all(
        flow in said and said[flow]["canary"]["state"] == "running" and said[flow]["counters"]["good"] >= good
        for flow in FLOWS
    )


def _start(service: WatchedService) -> float:
    started = time.time()
    service.start()
    return started


def _end(  # noqa: PLR0917 - who, what was going on, and how
    service: WatchedService, weather: Weather, diary: Diary, started: float, how: str, drains_s: float
) -> None:
    """End a process in this way, and note how it really ended."""
    place = f"process {len(diary.lives)}"
    if how != KILLED and service.running:
        service.request_stop()
        _wait_end(service, weather, drains_s)
        if not service.running:
            how = ENDED
            # It may not have got to the point where it hears a signal: then it ends as any program does.
            if service.exit_status not in (0, -15, 130, 143):
                diary.trouble.append(f"{place} was asked to end: status {service.exit_status}")
        elif how == ENDED:
            diary.trouble.append(f"{place} was asked to end and had not after {drains_s:g} s")
            how = IN_ITS_DRAIN
    elif not service.running:
        how = BY_ITSELF
        diary.trouble.append(f"{place} ended by itself with status {service.exit_status}")
    service.kill()
    diary.lives.append((started, time.time()))
    diary.ends[how] += 1
    diary.check(service)


def _wait_end(service: WatchedService, weather: Weather, wait_s: float) -> None:
    until = time.monotonic() + wait_s
    while service.running and time.monotonic() < until:
        weather.live(min(0.05, max(0.0, until - time.monotonic())))


def _truth(pair: Pair, store: Path, flow: str) -> Truth:
    source, target = FLOWS[flow]
    return books_and_topics(
        store,
        flow,
        read_topic(pair.brokers[source].client_properties(), TOPIC),
        read_topic(pair.brokers[target].client_properties(), f"{source}.{TOPIC}"),
    )


def _starts(diary: Diary, incarnations: dict[str, dict[str, Any]], pair: Pair) -> dict[str, float]:
    """Return how long processes took from their start to their lease and to their first probe, in seconds."""
    first: dict[str, float] = {}
    for content in read_topic(pair.a.client_properties(), TOPIC).values():
        stamp = json.loads(content[2] or b"{}")
        name, at = stamp["incarnation"], stamp["due_at_ms"] / 1000
        first[name] = min(at, first.get(name, at))
    lease_s, probe_s = [], []
    for started, ended in diary.lives:
        for name, row in incarnations.items():
            if started <= row["begun_at"] <= ended:
                lease_s.append(row["begun_at"] - started)
                if name in first:
                    probe_s.append(first[name] - started)
    return {
        "ended_before_their_lease": len(diary.lives) - len(lease_s),
        "ended_before_their_first_probe": len(diary.lives) - len(probe_s),
        "median_s_to_the_lease": round(median(lease_s), 2),
        "median_s_to_the_first_probe": round(median(probe_s), 2),
        "longest_s_to_the_first_probe": round(max(probe_s), 2),
    }
