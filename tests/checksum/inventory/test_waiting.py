"""How long a plan waits for the mirror, and what it has seen then."""

from __future__ import annotations

import asyncio

import pytest

from checksum.anchors.reading import Side
from checksum.inventory.waiting import TargetEnds, WaitPolicy, wait_for_mirror
from checksum.plan.due import Due
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_mirror import Mirrored

PLACES = [("t", 0), ("t", 1)]
LONGEST_S = 40.0


class Scene:
    """Two partitions, their mirrors, a clock that a wait moves on, and what happens at each step of it."""

    def __init__(self, *steps):
        self.mirrors = {place: Mirrored() for place in PLACES}
        for one in self.mirrors.values():
            one.write(50)
            one.copy(40)
            one.flush()
        self.source = Side(
            PretendReader({place: one.source for place, one in self.mirrors.items()}), {"t": "t"}, frozenset()
        )
        target = {("A.t", number): one.target for (_, number), one in self.mirrors.items()}
        self.target = Side(PretendReader(target), {"t": "A.t"}, frozenset())
        self.steps = list(steps)
        self.now_ns = 0
        self.said = []
        self.seen = {place: len(one.pairs) for place, one in self.mirrors.items()}

    def monotonic_ns(self):
        return self.now_ns

    async def sleep(self, for_s):
        self.now_ns += int(for_s * 1e9)
        if self.steps:
            self.steps.pop(0)(self)

    def reached(self, place):
        return self.mirrors[place].pairs[-1].upstream + 1

    async def poll(self):
        new = {place for place, one in self.mirrors.items() if len(one.pairs) > self.seen[place]}
        self.seen = {place: len(one.pairs) for place, one in self.mirrors.items()}
        return frozenset(new)

    def wait(self, progress=None, *, verified=()):
        wait_policy = WaitPolicy(LONGEST_S, self, self.said.append, self.sleep)
        return asyncio.run(
            wait_for_mirror(
                PLACES,
                self.source,
                self.target,
                progress=progress or self,
                verified=dict(verified),
                wait_policy=wait_policy,
            )
        )

    @property
    def waited_s(self):
        return self.now_ns / 1e9


def copies(*numbers):
    def step(scene):
        for number in numbers:
            scene.mirrors["t", number].copy()
            scene.mirrors["t", number].flush()

    return step


def marks_and_copies(scene):
    for one in scene.mirrors.values():
        one.copy()
        one.flush()
        one.write(5)  # after the ends were read: not due


def test_a_mirror_that_passes_what_was_there_ends_the_wait_with_its_next_flush():
    scene = Scene(lambda _: None, marks_and_copies)
    found = scene.wait()
    assert scene.waited_s == 4.0  # two polls
    assert found["t", 0] == Due(50, 40, passed=True, others=True, waited_s=4.0)
    assert scene.said == ["Waiting up to 40 s for MirrorMaker to replicate 2 partitions."]


def test_a_partition_that_the_mirror_does_not_pass_takes_the_whole_time():
    scene = Scene(copies(1))
    found = scene.wait()
    assert scene.waited_s == LONGEST_S
    assert found["t", 0] == Due(50, 40, passed=False, others=True, waited_s=LONGEST_S)
    assert (found["t", 1].passed, found["t", 1].others) == (True, False)


def test_a_mirror_that_writes_nothing_shows_no_life():
    scene = Scene()
    assert {one.others for one in scene.wait().values()} == {False}
    assert scene.waited_s == LONGEST_S


@pytest.mark.parametrize("benign", ["markers", "verified", "empty"])
def test_nothing_is_waited_for_where_nothing_is_owed(benign):
    scene, verified = Scene(), {}
    for place, one in scene.mirrors.items():
        if benign == "markers":
            one.copy()
            one.flush()
            one.mark()
            one.mark()
        elif benign == "verified":
            verified[place] = 50
        else:
            one.expire(source=50)
    found = scene.wait(verified=verified)
    assert (scene.waited_s, scene.said) == (0.0, [])
    assert found["t", 0].source_until == scene.mirrors["t", 0].source.end


def test_equal_offsets_are_passed_by_the_target_s_end():
    scene = Scene(copies(0, 1))
    found = scene.wait(TargetEnds(PLACES, scene.target, equal=True))
    assert scene.waited_s == 2.0
    assert found["t", 0] == Due(50, 40, passed=True, others=True, waited_s=2.0)


def test_without_offset_syncs_the_target_s_ends_show_that_the_mirror_lives_and_no_more():
    scene = Scene(copies(1))
    found = scene.wait(TargetEnds(PLACES, scene.target, equal=False))
    assert scene.waited_s == LONGEST_S
    assert (found["t", 0].passed, found["t", 0].others) == (False, True)
    assert (found["t", 1].passed, found["t", 1].others) == (False, False)


def test_the_wait_asks_for_a_record_behind_the_newest_pair_once_for_each_step_of_it():
    scene = Scene()
    scene.wait()
    assert scene.source.reader.picked == len(PLACES)
