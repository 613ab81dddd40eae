"""The rounds of the demo: one thing goes wrong, what the service says and how soon, then the fault ends.

A user who kills the mirror or a broker by hand plays a round too: it is restarted after a while.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from deploy.local.faults import BY_NAME
from deploy.local.process import python_process
from fleet.verdicts.vocabulary import BAD, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.local.demo.keys import Keys
    from deploy.local.demo.service import Said
    from deploy.local.demo.stack import DemoStack
    from deploy.local.fault import Fault
    from deploy.local.process import Process

FLOW = "A->B"
ROUNDS = ("freeze-mirror", "stop-target", "drop-some")

_STAYING = (Verdict.LOSING, Verdict.ALTERED, Verdict.REPEATING)
_NOTICE_S = 40.0  # how long the service is given to see a fault, and to see that it is over
_HOLD_S = 6.0  # how long a fault continues after it was seen, so that a user can see the page
_PAGED_S = 25.0  # and how long at most until an alert fires
_ACT_S = 60.0
_ANEW_S = 30.0  # how long a killed process stays away, so that the alarm is seen
_SHOWN_S = 0.05  # shorter times would be shown as 0.0 s
_AT_ONCE_S = 10.0  # what ends so soon after it was restarted will not stay


class Ended(Exception):  # noqa: N818  (no error: it ends as asked)
    """The demo is over."""


class Show:
    """Plays rounds on a running stack; `say` hears every line."""

    def __init__(
        self, stack: DemoStack, keys: Keys, say: Callable[[str], None], *, is_over: Callable[[], bool]
    ) -> None:
        self._stack = stack
        self._keys = keys
        self._say = say
        self._is_over = is_over
        self._next = 0
        self._typed: str | None = None  # while a round continues
        self._broken = False  # a fault continues, which may be that a broker is gone
        self._anew_at: dict[str, float] = {}  # by process, when it was restarted last
        self._alerts: set[str] = set()  # that fired when they were last read

    def wait_healthy(self, told: Said | None = None) -> None:
        """Wait until the service says that the flow is healthy; say so, or what it says instead.

        A verdict that stays, since what was lost is lost, is said too unless it was `told`, and the service
        then restarts.
        """
        begun = time.monotonic()
        said = self._watch(lambda said: said.verdict in (Verdict.HEALTHY, *_STAYING), deadline_s=_NOTICE_S)
        passed_s = time.monotonic() - begun
        after = f"after {passed_s:.1f} s"
        if said is None:
            self._say(f"  {FLOW} is not healthy within {_NOTICE_S:.0f} s")
        elif said.verdict == Verdict.HEALTHY:
            self._say(f"  {FLOW} is healthy{f', {after}' if passed_s >= _SHOWN_S else ' already'}")
        else:
            if told is None or (said.verdict, said.cause) != (told.verdict, told.cause):
                self._say(f"  {after} mirrorwatch reports {said}")
            self._say(f"  '{said.verdict}' stays for 15 minutes after its last evidence.")
            self._say("  For the next round the service restarts with an empty store.")
            self._stack.service.forget()
            self._stack.service.start()
            self._watch(lambda said: said.verdict == Verdict.HEALTHY, deadline_s=_NOTICE_S)

    def play(self, *, every_s: float) -> None:
        """Play a round each time a key is pressed or `every_s` has passed, until the time is over."""
        while True:
            self._say(self._menu(every_s))
            name = self._choice(every_s)
            self.round(BY_NAME[name])

    def round(self, fault: Fault) -> None:
        """Break one thing, show what the service says, end the fault, and show when it is well again."""
        self._say(f"{fault.name}: {fault.sentence}")
        begun = time.monotonic()  # the time that the fault itself takes counts too: never flattering
        self._broken = True
        self._act("begin", fault)
        said = self._watch(lambda said: said.verdict in BAD, deadline_s=_NOTICE_S)
        if said is None:
            self._say(f"  mirrorwatch saw nothing within {_NOTICE_S:.0f} s")
        else:
            self._say(f"  after {time.monotonic() - begun:4.1f} s mirrorwatch reports {said}")
            now = time.monotonic()
            said = self._watch_changes(said, begun, until=now + _HOLD_S, paged_until=now + _PAGED_S)
        self._act("end", fault)
        self._broken = False
        self._say("  fault ended")
        self.wait_healthy(said)

    def _menu(self, every_s: float) -> str:
        choices = ", ".join(f"{number} {name}" for number, name in enumerate(ROUNDS, 1))
        how = "a key" if self._keys.terminal else "a line on standard input"
        return f"Next is {ROUNDS[self._next]} in {every_s:.0f} s, or on {how} ({choices}); Ctrl-C to stop."

    def _choice(self, every_s: float) -> str:
        due = time.monotonic() + every_s
        while time.monotonic() < due:
            anew = dict(self._anew_at)
            typed, self._typed = self._typed or self._tick(), None
            if self._anew_at != anew:
                due = time.monotonic() + every_s
                self._say(self._menu(every_s))
            if typed is None:
                continue
            if typed in BY_NAME:
                return typed
            if typed.isdecimal() and 1 <= int(typed) <= len(ROUNDS):
                self._next = int(typed) - 1
            break
        name = ROUNDS[self._next]
        self._next = (self._next + 1) % len(ROUNDS)
        return name

    def _watch(self, wanted: Callable[[Said], bool], *, deadline_s: float) -> Said | None:
        begun = time.monotonic()
        while time.monotonic() - begun < deadline_s:
            said = self._stack.service.says(FLOW)
            if said is not None and wanted(said):
                return said
            self._keep_typed()
        return None

    def _watch_changes(self, said: Said, begun: float, *, until: float, paged_until: float = 0.0) -> Said:
        """Show each change of verdict or cause and each alert that fires, and return what was shown last.

        Go on until `until`, and until a new alert pages, but for that no longer than `paged_until`.
        """
        before = self._alerts
        while time.monotonic() < until or (
            self._stack.monitoring.prometheus and self._alerts <= before and time.monotonic() < paged_until
        ):
            self._show_alerts(begun)
            now = self._stack.service.says(FLOW)
            if now is not None and (now.verdict, now.cause) != (said.verdict, said.cause):
                self._say(f"  after {time.monotonic() - begun:4.1f} s mirrorwatch reports {now}")
                said = now
            self._keep_typed()
        return said

    def _show_alerts(self, begun: float) -> None:
        firing = {
            one.name: one for one in self._stack.monitoring.firing() if one.labels["severity"] != "info"
        }
        for name in firing.keys() - self._alerts:
            summary = firing[name].annotations["summary"]
            self._say(f"  after {time.monotonic() - begun:4.1f} s {name} fires: {summary}")
        self._alerts = set(firing)

    def _act(self, act: str, fault: Fault) -> None:
        """Have another process begin or end the fault, and start meanwhile what it asks for."""
        folder = self._stack.pair.folder
        acting = python_process(
            "fault", "deploy.local.faults", str(folder), act, fault.name, folder=self._stack.folder
        )
        self._stack.acting = acting
        acting.start()
        begun = time.monotonic()
        while acting.running and time.monotonic() - begun < _ACT_S:
            self._stack.pair.attend()
            time.sleep(0.05)
        if acting.running or acting.exit_status != 0:
            acting.kill()
            self._say(f"  cannot {act} the fault: {acting.logged().strip()[-300:]}")

    def _keep_typed(self) -> None:
        """Let a moment pass, and keep what was typed for when this round is over."""
        typed = self._tick()
        if typed is not None:
            self._typed = typed
            self._say("  one fault at a time: your choice follows after this one")

    def _tick(self) -> str | None:
        """Let a fifth of a second pass; return what was typed. Raises Ended when the demo is over."""
        if self._is_over():
            raise Ended
        self._stack.pair.attend()
        if not self._stack.service.running:
            tail = "\n".join(self._stack.service.logged().strip().splitlines()[-10:])
            raise SystemExit(f"The service ended with status {self._stack.service.exit_status}:\n{tail}")
        gone = [] if self._broken else [one for one in self._stack.needed() if not one.running]
        for one in gone:
            self._bring_back(one)
        return self._keys.pressed(wait_s=0.2)

    def _bring_back(self, process: Process) -> None:
        """Say that a process was killed, what the service says of that, and restart it after a while.

        Raises SystemExit where it ends again as soon as it was started.
        """
        begun = time.monotonic()
        what = f"{process.name} (pid {process.pid}) {_ended(process.exit_status)}"
        if begun - self._anew_at.get(process.name, -_ANEW_S) < _AT_ONCE_S:
            raise SystemExit(
                f"{what} right after its start; the demo cannot continue. Its log: {process.log}"
            )
        self._say(f"{what}; it restarts in {_ANEW_S:.0f} s")
        self._broken = True
        said = self._watch(lambda said: said.verdict in BAD, deadline_s=_ANEW_S)
        if said is None:
            self._say(f"  mirrorwatch saw nothing within {_ANEW_S:.0f} s")
        else:
            self._say(f"  after {time.monotonic() - begun:4.1f} s mirrorwatch reports {said}")
            said = self._watch_changes(said, begun, until=begun + _ANEW_S)
        process.start()
        self._anew_at[process.name] = time.monotonic()
        self._broken = False
        self._say(f"  {process.name} restarted")
        self.wait_healthy(said)


def _ended(status: int | None) -> str:
    """Return how a process ended: by which signal, whether it died of it or ended in order, or by itself."""
    number = 0 if status is None else -status if status < 0 else status - 128  # Java's own for SIGTERM is 143
    try:
        return f"was killed ({signal.Signals(number).name})"
    except ValueError:
        return f"ended with status {status}"
