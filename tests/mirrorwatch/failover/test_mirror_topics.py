"""Topics that are read on and on: the same as read whole, whatever happens to them in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import UnavailableError
from fleet.verdicts.flow import Flow
from lagmon.failover.readiness import Checkpoint
from lagmon.mirrors.answers.orders import order_of
from lagmon.syncs.pairs import SyncPair
from mirrorwatch.failover.mirror_topics import MirrorTopics
from tests.mirrorwatch.failover.cluster import FakeCluster, checkpoint, progress, sync

ORDER = order_of(Flow("A", "B", mirror_version="4.3"))
PLACES = st.tuples(st.sampled_from(("orders", "wide")), st.integers(0, 1))
CHECKPOINTS = st.builds(
    lambda group, place, offset, gone: (
        (checkpoint(group, *place, offset, offset)[0], None)
        if gone
        else checkpoint(group, *place, offset, offset)
    ),
    st.sampled_from("gh"),
    PLACES,
    st.integers(0, 99),
    st.booleans(),
)
SYNCS = st.builds(lambda place, step: sync(*place, step, step), PLACES, st.integers(0, 99))
OFFSETS = st.builds(lambda place, offset: progress(*place, offset), PLACES, st.integers(0, 99))
TOPICS = {"checkpoints": "A.checkpoints.internal", "syncs": "mm2-offset-syncs.B.internal"}


def clusters(checkpoints=(), syncs=(), offsets=()):
    source = FakeCluster("A", records={TOPICS["syncs"]: [*syncs]})
    target = FakeCluster(
        "B", records={TOPICS["checkpoints"]: [*checkpoints], "mm2-offsets.A.internal": [*offsets]}
    )
    return source, target


def read(mirror, source, target):
    mirror.read_checkpoints(target, target.topics())
    topics = {"A": source.topics(), "B": target.topics()}
    mirror.read_progress({"A": source, "B": target}, topics, now_ms=2_000)
    return mirror


@given(st.lists(CHECKPOINTS), st.lists(SYNCS), st.lists(OFFSETS), st.integers(0, 30))
def test_read_in_two_parts_it_is_the_same_as_read_whole(checkpoints, syncs, offsets, first):
    whole = read(MirrorTopics(ORDER), *clusters(checkpoints, syncs, offsets))
    parts = read(MirrorTopics(ORDER), *clusters(checkpoints[:first], syncs[:first], offsets[:first]))
    read(parts, *clusters(checkpoints, syncs, offsets))
    assert parts.checkpoints == whole.checkpoints
    assert parts.pairs == whole.pairs
    assert parts.replicated == whole.replicated


def test_a_recreated_topic_begins_again():
    mirror = read(
        MirrorTopics(ORDER),
        *clusters(
            [checkpoint("g", "orders", 0, 5, 5), checkpoint("h", "orders", 0, 5, 5)],
            [sync("orders", 0, 0, 0), sync("orders", 0, 9, 9)],
        ),
    )
    read(mirror, *clusters([checkpoint("h", "orders", 0, 7, 6)], [sync("orders", 0, 12, 3)]))
    assert mirror.checkpoints == {("h", ("orders", 0)): Checkpoint(7, 6, 1000)}
    assert [(one.era, one.number, one.upstream) for one in mirror.pairs["orders", 0]] == [
        (0, 0, 0),
        (0, 1, 9),
        (1, 0, 12),
    ]


def test_kept_pairs_hold_though_the_topic_is_read_in_batches():
    syncs = [sync("orders", 0, 10 * step, 10 * step) for step in range(30)]
    kept = {("orders", 0): [SyncPair(3, number, 10 * number, 10 * number, 0) for number in (5, 25)]}
    mirror = read(MirrorTopics(ORDER, kept=kept), *clusters(syncs=syncs))
    found = mirror.pairs["orders", 0]
    assert [(one.era, one.number) for one in found] == [(3, 5), *((3, number) for number in range(25, 30))]


def test_a_read_that_fails_on_its_way_goes_on_later():
    source, target = clusters(syncs=[sync("orders", 0, 10 * step, 10 * step) for step in range(10)])
    mirror, source.breaks = MirrorTopics(ORDER, kept={("orders", 0): [SyncPair(0, 8, 80, 80, 0)]}), True
    with pytest.raises(UnavailableError):
        read(mirror, source, target)
    source.breaks = False
    assert [one.number for one in read(mirror, source, target).pairs["orders", 0]] == [8, 9]


def test_many_pairs_are_thinned_and_the_ends_stay():
    syncs = [sync("orders", 0, 10 * step, 10 * step) for step in range(600)]
    found = read(MirrorTopics(ORDER), *clusters(syncs=syncs)).pairs["orders", 0]
    assert len(found) < 300
    assert (found[0].upstream, found[-1].upstream) == (0, 5990)


def test_what_is_malformed_is_left_out():
    mirror = read(
        MirrorTopics(ORDER),
        *clusters([(b"\xff", b"?")], [(None, None), sync("orders", 0, 1, 1)], [(b"[]", b"{}")]),
    )
    assert (mirror.checkpoints, mirror.replicated) == ({}, {("orders", 0): 2})
