"""The checksum on a Spark cluster of several processes, by the line that `--print-submit` prints."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from checksum.spark.settings import pyspark_folder
from tests.checksum_spark.standalone import StandaloneCluster
from tests.checksum_spark.test_run import RUN_S, lose_one, stage, typed  # noqa: F401 - a fixture

pytestmark = [pytest.mark.real, pytest.mark.long]


def test_a_lost_record_is_named_by_a_cluster_that_spark_submit_is_sent_to(stage, tmp_path):  # noqa: F811
    lost = lose_one(stage)
    result = tmp_path / "result.json"
    with StandaloneCluster(tmp_path, workers=2) as cluster:
        status, line = typed(
            "run", stage.mirror.properties_file, "--topic", stage.topic, "--flow", "A:B", "--master", cluster.url,
            "--folder", tmp_path / "digests", "--json", result, "--print-submit",
        )  # fmt: skip
        assert status == 0, line
        words = shlex.split(line)
        at = words.index("--packages")
        del words[at : at + 2]  # the workers' Spark has the connector among its jars, as an image has
        ended = subprocess.run(
            [pyspark_folder() / "bin" / "spark-submit", *words[1:]],
            capture_output=True, text=True, timeout=RUN_S, check=False, cwd=tmp_path,
        )  # fmt: skip
        executors = [list((tmp_path / f"work-{number}").glob("app-*/*/stderr")) for number in range(2)]
    said = ended.stdout + ended.stderr[-3000:]
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    (run,) = json.loads(result.read_text())["runs"]
    told = [(one["verdict"], one["partition"], one["source_offsets"]) for one in run["findings"]["shown"]]
    assert told == [("lost", 1, [lost, lost + 1])], said
    assert run["coverage"] == 1.0
    assert all(executors), "each worker took part"
