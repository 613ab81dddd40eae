"""What a drill that fails leaves behind: nothing that the next one could meet."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from deploy.drills import listening
from deploy.drills.bringing_back import bring_back
from deploy.drills.catalogue import BY_LABEL
from deploy.drills.listening import DrillError, Listening
from deploy.drills.result import Result
from deploy.local.pair import STACK_FILE, START_FOLDER
from deploy.local.stage import Stage
from deploy.local.transform import Switch

DRILL = BY_LABEL["convert-json"]


def act(code):
    return subprocess.Popen([sys.executable, "-c", code])


class Process:
    """A process of a stack, with what was done to it."""

    def __init__(self, *, running=True):
        self.running, self.done = running, []

    def _do(self, what, *, running):
        self.running = running
        self.done.append(what)

    def thaw(self):
        self.done.append("thaw")

    def start(self):
        self._do("start", running=True)

    def restart(self):
        self._do("restart", running=True)

    def wait_ready(self):
        self.done.append("wait_ready")

    def kill(self):
        self._do("kill", running=False)


@pytest.fixture
def pair(tmp_path):
    """Give a pair of which the mirror has ended, a broker stands, and a companion runs."""
    mirror = Process(running=False)
    switch = Switch(tmp_path / "mirror.switch")
    (tmp_path / STACK_FILE).write_text(
        json.dumps({"brokers": {}, "mirror": {"pid": 0, "switch": str(switch.path)}})
    )
    switch.path.with_suffix(".properties").write_text("clusters=A, B\n")
    return SimpleNamespace(
        folder=tmp_path,
        mirror=mirror,
        brokers={"A": Process(), "B": Process(running=False)},
        companions={"second": Process()},
        attend=lambda: None,
        write_stack_file=lambda: None,
    )


@pytest.fixture
def acts(monkeypatch):
    """Note which acts are begun, each of which does nothing, badly."""
    begun = []

    def begin(_folder, fault, topic, what):
        begun.append((fault, topic, what))
        return act("raise SystemExit(1)")

    monkeypatch.setattr(listening, "begin_act", begin)
    return begun


def test_all_that_a_failed_drill_left_is_undone(pair, acts):
    stage = Stage(pair.folder)
    stage.configure({"A->B.value.converter": "org.example.Wrong"})
    stage.switch.on("drop", topics="x")
    stage.proxy_order.write_text("reset")
    (pair.folder / START_FOLDER).mkdir()
    (pair.folder / START_FOLDER / "second").touch()
    bring_back(pair, DRILL, "canary")
    assert acts == [("convert-json", "canary", "end")]
    assert (pair.folder / "mirror.properties").read_text() == "clusters=A, B\n"
    left = {path.name for path in pair.folder.rglob("*") if path.is_file()}
    assert left == {STACK_FILE, "mirror.properties"}
    assert not pair.companions["second"].running
    assert pair.brokers["B"].done[:2] == ["thaw", "start"]
    assert pair.mirror.done[-2:] == ["restart", "wait_ready"]  # with the settings that it had before


def listens(flow):
    watched = SimpleNamespace(flow=lambda: flow)
    return Listening(watched, Result("x"), DRILL, 0.0)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(listening, "ACT_S", 0.0)


def test_an_act_that_takes_too_long_does_not_go_on_with_the_next_drill(pair, impatient):
    slow = act("import time; time.sleep(60)")
    try:
        with pytest.raises(DrillError):
            listens({}).until(0.0, pair, slow, ends=lambda: False)
        assert slow.returncode is not None
    finally:
        slow.kill()
        slow.wait()


def test_an_act_that_fails_is_reported(pair):
    failing = act("raise SystemExit(1)")
    failing.wait()
    with pytest.raises(DrillError, match="could not be made to happen"):
        listens({}).until(0.0, pair, failing, ends=lambda: True)


def test_an_act_that_is_done_is_listened_to_as_long_as_reported(pair):
    done = act("")
    done.wait()
    told = listens({"verdict": "healthy", "cause": None, "events": []})
    told.until(600.0, pair, done, ends=lambda: bool(told.result.said))
    assert [said[1:] for said in told.result.said] == [("healthy", None)]
