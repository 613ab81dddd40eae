"""`checksum run` that goes on with what another one left: what it then says, what it leaves, what is too old."""

from __future__ import annotations

import os
import time
from contextlib import closing
from functools import partial
from sqlite3 import connect

import pytest

from checksum.history.history import LEASE_S
from checksum.plan.document import plan_id
from checksum.plan.shape import Plan
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums.folder import KEPT_MS, PlanFolder
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_kept import book_of, documents, kept_stage, run

LONG_AGO_S = KEPT_MS / 1000 + 60


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return partial(kept_stage, tmp_path, monkeypatch)


def mirrored(count=200):
    return grown(Mirrored(lag_max=10), count)


def grown(one, count):
    one.write(count)
    one.copy()
    one.flush()
    return one


def interrupted(stage):
    """Run it until the source's side is read."""
    digest = stage.digests_made.digest

    def until_target(plan, side, folder):
        if side == "target":
            raise KeyboardInterrupt
        return digest(plan, side, folder)

    stage.digests_made.digest = until_target
    with pytest.raises(KeyboardInterrupt):
        run(stage)
    stage.digests_made.digest = digest


def aged(folder):
    """Have a plan's folder be one that nobody has gone on with for long."""
    at = time.time() - LONG_AGO_S
    os.utime(folder / "asked.json", (at, at))


def test_what_was_quiet_is_reported_as_such_by_the_run_that_goes_on(stage, tmp_path):
    found = stage({("orders", 0): mirrored(), ("quiet", 0): mirrored()})
    assert run(found) == 0
    grown(found.clusters.mirrors["orders", 0], 100)
    interrupted(found)
    assert run(found) == 0
    assert "resuming plan" in found.said
    assert run(found, "orders") == 0
    assert [one["nothing_new"] for one in documents(tmp_path)] == [[], ["quiet"], ["orders"]]
    # The plan that was resumed may be days old, and the last one had one topic alone.
    assert [one["whole"] for one in documents(tmp_path)] == [True, False, False]


@pytest.mark.parametrize("named", [False, True])
def test_kept_digests_that_cannot_be_used_are_recreated_wherever_they_are(stage, tmp_path, named):
    found = stage({("orders", 0): mirrored()})
    if named:  # as with `--folder`, where digests stay
        found.folder_of = lambda plan, side, **_: f"{tmp_path}/digests/{plan_id(plan)[:12]}/{side}"
    interrupted(found)
    for cells in tmp_path.glob("**/source/cells.json"):
        cells.write_text("cut off")
    read = found.digests_made.cells

    def cells_of(*asked):
        try:
            return read(*asked)
        except ValueError as error:
            raise ConfigurationError([]) from error

    found.digests_made.cells = cells_of
    assert run(found) == 0
    assert "Restarting." in found.said
    assert [side for side, _ in found.digests_made.read] == ["source", "source", "target"]


def test_a_plan_that_no_one_went_on_with_for_a_week_is_recreated(stage, tmp_path):
    found = stage({("orders", 0): mirrored()})
    interrupted(found)
    (old,) = (tmp_path / "checksum").iterdir()
    aged(old)
    grown(found.clusters.mirrors["orders", 0], 50)
    assert run(found) == 0
    assert "resuming plan" not in found.said
    assert [one["source_records"] for one in documents(tmp_path)] == [250]
    assert list((tmp_path / "checksum").iterdir()) == []


def test_what_a_flow_left_that_is_gone_is_taken_away_too(stage, tmp_path):
    gone = Plan("C->D", "C", "D", 1, 4, 1000, "read_uncommitted", "read_uncommitted", (), (), ())
    folder = PlanFolder(tmp_path / "checksum").keep(gone, {"flow": "C->D"}, basis="b")
    found = stage({("orders", 0): mirrored()})
    assert run(found) == 0
    assert folder.exists()
    aged(folder)
    assert run(found) == 0
    assert not folder.exists()


ELSEWHERE = '{"boot":"b","namespace":"n","pid":1,"began":"1"}'  # on another machine: not seen from here


@pytest.mark.parametrize("signs", [False, True])
def test_a_run_elsewhere_that_seems_silent_is_waited_for(stage, tmp_path, signs):
    found = stage({("orders", 0): mirrored()})
    at_ms = int(found.session.clock.wall_s() * 1000) - round(LEASE_S * 1500)  # or its clock is behind

    async def begin(history):
        return await history.begin("A->B", who="pod-1", now_ms=at_ms, counts_only=False, process=ELSEWHERE)

    book_of(tmp_path, begin)
    waited = []

    def pause(seconds):
        waited.append(seconds)
        if signs:
            with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
                store.execute("UPDATE checksum_open SET beaten_ms = beaten_ms + 15000")

    object.__setattr__(found.session, "pause", pause)
    if signs:
        with pytest.raises(UnavailableError, match=r"another checksum run is active since .* on pod-1"):
            run(found)
    else:
        assert run(found) == 0
    assert waited[:1] == [LEASE_S]
    assert "A->B: waiting 60 s for a heartbeat of another run on pod-1." in found.said
