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
from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings
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
NEW = """#!/bin/sh
echo "java.lang.UnsupportedOperationException: getSubject is not supported" >&2
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
    assert started(**environment).startswith("UnavailableError: Java not found; install")


def test_on_a_machine_with_a_name_that_no_service_knows(started, tmp_path):
    hosts = tmp_path / "hosts"  # the only names that Java knows
    hosts.write_text("127.0.0.1 localhost\n")
    assert started(JAVA_TOOL_OPTIONS=f"-Djdk.net.hosts.file={hosts}") == "started"


def test_with_a_java_home_that_is_none(started):
    said = started(JAVA_HOME="/nowhere")
    assert said == (
        "UnavailableError: Spark cannot start /nowhere/bin/java; set JAVA_HOME to the folder of Java 17 or 21, or "
        "unset it"
    )


@pytest.mark.parametrize(
    "name", ["JAVA_TOOL_OPTIONS", pytest.param("JDK_JAVA_OPTIONS", marks=pytest.mark.long)]
)
def test_with_another_collector_in_the_environment(started, name):
    assert started(**{name: "-XX:+UseSerialGC"}) == "started"


def test_with_two_collectors_told_to_java(started):
    said = started("spark.driver.extraJavaOptions", "-XX:+UseG1GC", JAVA_TOOL_OPTIONS="-XX:+UseSerialGC")
    assert said.startswith("UnavailableError: two garbage collectors are set for Java; keep one of them in")


JAVA_IS = """
import sys
from pathlib import Path
from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings
with spark_session(SparkSettings(Path(sys.argv[1]), master="local[1]")) as spark:
    java = spark.sparkContext._jvm.java
    print(spark.sparkContext.getConf().get("spark.executor.extraJavaOptions"))
    for name in ("mirrorwatch.test", "user.timezone", "sun.net.client.defaultReadTimeout"):
        print(java.lang.System.getProperty(name))
    print(java.util.TimeZone.getDefault().getID())
    print(*sorted(one.getName() for one in java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()))
"""
PARALLEL, SERIAL = "PS MarkSweep PS Scavenge", "Copy MarkSweepCompact"


@pytest.mark.parametrize(
    ("collector", "used", "given"),
    [
        ("", PARALLEL, "-XX:+UseParallelGC "),
        pytest.param("-XX:+UseSerialGC", SERIAL, "", marks=pytest.mark.long),
    ],
)
def test_what_spark_defaults_conf_gives_to_java_stays_beside_ours(tmp_path, collector, used, given):
    conf = tmp_path / "conf"
    conf.mkdir()
    theirs = f"-Dmirrorwatch.test=theirs -Duser.timezone=Asia/Tokyo {collector}".strip()
    (conf / "spark-defaults.conf").write_text(
        f"spark.driver.extraJavaOptions {theirs}\nspark.executor.extraJavaOptions {theirs}\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", JAVA_IS, str(tmp_path / "scratch")],
        env={**os.environ, "SPARK_CONF_DIR": str(conf)},
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    executors, *driver = outcome.stdout.splitlines()
    assert executors.endswith(f" {given}{theirs} -Duser.timezone=UTC")  # behind Spark's own
    assert ("UseParallelGC" in executors) is bool(given)
    assert driver == [
        "theirs",
        "Asia/Tokyo",  # the driver's is set once it runs
        "60000",
        "UTC",
        used,
    ], outcome.stderr


def test_with_a_java_that_is_too_old(started, tmp_path):
    java = tmp_path / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD)
    java.chmod(0o755)
    said = started(JAVA_HOME=str(tmp_path / "old"))
    assert said.startswith(
        f"UnavailableError: the Java at {java} is too old for Spark; install Java 17 or 21"
    )


def test_with_a_java_that_is_too_new_its_version_is_told(started, tmp_path):
    java = tmp_path / "new" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(NEW)
    java.chmod(0o755)
    (tmp_path / "new" / "release").write_text('JAVA_VERSION="25.0.3"\n')
    said = started(JAVA_HOME=str(tmp_path / "new"))
    assert said.startswith(
        f"UnavailableError: the Java at {java} (25.0.3) is too new for Spark; install Java 17"
    )
