"""Where the taps begin for what earlier processes left, and what is told where that place is gone."""

from types import SimpleNamespace

import pytest

from canary.persistence.inherited import InheritedState, Place, Unfinished, earliest
from canary.site.start_offsets import StartOffsets, deliver_first_seen, deliver_gaps, find_start_offsets
from canary.site.topics import TopicChange
from canary.tracker.events import Coverage, TargetGap, TargetReplaced, TopicReplaced
from runtime.kafka.admin import TopicDescription


def coverage(partition=0, source_from=40, target_from=30, topic_id="one"):
    return Coverage("aa", topic_id, partition, (), (), source_from, target_from)


def inherited(*coverages, begun_at=1000.0, known="there"):
    return InheritedState(left={"aa": Unfinished(begun_at, tuple((known, one) for one in coverages))})


@pytest.mark.parametrize(
    ("left", "source", "target"),
    [
        (inherited(coverage()), Place(40), Place(30)),
        (inherited(coverage(topic_id="older")), Place(None, 1000.0), Place(30)),
        (inherited(coverage(), known=""), Place(40), Place(30)),
        (inherited(coverage(), known="another"), Place(40), Place(0)),  # the target was made anew since
        (inherited(coverage(partition=1)), Place(None, 1000.0), Place(None, 1000.0)),
        (inherited(), Place(None, 1000.0), Place(None, 1000.0)),  # it died before it kept anything
        (InheritedState(), Place(), Place()),
    ],
)
def test_a_tap_begins_where_something_may_stand_that_is_not_covered(left, source, target):
    assert left.source_place("one", 0) == source
    assert left.target_place("there", 0) == target


def test_of_several_the_earliest_serves_all():
    assert earliest([Place(5), Place(None, 7.0), Place(3, 9.0), Place()]) == Place(3, 7.0)
    assert earliest([]) == Place()


class Admin:
    def __init__(self, since, starts):
        self.since, self.starts, self.asked_ms = since, starts, None

    async def offsets_since(self, _topic, partitions, *, at_ms):
        self.asked_ms = at_ms
        return dict.fromkeys(partitions, self.since)

    async def start_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, self.starts)


def scene(*, since=90, starts=0, left=None, read=()):
    held = SimpleNamespace(flow=SimpleNamespace(name="A->B"), watch=SimpleNamespace(inherited=left))
    told = []
    dispatch = SimpleNamespace(
        by_source={"A": [held]},
        by_target={("B", "A.c"): [held]},
        running={"A->B": held},
        deliver_to_flow=lambda _held, event: told.append(event),
    )
    sites = {
        alias: SimpleNamespace(
            alias=alias, admin=Admin(since, starts), reader=SimpleNamespace(positions=dict.fromkeys(read))
        )
        for alias in "AB"
    }
    return SimpleNamespace(sites=sites, dispatch=dispatch, told=told)


def first(name, topic_id, partitions=1):
    return TopicChange(name, None, TopicDescription(name, topic_id, tuple([1] * partitions)))


async def ask(found, alias, change):
    return await find_start_offsets(found.sites[alias], change, found.dispatch, topic="c", since_at=5000.0)


async def test_without_anything_left_it_is_a_minute_before_it_was_wanted():
    found = scene(left=InheritedState())
    assert await ask(found, "A", first("c", "one", 2)) == StartOffsets({("c", 0): 90, ("c", 1): 90})
    assert found.sites["A"].admin.asked_ms == 4_940_000


async def test_what_was_left_comes_before_that_on_both_sides():
    found = scene(left=inherited(coverage()))
    assert (await ask(found, "A", first("c", "one"))).places == {("c", 0): 40}
    assert (await ask(found, "B", first("A.c", "there"))).places == {("A.c", 0): 30}


async def test_where_no_place_is_known_the_time_of_its_beginning_is():
    found = scene(left=inherited())
    await ask(found, "A", first("c", "one"))
    assert found.sites["A"].admin.asked_ms == 940_000


async def test_a_target_that_deleted_what_was_not_read_is_told():
    found = scene(left=inherited(coverage()), starts=31)
    gone = await ask(found, "B", first("A.c", "there"))
    assert gone.gaps == (("A->B", 0),)
    deliver_gaps(gone, found.dispatch, now_ns=7)
    assert found.told == [TargetGap(0, 7)]
    assert (await ask(scene(left=inherited(coverage()), starts=30), "B", first("A.c", "there"))).gaps == ()


async def test_partitions_that_come_later_begin_at_their_beginning():
    found = scene(left=inherited(coverage()), read=[("c", 0)])
    before = TopicDescription("c", "one", (1,))
    after = TopicChange("c", before, TopicDescription("c", "one", (1, 1)))
    assert await ask(found, "A", after) == StartOffsets({("c", 1): 0})


def test_topics_that_were_recreated_while_no_one_looked_are_told():
    found = scene(left=inherited(coverage(topic_id="older")))
    deliver_first_seen(found.sites["A"], first("c", "one"), found.dispatch, topic="c", now_ns=7)
    deliver_first_seen(found.sites["B"], first("A.c", "another"), found.dispatch, topic="c", now_ns=8)
    assert found.told == [TopicReplaced("older", 7, "one"), TargetReplaced(8)]
    same = scene(left=inherited(coverage()))
    deliver_first_seen(same.sites["A"], first("c", "one"), same.dispatch, topic="c", now_ns=7)
    deliver_first_seen(same.sites["B"], first("A.c", "there"), same.dispatch, topic="c", now_ns=8)
    assert same.told == []
