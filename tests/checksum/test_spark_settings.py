"""Spark is started with the connector that fits, closed to the network, and with what the hash rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from checksum.spark_settings import SparkSettings, connector, spark_configuration
from fleet.errors import ConfigurationError

SCALA = ["scala-library-2.13.16.jar", "spark-core_2.13-4.0.0.jar"]


@pytest.mark.parametrize(
    ("jars", "version", "coordinates"),
    [
        (SCALA, "4.0.0", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"),
        (["spark-core_2.14-5.1.0.jar"], "5.1.0", "org.apache.spark:spark-sql-kafka-0-10_2.14:5.1.0"),
        ([*SCALA, "spark-sql-kafka-0-10_2.13-4.0.0.jar"], "4.0.0", None),
    ],
)
def test_the_connector_follows_from_the_installed_pyspark(jars, version, coordinates):
    assert connector(jars, version) == coordinates


def configured(packages=None, *, master="local[*]", **more):
    return spark_configuration(SparkSettings(Path("/scratch"), master, **more), packages=packages)


def test_a_local_spark_listens_on_this_machine_only_and_tells_nothing():
    found = configured()
    assert found["spark.ui.enabled"] == found["spark.ui.showConsoleProgress"] == "false"
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.local.dir"] == "/scratch"
    assert "spark.jars.packages" not in found


def test_a_cluster_s_driver_can_be_reached_by_its_executors():
    assert "spark.driver.host" not in configured(master="spark://m:7077")


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("local[2]", "local[2,3]"),
        ("local[*]", "local[*,3]"),
        ("local", "local[1,3]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[1,2,1024]", "local-cluster[1,2,1024]"),
        ("yarn", "yarn"),
    ],
)
def test_a_local_master_tries_a_task_again(asked, given):
    assert configured(master=asked)["spark.master"] == given


def test_the_operator_s_properties_go_before_ours():
    found = configured(
        "g:a:1",
        extra={
            "spark.ui.enabled": "true",
            "spark.driver.extraJavaOptions": "-Dx=y",
            "spark.jars.packages": "org.x:y:1",
        },
    )
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dx=y")
    assert "-Duser.timezone=UTC" in found["spark.driver.extraJavaOptions"]
    assert "-Duser.timezone=UTC" in found["spark.executor.extraJavaOptions"]
    assert found["spark.jars.packages"] == "org.x:y:1,g:a:1"


@pytest.mark.parametrize("key", ["spark.sql.ansi.enabled", "spark.sql.session.timeZone"])
def test_what_the_hash_rests_on_cannot_be_changed(key):
    with pytest.raises(ConfigurationError, match="cannot be set for a checksum"):
        configured(extra={key: "x"})
