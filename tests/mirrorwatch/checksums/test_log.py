"""What Spark said is kept where it lasts, once for a command, and never hides why the run failed."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest

from fleet.errors import UnavailableError
from mirrorwatch.checksums import log as checksum_log
from mirrorwatch.checksums import spark as checksum_spark
from mirrorwatch.checksums.log import MOST_LOGS, KeptLog
from tests.mirrorwatch.checksum_stage import Stage


@pytest.fixture
def stage(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "config").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(checksum_spark, "pyspark_folder", lambda: None)
    return Stage(tmp_path / "config", {}, monkeypatch)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "spark.log"
    path.write_text("first")
    return path


def kept_beside(stage):
    return sorted((stage.folder / "checksum").glob("spark-*.log"))


def no_room(*_given, **_named):
    raise OSError(28, "No space left on device")


def test_it_is_kept_beside_the_store_for_our_eyes_only(stage, log):
    KeptLog(stage.session, log).keep()
    (kept,) = kept_beside(stage)
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == ("first", 0o600)
    assert f"Spark's log is in {kept}." in stage.said
    assert log.exists()  # Java goes on writing it


def test_a_second_failure_keeps_the_longer_log_in_the_same_place_and_says_no_more(stage, log):
    kept = KeptLog(stage.session, log)
    kept.keep()
    log.write_text("first and second")
    kept.keep()
    (path,) = kept_beside(stage)
    assert path.read_text() == "first and second"
    assert stage.said.count("Spark's log is") == 1


def test_of_a_long_log_the_end_is_kept(stage, log, monkeypatch):
    monkeypatch.setattr(checksum_log, "MOST_BYTES", 3)
    KeptLog(stage.session, log).keep()
    assert kept_beside(stage)[0].read_text() == "rst"


def test_no_more_logs_are_kept_than_some(stage, log):
    folder = stage.folder / "checksum"
    folder.mkdir()
    for number in range(MOST_LOGS + 2):
        (folder / f"spark-2020010{number}T000000Z-1.log").write_text("old")
    KeptLog(stage.session, log).keep()
    kept = kept_beside(stage)
    assert len(kept) == MOST_LOGS
    assert kept[0].name == "spark-20200103T000000Z-1.log"
    assert kept[-1].read_text() == "first"


def test_where_that_cannot_be_written_it_is_kept_in_the_temporary_folder(stage, log, tmp_path):
    (stage.folder / "checksum").write_text("a file")
    KeptLog(stage.session, log).keep()
    (kept,) = (tmp_path / "tmp").glob("mirrorwatch-spark-*/spark.log")
    assert kept.read_text() == "first"
    assert str(kept) in stage.said


@pytest.mark.parametrize("said", [None, ""])
def test_where_java_said_nothing_nothing_is_kept(stage, log, said):
    log.unlink()
    if said is not None:
        log.write_text(said)
    KeptLog(stage.session, log).keep()
    assert stage.said == ""
    assert kept_beside(stage) == []


def test_a_full_disk_hides_no_reason(stage, monkeypatch):
    monkeypatch.setattr(checksum_log.shutil, "copyfileobj", no_room)

    def fail():
        with checksum_spark.spark_for(
            stage.session, master="local[1]", driver_memory="1g", folder=None
        ) as spark:
            spark._settings.folder.mkdir()
            (spark._settings.folder / "spark.log").write_text("x")
            raise UnavailableError("disk full")

    with pytest.raises(UnavailableError, match="disk full"):
        fail()
    assert "Spark's log is" not in stage.said
    assert kept_beside(stage) == []


def test_the_log_of_a_flow_that_failed_while_others_went_on_is_kept(stage):
    with checksum_spark.spark_for(stage.session, master="local[1]", driver_memory="1g", folder=None) as spark:
        spark._settings.folder.mkdir()
        (spark._settings.folder / "spark.log").write_text("it failed")
        spark.keep_log()
    (kept,) = kept_beside(stage)
    assert Path(kept).read_text() == "it failed"
