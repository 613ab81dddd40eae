"""What `check --acls` prints: a script that a shell runs as it is."""

from __future__ import annotations

import shlex
import subprocess
from itertools import pairwise

import pytest

from fleet.verdicts.flow import Flow
from mirrorwatch.check.permissions import names_of
from tests.mirrorwatch.check.test_check import MM2, YAML, commands_of, same_as


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(folder, script):
    """Run the script with a stand-in for kafka-acls.sh and return the arguments of each call."""
    tool = folder / "kafka-acls.sh"
    tool.write_text('#!/bin/sh\nfor one in "$@"; do printf "%s\\037" "$one"; done\nprintf "\\036"\n')
    tool.chmod(0o755)
    ended = subprocess.run(
        ["sh", "-eu"],
        input=script,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
    )
    assert ended.stderr == ""
    return [
        call.removesuffix("\037").split("\037") for call in ended.stdout.removesuffix("\036").split("\036")
    ]


def granted(calls):
    """Return (bootstrap, kind of resource, name, pattern, operations) of each call."""
    found = []
    for call in calls:
        named = dict(pairwise(call))
        kind = "--group" if "--group" in call else "--topic"
        operations = [value for key, value in pairwise(call) if key == "--operation"]
        pattern = named.get("--resource-pattern-type", "literal")
        found.append((named["--bootstrap-server"], kind[2:], named[kind], pattern, tuple(operations)))
    return found


def test_a_shell_runs_the_script_as_it_is(folder):
    code, script, errors = commands_of(MM2, principal="User:it's; $(touch here)")
    same_as("commands", script)
    assert code == 0
    assert "B->A: no canary" in errors
    assert all(line.startswith(("#", "kafka-acls.sh ", "  ")) for line in script.splitlines() if line)
    calls = ran(folder, script)
    assert {call[call.index("--allow-principal") + 1] for call in calls} == {"User:it's; $(touch here)"}
    assert not (folder / "here").exists()
    assert len(calls) == script.count("\nkafka-acls.sh ")


def test_the_checksum_s_topics_are_among_them_on_both_sides(folder):
    _, script, _ = commands_of(YAML, parts=("checksum",))
    compared = ("Read", "DescribeConfigs")
    assert granted(ran(folder, script)) == [
        ("a:9092", "topic", "orders", "prefixed", compared),
        ("a:9092", "topic", "mirrorwatch-canary", "literal", compared),
        ("a:9092", "topic", "mm2-offset-syncs.B.internal", "literal", ("Read",)),
        ("b:9092", "topic", "A.orders", "prefixed", compared),
        ("b:9092", "topic", "A.mirrorwatch-canary", "literal", compared),
    ]
    _, script, _ = commands_of(YAML + "checksum: {topics: [payments]}\n", parts=("checksum",))
    assert ("b:9092", "topic", "A.payments", "literal", compared) in granted(ran(folder, script))
    assert "orders" not in script


@pytest.mark.parametrize(
    ("policy", "target"), [("default", ("A.", "prefixed")), ("identity", ("*", "literal"))]
)
def test_of_a_flow_that_carries_everything_every_topic_is_compared(folder, policy, target):
    text = YAML.replace('"orders.*, mirrorwatch-canary"', f'".*", policy: {policy}')
    _, script, _ = commands_of(text, parts=("checksum",))
    found = [one[:4] for one in granted(ran(folder, script)) if one[4] != ("Read",)]
    assert found == [("a:9092", "topic", "*", "literal"), ("b:9092", "topic", *target)]


def test_each_part_may_have_a_principal_of_its_own(folder):
    _, service, _ = commands_of(YAML, parts=("service",))
    assert "A.orders" not in service
    assert "__mirrorwatch-control" in service
    _, both, _ = commands_of(YAML)
    assert "A.orders" in both
    assert "__mirrorwatch-control" in both


@pytest.mark.parametrize(
    ("entry", "name", "pattern"),
    [
        ("orders", "orders", "literal"),
        ("orders.v1", "orders.v1", "literal"),
        (r"orders\.v1", "orders.v1", "literal"),
        ("orders.*", "orders", "prefixed"),
        (r"orders\..*", "orders.", "prefixed"),
        ("orders-[0-9]+", "orders-", "prefixed"),
        ("ab?", "a", "prefixed"),
        ("a*", "*", "literal"),
        (".*", "*", "literal"),
        ("", "*", "literal"),
        ("(orders|payments).*", "*", "literal"),
        ("orders|payments", "*", "literal"),
        ("[a-z]+", "*", "literal"),
        ("(?i)orders", "*", "literal"),
    ],
)
def test_what_an_entry_of_a_filter_is_granted_as(entry, name, pattern):
    assert names_of(entry) == (name, pattern)


def test_the_remote_name_of_a_prefix_is_the_prefix_of_remote_names():
    flow = Flow("A", "B")
    assert flow.remote_topic("orders.v1").startswith(flow.remote_topic("orders"))
    assert shlex.quote(flow.remote_topic("")) == "A."
