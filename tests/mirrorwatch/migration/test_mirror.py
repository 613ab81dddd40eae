"""The state of a mirror, its exported positions, and what a new mirror has replicated since."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from fleet.errors import ConfigurationError, RefusedError
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.configuration.sections import ConnectSection
from mirrorwatch.migration import exporting
from mirrorwatch.migration import mirror as mirrors
from mirrorwatch.migration.exporting import positions_of
from mirrorwatch.migration.mirror import read_mirror
from mirrorwatch.migration.positions import Sync
from mirrorwatch.migration.verifying import verified_partitions
from tests.mirrorwatch.failover.cluster import progress
from tests.mirrorwatch.trace.logs import FakeClusters, Log, LogCluster, mirrored, record, syncs

FLOW = Flow("A", "B", mirror_version="4.3")
CONNECTED = Flow("A", "B", mirror_version="4.3", connector="mm", on_connect=True)
CONFIG = SimpleNamespace(path="mirrorwatch.yml", connect=None)
IDENTITY = ReplicationPolicy(PolicyKind.IDENTITY)
OFFSETS, SYNCS = "mm2-offsets.A.internal", "mm2-offset-syncs.B.internal"


class Stage:
    """A mirror from orders-0 on A to A.orders-0 on B."""

    def __init__(self, count=100, *, upto=60, committed=55, members=0):
        self.source, self.target = Log(), Log()
        for number in range(count):
            self.source.append(record(number))
        pairs = mirrored(self.source, self.target, upto=upto)
        self.a = LogCluster("A", logs={("orders", 0): self.source}, cluster_id="a")
        self.b = LogCluster(
            "B", logs={("A.orders", 0): self.target}, workers={"A-mm2": members}, cluster_id="b"
        )
        self.a.records[SYNCS] = syncs("orders", 0, pairs)
        self.b.records[OFFSETS] = [progress("orders", 0, committed)] if committed is not None else []
        self.clusters = FakeClusters(self.a, self.b)

    def state(self, flow=FLOW, config=CONFIG, **order):
        return read_mirror(config, order_of(flow, **order), self.clusters, now_ms=2_000)

    def exported(self, **more):
        return positions_of(self.state(**more), self.clusters, now_ms=2_000)

    def copied(self, first, last, *, drop=()):
        """Have the new mirror replicate records, and commit them."""
        for offset in range(first, last):
            if offset not in drop:
                self.target.append(self.source.records[offset])
        self.b.records[OFFSETS].append(progress("orders", 0, last - 1))


@pytest.mark.parametrize(
    ("members", "runs", "evidence"),
    [
        (0, False, "group A-mm2 on B has no members"),
        (1, True, "group A-mm2 on B has 1 member"),
        (2, True, "group A-mm2 on B has 2 members"),
    ],
)
def test_a_dedicated_mirror_runs_while_its_group_has_members(members, runs, evidence):
    found = Stage(members=members).state()
    assert (found.runs, found.evidence, found.committed) == (runs, evidence, {("orders", 0): 55})


def test_a_newer_sync_proves_more_than_the_commit():
    (topic,) = Stage().exported().topics
    assert (topic.topic, topic.topic_id, topic.target_topic) == ("orders", "A-orders", "A.orders")
    (one,) = topic.partitions
    assert (one.committed, one.offset, one.source_end, one.target_end) == (55, 55, 100, 60)
    assert one.sync == Sync(source_offset=55, target_offset=55)
    (one,) = Stage(committed=40).exported().topics[0].partitions
    assert (one.committed, one.offset, one.repeated_most) == (40, 55, 4)


def test_a_sync_within_a_transaction_proves_nothing():
    flow = Flow("A", "B", mirror_version="4.3", exactly_once=True)
    (one,) = Stage(committed=40).exported(flow=flow).topics[0].partitions
    assert (one.offset, one.sync) == (40, Sync(source_offset=33, target_offset=33))


def test_syncs_of_a_target_that_was_recreated_are_left_out():
    stage = Stage(committed=40)
    stage.target.end = 20
    (one,) = stage.exported().topics[0].partitions
    assert (one.offset, one.sync) == (40, None)


def test_a_mirror_without_offsets_starts_again():
    stage = Stage(committed=None)
    stage.a.records[SYNCS] = []
    (one,) = stage.exported().topics[0].partitions
    assert (one.offset, one.next_offset, one.repeated_most) == (None, 0, 60)


def test_topics_that_are_not_visible_are_not_moved_in_silence():
    stage = Stage()
    stage.a.logs.clear()
    with pytest.raises(RefusedError, match="no topic that the mirror replicates is visible"):
        stage.exported()


def test_groups_of_mirror_maker_1():
    stage = Stage()
    stage.a.states = {"mm1-a": "empty", "mm1-b": "stable", "billing": "stable"}
    places = {("orders", 0): 31, ("orders", 1): 0}
    stage.a.commits = {"mm1-a": {("orders", 0): 20}, "mm1-b": places, "billing": {("orders", 0): 90}}
    found = stage.state(lag_from="group", group="mm1-.*")
    assert found.committed == {("orders", 0): 30}
    assert (found.runs, found.evidence) == (True, "group mm1-b has members on A")


def test_offsets_at_which_no_mirror_continues_are_refused():
    with pytest.raises(ConfigurationError, match="does not continue at offsets"):
        Stage().state(lag_from="equal-offsets")


def answers(monkeypatch, state="STOPPED", offsets=None):
    config = {"connector.class": "MirrorSourceConnector"}
    listed = {"mm": {"info": {"config": config}, "status": {"connector": {"state": state}}}}

    async def answer_of(_section, path, _parameters=None):
        return listed if path == "/connectors" else json.loads(json.dumps(offsets))

    monkeypatch.setattr(mirrors, "answer_of", answer_of)
    return SimpleNamespace(path="mirrorwatch.yml", connect=ConnectSection(url="http://connect:8083"))


def test_a_connector_is_asked_of_connect(monkeypatch):
    def entry(cluster, offset):
        partition = {"cluster": cluster, "partition": 0, "topic": "orders"}
        return {"partition": partition, "offset": {"offset": offset}}

    config = answers(monkeypatch, offsets={"offsets": [entry("A", 41), entry("other", 9)]})
    found = Stage().state(CONNECTED, config)
    assert (found.committed, found.runs) == ({("orders", 0): 41}, False)
    assert found.evidence == "connector mm is STOPPED"
    assert Stage().state(CONNECTED, answers(monkeypatch, "PAUSED", {"offsets": []})).runs is True


def test_a_connect_that_returns_no_offsets_needs_the_name_of_its_topic(monkeypatch):
    config = answers(monkeypatch, offsets={"message": "what?"})
    found = Stage().state(CONNECTED, config)
    assert found.committed is None
    assert "set flows.A->B.offsets.topic" in found.problem
    there = Stage()
    there.b.records[OFFSETS] = [progress("orders", 0, 12, connector="mm")]
    assert there.state(CONNECTED, config, topic=OFFSETS).committed == {("orders", 0): 12}


def test_a_connector_without_address_or_topic_is_not_visible():
    found = Stage().state(CONNECTED)
    assert (found.committed, found.runs) == (None, None)
    assert "connect.url" in found.evidence


def verified(stage, file):
    (one,) = verified_partitions(file, stage.state(), stage.clusters)
    return one


def test_what_the_new_mirror_repeats_and_skips_is_counted():
    stage = Stage(committed=40)
    stage.a.records[SYNCS] = stage.a.records[SYNCS][:4]  # up to 33
    file = stage.exported()
    stage.copied(41, 80)
    one = verified(stage, file)
    assert (one.compared.passed, one.compared.missing, one.compared.repeated) == (80 - 33, 0, 60 - 41)
    assert one.exact
    assert not one.is_beyond
    stage.copied(80, 100, drop=(85, 90))
    one = verified(stage, file)
    assert (one.compared.missing, one.compared.first_missing, one.is_skipped) == (2, 85, True)


@pytest.mark.parametrize(
    ("isolation", "missing"), [("read_committed", 0), ("read_uncommitted", 2)], ids=["committed", "all"]
)
def test_a_mirror_of_committed_records_skips_no_aborted_ones(isolation, missing):
    stage = Stage()
    file = stage.exported()
    stage.source.aborted = frozenset({60, 61})
    stage.copied(56, 70, drop=(60, 61))
    flow = Flow("A", "B", mirror_version="4.3", isolation_level=isolation)
    (one,) = verified_partitions(file, stage.state(flow), stage.clusters)
    assert one.compared.missing == missing


def test_an_offset_after_the_end_of_its_log_is_not_exported(monkeypatch, tmp_path, capsys):
    stage = Stage()
    stage.source.end = 30
    monkeypatch.setattr(exporting, "orders_named", lambda *_: [order_of(FLOW)])
    monkeypatch.setattr(exporting, "Clusters", lambda *_: nullcontext(stage.clusters))
    config = SimpleNamespace(path="mirrorwatch.yml", connect=None, clients={})
    assert exporting.export_positions(config, flow="A->B", out=tmp_path / "out") == 1
    assert "offset is after the log end on A: orders-0. It was re-created" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_records_of_a_renamed_topic_are_searched_in_both():
    stage = Stage()
    file = stage.exported()
    stage.b.logs["orders", 0] = stage.target = Log()
    stage.copied(50, 70)
    identity = stage.state(Flow("A", "B", mirror_version="4.3", policy=IDENTITY))
    stage.clusters = FakeClusters(stage.a, stage.b)
    (one,) = verified_partitions(file, identity, stage.clusters)
    assert (one.compared.passed, one.compared.missing, one.compared.repeated) == (15, 0, 5)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda stage: stage.b.records.update({OFFSETS: []}),
            "the new mirror has replicated nothing of it yet",
        ),
        (lambda stage: stage.b.logs.clear(), "it does not exist on the target yet"),
        (lambda stage: stage.a.logs.clear(), "it no longer exists on the source"),
        (lambda stage: stage.b.records.update({OFFSETS: [progress("orders", 0, 55)]}), "replicated nothing"),
        (lambda stage: stage.a.ids.update(orders="another"), "was re-created since the export"),
        (lambda stage: stage.b.ids.update({"A.orders": "another"}), "was re-created since the export"),
        (lambda stage: setattr(stage.target, "start", 57), "the target has deleted records"),
    ],
)
def test_what_cannot_be_compared_is_said(change, problem):
    stage = Stage()
    file = stage.exported()
    stage.copied(56, 70)
    change(stage)
    stage.clusters = FakeClusters(stage.a, stage.b)
    one = verified(stage, file)
    assert one.compared is None
    assert problem in one.problem


def test_what_the_source_has_deleted_is_left_out_and_said():
    stage = Stage()
    file = stage.exported()
    stage.copied(56, 70)
    stage.source.start = 58
    one = verified(stage, file)
    assert (one.compared.passed, one.compared.missing) == (12, 0)
    assert one.remark == "offsets 56 to 57, which the source has deleted since"
    assert not one.is_whole


def test_a_mirror_that_starts_again_repeats_more_than_its_window_shows():
    stage = Stage()
    file = stage.exported()
    stage.copied(0, 70)
    one = verified(stage, file)
    assert (one.compared.missing, one.compared.repeated, one.compared.strange) == (0, 60 - 55, 55)
    assert one.is_beyond


def test_a_partition_that_is_not_in_the_file_is_compared_from_its_start():
    stage = Stage()
    file = stage.exported()
    stage.copied(56, 70)
    new, there = Log(), Log()
    for number in range(10):
        new.append(record(500 + number))
    mirrored(new, there, drop={3})
    stage.a.logs["orders", 1], stage.b.logs["A.orders", 1] = new, there
    stage.b.records[OFFSETS].append(progress("orders", 1, 9))
    stage.clusters = FakeClusters(stage.a, stage.b)
    _, one = verified_partitions(file, stage.state(), stage.clusters)
    assert (one.place, one.compared.missing, one.compared.first_missing) == (("orders", 1), 1, 3)


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_compacted_topic_may_miss_records(side):
    stage = Stage()
    file = stage.exported()
    stage.copied(56, 70, drop=(60,))
    getattr(stage, side).compact = frozenset({"orders", "A.orders"})
    assert verified(stage, file).problem.startswith("compacted")
