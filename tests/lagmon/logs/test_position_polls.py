"""A topic that is made anew while a look at its cluster is under way, or between two of them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from fleet.wire.commits import MemberAssigned, MemberDescribed
from lagmon.cluster.given_names import ASKED_AT_ONCE
from lagmon.cluster.late_ids import in_time
from lagmon.cluster.state import ClusterLag
from lagmon.ingest.commits import TOPIC
from lagmon.logs.position_polls import PositionPolls
from runtime.kafka.positions import Listed, Which
from tests.runtime.fake_clock import FakeClock


class Cluster:
    """Tells of one topic; `during` are called between an answer and our taking it."""

    cluster_id = "x"

    def __init__(self):
        self.end, self.start, self.id, self.during = 10_000, 4_000, "one", {}
        self.others, self.asked = {}, []  # further topics with their ids, and what was asked for
        self.read_of = []

    def topics(self):
        return {name: Listed(name, (1,)) for name in (TOPIC, "t", *self.others)}

    def read(self, asked, which):
        self.read_of.append((asked, which))
        told = {Which.END: self.end, Which.STABLE: self.end, Which.START: self.start}[which]
        self._answered(which)
        return [told if topic == "t" else 0 for topic, _ in asked]

    def ids(self, topics):
        told = {topic: self.id for topic in topics if topic == "t"}
        if told:
            self._answered("ids")
        self.asked.append(list(topics))
        return told | {topic: self.others[topic] for topic in topics if topic in self.others}

    def _answered(self, what):
        self.during.pop(what, lambda: None)()


class Life:
    def __init__(self):
        self.clock, self.cluster = FakeClock(), Cluster()
        self.lag = ClusterLag(wanted=lambda *_: True)
        self.lag.begin_commits(1)
        self.looks = PositionPolls("B", self.lag, threading.Lock(), clock=self.clock)
        self.look()
        slot = self.lag.slots.take("g", self.place)
        assert self.lag.slots.place[slot] == self.place
        for _ in range(6):  # so that the next one is not one of those that look at everything
            self.look()

    @property
    def now_ms(self):
        return int(self.clock.wall_s() * 1000)

    @property
    def place(self):
        return self.lag.places.of("t")[0]

    @property
    def known(self):
        heads = self.lag.heads
        return tuple(int(one[self.place]) for one in (heads.start, heads.end, heads.stable))

    def look(self):
        self.clock.advance(10)
        self.looks.look(self.cluster, None)

    def make_anew(self):
        self.cluster.end, self.cluster.start, self.cluster.id = 3, 0, "two"

    def make_anew_and_note(self):
        """Another one that asks for ids is the first to see it."""
        self.make_anew()
        self.clock.advance(0.2)
        assert self.lag.note_id("t", "two", self.now_ms)
        self.clock.advance(0.2)


def test_a_log_that_ends_before_its_start_is_another_one_and_start_and_id_are_read_at_once():
    life = Life()
    assert life.known == (4_000, 10_000, 10_000)
    life.make_anew()
    life.look()
    assert life.lag.ids["t"] == "two"
    assert life.known == (0, -1, -1)  # its end was read before that was known
    life.look()
    assert life.known == (0, 3, 3)


def test_an_end_that_fell_above_its_start_may_be_of_another_log_too():
    life = Life()
    life.make_anew()
    life.cluster.end = 5_000
    life.look()
    assert life.lag.ids["t"] == "two"
    life.look()
    assert life.known == (0, 5_000, 5_000)


def test_while_the_topics_are_the_same_their_partitions_are_asked_for_by_the_same_object():
    life = Life()

    def ends():
        found = [asked for asked, which in life.cluster.read_of if which is Which.END]
        life.cluster.read_of.clear()
        return found

    first, *further = ends()
    assert len(further) == 6  # with a second list among them
    assert all(one is first for one in further)
    life.cluster.others["new"] = "three"
    for _ in range(6):
        life.look()
    assert len({id(one) for one in ends()}) == 2
    assert life.lag.heads.end[life.lag.places.of("new")].tolist() == [0]


@pytest.mark.parametrize("which", [Which.END, Which.STABLE, Which.START])
def test_what_the_old_log_answered_is_not_taken_for_the_new_one(which):
    life = Life()
    for _ in range(5):
        life.look()  # the next one looks at starts
    life.cluster.during[which] = life.make_anew_and_note
    life.look()
    assert life.known == (-1 if which is Which.START else 0, -1, -1)
    life.look()
    assert life.known[1:] == (3, 3)


def test_an_old_id_that_comes_after_the_new_one_does_not_count():
    life = Life()
    for _ in range(5):
        life.look()
    life.cluster.during["ids"] = life.make_anew_and_note
    life.look()
    assert life.lag.ids["t"] == "two"
    assert not life.lag.note_id("t", "two", life.now_ms)


def test_ids_are_in_time_that_were_asked_for_since_the_last_change_or_tell_of_none():
    life = Life()
    life.make_anew_and_note()
    at_ms = life.lag.marks([life.place])[0][0]
    assert in_time(life.lag, {"t": "one", "new": "n"}, at_ms) == {"new": "n"}
    assert in_time(life.lag, {"t": "two"}, at_ms) == {"t": "two"}
    assert in_time(life.lag, {"t": "three"}, at_ms + 1) == {"t": "three"}


def test_places_are_released_all_at_once():
    released = []
    lag = ClusterLag(wanted=lambda *_: True)
    lag.note_topics({f"t{number}": 2 for number in range(50)})
    lag.places._release = released.append
    lag.note_topics({"t0": 2})
    assert [len(one) for one in released] == [98]
    assert len(np.unique(released[0])) == 98


def test_where_mirrors_have_to_hear_of_ids_first_they_are_told_by_who_tells_them():
    life, told = Life(), []
    life.looks.note_ids = lambda ids, asked_ms: told.append((ids, asked_ms))
    life.cluster.id, life.cluster.start, life.cluster.end = "two", 0, 3
    life.look()
    assert told == [({"t": "two"}, life.now_ms)]
    assert life.lag.ids["t"] == "one"


def given_by_id(life, *ids):
    membership = life.lag.membership
    membership.take(MemberDescribed("g", "m", None, "m", "/10.0.0.1", (), None))
    membership.take(MemberAssigned("g", "m", tuple((one, (0,)) for one in ids)))


def test_what_members_were_given_by_id_gets_its_name_also_where_nobody_commits():
    life = Life()
    life.cluster.others = {f"u{number:03d}": f"id {number}" for number in range(ASKED_AT_ONCE + 50)}
    for _ in range(12):
        life.look()
    always = {TOPIC, "t"}  # the others only where anybody was given them
    assert {topic for asked in life.cluster.asked for topic in asked} == always
    given_by_id(life, "one", "id 530")
    life.cluster.asked.clear()
    for _ in range(12):
        life.look()
    assert [len(one) for one in life.cluster.asked if len(one) > 2] == [ASKED_AT_ONCE, 50]
    assert set(life.lag.membership.owners("g")) == {("t", 0), ("u530", 0)}
    assert life.lag.ids.keys() == {"t"}  # of the others it is not kept which they are
    life.cluster.asked.clear()
    for _ in range(12):
        life.look()
    assert {topic for asked in life.cluster.asked for topic in asked} == always
    given_by_id(life, "id nobody has")
    for _ in range(12):
        life.look()
    assert life.lag.membership.names.keys() == {"one"}
    assert max(map(len, life.cluster.asked)) == ASKED_AT_ONCE
