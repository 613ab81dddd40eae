"""What the demo says in its rounds, without its processes: a stack that plays them, and a clock of its own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deploy.local.demo import show
from deploy.local.demo.service import Said
from deploy.local.demo.show import Show
from deploy.local.faults import BY_NAME

HEALTHY = Said("healthy", "", "")
LOSING = Said("losing", "filtered", "It drops records.")


class Stack:
    """Says one verdict while a fault goes on and another one after it."""

    def __init__(self, during, after, *, gone=()):
        self.during, self.after = during, after
        self.broken = False
        self.service = SimpleNamespace(running=True, says=self.says, forget=self.forget, start=lambda: None)
        self.pair = SimpleNamespace(attend=lambda: None)
        names = ("broker-A", "mirror")
        self.processes = [
            SimpleNamespace(name=name, pid=71, log=f"{name}.log", running=name not in gone) for name in names
        ]

    def says(self, _flow):
        return self.during if self.broken else self.after

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
    monkeypatch.setattr(Show, "_act", lambda _show, act, _fault: setattr(stack, "broken", act == "begin"))
    told = Show(stack, Keys(clock, typed), said.append, ends_at=None)
    for name in rounds:
        told.round(BY_NAME[name])
    return told, said


def test_a_verdict_that_stays_is_told_once(clock, monkeypatch):
    _, said = played(Stack(LOSING, LOSING), clock, monkeypatch=monkeypatch)
    assert sum("mirrorwatch says losing" in line for line in said) == 1
    assert any("lost is lost" in line for line in said)


def test_one_that_has_become_another_is_told_again(clock, monkeypatch):
    later = Said("losing", "misrouted", "It routes records.")
    _, said = played(Stack(LOSING, later), clock, monkeypatch=monkeypatch)
    assert [line.split("says ")[1] for line in said if "says" in line] == [str(LOSING), str(later)]


def test_what_is_typed_during_a_round_is_done_after_it(clock, monkeypatch):
    told, said = played(Stack(LOSING, HEALTHY), clock, typed=[None, "2"], monkeypatch=monkeypatch)
    assert sum("one thing at a time" in line for line in said) == 1
    assert told._choice(1000.0) == show.ROUNDS[1]
    assert told._choice(1000.0) == show.ROUNDS[2]  # and it is forgotten then
    assert clock.now > 1000.0


@pytest.mark.parametrize("name", ["broker-A", "mirror"])
def test_a_process_that_is_gone_ends_the_demo_unless_a_fault_goes_on(clock, monkeypatch, name):
    stack = Stack(LOSING, HEALTHY, gone=(name,))
    with pytest.raises(
        SystemExit, match=rf"{name} \(pid 71\) is gone; the demo cannot go on\. .*{name}\.log"
    ):
        Show(stack, Keys(clock), [].append, ends_at=None)._choice(10.0)
    _, said = played(stack, clock, monkeypatch=monkeypatch)
    assert any("mended" in line for line in said)
