"""The text and the JSON document of `failover`."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

from rich.console import Console

from lagmon.failover.readiness import judge_group
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.failover.document import failover_document
from mirrorwatch.failover.facts import FlowFailover
from mirrorwatch.failover.text import print_flow
from runtime.process.logs import Redactor
from tests.lagmon.failover.test_readiness import EMPTY, FACTS
from tests.mirrorwatch.failover.test_facts import FLOW

FOUND = FlowFailover(
    flow=FLOW,
    groups=(
        judge_group("reports", [FACTS, replace(FACTS, partition=1, target_committed=160)]),
        judge_group("audit", [replace(FACTS, runs=[], source_end=None)]),
        judge_group("mailer", [replace(FACTS, target_committed=None)]),
        judge_group("billing", [FACTS]),
        judge_group("moved", [FACTS]),
    ),
    running_on_target=frozenset({"moved"}),
    excluded=("console-consumer-7",),
)


def printed(found, *, with_partitions=False):
    file = StringIO()
    sheet = Sheet(Console(file=file, width=110, color_system=None), Redactor())
    print_flow(sheet, found, with_partitions=with_partitions)
    return file.getvalue()


def test_text():
    assert (
        printed(FOUND)
        == """\
A->B: 2 of 5 groups ready to fail over to B
group    status         reads again  skips  at risk
reports  skips records  49           10     up to 40
audit    unknown        ?            ?      ?
mailer   not applied    49           0      up to 20
billing  ready          49           0      up to 20
moved    runs on B      49           0      up to 20
  reports       the committed offset on B is 160 in orders-1, after 10 records that the group has
                not read.
  audit         not enough data for orders-0: no offset syncs.
  moved         has members on B already; stop them before you fail over
  mailer        the newest checkpoint is 101 in orders-0; commit it on B before the group starts.
  1 group excluded by the mirror's groups filter.
"""
    )


def test_partitions_and_a_source_that_is_away():
    found = replace(FOUND, groups=FOUND.groups[:1], excluded=(), source_problem="cluster A: no answer")
    assert (
        printed(found, with_partitions=True)
        == """\
A->B: 0 of 1 group ready to fail over to B
  Judged by the last checkpoints, because A was not read: cluster A: no answer
group    status         reads again  skips  at risk
reports  skips records  49           10     up to 40
  reports       the committed offset on B is 160 in orders-1, after 10 records that the group has
                not read.

reports
partition  status         committed  start  reads again  skips  at risk
orders-1   skips records  150        160    0            10     up to 20
orders-0   ready          150        101    49           0      up to 20
"""
    )


def test_no_group():
    assert (
        printed(replace(FOUND, groups=(), excluded=()))
        == """\
A->B: 0 of 0 groups ready to fail over to B
  No consumer group of A has committed offsets of a replicated topic.
"""
    )


def test_a_flow_that_was_not_read():
    assert (
        printed(FlowFailover(flow=FLOW, problem="cluster B: no answer"))
        == "A->B: not read: cluster B: no answer\n"
    )


def test_a_start_in_an_empty_log_is_from_neither_commit_nor_checkpoint():
    empty = replace(FACTS, **EMPTY, committed=None)
    document = failover_document([replace(FOUND, groups=(judge_group("billing", [empty]),))], now_at=0)
    (partition,) = document["flows"][0]["groups"][0]["partitions"]
    assert (partition["start"], partition["start_from"]) == (0, None)


def test_document():
    document = json.loads(json.dumps(failover_document([FOUND], now_at=1_795_000_000.5)))
    assert document["at"] == "2026-11-18T11:06:40.500Z"
    (flow,) = document["flows"]
    assert (flow["flow"], flow["ready"], flow["excluded_groups"]) == ("A->B", False, ["console-consumer-7"])
    reports, audit, mailer, billing, moved = flow["groups"]
    assert (reports["status"], reports["skipped_records"]) == ("skips", {"least": 10, "most": 10})
    assert audit["read_again_records"] is None
    assert [one["ready"] for one in (reports, audit, mailer, billing, moved)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert mailer["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "status": "not_applied",
            "sentence": "the newest checkpoint is 101 in orders-0; commit it on B before the group starts",
            "start": 101,
            "start_from": "checkpoint",
            "source": {"committed": 150, "log_end": 260, "first_not_replicated": 240},
            "target": {"committed": None, "log_start": 0, "log_end": 240},
            "checkpoint": {"upstream": 150, "downstream": 101, "at": "1970-01-01T00:00:00.000Z"},
            "read_again_records": {"least": 49, "most": 49},
            "skipped_records": {"least": 0, "most": 0},
            "at_risk_records": {"least": 0, "most": 20},
            "proof": None,
        }
    ]
