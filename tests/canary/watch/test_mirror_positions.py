"""Which of the mirror's own offsets are proof, and that they reach the tracker with an end asked for later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.tracker.events import MirrorPassed, TargetRead
from canary.tracker.partition import ReadThrough
from canary.watch import mirror_positions
from canary.watch.mirror_positions import ID_AGE_S, MirrorPositions
from runtime.kafka.sender import Delivered
from tests.canary.pretend_link import S
from tests.canary.test_topic_changes import copy, counters, look, scene, tick  # noqa: F401 - scene is a fixture

SETTLES_S = 30.0
QUIET_S = ID_AGE_S + SETTLES_S


class Told:
    def __init__(self):
        self.positions = MirrorPositions()

    def note(self, at_s, next_offset, topic_id="one", partition=0):
        now_ns = int(at_s * S)
        self.positions.note(topic_id, {partition: next_offset}, settles_s=SETTLES_S, now_ns=now_ns)
        return self.positions.due()


def test_what_stands_when_an_id_is_first_seen_is_no_proof():
    told = Told()
    for at_s in (0, 1, QUIET_S + 1, 10 * QUIET_S):
        assert told.note(at_s, 5000) == {}


def test_what_is_written_before_offsets_of_an_older_log_would_be_is_no_proof():
    told = Told()
    told.note(0, 5000)
    assert told.note(QUIET_S - 1, 5100) == {}
    assert told.note(QUIET_S + 1, 5100) == {}


def test_what_is_written_after_that_is():
    told = Told()
    told.note(0, 5000)
    assert told.note(QUIET_S + 1, 5001) == {0: 5000}
    assert told.note(QUIET_S + 2, 5010) == {0: 5009}


def test_it_is_due_until_it_is_told_with_an_end_that_was_asked_for_after_it():
    told = Told()
    told.note(0, 5000)
    told.note(QUIET_S + 1, 5001)
    told.note(QUIET_S + 2, 5010)
    told.positions.mark_delivered(0, 5000)  # the end was asked for before the newer one came
    assert told.positions.due() == {0: 5009}
    told.positions.mark_delivered(0, 5009)
    assert told.positions.due() == {}
    assert told.note(QUIET_S + 3, 5010) == {}


def test_another_topic_id_starts_again():
    told = Told()
    told.note(0, 5000)
    told.note(QUIET_S + 1, 5001)
    assert told.note(QUIET_S + 2, 5002, "two") == {}
    assert told.note(2 * QUIET_S + 1, 5003, "two") == {}
    assert told.note(2 * QUIET_S + 3, 5004, "two") == {0: 5003}


def test_an_offset_that_goes_back_starts_again():
    told = Told()
    told.note(0, 5000)
    told.note(QUIET_S + 1, 5001)
    assert told.note(QUIET_S + 2, 10) == {}
    assert told.note(QUIET_S + 3, 6000) == {}
    assert told.note(2 * QUIET_S + 3, 6001) == {0: 6000}


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 300)), min_size=1, max_size=30))
def test_whatever_comes_only_what_is_newer_than_a_quiet_while_without_a_step_back_is_proof(steps):
    told, at_s, seen = Told(), 0, []
    for later_s, next_offset in steps:
        at_s += later_s
        seen.append((at_s, next_offset))
        due = told.note(at_s, next_offset)
        falls = [number for number in range(1, len(seen)) if seen[number][1] < seen[number - 1][1]]
        since = seen[falls[-1] if falls else 0 :]
        doubted = max(offset for then_s, offset in since if then_s <= since[0][0] + QUIET_S)
        assert due == ({0: next_offset - 1} if next_offset > doubted else {})


def test_the_newest_that_came_while_one_waited_is_settled_after_it():
    read = ReadThrough()
    assert not read.passed(100, 9)
    assert not read.passed(150, 12)
    assert not read.passed(200, 15)
    assert read.read_to(10)
    assert read.proved == 101
    assert read.read_to(15)
    assert read.proved == 201
    assert not read.read_to(20)


def test_both_are_settled_where_the_reader_is_past_both():
    read = ReadThrough()
    read.passed(100, 9)
    read.passed(200, 15)
    assert read.read_to(15)
    assert read.proved == 201


def test_a_new_log_on_the_target_takes_both_back():
    read = ReadThrough()
    read.passed(100, 9)
    read.passed(200, 15)
    read.forget_target_offsets()
    assert not read.read_to(20)
    assert read.proved == -1


@pytest.fixture
def played(scene, monkeypatch):  # noqa: F811
    """Have offsets believed after two seconds: looks at brokers, which nobody plays, come after more."""
    monkeypatch.setattr(mirror_positions, "ID_AGE_S", 1.0)
    return scene


async def proved(played, *, topic_id="one", end=1):
    """Have a probe stand on the source at offset 0, and the mirror pass it after a quiet while."""
    played.clock.advance(1)
    note = played.prober.note_positions
    note("A->B", topic_id, {0: 0}, settles_s=1.0)
    played.clock.advance(3)
    (tag, *_) = tick(played)
    played.senders[-1].sink(Delivered(tag, 0, played.clock.now_ns))
    played.prober.drain()
    played.prober.sites["B"].admin.ends["A.c", 0] = end
    note("A->B", topic_id, {0: 1}, settles_s=1.0)
    return tag


async def test_a_probe_that_the_mirror_has_passed_and_that_is_not_there_is_lost(played, monkeypatch):
    events = []
    await look(played, "A", "B")
    held = played.prober.flows["A->B"]
    handle = held.watch.handle
    monkeypatch.setattr(held.watch, "handle", lambda event, now: events.append(event) or handle(event, now))
    await proved(played)
    assert not [one for one in events if isinstance(one, MirrorPassed)]  # not before an end was asked for
    await look(played, "B")
    assert [one for one in events if isinstance(one, MirrorPassed)] == [MirrorPassed("one", 0, 0, 1)]
    assert counters(played).lost == 0
    held.watch.handle(TargetRead(0, 1, 1), played.prober._dispatch.now())
    assert counters(played).lost == 1
    await look(played, "B")
    assert len([one for one in events if isinstance(one, MirrorPassed)]) == 1


async def test_one_that_is_there_is_not(played):
    await look(played, "A", "B")
    tag = await proved(played)
    copy(played, tag, 0, "B-tap-1")
    await look(played, "B")
    assert (counters(played).lost, counters(played).good) == (0, 1)


async def test_offsets_of_another_topic_id_prove_nothing(played):
    await look(played, "A", "B")
    await proved(played, topic_id="older")
    await look(played, "B")
    played.prober.flows["A->B"].watch.handle(TargetRead(0, 1, 1), played.prober._dispatch.now())
    assert counters(played).lost == 0


async def test_offsets_of_a_flow_that_is_not_probed_are_left_alone(played):
    played.prober.note_positions("B->A", "one", {0: 5}, settles_s=1.0)
