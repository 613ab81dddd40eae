"""Plans of unfinished runs in their folders: whole, of the right flow and question, and gone in the end."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import sqlalchemy

from checksum.plan.document import plan_id
from checksum.plan.shape import Plan
from fleet.errors import UnavailableError
from mirrorwatch.checksums import folder as checksum_folder
from mirrorwatch.checksums.folder import KEPT_MS, KeptPlan, PlanFolder, folder_beside

PLAN = Plan("A->B", "A", "B", 1_790_000_000_000, 4, 1000, "read_uncommitted", "read_uncommitted", (), (), ())
ASKED = {"flow": "A->B", "topics": ["orders"]}


@pytest.fixture
def plans(tmp_path):
    return PlanFolder(tmp_path / "checksum")


def kept(plans, asked=ASKED, *, flow="A->B", now_ms=None):
    return plans.kept(flow, asked, now_ms=int(time.time() * 1000) if now_ms is None else now_ms)


def names(tmp_path):
    return sorted(path.name for path in (tmp_path / "checksum").iterdir())


def test_a_plan_is_found_again_by_the_same_question_alone(plans, tmp_path):
    folder = plans.keep(PLAN, ASKED, basis="b", nothing_new=["audit"])
    assert folder == tmp_path / "checksum" / plan_id(PLAN) == plans.of(PLAN)
    assert kept(plans, dict(reversed(ASKED.items()))) == [KeptPlan(PLAN, "b", ("audit",))]
    assert kept(plans, ASKED | {"topics": None}) == []
    assert kept(plans, flow="B->A") == []
    assert kept(PlanFolder(tmp_path / "nowhere")) == []


def test_as_many_topics_as_a_flow_may_have_are_found_again(plans):
    quiet = tuple(f"{number:06}".ljust(249, "x") for number in range(100_000))
    plans.keep(PLAN, ASKED, basis="b", nothing_new=quiet)
    assert kept(plans) == [KeptPlan(PLAN, "b", quiet)]


def test_the_newest_comes_first_and_what_is_forgotten_is_gone(plans, tmp_path):
    later = replace(PLAN, made_at_ms=PLAN.made_at_ms + 1)
    for plan in (PLAN, later):
        (plans.keep(plan, ASKED, basis="b") / "source").mkdir()
        (plans.of(plan) / "source" / "part").write_text("x")
    assert [one.plan for one in kept(plans)] == [later, PLAN]
    plans.forget(later)
    assert names(tmp_path) == [plan_id(PLAN)]
    plans.forget(later)  # twice does no harm


def test_what_was_killed_half_way_is_no_plan_and_is_taken_away(plans, tmp_path):
    for spoiled in (
        lambda folder: (folder / "plan.json").unlink(),
        lambda folder: (folder / "plan.json").write_text("{"),
        lambda folder: (folder / "plan.json").write_text(
            (folder / "plan.json").read_text().replace('"A"', '"C"')
        ),
    ):
        spoiled(plans.keep(PLAN, ASKED, basis="b"))
        assert kept(plans) == []
        assert names(tmp_path) == []


def test_a_kill_while_it_is_taken_away_leaves_what_the_next_one_takes(plans, tmp_path, monkeypatch):
    folder = plans.keep(PLAN, ASKED, basis="b")
    (folder / "source").mkdir()

    def killed(*_given, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(checksum_folder.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        plans.forget(PLAN)
    monkeypatch.undo()
    assert names(tmp_path) == [plan_id(PLAN)]
    assert kept(plans) == []
    assert names(tmp_path) == []


def test_what_others_keep_there_is_left_alone(plans, tmp_path):
    plans.keep(PLAN, ASKED, basis="b")
    other = tmp_path / "checksum" / "mine"
    other.mkdir()
    (other / "asked.json").write_text(json.dumps({"flow": "A->B", "asked": ASKED}))
    strange = tmp_path / "checksum" / ("f" * 64)
    strange.mkdir()
    (strange / "asked.json").write_text("[1]")
    assert len(kept(plans)) == 1
    plans.forget_old(1 << 60, on=())
    assert names(tmp_path) == ["f" * 64, "mine"]


def test_what_nobody_goes_on_with_goes_after_a_while(plans, tmp_path):
    for flow in ("A->B", "B->A", "gone"):
        os.utime(plans.keep(replace(PLAN, flow=flow), ASKED, basis="b") / "asked.json", (1000, 1000))
    young = plans.keep(replace(PLAN, made_at_ms=1), ASKED, basis="b")
    plans.forget_old(1_000_000 + KEPT_MS, on=())
    assert len(names(tmp_path)) == 4
    plans.forget_old(1_000_001 + KEPT_MS, on=["B->A"])  # of which a run goes on with it
    assert names(tmp_path) == sorted([plan_id(replace(PLAN, flow="B->A")), young.name])


def test_what_is_too_old_is_not_gone_on_with(plans, tmp_path):
    os.utime(plans.keep(PLAN, ASKED, basis="b") / "asked.json", (1000, 1000))
    assert len(kept(plans, now_ms=1_000_000 + KEPT_MS)) == 1
    assert kept(plans, flow="B->A", now_ms=1 << 60) == []
    assert len(names(tmp_path)) == 1
    assert kept(plans, ASKED | {"topics": None}, now_ms=1_000_001 + KEPT_MS) == []
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    (tmp_path / "checksum").write_text("a file")
    with pytest.raises(UnavailableError, match=r"cannot write digests: not a directory; free space"):
        PlanFolder(tmp_path / "checksum").keep(PLAN, ASKED, basis="b")


def test_what_cannot_be_taken_away_is_told_once_and_does_no_harm(tmp_path, monkeypatch):
    told = []
    plans = PlanFolder(tmp_path / "checksum", warn=told.append)
    later = replace(PLAN, made_at_ms=PLAN.made_at_ms + 1)
    for plan in (PLAN, later):
        os.utime(plans.keep(plan, ASKED, basis="b") / "asked.json", (1, 1))

    def refuse(*_given, **_named):
        raise PermissionError(13, "Permission denied")

    for name in ("unlink", "rmdir"):
        monkeypatch.setattr(checksum_folder.Path, name, refuse)
    monkeypatch.setattr(checksum_folder.shutil, "rmtree", lambda *_given, **_named: None)
    plans.forget(PLAN)
    plans.forget_old(1 << 60, on=())
    assert told == [f"{plans.of(PLAN)}: cannot delete: permission denied; it is no longer needed, delete it"]


@pytest.mark.parametrize(
    ("url", "writable", "found"),
    [
        ("sqlite:////TMP/store/mw.db", ["store", "etc", "state"], "store"),
        ("sqlite:////TMP/store/mw.db", ["etc", "state"], None),
        ("postgresql://h/d", ["etc", "state"], "etc"),
        ("postgresql://h/d", ["state"], "state"),
        ("postgresql://h/d", [], None),
    ],
)
def test_plans_are_where_a_unit_may_write_if_the_store_is_not_a_file(
    tmp_path, monkeypatch, url, writable, found
):
    address = sqlalchemy.make_url(url.replace("/TMP", str(tmp_path)))
    store = SimpleNamespace(database_url=lambda _directory: address)
    config = SimpleNamespace(store=store, directory=tmp_path / "etc")
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/more:{tmp_path}/state")
    # The permissions of root would not do.
    monkeypatch.setattr(checksum_folder.os, "access", lambda path, _mode: path.name in writable)
    assert folder_beside(config) == (None if found is None else tmp_path / found / "checksum")


def test_without_a_unit_there_is_no_state_directory(tmp_path, monkeypatch):
    store = SimpleNamespace(database_url=lambda _directory: sqlalchemy.make_url("postgresql://h/d"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert folder_beside(SimpleNamespace(store=store, directory=tmp_path / "nowhere")) is None
