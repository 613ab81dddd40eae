"""Rows of a mirror's page: each is of one instant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lagmon.groups.documents import _flow_row as flow_row
from lagmon.groups.documents import offsets_document
from lagmon.mirrors.answers.rows import LISTED, flow_document, row_document
from lagmon.mirrors.metadata.topics import Missing
from lagmon.mirrors.verdict import judge_flow
from tests.lagmon.mirror_flows import Mirrored


@pytest.fixture
def flow():
    """Give a mirror that copies 10 records a second at once, looked at just now."""
    one = Mirrored({"orders": 1})
    one.poll()
    return one.go(60, each=lambda: copy(one))


def copy(one):
    one.write(10)
    one.commit()


def test_an_offset_and_its_sentence_are_of_one_moment(flow):
    found = flow.snapshot()
    copy(flow)
    row = row_document(flow.flow, found, flow.slot())
    assert row["next_offset"] == 600
    assert row["sentence"] == "Lag 0 at offset 600: the mirror has replicated everything."


def told(one):
    found = one.snapshot()
    document = flow_document(one.flow, found, judge_flow(one.flow, found), since_ms=one.now)
    return document["lag_s"], document["lag_s_kind"]


def test_a_flows_lag_in_seconds_is_worth_what_that_of_its_slowest_partition_is(flow):
    assert told(flow) == (0.0, "exact")
    behind = Mirrored()
    behind.write(1000, copied=False)  # came before the first look, so that its age is known as a bound alone
    behind.write(10, partition=1)
    behind.commit(to=10)
    behind.commit(partition=1)
    behind.poll()
    behind.go(30)
    assert told(behind) == (30.0, "at_least")


def summed(one):
    found = one.snapshot()
    document = flow_document(one.flow, found, judge_flow(one.flow, found), since_ms=one.now)
    return document["lag_records"], document["unknown_partitions"], document["lag_s_kind"]


def test_partitions_without_an_offset_that_have_records_make_the_lag_a_lower_bound():
    one = Mirrored({"orders": 1, "wide": 3})

    def each():
        one.write(10)
        one.commit(to=max(1, one.ends["orders", 0] - 30))

    one.go(120, each=each)
    assert summed(one) == (30, 0, "exact")
    for partition in (0, 1):
        one.write(10, "wide", partition, copied=False)
    one.go(10, each=each)
    assert summed(one) == (30, 2, "at_least")


def test_what_may_be_markers_alone_is_not_in_the_sum():
    one = Mirrored({"orders": 1, "marked": 1})
    one.refused = {"marked"}

    def each():
        one.write(10)
        one.commit(to=max(1, one.ends["orders", 0] - 30))

    one.write(100, "marked")
    one.commit("marked")
    one.go(60, each=each)
    one.write(40, "marked", copied=False, record=False)
    one.go(60, each=each)
    assert summed(one) == (30, 1, "estimate")


def test_of_a_flow_whose_lag_is_not_known_the_seconds_are_worth_nothing():
    assert told(Mirrored()) == (None, "none")


def test_of_what_is_not_mirrored_the_oldest_is_listed_by_name_with_how_much_there_is(flow):
    missing = tuple(
        Missing("not_mirrored", f"t{number:03}", "It waits.", 1000 - number // 2, 2000, due=True)
        for number in range(LISTED + 20)
    )
    missing += (Missing("topic_missing", "z", "It is gone.", 1900, 2000, due=True),)
    found = replace(flow.snapshot(), missing=missing)
    document = flow_document(flow.flow, found, judge_flow(flow.flow, found), since_ms=flow.now)
    assert document["missing_total"] == LISTED + 21
    assert (document["findings_total"], document["overtaken_total"]) == (0, 0)
    assert document["missing"].pop()["topic"] == "z"  # the evidence of another verdict
    topics = [one["topic"] for one in document["missing"]]
    assert (len(topics), topics[:4], topics[-1]) == (LISTED, ["t118", "t119", "t116", "t117"], "t021")


def test_a_lag_after_an_estimated_offset_is_an_estimate_in_records_and_in_seconds(flow):
    flow.write(10, copied=False)
    flow.go(10)

    def kinds():
        found = flow.snapshot()
        document = flow_document(flow.flow, found, judge_flow(flow.flow, found), since_ms=flow.now)
        page = {"now_ms": flow.now, "away": {}, "not_ready": {}, "offset": 0, "count": 1}
        page |= {"rows": flow.flow_rows()}
        told = offsets_document(document | page, address="", fields=None)
        (row,) = told["partitions"]
        keys = "lag_records_kind", "lag_s_kind"
        return [(one[keys[0]], one[keys[1]]) for one in (told, row)]

    assert kinds() == [("exact", "exact")] * 2
    flow.flow.estimated.add(("orders", 0))
    assert kinds() == [("estimate", "estimate")] * 2
    flow.flow.estimated.add(("gone", 3))
    flow.flow.estimated.discard(("orders", 0))
    assert kinds() == [("exact", "exact")] * 2


@pytest.mark.parametrize(("kind", "told"), [("LogAppendTime", "exact"), ("CreateTime", "estimate")])
def test_headroom_by_polls_is_exact_only_where_the_broker_deletes_by_the_time_of_appending(flow, kind, told):
    settings = {"cleanup.policy": "delete", "retention.ms": "604800000", "message.timestamp.type": kind}
    flow.flow.note_settings("A", "orders", settings)
    flow.go(20, each=lambda: flow.write(10, copied=False))
    row = flow_row(flow.flow_rows()[0])
    assert (row["headroom_s_kind"], row["headroom_from"]) == (told, "retention_ms")
