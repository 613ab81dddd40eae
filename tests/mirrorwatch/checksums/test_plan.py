"""`checksum plan`: what would be read and compared, and the file that carries it to both sites."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from checksum.plan.file import read_plan
from fleet.errors import ConfigurationError
from mirrorwatch.checksums.plan import make_plans
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_stage import CONFIG, Stage
from tests.mirrorwatch.checksums.test_run import TWO_FLOWS, mirrored


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return lambda mirrors, **more: Stage(tmp_path, mirrors, monkeypatch, **more)


def plan(stage, *topics, out=None, json_file=None):
    return make_plans(stage.session, stage.chosen(*topics), out=out, json_file=json_file)


def test_it_says_what_is_read_on_each_side_and_what_is_left_out(stage):
    found = stage({("orders", 0): mirrored(), ("new", 0): mirrored(30)})
    del found.clusters.b.topics["A.new"]
    path = found.folder / "plan.json"
    assert plan(found, json_file=path) == 0
    assert "A->B: 1 partition of 1 topic to compare (plan " in found.said
    assert "A: at most 200 records, about 1" in found.said
    assert "left out: 30 records new: 30 records: topic A.new does not exist on B" in found.said
    (document,) = found.read_json(path)["plans"]
    assert (document["flow"], document["offsets"]) == ("A->B", {"source": 200, "target": 200})
    assert document["left_out"]["count"] == 1


def test_the_file_holds_the_plan_whose_id_is_printed(stage):
    found = stage({("orders", 0): mirrored()})
    path = found.folder / "plan"
    assert plan(found, out=path) == 0
    written, identity = read_plan(path)
    assert f"Wrote plan {identity} to {path}." in found.said
    assert [topic.topic for topic in written.topics] == ["orders"]
    assert (written.cells, written.bucket_ms) == (4, 900_000)


def test_the_settings_are_those_of_the_configuration(stage):
    found = stage({("orders", 0): mirrored()}, bucket="1m", exclude_headers=["trace"], max_rate="50MB/s")
    path = found.folder / "plan"
    assert plan(found, out=path) == 0
    written, _ = read_plan(path)
    assert (written.bucket_ms, written.excluded_headers) == (60_000, ("trace",))
    assert "at max_rate 50 MB/s each side takes" in found.said


def test_topics_of_the_configuration_are_planned_where_the_command_line_names_none(stage):
    found = stage({("orders", 0): mirrored(), ("audit", 0): mirrored()}, topics=["aud.*"])
    path = found.folder / "plan"
    chosen = found.session.chosen((), (), everything=False)
    assert make_plans(found.session, chosen, out=path, json_file=None) == 0
    assert [topic.topic for topic in read_plan(path)[0].topics] == ["audit"]
    with pytest.raises(ConfigurationError, match="cannot be combined with --topic; remove one of the two"):
        found.session.chosen((), ("orders",), everything=True)


@pytest.mark.parametrize("config", [CONFIG, TWO_FLOWS])
def test_a_topic_that_nobody_mirrors_is_told_where_it_was_named(stage, config):
    found = stage({("orders", 0): mirrored()}, config=config, topics=["nope"])
    for topics, place in (
        (("other",), "the command line: --topic: no topic on A matches 'other'"),
        ((), f"{found.config.path}: checksum.topics: no topic on A matches 'nope'"),
    ):
        chosen = found.session.chosen((), topics, everything=False)
        with pytest.raises(ConfigurationError) as refused:
            make_plans(found.session, chosen, out=None, json_file=None)
        assert str(refused.value).startswith(place)


def test_what_a_run_would_refuse_is_told_and_planned_all_the_same(stage):
    found = stage({("orders", 0): mirrored()}, max_bytes=100)
    assert plan(found) == 0
    assert "`checksum run` and `checksum digest` will refuse this: the plan of A->B reads about" in found.said


def test_a_plan_that_nothing_would_carry_out_is_not_written(stage):
    found = stage({("orders", 0): mirrored()}, max_bytes=100)
    out, json_file = found.folder / "plan", found.folder / "plan.json"
    with pytest.raises(ConfigurationError, match=r"checksum.max_bytes: the plan of A->B reads about"):
        plan(found, out=out, json_file=json_file)
    assert "A->B: 1 partition of 1 topic to compare" in found.said
    assert not out.exists()
    assert not json_file.exists()


def test_one_file_is_not_written_twice(stage):
    found = stage({("orders", 0): mirrored()})
    link = found.folder / "link"
    link.symlink_to(found.folder / "plan")
    with pytest.raises(ConfigurationError) as refused:
        plan(found, out=found.folder / "plan", json_file=link)
    assert str(refused.value) == "the command line: --json: same file as --out; name another one"
    assert found.said == ""
    assert plan(found, out=Path(os.devnull), json_file=Path(os.devnull)) == 0


def test_one_file_takes_one_plan(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    with pytest.raises(ConfigurationError, match="cannot hold the plans of several flows"):
        plan(found, out=found.folder / "plan")


def test_a_mirror_that_keeps_offsets_is_planned_by_equal_offsets(stage):
    config = TWO_FLOWS.replace('topics: ".*"', 'topics: ".*", lag_from: equal-offsets')
    one = mirrored()
    one.pairs.clear()  # it writes none
    found = stage({("orders", 0): one}, config=config)
    path = found.folder / "plan"
    chosen = found.session.chosen(["A:B"], (), everything=True)
    assert make_plans(found.session, chosen, out=path, json_file=None) == 0
    (topic,) = read_plan(path)[0].topics
    assert topic.partitions[0].anchored == "equal offsets"


def test_without_a_topic_of_syncs_it_is_found_by_time(stage):
    found = stage({("orders", 0): mirrored()})
    found.clusters.a.topics.pop("mm2-offset-syncs.B.internal")
    path = found.folder / "plan"
    assert plan(found, out=path) == 0
    (topic,) = read_plan(path)[0].topics
    assert topic.partitions[0].anchored == "timestamps"


def test_nothing_new_is_said(stage):
    found = stage({("orders", 0): Mirrored()})
    path = found.folder / "plan.json"
    assert plan(found, json_file=path) == 0
    assert "no new records in 1 topic, empty or compared before: orders nothing to compare" in found.said
    assert found.read_json(path)["plans"][0]["nothing_new"] == ["orders"]


def test_a_topic_that_is_created_while_the_plan_waits_is_not_called_verified(stage):
    one = mirrored()
    one.write(7)  # not replicated: the plan waits for it
    found = stage({("orders", 0): one, ("idle", 0): Mirrored()})
    there = found.clusters.a.topics
    found.while_waiting = [lambda: there.update(late=replace(there["orders"], name="late"))]
    path = found.folder / "plan.json"
    assert plan(found, json_file=path) == 0
    assert "late" in there
    assert found.read_json(path)["plans"][0]["nothing_new"] == ["idle"]
