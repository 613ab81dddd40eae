"""A Spark that cannot start ends in one sentence, whatever is missing, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.real
PROGRAM = """
import sys
from pathlib import Path
from checksum.spark_session import spark_session
from checksum.spark_settings import SparkSettings
from fleet.errors import MirrorwatchError
try:
    with spark_session(SparkSettings(Path(sys.argv[1]), master="local[1]", extra=dict([sys.argv[2:4]] if sys.argv[2:] else []))):
        print("started")
except MirrorwatchError as error:
    print(f"{type(error).__name__}: {error}")
"""
DEADLINE_S = 90
OLD = """#!/bin/sh
echo "java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been compiled by a newer one" >&2
exit 1
"""


@pytest.fixture
def started(tmp_path):
    """Give a function that starts Spark in a process of its own and returns what that says."""

    def start(*arguments, **environment):
        outcome = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "scratch"), *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert outcome.returncode == 0, outcome.stderr
        assert "Traceback" not in outcome.stderr
        return outcome.stdout.strip()

    return start


def test_without_java(started, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "ps", "tr", "env", "uname"):
        (tools / name).symlink_to(shutil.which(name))
    environment = {"PATH": str(tools), "JAVA_HOME": ""}
    assert started(**environment).startswith(
        "UnavailableError: Spark needs Java and there is none here: install"
    )


def test_with_a_java_home_that_is_none(started):
    said = started(JAVA_HOME="/nowhere")
    assert said == (
        "UnavailableError: Spark cannot start /nowhere/bin/java: set JAVA_HOME to the folder of Java 17 or 21, or "
        "unset it"
    )


def test_with_a_java_that_is_too_old(started, tmp_path):
    java = tmp_path / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD)
    java.chmod(0o755)
    said = started(JAVA_HOME=str(tmp_path / "old"))
    assert said.startswith(
        f"UnavailableError: the Java at {java} is too old for Spark: install Java 17 or 21"
    )
