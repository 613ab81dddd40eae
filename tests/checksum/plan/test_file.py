"""A plan as it travels: whole and unchanged, or refused with a sentence."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import replace

import pytest

from checksum.plan.document import canonical, from_document, plan_id, to_document
from checksum.plan.file import MAX_FILE_BYTES, read_plan, write_plan
from checksum.plan.shape import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Anchored,
    LeftOut,
    OffsetRange,
    PartitionPlan,
    Plan,
    Run,
    TopicPlan,
)
from fleet.errors import ConfigurationError

DEADLINE_S = 10
PARTITION = PartitionPlan(
    partition=3,
    source=OffsetRange(100, 200),
    target=OffsetRange(90, 195),
    runs=(Run(100, 150, -10), Run(160, 200, -8)),
    segments=((100, 90), (160, 152)),
    anchored=Anchored.OFFSET_SYNCS,
)
TOPIC = TopicPlan("orders", "A.orders", "S1", None, True, False, False, (PARTITION,), 216)
PLAN = Plan(
    flow="A->B",
    source="A",
    target="B",
    made_at_ms=1_790_000_000_000,
    cells=16,
    bucket_ms=900_000,
    isolation_source=READ_UNCOMMITTED,
    isolation_target=READ_COMMITTED,
    excluded_headers=("via",),
    topics=(TOPIC,),
    left_out=(LeftOut("orders", 4, 12, "no such partition"), LeftOut("new", None, 3, "later", later=True)),
)


def changed(**values):
    return replace(PLAN, **values)


def with_partition(**values):
    return changed(topics=(replace(TOPIC, partitions=(replace(PARTITION, **values),)),))


def test_a_plan_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "plan.json"
    told = write_plan(path, PLAN)
    assert read_plan(path) == (PLAN, told)
    assert told == plan_id(PLAN)
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_where_a_topic_was_re_created_or_left_behind_travels_with_the_plan(tmp_path):
    plan = with_partition(recreated=(150, 80), left_behind=190)
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json")[0] == plan


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"recreated": (99, 80)}, "recreated: must lie where both ranges start"),
        ({"recreated": (150, 91)}, "recreated: must lie where both ranges start"),
        ({"left_behind": 201}, "left_behind: must be 100 to 200, not 201"),
    ],
)
def test_and_is_refused_outside_of_the_ranges(values, said):
    with pytest.raises(ConfigurationError, match=re.escape(f"topics[0].partitions[0].{said}")):
        from_document(to_document(with_partition(**values)), file="p")


def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    written = []
    reader = threading.Thread(target=lambda: written.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_plan(pipe, PLAN)
    reader.join(DEADLINE_S)
    assert pipe.is_fifo()
    (tmp_path / "plan.json").write_bytes(written[0])
    assert read_plan(tmp_path / "plan.json")[0] == PLAN


def test_a_link_goes_on_leading_where_it_leads(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "plan.json"
    link.symlink_to("there/plan.json")
    write_plan(link, PLAN)
    assert link.is_symlink()
    assert read_plan(tmp_path / "there" / "plan.json")[0] == PLAN
    assert [one.name for one in (tmp_path / "there").iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    "other",
    [
        changed(cells=17),
        changed(made_at_ms=1),
        changed(excluded_headers=()),
        changed(left_out=()),
        with_partition(partition=4),
        with_partition(runs=()),
        with_partition(target=OffsetRange(90, 196)),
        with_partition(recreated=(150, 80)),
        with_partition(left_behind=190),
        changed(topics=(replace(TOPIC, headers=False),)),
        changed(topics=(replace(TOPIC, target_topic_id="T2"),)),
    ],
)
def test_another_plan_has_another_id(other):
    assert plan_id(other) != plan_id(PLAN)


def test_the_id_stays_the_same_from_one_version_of_this_program_to_the_next():
    # Two sites compare it: what changes it has to change the plan's version too.
    assert plan_id(PLAN) == "6826be9777fcb823547003e162bb22a5b61ff832c5bb11aa1198febeab278579"


def test_what_is_there_stays_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    write_plan(path, PLAN)

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("checksum.plan.file.os.fsync", full)
    with pytest.raises(ConfigurationError, match=r"plan\.json: cannot be written: no space left on device"):
        write_plan(path, changed(cells=17))
    assert read_plan(path)[0] == PLAN
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be written: no such file or directory"):
        write_plan(tmp_path / "gone" / "plan.json", PLAN)
    with pytest.raises(ConfigurationError, match="cannot be read: no such file or directory"):
        read_plan(tmp_path / "gone" / "plan.json")


def test_a_plan_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    write_plan(path, PLAN)
    whole = path.read_bytes().rstrip()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigurationError, match="invalid JSON"):
            read_plan(path)


def test_a_plan_that_was_edited_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    write_plan(path, PLAN)
    path.write_text(path.read_text().replace('"source":[100,200]', '"source":[99,200]'))
    with pytest.raises(ConfigurationError, match="the file was changed"):
        read_plan(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "invalid JSON"),
        (b"\xff\xfe", "invalid JSON"),
        (b"[" * 200_000, "invalid JSON"),
        (b"[]", "not a checksum plan"),
        (b"7", "not a checksum plan"),
        (b'{"kind": "another"}', "not a checksum plan"),
        (b'{"kind": "mirrorwatch checksum plan"}', "version: missing"),
        (
            b'{"kind": "mirrorwatch checksum plan", "version": 2}',
            "unsupported version 2, this release reads 1",
        ),
        (b'{"kind": "mirrorwatch checksum plan", "version": 1}', "id: missing"),
        (b'{"kind": "mirrorwatch checksum plan", "version": 1, "id": "x", "plan": []}', "must be an object"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(tmp_path, content, sentence):
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=sentence) as refused:
        read_plan(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_beyond_all_bounds_is_not_read(tmp_path):
    path = tmp_path / "plan.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ConfigurationError, match="larger than"):
        read_plan(path)


def edited(path, value):
    """Return the document of the plan with one value replaced, by its place."""
    document = json.loads(canonical(to_document(PLAN)))
    held = document
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value
    return document


ONE = ("topics", 0, "partitions", 0)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("version",), 2, "version: unsupported version 2, this release uses 1; plan again"),
        (("seeds",), [7, 14], r"seeds: unsupported seeds \[7, 14\], this release uses \[7, 13\]"),
        (("seeds",), [7], "seeds: must have 2 entries, not 1"),
        (("cells",), 0, "cells: must be 1 to 65536, not 0"),
        (("cells",), True, "cells: must be an integer, not true or false"),
        (("cells",), 16.0, "cells: must be an integer, not a number"),
        (("bucket_ms",), 10**400, "bucket_ms: must be .* not a far larger number"),
        (("flow",), "", "flow: must have 1 to 2000 characters, not 0"),
        (("flow",), "A\x1b[31m", "flow: contains unprintable characters"),
        (("flow",), "\ud800", "flow: contains unprintable characters"),
        (("isolation_source",), "dirty", "must be one of read_committed, read_uncommitted, not 'dirty'"),
        (("isolation_source",), [], "must be one of .* not a list"),
        (("surprise",), 1, "surprise: unknown key"),
        (("topics",), None, "topics: must be a list, not null"),
        ((*ONE, "source"), [5, 4], r"partitions\[0\]\.source: invalid range \[5, 4\)"),
        ((*ONE, "source"), [-1, 4], r"source\[0\]: must be .* not -1"),
        ((*ONE, "source"), [1, 2**63], "must be 0 to"),
        ((*ONE, "source"), [1, 2, 3], "must have 2 entries, not 3"),
        ((*ONE, "runs"), [[100, 150, -11]], "runs: must be in order and within both ranges"),
        ((*ONE, "runs"), [[100, 150, 60]], "runs: must be in order"),
        ((*ONE, "runs"), [[100, 201, -10]], "runs: must be in order"),
        ((*ONE, "runs"), [[100, 150, -10], [149, 160, -10]], "runs: must be in order"),
        ((*ONE, "runs"), [[150, 150, -10]], "runs: must be in order"),
        (
            (*ONE, "runs"),
            [[100, 150, -8], [150, 160, -10]],
            "runs: must be in order",
        ),  # both have the target's 140
        ((*ONE, "segments"), [[160, 152], [150, 153]], "segments: must rise within both ranges"),
        ((*ONE, "segments"), [[200, 152]], "segments: must rise"),
        ((*ONE, "anchored"), "hope", "anchored: must be one of offset syncs.* not 'hope'"),
        ((*ONE, "partition"), 100_000, "partition: must be .* not 100000"),
        ((*ONE, "more"), 1, r"topics\[0\]\.partitions\[0\]\.more: unknown key"),
        (("topics", 0, "headers"), 1, "headers: must be true or false, not an integer"),
        (("topics", 0, "topic"), "x" * 250, "must have 1 to 249 characters, not 250"),
        (("left_out", 0), ["orders", 4, 12, "why"], r"left_out\[0\]: must have 5 entries, not 4"),
        (("left_out", 0, 2), -1, "must be 0 to"),
    ],
)
def test_a_document_is_believed_in_nothing(path, value, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        from_document(edited(path, value), file="plan.json")


def test_a_partition_that_is_empty_on_both_sides_is_no_part_of_a_plan():
    empty = with_partition(source=OffsetRange(5, 5), target=OffsetRange(9, 9), runs=(), segments=())
    with pytest.raises(ConfigurationError, match="has no offsets on either side"):
        from_document(to_document(empty), file="plan.json")
    one = with_partition(source=OffsetRange(5, 5), target=OffsetRange(9, 10), runs=(), segments=())
    assert from_document(json.loads(canonical(to_document(one))), file="plan.json") == one


def test_nothing_is_told_twice():
    for twice, what in (
        (changed(topics=(TOPIC, replace(TOPIC, target_topic="x"))), "duplicate topic orders"),
        (changed(topics=(TOPIC, replace(TOPIC, topic="x"))), "duplicate topic of the target A.orders"),
        (changed(topics=(replace(TOPIC, partitions=(PARTITION, PARTITION)),)), "duplicate partition 3"),
    ):
        with pytest.raises(ConfigurationError, match=what):
            from_document(to_document(twice), file="plan.json")
