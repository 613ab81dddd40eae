"""A re-created target whose records are all sent again, whatever went back first."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Verdict
from tests.lagmon.mirror_flows import S, told
from tests.lagmon.mirrors.metadata.test_topics import Watched
from tests.lagmon.mirrors.progress.test_equal import Linked
from tests.lagmon.mirrors.progress.test_equal import busy as linked_busy


def lost(one):
    return [
        found.records
        for found in one.snapshot().findings
        if found.side == "target" and found.code == "topic_recreated"
    ]


def take_away(flow, partition):
    flow.flow.windows.reset("orders", partition)


def set_back(flow, partition):
    flow.commit(partition=partition, to=0)


def send_again(flow, *, begin=0, records=6000):
    """Let the mirror copy all of `orders` again; nothing is said to be lost while it does, nor later."""
    for copied in range(begin + 500, records + 500, 500):
        flow.now += 5 * S
        for partition in (0, 1):
            flow.target_ends["A.orders", partition] = copied
            flow.commit(partition=partition, to=copied)
        flow.run(5, poll=5)
        assert lost(flow) == []
    flow.run(60)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])


@pytest.fixture
def flow():
    """Give a flow that has copied 6,000 records of each partition of `orders`, whose mirror has stopped."""
    flow = Watched().run(60)
    flow.goes = {"other"}
    return flow.run(20)


@pytest.mark.parametrize("put_back", [take_away, set_back])
@pytest.mark.parametrize("waits_s", [0, 100])
def test_a_target_that_is_deleted_after_the_offsets_is_sent_again(flow, put_back, waits_s):
    for partition in (0, 1):
        put_back(flow, partition)
    flow.run(waits_s)  # the copy is looked at, and its id is read, for as long as the operator takes
    flow.remake_target()
    flow.run(10)
    assert lost(flow) == []
    send_again(flow)


def test_what_was_replicated_again_before_the_target_was_recreated_is_lost(flow):
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += 500
        flow.commit(partition=partition, to=500)
    flow.run(20)
    flow.remake_target()
    flow.run(10)
    assert lost(flow) == [6500, 6500]


def test_both_recreated_lose_nothing_where_the_first_new_offset_is_read_before_the_ids(flow):
    flow.remake_source()
    flow.remake_target()
    flow.now += S
    for partition in (0, 1):
        flow.write(100, partition=partition)
        flow.commit(partition=partition)
    flow.goes = {"orders", "other"}
    for _ in range(12):
        flow.run(5, poll=5)
        assert lost(flow) == []


def test_nothing_is_sent_again_as_far_as_is_known_before_the_offsets_are_read(flow):
    for partition in (0, 1):
        take_away(flow, partition)
    flow.remake_target()
    flow.poll()
    flow.flow.read_to_ms = -1
    assert lost(flow) == [6000, 6000]
    flow.flow.read_to_ms = flow.now
    assert lost(flow) == []


@pytest.mark.parametrize("polls", [0, 1])
def test_a_target_with_equal_offsets_that_is_linked_again_is_sent_again(polls):
    """Its end is where the mirror is, and is seen to have fallen before its new id is read."""
    one = Linked()
    one.poll()

    def note(topic_id):
        one.flow.note_ids("B", {"orders": topic_id}, one.now)
        one.b.note_id("orders", topic_id, one.now)

    one.go(60, each=lambda: (linked_busy(one), note("first")))
    one.target_ends = dict.fromkeys(one.target_ends, 0)
    one.go(10 * polls, each=lambda: linked_busy(one, copied=()))
    for copied in range(1000, 10_000, 1000):
        one.target_ends = {name: min(copied, end) for name, end in one.ends.items()}
        one.go(10)
        note("again")
        assert lost(one) == []
