"""`mirrorwatch checksum run` on two real brokers and a real MirrorMaker, typed as an operator types it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from checksum.compare.finding_text import time_text
from tests.eventually import eventually
from tests.real.checksum.test_plan import DEADLINE_S, PARTITIONS, Stage

pytestmark = pytest.mark.real
RUN_S = 600


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    """Give a topic of this test's own, whose mirror runs with the switch of deploy/local."""
    topic = topic_name("audited")
    found = Stage(kafka_pair, topic)
    found.mirror = mirror({"A->B.topics": topic})
    return found


def typed(*arguments):
    """Return exit status and output of `mirrorwatch checksum`."""
    ended = subprocess.run(
        [sys.executable, "-m", "mirrorwatch", "checksum", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stdout + ended.stderr


def run(stage, folder):
    path = folder / "result.json"
    path.unlink(missing_ok=True)
    status, said = typed(
        "run", stage.mirror.properties_file, "--topic", stage.topic, "--flow", "A:B",
        "--master", "local[2]", "--json", path,
    )  # fmt: skip
    assert path.exists(), said
    document = json.loads(path.read_text())
    assert document["status"] == status
    return status, document["runs"][0], said


@pytest.mark.long
def test_a_healthy_mirror_is_fine(stage, tmp_path):
    stage.write(3000)
    stage.write_transactions(True, False)
    stage.wait_copied()
    status, found, said = run(stage, tmp_path)
    assert (status, found["coverage"], found["findings"]["count"]) == (0, 1.0, 0), said
    assert found["source_records"] == found["target_records"] == stage.written


def lose_one(stage):
    """Write records of which the mirror drops one, of partition 1, and return its offset."""
    stage.write(3000)
    stage.wait_copied()
    lost = stage.records("A", 1)[-1].offset + 100
    stage.mirror.switch.on("drop", topics=re.escape(stage.topic), partition=1, modulus=10**6, remainder=lost)
    stage.write(1000)
    eventually(lambda: len(stage.copies()) == stage.written - 1, DEADLINE_S, every_s=0.2)
    eventually(lambda: newest_synced(stage), DEADLINE_S, what="the newest syncs", every_s=0.5)
    return lost


def test_one_lost_record_is_named_by_offset_and_time(stage, tmp_path):
    lost = lose_one(stage)
    status, found, said = run(stage, tmp_path)
    assert status == 1, said
    (record,) = [one for one in stage.records("A", 1) if one.offset == lost]
    at = time_text(record.timestamp_ms)
    told = [
        tuple(
            one[name]
            for name in ("verdict", "topic", "partition", "source_offsets", "target_offsets", "at", "cause")
        )
        for one in found["findings"]["shown"]
    ]
    assert told == [("lost", stage.topic, 1, [lost, lost + 1], None, at, "filtered")], said
    assert (found["expected"]["count"], found["coverage"]) == (0, 1.0)
    lacking = f"({at}) not found among the records compared on B; MirrorMaker applies the transform fault and"
    assert f"record at offset {lost} on A {lacking}" in re.sub(r"\s+", " ", said)


@pytest.mark.long
def test_each_side_read_apart_names_an_altered_record(stage, tmp_path):
    stage.write(1000)
    stage.wait_copied()
    altered = stage.records("A", 0)[-1].offset + 50
    stage.mirror.switch.on(
        "alter", topics=re.escape(stage.topic), partition=0, modulus=10**6, remainder=altered
    )
    stage.write(500)
    stage.wait_copied()
    config, plan = stage.mirror.properties_file, tmp_path / "plan.json"
    folders = {side: tmp_path / side for side in ("source", "target")}
    assert typed("plan", config, "--flow", "A:B", "--topic", stage.topic, "--out", plan)[0] == 0
    for side, folder in folders.items():
        status, said = typed(
            "digest", config, "--plan", plan, "--side", side, "--out", folder, "--master", "local[2]"
        )
        assert status == 0, said
    both = ("--source", folders["source"], "--target", folders["target"])
    found = tmp_path / "result.json"
    status, said = typed(
        "compare", config, "--plan", plan, *both, "--master", "local[2]", "--json", found
    )  # fmt: skip
    assert status == 1, said
    (one,) = json.loads(found.read_text())["runs"][0]["findings"]["shown"]
    assert (one["verdict"], one["partition"], one["altered"], one["cause"], one["proof"]) == (
        "altered", 0, ["value"], "transformed", "reading",
    )  # fmt: skip
    assert one["source_offsets"] == [altered, altered + 1]
    swapped = ("--source", folders["target"], "--target", folders["source"])
    status, said = typed("compare", config, "--plan", plan, *swapped, "--master", "local[2]")
    assert (status, "digest of the target, not of the source" in said) == (2, True), said


def newest_synced(stage):
    known = stage.syncs()
    found = [known.of(stage.topic, one)[-1].upstream for one in range(PARTITIONS)]
    return found == [stage.records("A", one)[-1].offset for one in range(PARTITIONS)]
