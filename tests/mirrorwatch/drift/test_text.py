"""The output of `drift`: a table, and equal differences in one line; the document has all of them."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from fleet.topic_acls import TopicAcls
from fleet.topic_settings import Origin, Setting
from fleet.topology import Cluster, Topology
from fleet.verdicts.flow import Flow
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.cli.drift import drift
from mirrorwatch.drift import asking
from mirrorwatch.drift.document import drift_document
from mirrorwatch.drift.facts import read_flow
from mirrorwatch.drift.text import print_flow
from runtime.process.logs import Redactor
from tests.mirrorwatch.drift.cluster import FakeAdmin, clusters

FLOW = Flow("A", "B", mirror_version="4.3")
NOW_MS = 1_790_000_000_000


async def found_of(source, target):
    topology = Topology((Cluster("A"), Cluster("B")), (FLOW,))
    return await read_flow(FLOW, topology, await clusters(A=source, B=target), now_ms=NOW_MS)


async def many():
    """Return a flow with 5,000 topics whose retention differs, and one difference of each other kind."""
    names = [f"orders-{number:04}" for number in range(5000)]
    week, day = Setting("604800000", Origin.TOPIC), Setting("86400000", Origin.TOPIC)
    source = FakeAdmin(
        dict.fromkeys(names, 2) | {"new": 1, "young": 1},
        {name: {"retention.ms": week} for name in names},
        oldest_ms={"young": NOW_MS - 60_000, "new": 5},
    )
    target = FakeAdmin(
        {f"A.{name}": 2 for name in names} | {"A.orders-0000": 1, "A.orders-0001": 3},
        {f"A.{name}": {"retention.ms": day} for name in names},
        TopicAcls(unread="the principal may not read the ACLs of B: grant it Describe"),
    )
    return await found_of(source, target)


async def test_equal_differences_are_one_line():
    console = Console(file=io.StringIO(), width=100)
    print_flow(Sheet(console, Redactor(())), await many())
    text = console.file.getvalue()
    assert text.splitlines()[:2] == [
        "A->B: B differs from A (5,002 differences)",
        "  5,002 topics on A: 5,000 replicated, 1 missing, 1 expected.",
    ]
    for line in (
        "configuration     differs       5,000        5,000",
        "ACLs              not compared  0            0",
        "  retention.ms: 604800000 on A, 86400000 on B",
        "    5,000 topics, such as orders-0000, orders-0001, orders-0002",
        "  topic: exists on A, missing on B",
        "    new",
        "    young, until 2026-09-21T14:22:20",
        "  remark, partitions: 2 on A, 3 on B",
        "  not compared: ACLs: the principal may not read the ACLs of B: grant it Describe",
    ):
        assert line in text
    assert len(text.splitlines()) < 40


async def test_the_document_has_every_difference():
    document = json.loads(json.dumps(drift_document([await many()], now_at=NOW_MS / 1000)))
    (flow,) = document["flows"]
    assert (document["verdict"], flow["verdict"], flow["topics"]["total"]) == ("differs", "differs", 5002)
    kinds = {one["kind"]: one for one in flow["kinds"]}
    assert len(kinds["config"]["differences"]) == 5000
    assert kinds["config"]["differences"][0] | {"advice": ""} == {
        "subject": "orders-0000",
        "on_target": "A.orders-0000",
        "what": "retention.ms",
        "source": "604800000",
        "target": "86400000",
        "advice": "",
    }
    assert kinds["topic_missing"]["remarks"][0]["expected_until"].startswith("2026-09-21T")
    assert kinds["acl"]["verdict"] == "not_compared"
    assert kinds["loop"]["verdict"] == "same"


CONFIG = """\
clusters: {A: {bootstrap.servers: "localhost:9"}, B: {bootstrap.servers: "localhost:9"}}
flows: {A->B: {topics: ".*"}}
"""


@pytest.mark.parametrize(
    ("target", "acls", "status"),
    [
        ({"A.t": 1}, TopicAcls(), 0),
        ({}, TopicAcls(unread="no"), 1),
        ({"A.t": 1}, TopicAcls(unread="no"), 3),
    ],
)
def test_the_exit_status_says_what_was_found(tmp_path, monkeypatch, target, acls, status):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(CONFIG, encoding="utf-8")
    sides = {"A": FakeAdmin({"t": 1}), "B": FakeAdmin(target, acls=acls)}

    def admin(_settings, *, cluster, timeout_s):
        assert timeout_s > 0
        return sides[cluster]

    async def nothing(*_arguments):
        pass

    monkeypatch.setattr(FakeAdmin, "open", nothing, raising=False)
    monkeypatch.setattr(FakeAdmin, "close", nothing, raising=False)
    monkeypatch.setattr(asking, "ClusterAdmin", admin)
    for form in ([], ["--json"]):
        answer = CliRunner().invoke(drift, [str(path), *form], standalone_mode=False)
        assert (answer.return_value, answer.exception) == (status, None)
    assert json.loads(answer.output)["flows"][0]["flow"] == "A->B"
    answer = CliRunner().invoke(drift, [str(path), "--flow", "B->A"], standalone_mode=False)
    assert answer.return_value == 2
    assert "unknown flow 'B->A'; the flows are A->B" in answer.output
    sides["B"].away = True
    answer = CliRunner().invoke(drift, [str(path)], standalone_mode=False)
    assert answer.return_value == 4
