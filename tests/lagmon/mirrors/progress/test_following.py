"""What feeds the flows: which kind each gets, whose locks it takes, and that it runs until asked to end."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest

from fleet.errors import UnavailableError
from fleet.mm2.filters import TopicFilter
from fleet.verdicts.flow import Flow
from lagmon.cluster.state import ClusterLag
from lagmon.ingest.worker_topic import WorkerTopic
from lagmon.mirrors.answers.orders import KINDS, order_of, read_mirror, write_mirror
from lagmon.mirrors.progress.connect import MirrorOffsets
from lagmon.mirrors.progress.following import EVERY_S, MirrorFollowing
from lagmon.mirrors.progress.sources import mirrors
from runtime.kafka.properties.client_settings import ClientSettings
from tests.lagmon.mirror_flows import Mirrored
from tests.runtime.fake_clock import FakeClock


def watch(alias):
    return SimpleNamespace(alias=alias, lag=ClusterLag(wanted=lambda *_: True), lock=threading.Lock())


@pytest.mark.parametrize(
    ("lag_from", "where"),
    [
        ("connect-offsets", ("B", "mm2-offsets.A.internal")),
        ("group", ("A", "__consumer_offsets")),
        ("equal-offsets", ("B", "")),
        ("offset-syncs", ("A", "mm2-offset-syncs.B.internal")),
    ],
)
def test_where_each_kind_of_progress_is(lag_from, where):
    order = order_of(Flow("A", "B"), lag_from=lag_from, group="mm1-.*" if lag_from == "group" else None)
    assert (order.offsets_cluster, order.offsets_topic) == where
    again = read_mirror(json.loads(json.dumps(write_mirror(order))))
    assert (again.lag_from, again.group, again.offsets_cluster, again.offsets_topic) == (
        lag_from,
        "mm1-.*" if lag_from == "group" else "",
        *where,
    )
    assert again.follows("mm1-x") is (lag_from == "group")


@pytest.mark.parametrize("lag_from", KINDS)
def test_only_mirrormaker_replicates_heartbeats_past_its_filter(lag_from):
    flow = Flow("A", "B", topic_filter=TopicFilter("orders"), mirror_version="4.3")
    order = order_of(flow, lag_from=lag_from, group="g" if lag_from == "group" else None)
    of_mirrormaker = lag_from in ("connect-offsets", "offset-syncs")
    assert order.flow.decide("heartbeats").replicated is of_mirrormaker
    assert order.flow.decide("orders").replicated


def test_syncs_are_where_the_flow_keeps_them():
    order = order_of(Flow("A", "B", offset_syncs_location="target"), lag_from="offset-syncs")
    assert (order.offsets_cluster, order.offsets_topic) == ("B", "mm2-offset-syncs.A.internal")


def test_each_flow_gets_what_feeds_it_with_the_locks_of_what_that_reads():
    watches = [watch(alias) for alias in "ABC"]
    kinds = [("A", "B", "group"), ("C", "A", "equal-offsets"), ("A", "C", "connect-offsets")]
    orders = SimpleNamespace(
        mirrors=tuple(
            order_of(Flow(source, target), lag_from=kind, group="g") for source, target, kind in kinds
        ),
        syncs=(),
        secrets=(),
        clients={one.alias: ClientSettings({"bootstrap.servers": "x:1"}) for one in watches},
    )
    flows, sources = mirrors(orders, watches, FakeClock())
    assert [flow.order.lag_from for flow in flows] == [kind for _, _, kind in kinds]
    following = {one.name: one for one in sources if isinstance(one, MirrorFollowing)}
    assert set(following) == {"A->B: group", "C->A: equal-offsets"}
    a, _, c = (one.lock for one in watches)
    # In the order in which the answers take them, or two threads would wait for each other.
    assert following["A->B: group"]._locks == [a]
    assert following["C->A: equal-offsets"]._locks == [a, c]
    (offsets,) = [one for one in sources if isinstance(one, MirrorOffsets)]
    assert offsets.name == "C: mm2-offsets.A.internal"
    worker = [one for one in sources if isinstance(one, WorkerTopic)]
    assert [one.name for one in worker] == ["C: mm2-status.A.internal", "C: mm2-configs.A.internal"]
    assert len(KINDS) == 4


def test_it_is_followed_again_and_again_under_the_locks_until_asked_to_end():
    clock, lock, stopping = FakeClock(), threading.Lock(), asyncio.Event()
    flow = Mirrored(lag_from="group", group="g").flow
    seen = []

    def follow(now_ms):
        seen.append((now_ms, lock.locked(), following.turn.locked()))
        if len(seen) == 3:
            stopping.set()

    following = MirrorFollowing(flow, follow, locks=[lock], clock=clock)
    asyncio.run(following.run(stopping))
    first_ms = int(clock.began_wall_s * 1000)
    assert seen == [(first_ms + number * int(EVERY_S * 1000), True, True) for number in range(3)]
    assert not lock.locked()
    assert not following.turn.locked()


def test_why_nothing_is_read_is_reported_until_it_is():
    one = Mirrored(lag_from="equal-offsets")
    following = MirrorFollowing(one.flow, lambda _: None, locks=(), clock=FakeClock())
    following.tell("B cannot be reached.")
    assert one.verdict().sentence == "B cannot be reached."
    following.tell("")
    assert one.verdict().sentence == "The logs of A and B are not polled yet."


NO_TOPIC = (
    "cluster B: it has no topic mm2-offsets.A.internal with the mirror's offsets: that was never started,"
)
NOT_KNOWN = (
    "cluster B: it is not known whether it has the topic mm2-offsets.A.internal with the mirror's offsets."
)


@pytest.mark.parametrize(
    ("topics", "said", "after_s"),
    [
        ({"orders": 1}, f"{NO_TOPIC} or it keeps them elsewhere (set flows.A->B.offsets)", 0),
        (
            {},
            f"{NOT_KNOWN} No topic of B is visible: it has none, or the principal lacks Describe on them;",
            0,
        ),
        (None, f"{NOT_KNOWN} The topics of B are not listed yet", 60),
    ],
)
def test_why_the_offsets_of_a_mirror_are_not_read_is_reported_by_what_the_cluster_has_shown(
    topics, said, after_s
):
    clock, flow = FakeClock(), Mirrored().flow
    host = ClusterLag(wanted=lambda *_: True)
    if topics is not None:
        host.note_topics(topics)
    reader = MirrorOffsets(None, [flow], host=host, lock=threading.Lock(), clock=clock)
    with pytest.raises(UnavailableError) as told:
        asyncio.run(reader.run(asyncio.Event()))
    assert str(told.value).startswith(said)
    assert clock.now_ns / 1e9 == pytest.approx(after_s, abs=1)
