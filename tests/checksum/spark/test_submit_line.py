"""The spark-submit line is quoted, names the connector where Spark's machines lack it, and runs for real."""

from __future__ import annotations

import shlex
from importlib.metadata import requires

import pytest

from checksum.spark import submit_line as module
from checksum.spark.submit_line import packages_to_submit, pinned_version, submit_line

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"


def test_the_line_can_be_typed_as_it_is():
    line = submit_line(
        ["checksum", "run", "my mirror.yaml", "--topic=a b;'c", "--all"],
        python="/opt/my python",
        script="/opt/x/submitted.py",
        master="local[*]",
        driver_memory="2g",
        packages=CONNECTOR,
        environ={},
    )
    assert "\n" not in line
    assert shlex.split(line) == [
        "spark-submit", "--master", "local[*]", "--driver-memory", "2g",
        "--conf", "spark.driver.defaultJavaOptions=-XX:+UseParallelGC", "--packages", CONNECTOR, "--conf", "spark.pyspark.driver.python=/opt/my python",
        "/opt/x/submitted.py", "checksum", "run", "my mirror.yaml", "--topic=a b;'c", "--all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("master", "environ", "defaults"),
    [
        ("yarn", {}, ""),  # nothing is read in the driver there
        ("local[2]", {"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC"}, ""),
        ("local[2]", {}, "spark.driver.extraJavaOptions -XX:+UseSerialGC\n"),
    ],
)
def test_a_collector_is_named_only_where_java_is_told_none(tmp_path, master, environ, defaults):
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    line = submit_line(
        ["checksum"],
        python="python",
        script="x.py",
        master=master,
        driver_memory="1g",
        packages=None,
        environ={**environ, "SPARK_CONF_DIR": str(tmp_path)},
    )
    assert "Java" not in line


@pytest.fixture
def spark_home(tmp_path):
    def made(*names):
        (tmp_path / "jars").mkdir()
        for name in names:
            (tmp_path / "jars" / name).touch()
        return {"SPARK_HOME": str(tmp_path)}

    return made


@pytest.mark.parametrize(
    ("jars", "master", "packages"),
    [
        (["spark-core_2.13-4.0.0.jar"], "local[2]", CONNECTOR),
        (["spark-core_2.13-4.1.2.jar"], "yarn", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.2"),
        (["spark-core_2.13-4.0.0.jar", "spark-sql-kafka-0-10_2.13-4.0.0.jar"], "local[*]", None),
        # What is in this machine's folder of jars is not on those of the cluster.
        (["spark-core_2.13-4.0.0.jar", "spark-sql-kafka-0-10_2.13-4.0.0.jar"], "spark://m:7077", CONNECTOR),
    ],
)
def test_the_connector_is_that_of_the_spark_which_runs_it(spark_home, jars, master, packages):
    assert packages_to_submit(spark_home(*jars), master) == packages


def test_without_any_spark_on_this_machine_the_version_is_that_which_mirrorwatch_asks_for(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    pinned = pinned_version(requires("mirrorwatch"))
    assert packages_to_submit({}, "yarn") == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pinned}"


@pytest.mark.parametrize(
    "spelled", ["pyspark==4.0.0; extra == 'checksum'", "pyspark (==4.0.0)", "pyspark ==4.0.0"]
)
def test_a_requirement_is_read_as_metadata_spells_it(spelled):
    assert pinned_version(["rich==15.0.0", spelled]) == "4.0.0"
