"""Where the prober doubts itself, and where it does not let itself be blamed for a cluster's fault."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.doubt import Doubts
from canary.events import Impaired, Restored
from fleet.evidence import Control
from tests.runtime.fake_clock import FakeClock


@pytest.fixture
def scene():
    flow = SimpleNamespace(name="A->B", source="A", target="B", target_topic="A.c")
    target = SimpleNamespace(
        alias="B",
        reader=SimpleNamespace(silent_s=0.0),
        control=SimpleNamespace(control=Control.OK),
        refused={},
    )
    told = []
    doubts = Doubts(
        [SimpleNamespace(flow=flow)],
        {"A": SimpleNamespace(alias="A"), "B": target},
        clock=FakeClock(),
        tell=lambda _held, event: told.append(event),
    )
    return SimpleNamespace(doubts=doubts, target=target, told=told)


def kinds(scene):
    return [type(event) for event in scene.told]


def test_nothing_is_said_while_all_is_well(scene):
    for _ in range(5):
        scene.doubts.look(0.01)
    assert scene.told == []


def test_a_loop_that_stood_still_is_told_once_and_taken_back(scene):
    scene.doubts.look(1.5)
    scene.doubts.look(1.5)
    scene.doubts.look(0.0)
    assert kinds(scene) == [Impaired, Restored]
    assert "event loop stood still for 1.5 s" in scene.told[0].sentence


def test_a_silent_reader_is_told(scene):
    scene.target.reader.silent_s = 4.0
    scene.doubts.look(0.0)
    assert "its reader of B has not run for 4 s" in scene.told[0].sentence


@pytest.mark.parametrize(("position", "words"), [(5, "stands at offset 5 of"), (-1, "has not begun with")])
def test_a_reader_that_stands_while_the_partition_goes_on(scene, position, words):
    for end in (10, 11, 12):
        scene.doubts.look(0.0)
        assert scene.told == []
        scene.doubts.compare("B", "A.c", 0, position=position, end=end)
    scene.doubts.compare("B", "A.c", 0, position=position, end=13)
    scene.doubts.look(0.0)
    assert words in scene.told[0].sentence
    scene.doubts.compare("B", "A.c", 0, position=13, end=13)
    scene.doubts.look(0.0)
    assert kinds(scene) == [Impaired, Restored]


def test_a_reader_at_the_end_of_a_quiet_partition_is_well(scene):
    for _ in range(9):
        scene.doubts.compare("B", "A.c", 0, position=10, end=10)
        scene.doubts.look(0.0)
    assert scene.told == []


def test_a_cluster_that_is_down_is_no_fault_of_the_reader(scene):
    for _ in range(5):
        scene.doubts.compare("B", "A.c", 0, position=1, end=2)
    scene.target.control.control = Control.FAILING
    scene.doubts.look(0.0)
    assert scene.told == []


def test_a_topic_made_anew_begins_without_doubts(scene):
    for _ in range(5):
        scene.doubts.compare("B", "A.c", 0, position=1, end=2)
    scene.doubts.note_refusal("B", "A.c", "no")
    scene.doubts.forget("B", "A.c")
    scene.doubts.look(0.0)
    assert scene.told == []


@pytest.mark.parametrize("way", ["tap", "description"])
def test_what_may_not_be_read_is_not_blamed_on_the_mirror(scene, way):
    if way == "tap":
        scene.doubts.note_refusal("B", "A.c", "read it is forbidden")
    else:
        scene.target.refused["A.c"] = "read it is forbidden"
    scene.doubts.look(0.0)
    assert "it is not allowed to see A.c on B: read it is forbidden" in scene.told[0].sentence
    scene.doubts.clear_refusal("B", "A.c")
    scene.target.refused.clear()
    scene.doubts.look(0.0)
    assert kinds(scene) == [Impaired, Restored]
