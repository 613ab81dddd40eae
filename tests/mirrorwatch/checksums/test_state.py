"""`checksum run` over its store: what is verified is not read again, and nothing is told twice or dropped."""

from __future__ import annotations

import re
import threading
from contextlib import ExitStack, closing
from functools import partial
from sqlite3 import connect
from types import SimpleNamespace

import pytest

from checksum.digest.cell_rows import Side
from checksum.history import rows as history_rows
from checksum.history.history import ChecksumHistory
from checksum.plan.document import plan_id
from checksum.plan.file import read_plan
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums import state as checksum_state
from mirrorwatch.checksums.folder import PlanFolder
from mirrorwatch.checksums.plan import make_plans
from mirrorwatch.checksums.spark import Spark
from mirrorwatch.checksums.state import state_for
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_kept import (
    LOST_AT,
    STEPS,
    book_of,
    documents,
    kept_stage,
    killed_at,
    lossy,
    marks,
    run,
)
from tests.mirrorwatch.checksum_stage import CONFIG

LOST = [("lost", "orders", 0, [LOST_AT, LOST_AT + 1])]


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return lambda mirrors=None, **more: kept_stage(tmp_path, monkeypatch, mirrors, **more)


def told(document):
    return [
        (one["verdict"], one["topic"], one["partition"], one["source_offsets"])
        for one in document["findings"]["shown"]
    ]


def grow(one, count, *, drop=False):
    one.write(count)
    one.copy(1, drop=drop)
    one.copy()
    one.flush()


def folders(tmp_path):
    return sorted(path.name for path in (tmp_path / "checksum").glob("*"))


def test_only_what_is_new_is_read_and_a_finding_is_told_once(stage, tmp_path):
    mirrors = {("orders", 0): lossy(), ("audit", 0): Mirrored(lag_max=10)}
    grow(mirrors["audit", 0], 30)
    assert run(stage(mirrors)) == 1
    assert marks(tmp_path) == {("orders", 0): (200, 199), ("audit", 0): (30, 30)}
    grow(mirrors["orders", 0], 50, drop=True)
    again = stage(mirrors)
    assert run(again) == 1
    assert again.digests_made.read == [
        (side, {"orders": [[[200, 250], [199, 248]]]}) for side in ("source", "target")
    ]
    first, second = documents(tmp_path)
    assert told(first) == LOST
    assert told(second) == [("lost", "orders", 0, [200, 201])]
    assert (first["source_records"], second["source_records"]) == (230, 50)
    assert (first["nothing_new"], second["nothing_new"]) == ([], ["audit"])
    shown = {
        (one["topic"], one["verified_to"]["source"], one["held"]) for one in second["partitions"]["shown"]
    }
    assert shown == {("orders", 250, 0)}
    assert folders(tmp_path) == []


def test_with_nothing_new_spark_is_not_started_and_the_last_finding_is_remembered(stage, tmp_path):
    mirrors = {("orders", 0): lossy()}
    assert run(stage(mirrors)) == 1
    again = stage(mirrors)
    assert run(again) == 0
    assert (again.started, again.digests_made.asked) == (0, [])
    assert "A->B: no new records to compare" in again.said
    assert re.search(r"The run that ended \S+Z found 1 difference; each is reported once\.", again.said)
    assert [told(one) for one in documents(tmp_path)] == [LOST, []]
    assert marks(tmp_path) == {("orders", 0): (200, 199)}


def test_a_finding_is_remembered_however_many_runs_had_nothing_new(stage, tmp_path):
    mirrors = {("orders", 0): lossy()}
    assert run(stage(mirrors)) == 1
    assert run(stage(mirrors)) == 0
    third = stage(mirrors)
    assert run(third) == 0
    assert "found 1 difference; each is reported once. No later run cleared it." in third.said
    assert "No new records: nothing compared. The findings of earlier runs still hold." in third.said


def test_the_plan_begins_where_all_is_verified_and_makes_no_store(stage, tmp_path):
    mirrors = {("orders", 0): lossy()}
    planned, out = stage(mirrors), tmp_path / "plan.json"
    make_plans(planned.session, planned.chosen(), out=out, json_file=None)
    assert not (tmp_path / "mirrorwatch.db").exists()
    assert read_plan(out)[0].topics[0].partitions[0].source.first == 0
    run(stage(mirrors))
    grow(mirrors["orders", 0], 50)
    again = stage(mirrors)
    make_plans(again.session, again.chosen(), out=out, json_file=None)
    assert read_plan(out)[0].topics[0].partitions[0].source.first == 200
    assert marks(tmp_path) == {("orders", 0): (200, 199)}


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_was_verified_of_a_topic_that_was_made_anew_is_forgotten(stage, side):
    one = lossy()
    run(stage({("orders", 0): one}))
    anew = Mirrored(lag_max=10)
    anew.source_id, anew.target_id = ("S2", "T1") if side == "source" else ("S1", "T2")
    grow(anew, 300)
    again = stage({("orders", 0): anew})
    assert run(again) == 0
    assert again.digests_made.read[0] == ("source", {"orders": [[[0, 300], [0, 300]]]})


def test_a_second_run_is_refused_while_one_is_on(stage):
    first, second = stage(), stage()
    with state_for(first.session) as state:
        state.begin(first.session.config.topology.flows[0])
        with pytest.raises(
            UnavailableError,
            match=r"flow A->B: another checksum run is active since \S+Z on .*, process \d+",
        ):
            run(second)
    assert second.digests_made.asked == []
    assert run(second) == 1  # the first ended with its block, though it finished nothing


def test_a_run_gives_signs_of_life_while_it_works(stage, tmp_path, monkeypatch):
    monkeypatch.setattr(checksum_state, "HEART_S", 0.001)
    beaten = threading.Event()

    async def beat(history, run, now_ms, *, plan=None):
        told = await whole(history, run, now_ms + 1000, plan=plan)
        beaten.set()
        return told

    whole = ChecksumHistory.send_heartbeat
    monkeypatch.setattr(ChecksumHistory, "send_heartbeat", beat)
    found = stage()

    async def ask(history):
        return await history._store.read(partial(history_rows.open_runs, flow="A->B"))

    with state_for(found.session) as state:
        state.begin(found.session.flow("A:B"))
        assert beaten.wait(20)
        (begun,) = book_of(tmp_path, ask)
        assert begun.beaten_ms >= begun.begun_ms + 1000
    assert book_of(tmp_path, ask) == []


def test_a_run_that_a_person_ends_is_gone_on_with(stage, tmp_path):
    found = stage()
    digest = found.digests_made.digest
    found.digests_made.digest = lambda *asked: (
        digest(*asked) if asked[1] == "source" else _raise(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        run(found)
    again = stage()
    assert run(again) == 1
    assert [side for side, _ in again.digests_made.read] == ["target"]


def test_digests_are_kept_where_the_command_line_says(stage, tmp_path):
    killed_at(tmp_path, "one side")
    (plan,) = (tmp_path / "checksum").iterdir()
    found = stage()
    asked = {"flow": "A->B", "topics": None, "equal_offsets": False}
    (kept,) = PlanFolder(tmp_path / "checksum").kept("A->B", asked, now_ms=0)
    for folder, beside, expected in (
        (None, plan, f"{plan}/source"),
        (None, None, f"{tmp_path}/scratch/digests/{plan.name[:12]}/source"),
        ("s3a://bucket/x/", plan, f"s3a://bucket/x/{plan.name[:12]}/source"),
    ):
        spark = Spark(
            found.session,
            ExitStack(),
            master="local",
            driver_memory="1g",
            scratch=tmp_path / "scratch",
            folder=folder,
        )
        spark.say_interrupted()
        assert found.said.endswith("Interrupted. ")
        assert spark.folder_of(kept.plan, Side.SOURCE, beside=beside) == expected
        spark.say_interrupted()
        goes_on = "Progress is saved: run the same command again to continue."
        assert found.said.endswith(f"Interrupted. {goes_on} " if beside else "Interrupted. ")


def test_digests_in_a_named_folder_are_deleted_with_their_plan(stage, tmp_path):
    found = stage()
    assert run(found) == 1
    (plan,) = found.forgotten
    details = {"master": "yarn", "driver_memory": "1g", "scratch": tmp_path / "scratch"}
    deleted, why = [], [None, "Permission denied"]
    for folder in ("s3a://bucket/x/", None):
        spark = Spark(found.session, ExitStack(), folder=folder, **details)
        spark.forget(plan)  # Spark did not start
        spark._digests = SimpleNamespace(delete=lambda path: deleted.append(path) or why.pop(0))
        spark.forget(plan)
        if folder is not None:
            assert "cannot delete" not in found.said
            spark.forget(plan)
    there = f"s3a://bucket/x/{plan_id(plan)[:12]}"
    assert deleted == [there] * 2
    assert f"{there}: cannot delete: Permission denied; it is no longer needed, delete it" in found.said


TWO_FLOWS = CONFIG.replace("flows:", '  C: {bootstrap.servers: "c:1"}\nflows:\n  A->C: {topics: ".*"}')


def test_where_one_of_two_flows_is_on_the_other_is_compared(stage, tmp_path):
    first, second = stage(config=TWO_FLOWS), stage(config=TWO_FLOWS)
    with state_for(first.session) as state:
        state.begin(first.session.flow("A:B"))
        assert run(second) == 1
    assert "A->B: nothing compared flow A->B: another checksum run is active" in second.said
    assert (documents(tmp_path, "A->B"), told(documents(tmp_path, "A->C")[0])) == ([], LOST)


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_killed_is_gone_on_with_and_nothing_is_told_twice(stage, tmp_path, step):
    killed_at(tmp_path, step)
    written = step == "written"
    assert [told(one) for one in documents(tmp_path)] == ([LOST] if written else [])
    assert marks(tmp_path) == ({("orders", 0): (200, 199)} if written else {})
    assert len(folders(tmp_path)) == 1
    again = stage()
    assert run(again) == 1  # by whichever of both it is told
    read = {"planned": ["source", "target"], "one side": ["target"]}.get(step, [])
    assert [side for side, _ in again.digests_made.read] == read
    assert ("resuming plan" in again.said) is not written
    assert [told(one) for one in documents(tmp_path)] == ([LOST, []] if written else [LOST])
    assert marks(tmp_path) == {("orders", 0): (200, 199)}
    assert folders(tmp_path) == []


def test_what_came_after_a_kill_is_for_the_run_after_next(stage, tmp_path):
    killed_at(tmp_path, "one side")
    one = lossy()
    grow(one, 50)
    assert run(stage({("orders", 0): one})) == 1
    assert marks(tmp_path) == {("orders", 0): (200, 199)}
    assert run(stage({("orders", 0): one})) == 0
    assert marks(tmp_path) == {("orders", 0): (250, 249)}


@pytest.mark.parametrize("changed", ["topic", "question", "rules"])
def test_a_plan_that_holds_no_more_is_made_anew(stage, tmp_path, changed):
    killed_at(tmp_path, "one side")
    one = lossy()
    if changed == "topic":
        one.target_id = "T2"
    again = stage({("orders", 0): one}, **({"cells": 8} if changed == "rules" else {}))
    run(again, *(["orders"] if changed == "question" else []))
    assert "resuming plan" not in again.said
    assert [side for side, _ in again.digests_made.read] == ["source", "target"]
    # Another question's plan is left for whoever asks that again.
    assert len(folders(tmp_path)) == (changed == "question")


def test_kept_digests_that_are_spoiled_are_made_anew(stage, tmp_path):
    killed_at(tmp_path, "writing")
    again = stage()
    cells = again.digests_made.cells
    failing = [ConfigurationError([])]
    again.digests_made.cells = lambda *asked: cells(*asked) if not failing else _raise(failing.pop())
    assert run(again) == 1
    assert [side for side, _ in again.digests_made.read] == ["source", "target"]
    assert [told(one) for one in documents(tmp_path)] == [LOST]


def _raise(error):
    raise error


def test_a_digest_that_lacks_what_the_log_holds_is_not_gone_on_with(stage, tmp_path):
    found = stage()
    found.digests_made.empty_ranges = (("orders", 0, 40, 60),)
    with pytest.raises(UnavailableError, match="Spark returned no record of orders-0 from 40 to 59"):
        run(found)
    assert folders(tmp_path) == []
    again = stage()
    assert run(again) == 1
    assert [side for side, _ in again.digests_made.read] == ["source", "target"]


@pytest.mark.parametrize(("lost", "status"), [(True, 1), (False, 4)])
def test_what_the_store_does_not_take_is_told_all_the_same_and_again(stage, tmp_path, lost, status):
    one = lossy()
    if not lost:
        one = Mirrored(lag_max=10)
        grow(one, 200)
    found = stage({("orders", 0): one})
    path = tmp_path / "result.json"
    digest = found.digests_made.digest

    (tmp_path / "moved").mkdir()

    def away(_plan, side, _folder):
        if side == "target":
            for file in tmp_path.glob("mirrorwatch.db*"):
                file.rename(tmp_path / "moved" / file.name)
        return digest(_plan, side, _folder)

    found.digests_made.digest = away
    assert run(found, json_file=path) == status
    last = found.said.rstrip().rpartition("A->B: ")[2]
    assert re.fullmatch(
        r"the store \S+ was moved, removed or replaced while in use; .*\. The result is printed above; the"
        r" next run will find it again\.",
        last,
    )
    (document,) = found.read_json(path)["runs"]
    assert document["status"] == status
    assert "was moved, removed or replaced" in document["not_kept"]
    assert told(document) == (LOST if lost else [])
    assert ("lost: orders [0]" in found.said) is lost
    for file in (tmp_path / "moved").glob("*"):
        file.rename(tmp_path / file.name)
    with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
        store.execute("UPDATE checksum_open SET process = '', beaten_ms = 0")  # as if its process had ended
    again = stage({("orders", 0): one})
    assert run(again) == (1 if lost else 0)
    assert again.digests_made.read == []  # the digests were kept
    assert [told(one) for one in documents(tmp_path)] == [LOST if lost else []]


def test_without_a_folder_for_the_store_nothing_is_kept_and_that_is_said(stage, tmp_path):
    config = CONFIG + "store: {url: 'sqlite:///away/mirrorwatch.db'}\n"
    for _ in range(2):
        found = stage(config=config)
        assert run(found) == 1
        assert re.search(
            r"/away does not exist: nothing is stored, so every run compares everything\.", found.said
        )
    assert not (tmp_path / "away").exists()
    assert folders(tmp_path) == []


def test_a_store_that_cannot_be_written_is_left_alone(stage, tmp_path, monkeypatch):
    run(stage())
    monkeypatch.setattr(checksum_state.os, "access", lambda *_asked: False)
    found, planned = stage(), stage()
    assert run(found) == 1
    assert f"{tmp_path} is not writable: nothing is stored, so every run" in found.said
    make_plans(planned.session, planned.chosen(), out=None, json_file=None)
    assert f"{tmp_path} is not writable: what earlier runs verified is unknown." in planned.said
    assert len(documents(tmp_path)) == 1


def test_a_store_of_another_program_is_refused_before_anything_is_read(stage, tmp_path):
    (tmp_path / "mirrorwatch.db").write_bytes(b"no database at all" * 100)
    found = stage()
    with pytest.raises(UnavailableError, match=r"is not a database: name another file in store\.url"):
        run(found)
    assert found.digests_made.asked == []


def test_counts_of_both_sides_are_kept_by_bucket(stage, tmp_path):
    one = lossy()
    run(stage({("orders", 0): one}))
    grow(one, 100)
    run(stage({("orders", 0): one}))

    async def ask(history):
        return await history.counts("A->B", "orders", since_ms=0, until_ms=1 << 50, limit=99)

    rows = book_of(tmp_path, ask)
    assert (sum(row.source_records for row in rows), sum(row.target_records for row in rows)) == (300, 299)
    assert [row.bucket_at_ms % 900_000 for row in rows] == [0] * len(rows)


def test_an_incomplete_run_that_the_store_does_not_take_is_4_as_one_that_cannot_be_told(
    stage, tmp_path, monkeypatch
):
    one = Mirrored(lag_max=10)
    grow(one, 200)
    found = stage({("orders", 0): one, ("new", 0): lossy()})
    del found.clusters.b.topics["A.new"]
    monkeypatch.setattr(checksum_state.Run, "finish", lambda *_given: UnavailableError("the store is away"))
    path = tmp_path / "result.json"
    assert run(found, json_file=path) == 4
    assert found.read_json(path)["runs"][0]["not_kept"] == "the store is away"


def test_the_last_finding_is_named_however_many_counts_came_since(stage, tmp_path):
    one = lossy()
    assert run(stage({("orders", 0): one})) == 1

    async def count(history):
        for number in range(60):
            begun = await history.begin("A->B", who="w", now_ms=number, counts_only=True)
            document = documents_of_a_count(begun)
            await history.finish(begun, now_ms=1, status=0, document=document, verified={}, counts=())

    book_of(tmp_path, count)
    again = stage({("orders", 0): one})
    assert run(again) == 0
    assert "found 1 difference; each is reported once" in again.said


def documents_of_a_count(run):
    later = "2100-01-01T00:00:00.000Z"
    return {
        "run": run, "flow": "A->B", "plan": "p", "begun_at": later, "ended_at": later, "status": 0,
        "counts_only": True,
    }  # fmt: skip


def test_a_store_that_cannot_be_looked_at_is_a_mistake_of_the_configuration(stage):
    config = CONFIG + f"store: {{url: 'sqlite:///{'a' * 300}.db'}}\n"
    found = stage(config=config)
    with pytest.raises(ConfigurationError, match=r"store\.url: cannot open .*: file name too long"):
        run(found)
    with pytest.raises(ConfigurationError, match=r"store\.url: "):
        make_plans(found.session, found.chosen(), out=None, json_file=None)


def test_what_cannot_be_tidied_after_a_finding_is_a_warning(stage, tmp_path, monkeypatch):
    def refuse(*_given, **_named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mirrorwatch.checksums.folder._remove", refuse)
    found = stage()
    assert run(found) == 1
    assert "cannot delete: permission denied; it is no longer needed, delete it" in found.said
    assert "lost: orders [0]" in found.said
