"""Which permissions are printed for which configuration."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from canary.config import CanaryConfig
from mirrorwatch.check.permissions import Permission, acl_command, optional_permissions, permissions
from tests.mirrorwatch.check.test_cost import flow

D = "DescribeConfigs"
RW, RWC, R = ("Read", "Write", D), ("Read", "Write", "Create", D), ("Read", D)
CANARY, CONTROL = "mirrorwatch-canary", "__mirrorwatch-control"


def told(flows, clusters="AB", **canary):
    return [
        (each.cluster, each.name, each.operations)
        for each in permissions(clusters, flows, CanaryConfig(**canary))
    ]


@pytest.mark.parametrize(("mode", "own"), [("create", RWC), ("precreated", RW)])
def test_one_flow(mode, own):
    assert told([flow("A", "B")], mode=mode) == [
        ("A", CANARY, own),
        ("A", CONTROL, own),
        ("B", "A.mirrorwatch-canary", R),
        ("B", CONTROL, own),
    ]


def test_a_topic_that_may_grow_needs_one_right_more():
    assert told([flow("A", "B")], grow=True)[0] == ("A", CANARY, ("Read", "Write", "Create", "Alter", D))
    assert told([flow("A", "B")], grow=True, mode="precreated")[0] == ("A", CANARY, RW)


def test_a_flow_without_canary_needs_the_control_probes_only():
    assert told([flow("A", "B", off="filtered")]) == [("A", CONTROL, RWC), ("B", CONTROL, RWC)]


def test_both_directions_and_a_fan_out_name_each_topic_once():
    found = told([flow("A", "B"), flow("B", "A"), flow("A", "C")], "ABC")
    assert found == [
        ("A", "B.mirrorwatch-canary", R),
        ("A", CANARY, RWC),
        ("A", CONTROL, RWC),
        ("B", "A.mirrorwatch-canary", R),
        ("B", CANARY, RWC),
        ("B", CONTROL, RWC),
        ("C", "A.mirrorwatch-canary", R),
        ("C", CONTROL, RWC),
    ]


def test_a_topic_that_is_both_copy_and_source_has_the_permissions_of_both():
    keeps = replace(flow("A", "B"), target_topic=CANARY)
    found = permissions("ABC", [keeps, flow("B", "C")], CanaryConfig())
    assert Permission("B", CANARY, RWC, "replicated probes of A->B, probes") in found


def test_a_command_survives_a_shell():
    permission = Permission("A", "it's; rm -rf", ("Read",), "")
    lines = acl_command("a:9092,b:9092", "User:CN=a b,O=$x", permission)
    assert all(line.endswith("\\") for line in lines[:-1])
    words = shlex.split("".join(line.rstrip("\\") for line in lines))
    assert words == [
        *("kafka-acls.sh", "--bootstrap-server", "a:9092,b:9092", "--command-config", "admin.properties"),
        *("--add", "--allow-principal", "User:CN=a b,O=$x", "--topic", "it's; rm -rf", "--operation", "Read"),
    ]


def test_heartbeats_are_read_of_a_flow_without_canary_too_but_not_where_nothing_is_touched():
    beats = replace(flow("A", "B", off="filtered"), heartbeats_topic="A.heartbeats", tasks_topic="tasks")
    assert told([beats])[1:2] == [("B", "A.heartbeats", ("Read",))]
    assert told([beats], mode="off") == []


def test_tasks_are_read_only_where_that_is_granted():
    tasks = replace(flow("A", "B"), tasks_topic="mm2-configs.A.internal")
    assert "mm2-configs.A.internal" not in [topic for _, topic, _ in told([tasks])]
    assert optional_permissions([tasks], CanaryConfig()) == (
        Permission("B", "mm2-configs.A.internal", ("Read",), "tasks of A->B"),
    )
    assert optional_permissions([tasks], CanaryConfig(mode="off")) == ()
    assert optional_permissions([replace(tasks, off="filtered")], CanaryConfig()) == ()
