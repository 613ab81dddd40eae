"""Run MirrorMaker's connectors on a real distributed Connect, and write down what its REST address answers.

`connect-4.3.0.json` beside this file was made with it, from the root of the checkout:

    python -m tests.mirrorwatch.golden_connect.record_connect 4.3

Kept are, by request, the status, the content type and the body. Ports are those of that day.
"""

from __future__ import annotations

import json
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from deploy.local.broker import Broker
from deploy.local.jars import VERSIONS
from deploy.local.java import java_command
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.properties import write_properties
from deploy.local.topics import admin_client
from tests.eventually import eventually

CONNECT = "org.apache.kafka.connect.cli.ConnectDistributed"
PACKAGE = "org.apache.kafka.connect.mirror."
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
BOTH = "/connectors?expand=info&expand=status"
STORAGES = ("offset", "config", "status")


def worker_settings(broker, port):
    """Return the properties of one worker whose own topics lie on the broker."""
    return {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "connect",
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.discovery": "service_load",
        "offset.flush.interval.ms": "1000",
        **{f"{name}.converter": BYTES for name in ("key", "value")},
        **{f"{name}.storage.topic": f"connect-{name}s" for name in STORAGES},
        **{f"{name}.storage.replication.factor": "1" for name in STORAGES},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }


def connectors(source, target):
    """Return the connectors by name: a whole mirror, one that fails, one that is paused, one with no task."""
    both = {
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": source.bootstrap,
        "target.cluster.bootstrap.servers": target.bootstrap,
        "key.converter": BYTES,
        "value.converter": BYTES,
    }
    quick = {"replication.factor": "1", "offset-syncs.topic.replication.factor": "1"}
    mirror = both | quick | {"connector.class": f"{PACKAGE}MirrorSourceConnector"}
    secured = {
        "source.cluster.security.protocol": "PLAINTEXT",
        "source.cluster.sasl.mechanism": "PLAIN",
        "source.cluster.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="mm2" password="shown-in-clear";',
    }
    broken = {
        "transforms": "put",
        "transforms.put.type": "org.apache.kafka.connect.transforms.InsertHeader",
        "transforms.put.header": "via",
        "transforms.put.value.literal": "B",
    }
    return {
        "mirror-source": mirror | secured | {"tasks.max": "2", "topics": "orders.*, heartbeats", "refresh.topics.interval.seconds": "30"},
        "mirror-checkpoint": both
        | {
            "connector.class": f"{PACKAGE}MirrorCheckpointConnector",
            "checkpoints.topic.replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "groups": "shop-.*",
            "emit.checkpoints.interval.seconds": "5",
            "sync.group.offsets.enabled": "true",
        },
        "mirror-heartbeat": both
        | {"connector.class": f"{PACKAGE}MirrorHeartbeatConnector", "heartbeats.topic.replication.factor": "1"},
        "failing-source": mirror
        | broken
        | {"source.cluster.alias": "C", "topics": "orders.*", "header.converter": BYTES},
        "paused-source": mirror | {"source.cluster.alias": "D", "topics": "orders.*"},
    }  # fmt: skip


def asked(base, path, *, method="GET", body=None):
    """Return status, content type and body of one answer."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(base + path, data=content, method=method, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own address
            return {
                "status": answer.status,
                "type": answer.headers["Content-Type"],
                "body": answer.read().decode(),
            }
    except urllib.error.HTTPError as error:
        return {"status": error.code, "type": error.headers["Content-Type"], "body": error.read().decode()}
    except OSError:
        return {"status": 0, "type": "", "body": ""}


def states(base):
    """Return the states of each connector and of its tasks."""
    answer = asked(base, BOTH)
    found = json.loads(answer["body"]) if answer["status"] == 200 else {}
    return {
        name: (told["status"]["connector"]["state"], *(task["state"] for task in told["status"]["tasks"]))
        for name, told in found.items()
    }


def record(version):
    """Return the answers of a worker of this version of Kafka."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source, target = (Broker(name, folder / name, version=version) for name in "AB")
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        write_properties(folder / "connect.properties", worker_settings(target, port))
        command = java_command(version, folder, CONNECT, str(folder / "connect.properties"), heap_mb=384)
        worker = Process("connect", command, folder=folder)
        for each in (source, target, worker):
            stack.callback(each.kill)
        for broker in (source, target):
            broker.start()
        for broker in (source, target):
            broker.wait_ready()
        admin = admin_client(source.client_properties())
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(20)
        producer = Producer(source.client_properties())
        producer.produce("orders", b"one", partition=0)
        producer.produce("orders", b"two", partition=1)
        producer.flush(20)
        worker.start()
        answers = {}
        eventually(lambda: asked(base, "/connectors")["status"] == 200, 120)
        answers["GET /connectors none"] = asked(base, BOTH)
        for name, config in connectors(source, target).items():
            answers[f"POST /connectors {name}"] = asked(
                base, "/connectors", method="POST", body={"name": name, "config": config}
            )
        asked(base, "/connectors/paused-source/pause", method="PUT")

        def settled():
            now = states(base)
            return (
                now.get("failing-source", ())[1:2] == ("FAILED",)
                and now.get("paused-source", ())[:1] == ("PAUSED",)
                and all(
                    now.get(name, ())[1:2] == ("RUNNING",) for name in ("mirror-source", "mirror-heartbeat")
                )
            )

        eventually(settled, 120, what=f"The connectors' states (see {worker.log})")
        for path in (
            "/",
            "/connectors",
            BOTH,
            "/connectors/mirror-source",
            "/connectors/mirror-source/status",
            "/connectors/absent/status",
            "/nothing",
            "/connectors?expand=info",
        ):
            answers[f"GET {path}"] = asked(base, path)
        return answers


if __name__ == "__main__":
    VERSION = VERSIONS[sys.argv[1]]
    PATH = Path(__file__).with_name(f"connect-{VERSION}.json")
    PATH.write_text(json.dumps(record(VERSION), indent=1) + "\n", encoding="utf-8")
