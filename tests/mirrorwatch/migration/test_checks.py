"""The checks before a new mirror starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from mirrorwatch.migration.checks import PlanFacts, Status, checks_of
from tests.mirrorwatch.migration.positions import position, positions

FLOW = Flow("A", "B", mirror_version="4.3", connector="mm", on_connect=True)
FACTS = PlanFacts(
    file=positions(worker_group="A-mm2", worker_cluster="B"),
    flow=FLOW,
    source_topics={"orders": 1},
    source_ids={"orders": "source-topic"},
    starts={("orders", 0): 0},
    ends={("orders", 0): 160},
    target_ids={"A.orders": "target-topic"},
    target_ends={("A.orders", 0): 100},
    old_members=0,
    held={("orders", 0): 99},
    runs=False,
    evidence="connector mm is STOPPED",
)
BEHIND = {"runs": True, "held": {("orders", 0): 98}}
OTHER = positions(position(offset=None, sync=None, target_end=0))


def test_all_is_well():
    assert {one.subject: (one.status, one.sentence) for one in checks_of(FACTS)} == {
        "old mirror": ("ok", "stopped; no new records on B since the export"),
        "topics": ("ok", "1 topic, 1 partition"),
        "source log": ("ok", "up to 60 records to replicate, all still there"),
        "target log": ("ok", "no record is repeated"),
        "offsets": ("ok", "1 partition at the exported positions"),
        "new mirror": ("ok", "not started: connector mm is STOPPED"),
    }


@pytest.mark.parametrize(
    ("changed", "subject", "status", "sentence"),
    [
        ({"old_members": 1}, "old mirror", Status.WRONG, "it runs: group A-mm2 on B has 1 worker"),
        ({"file": positions(stopped=False)}, "old mirror", Status.WRONG, "it ran when the positions were"),
        ({"file": positions(stopped=None)}, "old mirror", Status.UNKNOWN, "make sure that it is"),
        ({"target_ends": {("A.orders", 0): 101}}, "old mirror", Status.WRONG, "(A.orders-0)"),
        ({"target_ends": {}}, "old mirror", Status.WRONG, "(A.orders-0)"),
        ({"source_ids": {"orders": "another"}}, "topics", Status.WRONG, "(orders) of A re-created"),
        ({"source_topics": {}}, "topics", Status.WRONG, "(orders) of A deleted"),
        ({"target_ids": {"A.orders": "another"}}, "topics", Status.WRONG, "(A.orders) of B re-created"),
        ({"flow": replace(FLOW, topic_filter=TopicFilter("other"))}, "topics", Status.WRONG, "does not repl"),
        (
            {"flow": replace(FLOW, policy=ReplicationPolicy(PolicyKind.IDENTITY))},
            "topics",
            Status.OK,
            "such as orders for A.orders",
        ),
        ({"starts": {("orders", 0): 110}}, "source log", Status.WRONG, "up to 10 records of 1 partition"),
        ({"ends": {("orders", 0): 90}}, "source log", Status.WRONG, "the log was truncated"),
        ({"ends": {}}, "source log", Status.UNKNOWN, "not answered"),
        (
            {"file": positions(position(sync=(90, 80)))},
            "target log",
            Status.OK,
            "at most 19 records repeated on B",
        ),
        ({"file": positions(position(sync=None))}, "target log", Status.OK, "is unknown for 1 partition"),
        ({"file": OTHER, "held": {}, "target_ends": {}}, "target log", Status.OK, "no record is repeated"),
        ({"held": {}}, "offsets", Status.OPEN, "(orders-0) without an offset"),
        ({"held": {("orders", 0): 89}}, "offsets", Status.OPEN, "up to 10 records would be repeated"),
        ({"held": {("orders", 0): 109}}, "offsets", Status.OPEN, "up to 10 records would be skipped"),
        ({"file": OTHER}, "offsets", Status.OPEN, "that the old mirror has not"),
        ({"held": None, "held_problem": "not known"}, "offsets", Status.UNKNOWN, "not known"),
        (BEHIND | {"evidence": "it is RUNNING"}, "new mirror", Status.WRONG, "it is RUNNING; stop it"),
        ({"runs": True}, "new mirror", Status.OK, "it runs and has continued from the positions"),
        (BEHIND | {"target_ends": {}}, "old mirror", Status.UNKNOWN, "and the new mirror runs"),
        ({"runs": True, "target_ends": {}}, "old mirror", Status.OK, "and the new mirror runs"),
        (BEHIND, "offsets", Status.WRONG, "not all at the exported positions"),
        ({"runs": True, "held": {("orders", 0): 120}}, "offsets", Status.OK, "or after them"),
        ({"added": {("orders", 1): 30}}, "topics", Status.OK, "(orders-1) without a position"),
        ({"runs": None, "evidence": "not visible"}, "new mirror", Status.UNKNOWN, "not visible"),
    ],
)
def test_what_is_wrong_is_said(changed, subject, status, sentence):
    (found,) = [one for one in checks_of(replace(FACTS, **changed)) if one.subject == subject]
    assert found.status is status
    assert sentence in found.sentence


def test_a_long_list_has_examples():
    many = positions(*(position(number) for number in range(5)))
    facts = replace(FACTS, file=many, source_topics={"orders": 5}, held={})
    (found,) = [one for one in checks_of(facts) if one.subject == "offsets"]
    assert found.sentence.startswith("5 partitions (orders-0, orders-1, orders-2 and more) without")
