"""What the demo says in its rounds, without its processes: a stack that plays them, and a clock of its own."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from deploy.local.demo import show
from deploy.local.demo.service import Said
from deploy.local.demo.show import Show
from deploy.local.faults import BY_NAME

HEALTHY = Said("healthy", "", "")
LOSING = Said("losing", "filtered", "It drops records.")
STALLED = Said("stalled", "mirror_down", "No partition moves.")


class Stack:
    """Says one verdict while a fault goes on and another one after it."""

    def __init__(self, during, after, *, gone=(), status=None, stays=True):
        self.during, self.after = during, after
        self.broken = False
        self.monitoring = SimpleNamespace(prometheus="", firing=list)
        self.service = SimpleNamespace(running=True, says=self.says, forget=self.forget, start=lambda: None)
        self.pair = SimpleNamespace(attend=lambda: None)
        names = ("broker-A", "mirror")
        self.processes = [
            SimpleNamespace(
                name=name, pid=71, log=f"{name}.log", running=name not in gone, exit_status=status
            )
            for name in names
        ]
        self.started = []
        self.mend = lambda: None
        for one in self.processes:
            one.start = partial(self.start, one, stays=stays)

    def start(self, process, *, stays=True):
        process.running = stays
        self.started.append((process.name, show.time.monotonic()))

    def start_all(self):
        for one in self.processes:
            one.running = True

    def says(self, _flow):
        away = not all(one.running for one in self.processes)
        return self.during if self.broken or away else self.after

    def forget(self):
        self.after = HEALTHY

    def needed(self):
        return self.processes


class Keys:
    terminal = True

    def __init__(self, clock, typed=()):
        self.clock, self.typed = clock, list(typed)

    def pressed(self, *, wait_s):
        self.clock.now += wait_s
        return self.typed.pop(0) if self.typed else None


@pytest.fixture
def clock(monkeypatch):
    found = SimpleNamespace(now=100.0)
    found.monotonic = lambda: found.now
    monkeypatch.setattr(show, "time", found)
    return found


def played(stack, clock, *, typed=(), rounds=("drop-some",), monkeypatch):
    said = []

    def act(_show, act, _fault):
        stack.broken = act == "begin"
        if act == "end":
            stack.mend()

    monkeypatch.setattr(Show, "_act", act)
    told = Show(stack, Keys(clock, typed), said.append, is_over=bool)
    for name in rounds:
        told.round(BY_NAME[name])
    return told, said


def test_a_verdict_that_stays_is_reported_once(clock, monkeypatch):
    _, said = played(Stack(LOSING, LOSING), clock, monkeypatch=monkeypatch)
    assert sum("mirrorwatch reports losing" in line for line in said) == 1
    assert any("after its last evidence" in line for line in said)


def test_one_that_has_become_another_is_reported_again(clock, monkeypatch):
    later = Said("losing", "misrouted", "It routes records.")
    _, said = played(Stack(LOSING, later), clock, monkeypatch=monkeypatch)
    assert [line.split("reports ")[1] for line in said if "reports" in line] == [str(LOSING), str(later)]


def test_what_is_typed_during_a_round_is_done_after_it(clock, monkeypatch):
    told, said = played(Stack(LOSING, HEALTHY), clock, typed=[None, "2"], monkeypatch=monkeypatch)
    assert sum("one fault at a time" in line for line in said) == 1
    assert told._choice(1000.0) == show.ROUNDS[1]
    assert told._choice(1000.0) == show.ROUNDS[2]  # and it is forgotten then
    assert clock.now > 1000.0


def test_an_interrupt_that_was_heard_ends_a_round(clock, monkeypatch):
    monkeypatch.setattr(Show, "_act", lambda *_: None)
    told = Show(Stack(LOSING, HEALTHY), Keys(clock), [].append, is_over=lambda: clock.now > 103)
    with pytest.raises(show.Ended):
        told.round(BY_NAME["drop-some"])
    assert clock.now < 104


def show_with(stack, clock):
    said = []
    return Show(stack, Keys(clock), said.append, is_over=bool), said


@pytest.mark.parametrize("name", ["broker-A", "mirror"])
@pytest.mark.parametrize(
    ("status", "how"),
    [
        (-9, "was killed (SIGKILL)"),
        (143, "was killed (SIGTERM)"),
        (1, "ended with status 1"),
    ],
)
def test_what_someone_kills_is_reported_and_started_again_half_a_minute_later(clock, name, status, how):
    stack = Stack(STALLED, HEALTHY, gone=(name,), status=status)
    told, said = show_with(stack, clock)
    assert told._choice(1000.0) == show.ROUNDS[0]
    assert said[0] == f"{name} (pid 71) {how}; it restarts in 30 s"
    assert "mirrorwatch reports stalled (mirror_down)" in said[1]
    assert said[2:4] == [f"  {name} restarted", "  A->B is healthy already"]
    assert said[4].startswith(f"Next is {show.ROUNDS[0]} in 1000 s")
    assert stack.started == [(name, pytest.approx(130.0, abs=0.5))]
    assert clock.now == pytest.approx(1130.0, abs=0.5)  # the whole of the wait comes after that


def test_what_is_gone_while_a_fault_goes_on_belongs_to_the_fault(clock, monkeypatch):
    stack = Stack(LOSING, HEALTHY, gone=("mirror",))
    stack.mend = stack.start_all
    _, said = played(stack, clock, monkeypatch=monkeypatch)
    assert any("fault ended" in line for line in said)
    assert not any("anew" in line for line in said)


def test_what_ends_again_as_soon_as_it_was_started_ends_the_demo(clock):
    stack = Stack(STALLED, HEALTHY, gone=("mirror",), status=1, stays=False)
    told, _ = show_with(stack, clock)
    with pytest.raises(
        SystemExit, match=r"mirror \(pid 71\) ended with status .*cannot continue\. .*mirror\.log"
    ):
        told._choice(1000.0)
    assert len(stack.started) == 1


def test_it_may_be_killed_again_later(clock):
    stack = Stack(STALLED, HEALTHY, gone=("mirror",), status=-9)
    told, said = show_with(stack, clock)
    told._choice(60.0)
    stack.processes[1].running = False
    told._choice(60.0)
    assert sum("it restarts in" in line for line in said) == 2
