"""The file of exported offsets, and what speaks against applying it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet.errors import ConfigurationError
from lagmon.failover.readiness import judge_group
from mirrorwatch.failover.applying import changes_of, replaced
from mirrorwatch.failover.facts import FlowFailover
from mirrorwatch.failover.offsets_file import exported, exported_at, read_offsets, write_offsets
from tests.lagmon.failover.test_readiness import FACTS
from tests.mirrorwatch.failover.cluster import FakeCluster
from tests.mirrorwatch.failover.test_facts import FLOW

FOUND = FlowFailover(
    flow=FLOW,
    groups=(
        judge_group(
            "billing",
            [
                FACTS,
                replace(FACTS, partition=1, target_committed=None),
                replace(FACTS, partition=2, target_end=None, on_target=False),
            ],
        ),
    ),
    source_cluster_id="source-id",
    target_cluster_id="target-id",
    target_ids={"A.orders": "B-A.orders"},
)


@pytest.fixture
def target():
    return FakeCluster(
        "B",
        sizes={"A.orders": 2},
        states={"billing": "empty"},
        commits={"billing": {("A.orders", 0): 101}},
        ends={("A.orders", 0): 240, ("A.orders", 1): 240},
        cluster_id="target-id",
    )


@pytest.fixture
def file():
    found, unknown = exported(FOUND, now_ms=1_795_000_000_000)
    assert unknown == ("orders-2",)
    return found


def test_the_file_is_read_as_it_was_written(tmp_path, file):
    path = tmp_path / "offsets.json"
    write_offsets(path, file)
    assert read_offsets(path) == file
    assert json.loads(path.read_text())["positions"][0] == {
        "topic": "A.orders",
        "topic_id": "B-A.orders",
        "partition": 0,
        "offset": 150,
        "current": 101,
        "basis": "exact",
        "source_topic": "orders",
        "source_offset": 150,
    }
    with pytest.raises(ConfigurationError, match="exists already"):
        write_offsets(path, file)


def test_offsets_of_a_moment():
    ends = {("A.orders", 0): 240, ("A.orders", 1): 240}
    made, missing = exported_at(FOUND, {("A.orders", 0): 7, ("A.orders", 1): 240}, ends, now_ms=0)
    assert [(one.partition, one.offset, one.current, one.basis) for one in made.positions] == [
        (0, 7, 101, "time"),
        (1, 240, None, "end"),
    ]
    assert missing == ("orders-2",)


def test_a_plan_and_what_undoes_it(target, file):
    changes = changes_of(file, target, path="f")
    assert [(one.partition, one.current, one.offset) for one in changes] == [
        (0, 101, 150),
        (1, None, 150),
    ]
    undo = replaced(file, changes, at="now")
    assert [(one.partition, one.current, one.offset) for one in undo.positions] == [(0, 150, 101)]
    target.commits["billing"] = {("A.orders", 0): 150, ("A.orders", 1): 150}
    back = changes_of(undo, target, path="f")
    assert [(one.partition, one.offset) for one in back] == [(0, 101)]


def test_what_was_committed_before_is_committed_again_though_it_is_deleted_since(target, file):
    undo = replaced(file, changes_of(file, target, path="f"), at="now")
    target.commits["billing"], target.starts["A.orders", 0] = {("A.orders", 0): 150}, 120
    assert [one.offset for one in changes_of(undo, target, path="f")] == [101]


def test_a_topic_that_was_recreated_since_is_refused(target, file):
    target.ids = {"A.orders": "another"}
    undo = file.model_copy(
        update={"positions": [one.model_copy(update={"basis": "replaced"}) for one in file.positions]}
    )
    for one in (file, undo):
        with pytest.raises(ConfigurationError) as refused:
            changes_of(one, target, path="f")
        assert [str(each) for each in refused.value.problems] == [
            f"f: positions: A.orders-{number}: the topic was re-created since the export; export the offsets again"
            for number in (0, 1)
        ]
    older = file.model_copy(
        update={"positions": [one.model_copy(update={"topic_id": None}) for one in file.positions]}
    )
    assert len(changes_of(older, target, path="f")) == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"partition": 0}, "positions: A.orders-0 is listed twice; remove one row"),
        ({"offset": True}, "positions.1.offset: must be a whole number, not True"),
        ({"offset": "150"}, "positions.1.offset: must be a whole number, not '150'"),
        ({"partition": 1.0}, "positions.1.partition: must be a whole number, not 1.0"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path, file, change, problem):
    path, document = tmp_path / "offsets.json", file.model_dump(mode="json")
    document["positions"][1] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigurationError) as refused:
        read_offsets(path)
    assert [str(one) for one in refused.value.problems] == [f"{path}: {problem}"]


def test_nothing_to_do(target, file):
    target.commits["billing"] = {("A.orders", 0): 150, ("A.orders", 1): 150}
    same = file.model_copy(
        update={"positions": [one.model_copy(update={"current": 150}) for one in file.positions]}
    )
    assert changes_of(same, target, path="f") == []


def test_what_an_interrupted_run_has_left_is_left_to_do(target, file):
    target.commits["billing"] = {("A.orders", 0): 150}
    assert [(one.partition, one.offset) for one in changes_of(file, target, path="f")] == [(1, 150)]


def test_all_that_speaks_against_it_is_said_at_once(target, file):
    target.cluster_id = "another-id"
    target.states["billing"] = "stable"
    target.sizes["A.orders"] = 1
    target.ends["A.orders", 0] = 120
    target.commits["billing"] = {("A.orders", 0): 111}
    with pytest.raises(ConfigurationError) as refused:
        changes_of(file, target, path="f")
    assert [str(one) for one in refused.value.problems] == [
        "f: target_cluster_id: the file is of cluster target-id, and B is another-id; export the offsets again",
        "f: group: billing has members on B (stable); stop them first",
        "f: positions: A.orders-0: 150 is not within 0 to 120; export the offsets again",
        "f: positions: A.orders-0: the committed offset was 101 and is 111; export the offsets again",
        "f: positions: A.orders-1: does not exist on B; remove it from the file",
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["not JSON"]),
        ("[]", ["a mapping of keys"]),
        ('{"format": "other/1"}', ["format: ", "at: ", "flow: "]),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, text, problems):
    path = tmp_path / "offsets.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_offsets(path)
    said = [str(one) for one in refused.value.problems]
    for part in problems:
        assert any(part in one for one in said), said
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_offsets(tmp_path / "missing" / "offsets.json", exported(FOUND, now_ms=0)[0])
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_offsets(tmp_path / "missing.json")
