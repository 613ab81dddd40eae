"""What Spark is told beside its work ends no run, whatever this machine's Java and its logging are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError

from checksum.spark import session as module


class Context:
    def __init__(self, failing=None):
        self.failing, self.level = failing, None
        self._accumulatorServer = SimpleNamespace()

    def setLogLevel(self, level):  # noqa: N802 - PySpark's name
        if self.failing:
            raise self.failing
        self.level = level


def java(failing=None):
    told = {}

    def set_level(name, level):
        if failing:
            raise failing
        told[name] = level

    configurator = SimpleNamespace(setLevel=set_level)
    core = SimpleNamespace(config=SimpleNamespace(Configurator=configurator))
    log4j = SimpleNamespace(core=core, Level=SimpleNamespace(ERROR="error"))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(logging=SimpleNamespace(log4j=log4j))))
    return jvm, told


def test_spark_logs_no_warning_of_groups():
    (jvm, told), context = java(), Context()
    module._reduce_logging(jvm, context)
    assert context.level == "WARN"
    assert told == {"org.apache.spark.sql.kafka010.KafkaSourceProvider": "error"}


@pytest.mark.parametrize("failing", [Py4JError("gone"), TypeError("'JavaPackage' object is not callable")])
def test_another_logging_than_spark_s_own_ends_no_run(failing):
    context = Context()
    module._reduce_logging(java(failing)[0], context)
    context = Context(Py4JError("no log4j-core"))
    module._reduce_logging(java()[0], context)
    assert context._accumulatorServer.handle_error(None, None) is None


def test_a_java_that_links_lead_to_in_a_ring_is_told_without_its_version(tmp_path, monkeypatch):
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").symlink_to("java")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert module._java() == f"{home}/bin/java"
