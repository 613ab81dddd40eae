"""What is heard of a flow while a fault is made to happen, continues and is ended."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from deploy.drills.alerts import WAIT_S
from deploy.drills.truth import Statement
from deploy.local.service import cause_of
from fleet.dialect import moment_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from deploy.drills.drill import Drill
    from deploy.drills.result import Result
    from deploy.drills.service import Watched
    from deploy.local.pair import Pair

    Act = subprocess.Popen[bytes]

LOOK_S = 0.1
SUSPICIONS_S = 2.0  # between two reads what is suspected
LISTEN_ON_S = 3.0  # after what was expected was said, in case something else follows
ACT_S = 120.0  # an act that waits for a start needs us to attend until it is done, so long at most


class DrillError(Exception):
    """A drill that could not be run; the others continue."""


def begin_act(stack: Path, fault: str, topic: str, what: str) -> Act:
    """Have another process begin or end a fault of the register."""
    return subprocess.Popen(
        [sys.executable, "-m", "deploy.local.faults", str(stack), what, fault, "--topic", topic]
    )


def do_act(pair: Pair, fault: str, topic: str, what: str) -> None:
    """Have another process begin or end a fault, and start what it asks for meanwhile.

    Raises DrillError where that could not be done.
    """
    act = begin_act(pair.folder, fault, topic, what)
    latest = time.monotonic() + ACT_S
    while act.poll() is None and time.monotonic() < latest:
        pair.attend()
        time.sleep(LOOK_S)
    expect_done(act)


def expect_done(act: Act) -> None:
    """End an act that still runs. Raises DrillError unless it was done by itself and well."""
    if act.poll() is None:
        act.kill()
        act.wait()
    if act.returncode != 0:
        raise DrillError("it could not be made to happen, or to end")


@dataclass(slots=True)
class Listening:
    """Notes what is said of the flow while a fault continues and after it."""

    watched: Watched
    result: Result
    drill: Drill
    began: float
    now: tuple[str, str | None] = ("", None)
    hit_at: float | None = None
    suspicions_at: float = 0.0  # when these were read last
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000))
    earlier: frozenset[tuple[str, str]] = frozenset()  # what was suspected before, by cause and topic
    topic: str = ""  # of which numbers of lost records are noted, "" for none
    least_s: float = 0.0  # for so long it is listened to after it was ended, at least
    alert_wait_s: float = WAIT_S
    alerted: Callable[[], bool] = lambda: True  # whether an alert that is expected has fired

    def __post_init__(self) -> None:
        if self.drill.by_offsets:
            self.earlier = frozenset(
                (one["cause"]["code"], one["topic"]) for one in self.watched.suspicions()
            )

    def until(self, wait_s: float, pair: Pair, act: Act, *, ends: Callable[[], bool]) -> None:
        """Listen for that long, or until `ends` holds after the act is done.

        Raises DrillError where it could not be done; then it runs no longer.
        """
        until = time.monotonic() + wait_s
        latest = until + ACT_S
        while time.monotonic() < until + self._alert_wait_s() or (
            act.poll() is None and time.monotonic() < latest
        ):
            pair.attend()
            self._look()
            if act.poll() is not None and ends():
                break
            time.sleep(LOOK_S)
        expect_done(act)

    def _alert_wait_s(self) -> float:
        """Return for how much longer what was said is listened to, for the sake of its alert."""
        return 0.0 if self.hit_at is None or self.alerted() else self.alert_wait_s

    def said_enough(self) -> bool:
        """Return whether what was expected was said a moment ago, and its alert fired."""
        said = self.hit_at is not None and time.monotonic() - self.hit_at > LISTEN_ON_S
        return said and self.alerted()

    def is_back(self) -> bool:
        """Return whether the flow is where it comes back to, and what was expected has been said."""
        done = self.drill.verdict is None or (self.hit_at is not None and self.alerted())
        done = done and (not self.drill.happened or bool(self.result.happened))
        since_s = time.monotonic() - self.began - (self.result.mended_s or 0.0)
        return done and since_s >= max(self.drill.after_s, self.least_s) and self.now[0] == self.drill.then

    def _look(self) -> None:
        if self.drill.by_offsets and time.monotonic() - self.suspicions_at >= SUSPICIONS_S:
            self.suspicions_at = time.monotonic()
            self._look_at_suspicions()
            if self.topic:
                self.note_numbers()
        flow = self.watched.flow()
        if not flow:
            return
        self._look_at_events(flow)
        told = (flow["verdict"], cause_of(flow))
        if told != self.now:
            self.now = told
            self.result.said.append((round(time.monotonic() - self.began, 1), *told))
            if self.hit_at is None and self.result.hit(self.drill) is not None:
                self.hit_at = time.monotonic()
                self.result.sentence = flow["sentence"]

    def _look_at_events(self, flow: Mapping[str, Any]) -> None:
        known = {one[1:] for one in self.result.happened}
        for one in flow["events"]:
            told, at = (one["kind"], one["sentence"]), datetime.fromisoformat(one["at"])
            if one["records"] and told not in known and at.timestamp() * 1000 >= self.began_ms:
                self.result.happened.append((round(time.monotonic() - self.began, 1), *told))

    def _look_at_suspicions(self) -> None:
        known = {*self.earlier, *(one[1:] for one in self.result.suspected)}
        for one in self.watched.suspicions():
            if moment_ms(one["at"]) >= self.began_ms and (one["cause"]["code"], one["topic"]) not in known:
                known.add((one["cause"]["code"], one["topic"]))
                self.result.suspected.append(
                    (round(time.monotonic() - self.began, 1), one["cause"]["code"], one["topic"])
                )
                if one["cause"]["code"] == self.drill.suspected:
                    self.result.sentence = one["cause"]["sentence"]

    def note_numbers(self) -> None:
        """Note each number of lost records that is stated and was not before."""
        known = {one[1:] for one in self.result.stated}
        for one in self.watched.losses(self.topic):
            numbers = one["partition"], one["records"], one["records_most"]
            told = one["proved"] or one["cause"]["code"] == self.drill.suspected
            recent = moment_ms(one["at"]) >= self.began_ms
            if told and recent and one["records"] is not None and numbers not in known:
                known.add(numbers)
                self.result.stated.append(Statement(round(time.monotonic() - self.began, 1), *numbers))
