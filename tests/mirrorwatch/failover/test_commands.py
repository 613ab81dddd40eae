"""`failover` and `offsets` over two clusters in memory: output, exit status, and the files that they write."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mirrorwatch.cli.main import cli
from mirrorwatch.failover import asking, moving
from tests.mirrorwatch.failover.test_facts import ORDERS, REMOTE, source, target

__all__ = ["source", "target"]

CONFIG = """\
clusters:
  A: {bootstrap.servers: "127.0.0.1:1"}
  B: {bootstrap.servers: "127.0.0.1:2"}
flows:
  A->B: {}
  B->A: {}
mirror_version: "4.3"
"""
MOMENT = ("--to-time", "2026-11-01T00:00:00Z")


class Opened:
    """A cluster in memory as a context manager."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        return self.cluster

    def __exit__(self, *exc):
        pass


@pytest.fixture
def run(monkeypatch, tmp_path, source, target):
    """Return a function that runs a command and returns its status, output, and errors in one line each."""
    clusters = {"A": source, "B": target}
    source.cluster_id, target.cluster_id = "a-id", "b-id"
    monkeypatch.setattr(asking, "readers_of", lambda *_: clusters)
    monkeypatch.setattr(moving, "ClusterReader", lambda alias, _settings, _clock: Opened(clusters[alias]))
    config = tmp_path / "mirrorwatch.yaml"
    config.write_text(CONFIG)

    def go(*command):
        names = command[: 2 if command[0] == "offsets" else 1]
        arguments = [*names, config, *command[len(names) :]]
        ended = CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)
        assert ended.exception is None, ended.exception
        return ended.return_value, " ".join(ended.stdout.split()), " ".join(ended.stderr.split())

    go.folder = tmp_path
    return go


def test_a_flow_that_cannot_be_read_does_not_hide_the_others(run, source):
    source.away = True
    status, said, _ = run("failover")
    assert status == 4
    assert "A->B: 0 of 1 group ready to fail over to B Judged by the last checkpoints" in said
    assert said.endswith("B->A: not read: cluster A: cannot connect to any broker")
    status, said, _ = run("failover", "--json")
    there, back = json.loads(said)["flows"]
    assert (status, there["problem"], len(there["groups"])) == (4, None, 1)
    assert (back["problem"], back["ready"]) == ("cluster A: cannot connect to any broker", False)


def test_a_group_that_an_unread_flow_may_have_is_not_unknown(run, source):
    source.away = True
    assert run("failover", "--group", "nobody") == (4, "", "cluster A: cannot connect to any broker")
    status, _, said = run("failover", "--group", "nobody", "--flow", "A:B")
    assert (status, said.partition("; ")[2]) == (
        4,
        "B has neither checkpoints nor offsets of group nobody to go by",
    )


def test_a_group_that_the_source_does_not_list_is_shown_with_a_remark(run, source):
    del source.states["billing"]
    remark = "has no committed offsets on A; judged by its last checkpoints"
    status, said, _ = run("failover", "--flow", "A:B", "--group", "billing")
    assert (status, f"billing {remark}" in said) == (0, True)
    assert json.loads(run("failover", "--flow", "A:B", "--json")[1])["flows"][0]["groups_by_checkpoints"] == [
        "billing"
    ]
    assert f"The group {remark}." in run("offsets", "translate", "--flow", "A:B", "--group", "billing")[1]


def test_an_excluded_group_is_named_with_its_filter(run, source):
    status, _, said = run("failover", "--group", "console-consumer-7")
    assert status == 2
    assert "'console-consumer-7' is excluded from A->B: groups.exclude has 'console-consumer-.*'" in said


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("group", ["billing", "console-consumer-7"])
def test_reset_needs_no_mirror(run, source, target, away, group):
    file = run.folder / "offsets.json"
    source.away, target.records = away, {}
    target.states[group], target.commits[group] = "empty", {REMOTE: 7}
    source.commits[group] = {ORDERS: 9}
    command = ("offsets", "reset", "--flow", "A:B", "--group", group, *MOMENT, "--out", file)
    assert run(*command)[0] == 0
    (position,) = json.loads(file.read_text())["positions"]
    assert (position["topic"], position["offset"], position["current"]) == ("A.orders", 240, 7)


def test_an_export_without_the_source_names_partitions_without_an_offset(run, source, target, tmp_path):
    source.away, target.sizes["A.orders"], target.ends["A.orders", 1] = True, 2, 7
    command = ("offsets", "export", "--flow", "A:B", "--group", "billing", "--out", tmp_path / "offsets.json")
    status, _, said = run(*command)
    assert (status, "No offset is known for orders-1" in said) == (1, True)


def test_a_commit_without_an_answer_names_the_file_that_undoes_it(run, target, tmp_path):
    file = tmp_path / "offsets.json"
    run("offsets", "export", "--flow", "A:B", "--group", "billing", "--out", file)
    target.mute = True
    status, _, said = run("offsets", "apply", file, "--execute")
    (undo,) = tmp_path.glob("offsets.json.replaced-*")
    unknown = "it is unknown whether the offsets are committed; run it again"
    assert (status, said) == (4, f"cluster B: no answer; {unknown}. {undo} has the offsets of before.")
    target.mute = False
    assert run("offsets", "apply", file, "--execute")[0] == 0
    assert target.commits["billing"] == {REMOTE: 150}
    target.starts[REMOTE] = 120  # what was committed before may be deleted since
    assert run("offsets", "apply", undo, "--execute")[0] == 0
    assert target.commits["billing"] == {REMOTE: 101}
