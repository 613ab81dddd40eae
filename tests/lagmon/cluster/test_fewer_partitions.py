"""A topic that was made anew with fewer partitions between two lists: of those that are gone nothing is said."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Verdict
from tests.lagmon.mirror_flows import told
from tests.lagmon.mirrors.metadata.test_topics import Watched, lost


def made_anew(flow, *, ids_first):
    """Make `orders` anew with one partition, and let the newest list show that before its id or after it."""
    del flow.ends["orders", 1]
    if ids_first:
        flow.remake_source()
        flow.ask()
    flow.a.note_topics({"orders": 1, "other": 1}, flow.now)
    if not ids_first:
        flow.remake_source()
    return flow


def rows(flow):
    return [(row["topic"], row["partition"], row["reason"]) for row in flow.flow_rows()]


@pytest.mark.parametrize("ids_first", [True, False])
def test_a_source_topic_with_fewer_partitions_is_as_well_as_those_that_it_has(ids_first):
    flow = made_anew(Watched().run(60), ids_first=ids_first)
    flow.run(120)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])
    assert rows(flow) == [("orders", 0, "caught_up"), ("other", 0, "caught_up")]
    flow.copies = False
    flow.run(300)
    assert told(flow)[0] is Verdict.STALLED


def test_the_one_partition_that_is_left_and_has_no_offset_waits():
    flow = Watched(refresh_topics_interval_s=2.0)
    flow.goes = {"other"}
    flow.write(10, partition=1)
    flow.commit(partition=1)
    made_anew(flow.run(60), ids_first=False)
    flow.write(10, copied=False)
    flow.run(20)
    assert [(one.code, one.topic) for one in flow.snapshot().missing] == [("not_mirrored", "orders")]


def test_a_partition_that_is_there_again_is_followed_again():
    flow = made_anew(Watched().run(60), ids_first=False).run(120)
    flow.a.note_topics({"orders": 2, "other": 1}, flow.now)
    flow.ends["orders", 1] = 0
    flow.run(120)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])
    assert rows(flow)[1] == ("orders", 1, "caught_up")


def test_a_partition_that_only_a_group_has_committed_to_is_not_missed():
    flow = Watched(refresh_topics_interval_s=2.0).run(60)
    flow.a.places.take("orders", 5)
    flow.a.note_topics({"orders": 2, "other": 1}, flow.now)
    flow.run(120)
    assert (told(flow), len(rows(flow))) == ((Verdict.HEALTHY, None), 3)


def test_a_copy_with_fewer_partitions_lost_what_all_of_the_old_one_held():
    flow = Watched().run(60)
    flow.remake_target()
    del flow.target_ends["A.orders", 1]
    flow.b.note_topics({"A.orders": 1, "A.other": 1}, flow.now)
    flow.goes = {"other"}
    flow.run(30)
    assert [each[2:4] for each in lost(flow)] == [(0, 6000), (1, 6000)]
    assert [one.code for one in flow.snapshot().missing] == ["partition_missing"]
