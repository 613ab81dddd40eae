"""An executor that is killed while it reads: the run goes on, and nothing is counted twice or missed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer

from checksum.spark.settings import pyspark_folder
from deploy.local.quotas import limit_clients
from deploy.local.topics import create_topic
from tests.checksum_spark.processes import below, command_line, is_connected
from tests.eventually import eventually

pytestmark = pytest.mark.real
PARTITIONS, RECORDS, RECORD_BYTES = 2, 12_000, 1000
QUOTA = 1_500_000  # bytes a second: what the broker gives the client id, so that reading takes seconds
STARTED_S, RUN_S, FLUSH_S = 240.0, 240.0, 60.0  # it waits 2 min for the mirror, which is this test


@pytest.fixture
def config(kafka_pair, topic_name, tmp_path):
    """Give the configuration of a flow whose mirror is this test: both sides hold the same."""
    topic = topic_name("killed")
    begun_ms = int(time.time() * 1000) - 3_600_000  # retention takes what is a week old
    for broker, name in ((kafka_pair.a, topic), (kafka_pair.b, f"A.{topic}")):
        client = broker.client_properties()
        create_topic(client, name, partitions=PARTITIONS)
        producer = Producer({**client, "linger.ms": "50"})
        for number in range(RECORDS):
            value = b"%d " % number
            producer.produce(
                name, value.ljust(RECORD_BYTES, b"v"), partition=number % PARTITIONS, timestamp=begun_ms + number
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(FLUSH_S) == 0
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(
        json.dumps(
            {
                "clusters": {one.alias: one.java_properties() for one in (kafka_pair.a, kafka_pair.b)},
                "flows": {"A->B": {"topics": topic}},
                "checksum": {"topics": [topic], "client_id": topic},
                "store": {"url": f"sqlite:///{tmp_path}/mirrorwatch.db"},
            }
        )
    )
    limits = {"consumer_byte_rate": QUOTA}
    limit_clients(kafka_pair.a.bootstrap, topic, limits)
    yield path
    limit_clients(kafka_pair.a.bootstrap, topic, dict.fromkeys(limits))


def executors(driver):
    return [pid for pid in below(driver) if "CoarseGrainedExecutorBackend" in command_line(pid)]


@pytest.mark.long
def test_a_run_goes_on_when_an_executor_is_killed_while_it_reads(config, kafka_pair, tmp_path):
    defaults = tmp_path / "conf"
    defaults.mkdir()
    (defaults / "spark-defaults.conf").write_text("spark.executor.memory 512m\n")
    result = tmp_path / "result.json"
    with subprocess.Popen(
        [
            sys.executable, "-m", "mirrorwatch", "checksum", "run", str(config), "--master", "local-cluster[2,1,512]",
            "--json", str(result),
        ],
        env={**os.environ, "SPARK_HOME": str(pyspark_folder()), "SPARK_CONF_DIR": str(defaults)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            reads = eventually(
                lambda: (
                    next(
                        (one for one in executors(process.pid) if is_connected(one, kafka_pair.a.port)), None
                    )
                    or process.poll() is not None
                ),
                STARTED_S,
                what="an executor that reads",
            )
            assert process.poll() is None, process.communicate()[0]
            os.kill(reads, signal.SIGKILL)
            said, _ = process.communicate(timeout=RUN_S)
        finally:
            process.kill()
    assert process.returncode == 0, said
    (run,) = json.loads(result.read_text())["runs"]
    assert (run["source_records"], run["target_records"], run["coverage"]) == (RECORDS, RECORDS, 1.0), said
    assert run["findings"]["count"] == 0
    assert "Traceback" not in said
