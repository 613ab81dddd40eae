"""Spark's Java that is killed beside us, as a supervisor's stop or a lack of memory does, says nothing of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.real
ENDS_S = 120.0
PROGRAM = """
import os, pathlib, signal, sys, time
from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings
from tests.checksum_spark.processes import below, command_line

with spark_session(SparkSettings(pathlib.Path(sys.argv[1]), master="local[1]")) as spark:
    spark.createDataFrame([(1,)], "one int").collect()
    for pid in below(os.getpid())[1:]:
        if "SparkSubmit" in command_line(pid):
            os.kill(pid, signal.SIGTERM)
    time.sleep(1.0)
print("left in order")
"""


@pytest.mark.long
def test_nothing_is_written_beside_our_own_words(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True, text=True, timeout=ENDS_S, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "left in order\n", "")
