"""What `checksum run` keeps, on two real brokers, a real MirrorMaker and Spark, typed as an operator types it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from sqlite3 import OperationalError, connect

import pytest

from tests.eventually import eventually
from tests.real.checksum.test_plan import PARTITIONS, Stage

RUN_S = 300
STEP_S = 120


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    topic = topic_name("remembered")
    found = Stage(kafka_pair, topic)
    found.mirror = mirror({"A->B.topics": topic})
    found.folder = found.mirror.properties_file.parent
    return found


def command(stage, path):
    return [
        sys.executable, "-m", "mirrorwatch", "checksum", "run", str(stage.mirror.properties_file),
        "--topic", stage.topic, "--flow", "A:B", "--master", "local[2]", "--json", str(path),
    ]  # fmt: skip


def run(stage, path):
    """Return exit status, the flow's document, None where there is none, and all that was said."""
    path.unlink(missing_ok=True)
    ended = subprocess.run(command(stage, path), capture_output=True, text=True, timeout=RUN_S, check=False)
    assert "Traceback" not in ended.stderr, ended.stderr
    said = re.sub(r"\s+", " ", ended.stdout + ended.stderr)
    return ended.returncode, json.loads(path.read_text())["runs"][0] if path.exists() else None, said


@contextmanager
def begun(stage, path):
    """Give a run that is on, until it is killed here."""
    with subprocess.Popen(
        command(stage, path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def is_on(stage):
    """Tell whether the store knows of a run that is on."""
    try:
        with closing(connect(stage.folder / "mirrorwatch.db")) as store:
            return store.execute("SELECT count(*) FROM checksum_open").fetchone()[0] == 1
    except OperationalError:
        return False


def compared(document):
    """Return what was read of both sides, in records and in offsets."""
    return document["source_records"], document["target_records"], document["offsets"]["source"]


def ends(document):
    """Return up to where each partition of the source is verified."""
    return {one["partition"]: one["verified_to"]["source"] for one in document["partitions"]["shown"]}


@pytest.mark.long
def test_only_what_is_new_is_read(stage, tmp_path):
    path = tmp_path / "result.json"
    stage.write(3000)
    stage.wait_copied()
    status, document, said = run(stage, path)
    assert (status, compared(document)) == (0, (3000, 3000, 3000)), said

    status, document, said = run(stage, path)
    assert (status, compared(document), document["nothing_new"]) == (0, (0, 0, 0), [stage.topic]), said
    assert "no new records to compare" in said
    assert "Starting Spark" not in said

    stage.write(1000)
    stage.wait_copied()
    status, document, said = run(stage, path)
    assert (status, compared(document)) == (0, (1000, 1000, 1000)), said
    assert ends(document) == dict.fromkeys(range(PARTITIONS), 4000 // PARTITIONS)


@pytest.mark.long
def test_a_second_run_is_refused_and_one_that_is_killed_is_gone_on_with(stage, tmp_path):
    path = tmp_path / "result.json"
    stage.write(1000)
    stage.wait_copied()
    with begun(stage, tmp_path / "killed.json") as first:
        eventually(lambda: is_on(stage), STEP_S, what="a run in the store")
        status, document, said = run(stage, path)
        assert (status, document) == (4, None), said
        told = r"flow A->B: another checksum run is active since \S+Z on \S+, process (\d+) "
        found = re.search(told, said)
        assert found is not None, said
        assert int(found[1]) == first.pid
        eventually(
            lambda: list(stage.folder.glob("checksum/*/source/slices/slice=0/*.parquet")),
            STEP_S,
            what="a slice of the source's digest",
            every_s=0.05,
        )
        os.kill(first.pid, signal.SIGKILL)
        first.wait(STEP_S)
    assert not (tmp_path / "killed.json").exists()

    stage.write(500)  # for the next run: the plan that is gone on with lacks them
    stage.wait_copied()
    status, document, said = run(stage, path)
    assert (status, compared(document)) == (0, (1000, 1000, 1000)), said
    assert "A->B: resuming plan" in said
    assert "A: 1,000 of 1,000 offsets already read" in said
    assert ends(document) == dict.fromkeys(range(PARTITIONS), 1000 // PARTITIONS)
    assert list(stage.folder.glob("checksum/*")) == []
