"""Spark is started with the connector that fits, closed to the network, and with what the hash rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from checksum.spark.settings import (
    SparkSettings,
    check_spark_home,
    connector,
    executor_options,
    java_options,
    java_version,
    spark_configuration,
)
from fleet.errors import ConfigurationError, UnavailableError

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
            "spark.driver.defaultJavaOptions": "-Dz=1",
            "spark.jars.packages": "org.x:y:1",
        },
    )
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.driver.extraJavaOptions"] == "-Dx=y"
    assert found["spark.driver.defaultJavaOptions"].startswith("-XX:+UseParallelGC -Duser.timezone=UTC ")
    assert found["spark.driver.defaultJavaOptions"].endswith(" -Dz=1")
    assert found["spark.jars.packages"] == "org.x:y:1,g:a:1"


def test_what_spark_defaults_conf_gives_to_java_is_left_to_it():
    # Spark joins both; a property that is given twice is taken once, and ours would be that.
    assert not [key for key in configured() if key.endswith("extraJavaOptions")]


@pytest.mark.parametrize(
    ("environ", "defaults"),
    [
        ({"JAVA_TOOL_OPTIONS": "-Xlog:disable -XX:+UseG1GC"}, ""),
        ({"JDK_JAVA_OPTIONS": "-XX:+UseSerialGC"}, ""),
        ({"_JAVA_OPTIONS": "-XX:+UseZGC"}, ""),
        ({}, "# ours\n spark.driver.extraJavaOptions  -Da=b -XX:+UseShenandoahGC\n"),
    ],
)
def test_where_java_is_told_a_collector_already_ours_stays_away(tmp_path, environ, defaults):
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    told = java_options({**environ, "SPARK_CONF_DIR": str(tmp_path)})
    found = spark_configuration(SparkSettings(Path("/x"), "local"), packages=None, told=told)
    assert found["spark.driver.defaultJavaOptions"].startswith("-Duser.timezone=UTC ")


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
def test_so_does_it_where_the_operator_s_properties_name_one(key):
    found = configured(extra={key: "-XX:+UseG1GC"})
    assert "UseParallelGC" not in "".join(found.values())


@pytest.mark.parametrize(
    "defaults",
    [
        "",
        "#spark.driver.extraJavaOptions -XX:+UseG1GC\nspark.executor.extraJavaOptions -XX:+UseG1GC\n",
        "spark.driver.extraJavaOptions -XX:-UseGCOverheadLimit -XX:+UseGCOverheadLimit\n",
    ],
)
def test_options_that_are_no_driver_s_or_name_no_collector_keep_ours(tmp_path, defaults):
    home = tmp_path / "conf"
    home.mkdir()
    (home / "spark-defaults.conf").write_text(defaults)
    told = java_options({"SPARK_HOME": str(tmp_path)})
    found = spark_configuration(SparkSettings(Path("/x"), "local"), packages=None, told=told)
    assert found["spark.driver.defaultJavaOptions"].startswith("-XX:+UseParallelGC ")


@pytest.mark.parametrize(
    ("extra", "default", "given"),
    [
        ("", "", "-XX:+UseParallelGC -Duser.timezone=UTC"),
        # Java takes what stands last.
        (
            "-Duser.timezone=Asia/Tokyo -Dx=y",
            "",
            "-XX:+UseParallelGC -Duser.timezone=Asia/Tokyo -Dx=y -Duser.timezone=UTC",
        ),
        ("-XX:+UseG1GC", "", "-XX:+UseG1GC -Duser.timezone=UTC"),
        ("", "-XX:+UseG1GC", "-Duser.timezone=UTC"),
    ],
)
def test_executors_are_given_the_operator_s_options_and_our_time_zone(extra, default, given):
    assert executor_options(extra, default) == given


@pytest.mark.parametrize("key", ["spark.sql.ansi.enabled", "spark.sql.session.timeZone"])
def test_what_the_hash_rests_on_cannot_be_changed(key):
    with pytest.raises(ConfigurationError, match="cannot be set for a checksum"):
        configured(extra={key: "x"})


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ('IMPLEMENTOR="x"\nJAVA_VERSION="25.0.3"\nJAVA_VERSION_DATE="2026-04-21"\n', " (25.0.3)"),
        ("JAVA_VERSION=17\r\n", " (17)"),
        ('JAVA_RUNTIME_VERSION="25"\n', ""),
        ("", ""),
    ],
)
def test_which_java_it_is_stands_in_its_folder(release, told):
    assert java_version(release) == told


@pytest.mark.parametrize("home", ["/nope", "", "/" + "x" * 500])
def test_a_spark_home_without_a_spark_is_told(home):
    with pytest.raises(UnavailableError, match=f"^SPARK_HOME: no Spark in '{home[:300]}'; unset it, or"):
        check_spark_home({"SPARK_HOME": home})


def test_a_spark_home_with_a_spark_is_fine(tmp_path):
    script = tmp_path / "bin" / "spark-submit"
    script.parent.mkdir()
    script.write_text("")
    check_spark_home({"SPARK_HOME": str(tmp_path)})
    check_spark_home({})


def test_by_spark_submit_no_spark_is_started_from_there():
    check_spark_home({"SPARK_HOME": "/nope", "PYSPARK_GATEWAY_PORT": "1"})
