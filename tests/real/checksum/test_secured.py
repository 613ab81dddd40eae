"""A checksum of a cluster with TLS and SCRAM: Java's properties reach Spark as they stand, and no secret gets out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from deploy.local.topics import create_topic
from tests.checksum_spark.processes import below, command_line, listening
from tests.conftest import SECURE_USERS

RECORDS, PARTITIONS = 600, 2
RUN_S, FLUSH_S = 150.0, 60.0
STORE_PASSWORD = "trust-Pa55=word"  # keytool takes what its locale can write
MOST_BYTES = 5_000_000  # of a file that is searched for secrets
SECRETS = [one.encode() for one in (*SECURE_USERS.values(), STORE_PASSWORD)]


@pytest.fixture(scope="module")
def topic(secure_broker, kafka_pair):
    """Write the same into a topic of the secured cluster and into its copy."""
    begun_ms = int(time.time() * 1000) - 3_600_000  # retention takes what is a week old
    for broker, name in ((secure_broker, "audited"), (kafka_pair.b, "S.audited")):
        client = broker.client_properties()
        create_topic(client, name, partitions=PARTITIONS)
        producer = Producer(client)
        for number in range(RECORDS):
            producer.produce(
                name,
                b"value %d" % number,
                partition=number % PARTITIONS,
                timestamp=begun_ms + number,
            )
        assert producer.flush(FLUSH_S) == 0
    return "audited"


@pytest.fixture
def written(secure_broker, kafka_pair, topic, tmp_path):
    """Give a function that writes a configuration with these properties of the secured cluster."""

    def write(**properties):
        clusters = {
            "S": secure_broker.java_properties()
            | {key.replace("_", "."): one for key, one in properties.items()},
            "B": kafka_pair.b.java_properties(),
        }
        path = tmp_path / "mirrorwatch.yaml"
        flow = {"topics": topic}
        path.write_text(
            json.dumps(
                {
                    "clusters": clusters,
                    "flows": {"S->B": flow},
                    "checksum": {"topics": [topic]},
                    "store": {"url": f"sqlite:///{tmp_path}/mirrorwatch.db"},
                }
            )
        )
        return path

    return write


class Watched:
    """A run with all that it shows meanwhile to others on this machine: words, files, addresses."""

    def __init__(self, path, folder):
        self.result = folder / "result.json"
        scratch = folder / "tmp"
        scratch.mkdir()
        said = folder / "said"  # no pipe: whoever watches does not read it meanwhile
        self.found, self.addresses, self.files = set(), set(), set()
        with said.open("wb") as writes, subprocess.Popen(
            [
                sys.executable, "-m", "mirrorwatch", "checksum", "run", str(path), "--master", "local[1]",
                "--json", str(self.result), "--log-level", "debug",
            ],
            env={**os.environ, "TMPDIR": str(scratch)},
            stdout=writes, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            deadline = time.monotonic() + RUN_S
            while process.poll() is None and time.monotonic() < deadline:
                for one in below(process.pid):
                    self._look(f"the command line of {one}", command_line(one).encode())
                    self.addresses |= listening(one)
                self._look_into(scratch)
                time.sleep(0.2)
            process.kill()
        self.said = said.read_bytes()
        self._look("what it said", self.said)
        self._look_into(scratch)
        self.status, self.left = process.returncode, list(scratch.iterdir())
        if self.result.exists():
            self._look("its result", self.result.read_bytes())

    def _look_into(self, folder):
        for inner, _, names in os.walk(folder):  # which passes over folders that go meanwhile
            for name in names:
                try:
                    with Path(inner, name).open("rb") as file:
                        self._look(f"{inner}/{name}", file.read(MOST_BYTES))
                    self.files.add(name)
                except OSError:  # it has gone
                    continue

    def _look(self, where, content):
        self.found |= {(where, secret) for secret in SECRETS if secret in content}


def fine(run):
    (found,) = json.loads(run.result.read_text())["runs"]
    return found["source_records"], found["target_records"], found["findings"]["count"], found["coverage"]


@pytest.mark.long
def test_pem_and_scram_reach_spark_and_nobody_else_sees_a_secret(written, tmp_path):
    run = Watched(written(), tmp_path)
    assert run.status == 0, run.said.decode()
    assert fine(run) == (RECORDS, RECORDS, 0, 1.0)
    assert run.found == set()
    assert run.addresses <= {"loopback"}
    assert "spark.log" in run.files  # it was looked into
    assert not [name for name in run.files if "events" in name or name.startswith(("app-", "local-"))]
    assert run.left == []


@pytest.mark.long
def test_a_pkcs12_trust_store_beside_the_configuration(written, secure_broker, tmp_path):
    store = tmp_path / "trust.p12"
    keytool = shutil.which("keytool")
    assert keytool, "keytool is missing: it comes with Java"
    subprocess.run(
        [
            keytool, "-importcert", "-noprompt", "-alias", "ca", "-storetype", "PKCS12", "-keystore", str(store),
            "-file", str(secure_broker.certificates.authority), "-storepass:env", "STORE_PASSWORD",
        ],
        env={**os.environ, "STORE_PASSWORD": STORE_PASSWORD}, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    properties = {
        "ssl_truststore_type": "PKCS12",
        "ssl_truststore_location": store.name,
        "ssl_truststore_password": STORE_PASSWORD,
    }
    run = Watched(written(**properties), tmp_path)
    assert run.status == 0, run.said.decode()
    assert fine(run) == (RECORDS, RECORDS, 0, 1.0)
    assert run.found == set()


@pytest.mark.parametrize(
    ("jaas", "sentence"),
    [
        (("admin", "wrong-Pa55word"), "does not accept the credentials"),
        (("stranger", SECURE_USERS["stranger"]), "principal may"),
    ],
    ids=["wrong password", "no right"],
)
def test_a_cluster_that_refuses_ends_the_run_before_spark_starts(written, tmp_path, jaas, sentence):
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    user, password = jaas
    line = f'{module} required username="{user}" password="{password}";'
    run = Watched(written(sasl_jaas_config=line), tmp_path)
    said = run.said.decode()
    assert run.status in {2, 4}
    assert sentence in said
    assert "Starting Spark" not in said
    assert password not in said
    assert not run.result.exists()
