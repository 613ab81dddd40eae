"""`checksum digest` and `compare`: each side by a plan's file, and only digests between them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from checksum.history.history import ChecksumHistory
from checksum.plan.file import read_plan, write_plan
from checksum.plan.shape import OffsetRange
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums.plan import make_plans
from mirrorwatch.checksums.run import run_all
from mirrorwatch.checksums.sites import compare_digests, digest_side
from mirrorwatch.checksums.state import state_for
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_stage import Stage
from tests.mirrorwatch.checksums.test_run import TWO_FLOWS, mirrored


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return lambda mirrors, **more: Stage(tmp_path, mirrors, monkeypatch, **more)


def planned(stage):
    path = stage.folder / "plan"
    assert make_plans(stage.session, stage.chosen(), out=path, json_file=None) == 0
    return path


def test_both_sides_apart_find_what_one_run_finds(stage):
    found = stage({("orders", 0): mirrored(drop_at=17)})
    plan = planned(found)
    found.connects.away = {"B"}  # the source's site needs no more than its own cluster
    assert digest_side(found.session, plan, "source", "here", spark=found) == 0
    found.connects.away = {"A"}
    assert digest_side(found.session, plan, "target", "there", spark=found) == 0
    assert found.digests_made.asked == [("source", "here"), ("target", "there")]
    assert "Wrote the target's digest of plan " in found.said
    found.connects.away = set()
    path = found.folder / "result.json"
    assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=path) == 1
    (run,) = found.read_json(path)["runs"]
    assert [one["source_offsets"] for one in run["findings"]["shown"]] == [[17, 18]]


def test_an_empty_plan_needs_no_spark(stage):
    found = stage({("orders", 0): Mirrored()})
    plan = planned(found)
    assert digest_side(found.session, plan, "source", "here", spark=found) == 0
    assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=None) == 0
    assert found.started == 0
    assert "No new records: nothing compared." in found.said
    assert "reads nothing of the source: no digest, and `compare` needs none." in found.said
    assert "Wrote" not in found.said.split("Wrote plan", 1)[1]


def test_folders_without_a_digest_are_told_before_spark_starts(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    with pytest.raises(ConfigurationError) as refused:
        compare_digests(found.session, plan, "/nope/s", "/nope/t", spark=found, json_file=None)
    assert str(refused.value).splitlines() == [
        f"the command line: --{side}: no digest in /nope/{side[0]}; name the folder that `checksum digest"
        f" --side {side}` wrote to"
        for side in ("source", "target")
    ]
    assert found.started == 0


def test_a_side_of_which_nothing_is_to_be_read_has_no_files(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    whole, _ = read_plan(plan)
    ((partition,),) = [topic.partitions for topic in whole.topics]
    nothing = replace(partition, target=OffsetRange(200, 200), runs=(), segments=())
    plan.unlink()
    write_plan(plan, replace(whole, topics=(replace(whole.topics[0], partitions=(nothing,)),)))
    assert digest_side(found.session, plan, "source", "here", spark=found) == 0
    found.digests_made.kept["nowhere"] = []
    found.may_hold = lambda folder: folder == "here"
    compare_digests(found.session, plan, "here", "nowhere", spark=found, json_file=None)


def test_a_plan_of_another_flow_is_refused(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    other = stage({("orders", 0): mirrored()}, config=TWO_FLOWS.replace("A->B", "B->A"))
    with pytest.raises(ConfigurationError, match=r"plan: flow: unknown flow A->B; add it to "):
        digest_side(other.session, plan, "source", "here", spark=other)


def test_a_digest_keeps_max_bytes_too(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    poor = stage({("orders", 0): mirrored()}, max_bytes=10)
    with pytest.raises(
        ConfigurationError, match=r"mirrorwatch.yaml: checksum.max_bytes: .* max_bytes \(10 B\)"
    ):
        digest_side(poor.session, plan, "source", "here", spark=poor)


def test_a_cell_that_no_digest_can_hold_is_refused(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    for side, folder in (("source", "here"), ("target", "there")):
        digest_side(found.session, plan, side, folder, spark=found)
    kept = found.digests_made.kept
    kept["here"][0] = kept["here"][0]._replace(last_offset=10_000)
    with pytest.raises(ConfigurationError, match=r"offsets \d+ to 10000 outside .*; digest this side again"):
        compare_digests(found.session, plan, "here", "there", spark=found, json_file=None)


def test_a_cluster_that_is_away_when_it_is_compared_is_told(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    for side, folder in (("source", "here"), ("target", "there")):
        digest_side(found.session, plan, side, folder, spark=found)
    found.connects.away = {"A"}
    with pytest.raises(UnavailableError, match="cluster A"):
        compare_digests(found.session, plan, "here", "there", spark=found, json_file=None)


def test_the_same_comparison_is_one_run_however_often_it_is_told(stage):
    found = stage({("orders", 0): mirrored(drop_at=17)})
    plan = planned(found)
    for side, folder in (("source", "here"), ("target", "there")):
        digest_side(found.session, plan, side, folder, spark=found)
    path, runs = found.folder / "result.json", []
    for _ in range(2):
        assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=path) == 1
        runs += found.read_json(path)["runs"]
    assert runs[0]["run"] == runs[1]["run"]
    assert len(runs[0]["run"]) == 32
    assert runs[0]["begun_at"] <= runs[0]["ended_at"] <= runs[1]["begun_at"]
    assert sum(one["source_records"] for one in runs[0]["counts"]["shown"]) == 200


def stored(found):
    """Return the runs that the store has, their documents, and up to where partitions are verified."""

    async def read():
        store = Store(
            found.config.store.database_url(found.config.directory),
            migrations=MIGRATIONS,
            clock=found.session.clock,
            limit_s=10,
        )
        await store.open()
        try:
            history = ChecksumHistory(store)
            runs = await history.runs("A->B", limit=9)
            documents = [(await history.run(one.run)).document for one in runs]
            unreported = await history.unreported("A->B")
            return runs, documents, await history.verified("A->B"), unreported
        finally:
            await store.close()

    return asyncio.run(read())


def digested(found, plan):
    for side, folder in (("source", "here"), ("target", "there")):
        digest_side(found.session, plan, side, folder, spark=found)


def test_a_comparison_is_stored_as_a_run_is(stage):
    found = stage({("orders", 0): mirrored(drop_at=17)})
    plan, path = planned(found), found.folder / "result.json"
    digested(found, plan)
    for _ in range(2):
        assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=path) == 1
    ((row,), (document,), verified, unreported) = stored(found)
    (told,) = found.read_json(path)["runs"]
    assert (row.run, row.status, row.findings) == (told["run"], 1, 1)
    assert document["partitions"]["shown"][0]["verified_to"] == {"source": 200, "target": 199}
    assert {place: one.source_offset for place, one in verified.items()} == {("orders", 0): 200}
    assert unreported == []
    assert make_plans(found.session, found.chosen(), out=None, json_file=None) == 0
    assert "no new records in 1 topic" in found.said


def test_a_comparison_moves_no_position_that_a_run_moved_since_its_plan(stage):
    one = mirrored()
    found = stage({("orders", 0): one})
    plan = planned(found)
    digested(found, plan)
    cells = dict(found.digests_made.kept)
    one.write(50)
    one.copy()
    assert run_all(found.session, found.chosen(), spark=found, json_file=None) == 0
    found.digests_made.kept |= cells
    assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=None) == 0
    runs, documents, verified, _ = stored(found)
    assert [at.source_offset for at in verified.values()] == [250]
    assert len(runs) == 2
    assert [one["partitions"]["shown"][0]["verified_to"] is None for one in documents].count(True) == 1


def test_a_comparison_waits_for_no_other_run_of_its_flow(stage):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    digested(found, plan)
    with state_for(found.session) as state:
        state.begin(found.config.topology.flows[0])
        with pytest.raises(UnavailableError, match="another checksum run is active"):
            compare_digests(found.session, plan, "here", "there", spark=found, json_file=None)


def test_a_comparison_without_a_store_is_told(stage, monkeypatch):
    found = stage({("orders", 0): mirrored()})
    plan = planned(found)
    digested(found, plan)
    monkeypatch.setattr("mirrorwatch.checksums.state.os.access", lambda *_asked: False)
    assert compare_digests(found.session, plan, "here", "there", spark=found, json_file=None) == 0
    assert "is not writable: the result is not stored." in found.said
