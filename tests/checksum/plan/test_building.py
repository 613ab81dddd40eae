"""Which topics a plan is about, what it costs, and what a person is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum.plan.building import (
    NamedIn,
    PlanRules,
    TopicFound,
    build_plan,
    bytes_to_read,
    check_max_bytes,
    chosen_topics,
    missing_on_one_side,
)
from checksum.plan.plan_text import plan_lines
from checksum.plan.shape import Anchored, LeftOut, OffsetRange, PartitionPlan, Run
from fleet.errors import ConfigurationError
from fleet.mm2.filters import TopicFilter
from fleet.verdicts.flow import Flow

FLOW = Flow("A", "B", mirror_version="4.3", topic_filter=TopicFilter(include="orders.*, bills"))
NAMES = ["orders", "orders-eu", "bills", "secret", "B.back", "__consumer_offsets", "mm2-configs.A.internal"]


def partition(number, source, target, *, runs=()):
    return PartitionPlan(number, OffsetRange(*source), OffsetRange(*target), runs, (), Anchored.OFFSET_SYNCS)


def found(topic="orders", **others):
    held = {
        "target_topic": f"A.{topic}",
        "source_topic_id": "S1",
        "target_topic_id": "T1",
        "headers": True,
        "target_stamps": False,
        "compacted": False,
        "record_bytes": 200,
        "partitions": (partition(0, (0, 1000), (0, 900), runs=(Run(0, 500, 0),)),),
    }
    return TopicFound(topic, **{**held, **others})


def plan(*topics, left_out=(), **rules):
    return build_plan(FLOW, topics, left_out, rules=PlanRules(**rules), made_at_ms=1)


def test_all_is_what_the_flow_mirrors():
    assert chosen_topics(FLOW, NAMES, None) == {
        "orders": "A.orders",
        "orders-eu": "A.orders-eu",
        "bills": "A.bills",
    }


def test_patterns_match_whole_names_and_several_may_name_one_topic():
    assert list(chosen_topics(FLOW, NAMES, ["orders"])) == ["orders"]
    assert list(chosen_topics(FLOW, NAMES, ["orders-.*", "orders-eu", "bills"])) == ["bills", "orders-eu"]


@pytest.mark.parametrize(
    ("patterns", "sentence"),
    [
        ([], "no topics named; use checksum.topics, --topic, or --all for every replicated topic"),
        (["order"], "no topic on A matches 'order'; a pattern must match the whole name"),
        (["secret"], "secret on A is not mirrored A->B because"),
        (["B.*"], "B.back on A is never mirrored A->B because its name shows that it came from B"),
        (["secret|B.*"], "matches 2 topics on A, but A->B replicates none: B.back, secret"),
        (["("], "'\\('"),
        (["orders", "secret"], "secret on A is not mirrored"),
    ],
)
def test_what_is_not_mirrored_cannot_be_compared(patterns, sentence):
    with pytest.raises(ConfigurationError, match=sentence) as refused:
        chosen_topics(FLOW, NAMES, patterns)
    assert str(refused.value).startswith("the command line: --topic: ")


@pytest.mark.parametrize("patterns", [[], ["order"], ["("]])
def test_what_the_configuration_names_wrongly_is_told_by_its_place(patterns):
    with pytest.raises(ConfigurationError) as refused:
        chosen_topics(FLOW, NAMES, patterns, named_in=NamedIn("mw.yaml", "checksum.topics"))
    assert str(refused.value).startswith("mw.yaml: checksum.topics: ")


def test_what_has_no_partner_is_left_out_with_its_records():
    def left_out(partitions):
        held = {"flow": FLOW, "records": {0: 5, 1: 7, 2: 0}, "beyond": {}}
        return missing_on_one_side("t", "A.t", partitions=partitions, **held)

    assert left_out(3) == []
    assert [(one.partition, one.records) for one in left_out(None)] == [(None, 12)]
    assert [(one.partition, one.records) for one in left_out(1)] == [(1, 7), (2, 0)]


def test_what_the_target_holds_beside_the_source_s_partitions_is_left_out_and_what_is_empty_there_is_not():
    def left_out(beyond, partitions=5):
        held = {"flow": FLOW, "records": {0: 5, 1: 7, 2: 0}, "partitions": partitions}
        return missing_on_one_side("t", "A.t", **held, beyond=beyond)

    why = "only in A.t on B: t on A has 3 partitions"
    assert left_out({4: 6, 3: 9}) == [LeftOut("t", 3, 9, why), LeftOut("t", 4, 6, why)]
    assert left_out({3: 0, 4: 0}) == left_out({}, partitions=3) == []
    assert left_out({3: 0, 4: 1}) == [LeftOut("t", 4, 1, why)]


def test_a_plan_is_in_order_whatever_order_things_were_found_in():
    left = [LeftOut("b", 2, 1, "x"), LeftOut("b", None, 1, "x"), LeftOut("a", 9, 1, "x")]
    parts = (partition(2, (0, 1), (0, 1)), partition(0, (0, 1), (0, 1)))
    one = plan(found("b"), found("a", partitions=parts), left_out=left)
    other = plan(found("a", partitions=parts[::-1]), found("b"), left_out=left[::-1])
    assert one == other
    assert [topic.topic for topic in one.topics] == ["a", "b"]
    assert [left.partition for left in one.left_out] == [9, None, 2]


def test_a_topic_of_which_nothing_is_compared_is_no_part_of_the_plan():
    assert plan(found(partitions=())).topics == ()


def test_excluded_headers_have_one_spelling():
    assert plan(found(), excluded_headers=("b", "a", "b")).excluded_headers == ("a", "b")


def test_a_side_that_would_read_too_much_is_refused():
    made = plan(found(), found("bills", record_bytes=10))
    assert bytes_to_read(made) == (210_000, 189_000)
    check_max_bytes(made, max_bytes=210_000, file="mw.yaml")
    sentence = r"^mw.yaml: checksum.max_bytes: the plan of A->B reads about 210 kB of one side, more than max_bytes \(200 kB\); name fewer topics, or"
    with pytest.raises(ConfigurationError, match=sentence):
        check_max_bytes(made, max_bytes=200_000, file="mw.yaml")


def test_the_target_counts_as_much_as_the_source():
    made = plan(found(partitions=(partition(0, (0, 10), (0, 1000)),)))
    with pytest.raises(ConfigurationError, match="about 200 kB of one side"):
        check_max_bytes(made, max_bytes=199_999, file="mw.yaml")


def test_what_a_plan_says():
    left = [
        LeftOut("orders", 3, 7, "retention took them"),
        LeftOut("orders", 5, 2, "retention took them"),
        LeftOut("new", None, 40, "there is no topic A.new on B"),
        LeftOut("orders", 0, 9, "not mirrored when the plan was made", later=True),
    ]
    made = replace(plan(found(), left_out=left), isolation_target="read_committed")
    assert plan_lines(made, plan_id="0123456789abcdef", max_rate=50_000_000) == [
        "A->B: 1 partition of 1 topic to compare (plan 0123456789ab)",
        "  A: at most 1,000 records, about 200 kB",
        "  B: at most 900 records, about 180 kB, without aborted transactions",
        "  at max_rate 50 MB/s each side takes at least 4 ms",
        "  orders -> A.orders: 1 partition, 1,000 records at most (order checked for 50.0 %)",
        "left out: 49 records",
        "  new: 40 records: there is no topic A.new on B",
        "  orders [3, 5]: 9 records: retention took them",
        "not due yet: 9 records",
        "  orders [0]: 9 records: not mirrored when the plan was made",
    ]


def test_what_is_particular_about_a_topic_is_said():
    whole = partition(0, (0, 10), (0, 10), runs=(Run(0, 10, 0),))
    lines = plan_lines(
        plan(
            found("a", compacted=True, headers=False),
            found("b", target_stamps=True, partitions=(whole,)),
            found("c", partitions=(partition(0, (0, 10_000), (0, 10_000), runs=(Run(0, 9999, 0),)),)),
        ),
        plan_id="0" * 64,
    )
    assert lines[3:] == [
        "  a -> A.a: 1 partition, 1,000 records at most (compacted: the last record of each key; no headers found)",
        "  b -> A.b: 1 partition, 10 records at most (timestamps not compared: B sets its own; order checked for all)",
        "  c -> A.c: 1 partition, 10,000 records at most (order checked for 99.9 %)",
    ]


def test_a_plan_of_nothing_says_so():
    assert plan_lines(plan(), plan_id="0" * 64)[-1] == "nothing to compare"


def test_a_size_that_no_sample_told_is_not_called_nothing():
    lines = plan_lines(plan(found(record_bytes=0)), plan_id="0" * 64)
    assert "about an unknown number of bytes" in lines[1]


def test_many_partitions_are_counted():
    left = [LeftOut("t", number, 1, "why") for number in range(20)]
    assert "  t [0, 1, 2, 3, 4, 5, 6, 7 and 12 more]: 20 records: why" in plan_lines(
        plan(left_out=left), plan_id="0" * 64
    )
