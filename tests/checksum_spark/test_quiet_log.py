"""Spark's log, which a driver of spark-submit has on its terminal, holds nothing that only looks like a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from checksum.digest.cell_rows import Side
from checksum.digest.coverage import Stamp
from checksum.digest.files import DigestFolder, delete_folder
from checksum.plan.places import places_of
from checksum.spark.session import LOG_FILE, READING_ERRORS
from fleet.errors import ConfigurationError
from tests.checksum.plan.test_places import partition, plan, topic

pytestmark = pytest.mark.real
GROUP = {"kafka.group.id": "mirrorwatch-checksum-x"}
NO_BROKER = {
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "kafka.request.timeout.ms": "400",
    "kafka.default.api.timeout.ms": "500",
    "fetchOffset.numRetries": "1",
}
PLACES = places_of(plan(topic(partition(0))), Side.SOURCE)


@pytest.fixture
def said(spark):
    """Give a function that returns what Spark has logged since the test began."""
    log = Path(spark.sparkContext.getConf().get("spark.local.dir")) / LOG_FILE
    before = log.read_text()
    return lambda: log.read_text().removeprefix(before)


def test_a_digest_that_is_not_there_is_told_and_not_by_a_stack_of_java_s(spark, tmp_path, said):
    folder = DigestFolder(spark, str(tmp_path / "none"), Stamp("p", 1, Side.SOURCE))
    assert folder.slices() == []
    with pytest.raises(ConfigurationError, match="none: no digest in this folder; digest this side"):
        folder.cells(PLACES)
    assert said() == ""


def test_one_that_was_begun_is_not_whole(spark, tmp_path):
    (tmp_path / "cells" / "slice=0").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="incomplete digest"):
        DigestFolder(spark, str(tmp_path), Stamp("p", 1, Side.SOURCE)).cells(PLACES)


def test_a_file_system_that_spark_does_not_know_is_told(spark):
    with pytest.raises(
        ConfigurationError, match=r"^foo://x/d: Spark lacks the jars for this kind of file system"
    ):
        DigestFolder(spark, "foo://x/d", Stamp("p", 1, Side.SOURCE)).slices()


def test_below_a_file_there_is_no_digest(spark, tmp_path):
    (tmp_path / "file").write_text("x")
    assert DigestFolder(spark, str(tmp_path / "file" / "d"), Stamp("p", 1, Side.SOURCE)).slices() == []


@pytest.mark.long
def test_a_folder_is_deleted_whole_and_a_missing_one_is_no_failure(spark, tmp_path):
    folder = tmp_path / "digests" / "plan"
    (folder / "source" / "cells").mkdir(parents=True)
    (folder / "source" / "cells" / "part.parquet").write_text("")
    assert delete_folder(spark, str(folder)) is None
    assert not folder.exists()
    assert folder.parent.exists()
    assert delete_folder(spark, str(folder)) is None
    assert "nowhere" in (delete_folder(spark, "nowhere://host/digests") or "")


def test_of_the_group_that_we_name_it_does_not_warn(spark, said):
    with pytest.raises(READING_ERRORS):
        spark.read.format("kafka").options(**NO_BROKER, **GROUP, subscribe="t").load().count()
    assert "127.0.0.1:1" in said()  # so far it came
    assert "group.id" not in said()
