"""Spark's Java starts in a scratch folder, and what was typed relative to ours means the same there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checksum.spark import session as module
from checksum.spark.paths import absolute_folders, folder_for_spark, is_absolute, local_folder
from checksum.spark.settings import SparkSettings
from fleet.errors import UnavailableError


@pytest.mark.parametrize(
    ("typed", "master", "told"),
    [
        ("digests", "local[*]", "/here/digests"),
        ("./d/../e", "local", "/here/e"),
        ("../d", "local[2,3]", "/d"),
        ("/there/d", "local[*]", "/there/d"),
        ("hdfs://nn/d", "local[*]", "hdfs://nn/d"),
        ("s3a://bucket/d", "local[*]", "s3a://bucket/d"),
        ("file:d", "local[*]", "file:d"),
        # Where Spark runs elsewhere it is relative to a home on the file system there.
        ("digests", "yarn", "digests"),
        ("digests", "spark://h:7077", "digests"),
    ],
)
def test_a_digest_s_folder_is_that_which_was_typed(typed, master, told):
    assert folder_for_spark(typed, master=master, here="/here") == told


@pytest.mark.parametrize(
    ("typed", "master", "environ", "found"),
    [
        ("d", "local[*]", {}, "/here/d"),
        ("/d", "local", {"JAVA_HOME": "/x", "HADOOP_CONF_DIR": ""}, "/d"),
        ("file:/d", "local", {"HADOOP_CONF_DIR": "/x"}, "/d"),
        ("file:///d", "local", {}, "///d"),
        # There another file system may be the one that is meant.
        ("/d", "local", {"HADOOP_CONF_DIR": "/x"}, None),
        ("/d", "local", {"SPARK_HOME": "/x"}, None),
        ("hdfs://nn/d", "local", {}, None),
        ("/d", "yarn", {}, None),
        ("file:/d", "spark://h:7077", {}, None),
    ],
)
def test_a_folder_that_surely_is_on_this_machine(typed, master, environ, found):
    assert local_folder(typed, master=master, here="/here", environ=environ) == found


@pytest.mark.parametrize(
    ("folder", "absolute"),
    [("/d", True), ("hdfs://h/d", True), ("file:/d", True), ("d", False), ("./d:e", False), ("../d", False)],
)
def test_what_means_the_same_everywhere_is_absolute(folder, absolute):
    assert is_absolute(folder) is absolute


def test_folders_of_the_environment_stay_where_they_are():
    environ = {"SPARK_HOME": "spark", "JAVA_HOME": "/opt/java", "SPARK_CONF_DIR": "./conf", "HOME": "x"}
    found = absolute_folders(environ | {"HADOOP_CONF_DIR": ""}, here="/here")
    assert found == {"SPARK_HOME": "/here/spark", "SPARK_CONF_DIR": "/here/conf"}


def test_java_starts_in_the_scratch_folder(tmp_path, monkeypatch):
    asked = []

    def launch(_configuration, process):
        asked.append((process["cwd"], os.environ["JAVA_HOME"]))
        raise OSError(2, "no Java")

    monkeypatch.setattr(module, "launch_gateway", launch)
    monkeypatch.setattr(module, "_jars", list)
    monkeypatch.setenv("JAVA_HOME", "java")
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    folder = tmp_path / "scratch" / "spark"
    with pytest.raises(UnavailableError), module.spark_session(SparkSettings(folder, master="local[1]")):
        pass
    assert asked == [(str(folder), str(Path.cwd() / "java"))]
