"""What `check` says, against real brokers: their topics, the size of a probe, and the rights it prints."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shlex
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from rich.console import Console

from canary.site.record_sizes import batch_bytes, probe_bytes
from canary.tracker.stamp import Stamp, encode
from deploy.local import topics
from deploy.local.jars import kafka_version
from deploy.local.java import java_command
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.properties import write_properties
from fleet.errors import RefusedError, UnavailableError
from mirrorwatch.check.check import check, print_commands
from mirrorwatch.configuration.reading import read_configuration
from runtime.kafka.admin import ClusterAdmin, NewTopicRequest
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.sender import Delivered, Sender
from runtime.kafka.tap import Place, Tap, TapFault, TappedRecord
from runtime.process.clock import SystemClock
from tests.eventually import eventually, eventually_async

PRINCIPAL = "User:watcher"


def commands(path):
    """Return what `check --acls` prints."""
    console, errors = (Console(file=io.StringIO(), width=80, color_system=None) for _ in range(2))
    print_commands(
        read_configuration(path, environ={}),
        console=console,
        errors=errors,
        principal=PRINCIPAL,
        command_config="admin.properties",
        parts=("service",),
        strict=False,
    )
    assert errors.file.getvalue() == ""
    return console.file.getvalue()


def said(path):
    """Return the exit status of `check`, what it printed, and the same with every fold taken out."""
    config = read_configuration(path, environ={})
    console = Console(file=io.StringIO(), width=80, color_system=None)
    code = asyncio.run(check(config, console=console, connect=True))
    text = console.file.getvalue()
    return code, text, re.sub(r"\s+", " ", text)


def write_config(folder, clusters, **sections):
    path = folder / "mirrorwatch.yml"
    path.write_text(json.dumps({"clusters": clusters, **sections}), encoding="utf-8")
    return path


def test_the_topics_of_two_clusters(kafka_pair, no_mirror, topic_name, tmp_path):
    a, b = kafka_pair.a, kafka_pair.b
    # The first of those left out, however many other tests have left theirs: a long list is cut.
    one, two, left_out = topic_name("one"), topic_name("two"), topic_name("0-left-out")
    trap, copy = f"B.{topic_name('trap')}", f"B.{topic_name('back')}"
    for name in (one, two, left_out, trap, copy):
        topics.create_topic(a.client_properties(), name)
    topics.create_topic(b.client_properties(), topic_name("back"))
    topics.create_topic(b.client_properties(), f"A.{one}")
    clusters = {"A": a.client_properties(), "B": b.client_properties()}
    wanted = f"{one}, {two}, {re.escape(trap)}, {re.escape(copy)}, mirrorwatch-canary"
    flows = {"A->B": {"topics": wanted}, "B->A": {}}
    path = write_config(tmp_path, clusters, flows=flows, mirror_version="4.3")

    code, text, flat = said(path)

    assert code == 0, text
    assert f"{one} as A.{one}" in flat
    assert f"{two} as A.{two}" in flat
    absent = re.search(
        r"Not on B yet \(\d+\): MirrorMaker detects new topics every 10 min [^:]*\. (.*?) Not", flat
    )
    assert absent, text
    assert f"A.{two}" in absent[1]
    assert f"A.{one}" not in absent[1]
    assert left_out in flat.partition("Not mirrored because no entry of topics")[2]
    assert f"{trap} on A is never mirrored A->B because its name shows that it came from B." in flat
    assert f"{copy} on A" not in flat  # a copy of B's own topic, which nobody has to be told of
    assert re.search(r"A: id \S+, 1 broker, [\d,]+ topics? visible", flat)
    assert "Traceback" not in text


def test_what_is_wrong_with_topics_that_are_there(kafka_pair, no_mirror, topic_name, tmp_path):
    a, b = kafka_pair.a.client_properties(), kafka_pair.b.client_properties()
    probed = topic_name("advice")
    wrong = {"retention.ms": "1000", "max.message.bytes": "200", "cleanup.policy": "compact,delete"}
    topics.create_topic(a, probed, config=wrong)
    topics.create_topic(b, f"A.{probed}", partitions=2, config={"min.insync.replicas": "2"})
    flows = {"A->B": {"topics": probed}}
    flow = {"mirror_version": "4.3", "canary": {"topic": probed}}
    code, text, flat = said(write_config(tmp_path, {"A": a, "B": b}, flows=flows, **flow))
    assert code == 1, text
    assert f"{probed} on A keeps records for only 1 s (retention.ms=1000)" in flat
    assert f"{probed} on A refuses probes: max.message.bytes is 200" in flat
    assert f"{probed} on A is compacted (cleanup.policy=compact,delete)" in flat
    assert f"A.{probed} on B requires 2 replicas in sync (min.insync.replicas) and has 1 replica" in flat
    assert "FAILED: 2 topic settings break the canary" in flat


async def test_a_topic_tells_its_settings_and_grows(kafka_pair, topic_name):
    client, topic = kafka_pair.a.client_properties(), topic_name("grows")
    await asyncio.to_thread(topics.create_topic, client, topic, config={"retention.ms": "123456"})
    admin = ClusterAdmin(ClientSettings(client), cluster="A")
    await admin.open()
    try:
        settings = await admin.describe_topic_config(topic)
        assert settings["retention.ms"] == "123456"
        assert int(settings["max.message.bytes"]) > 0  # the broker's own
        await admin.grow_topic(topic, 3)
        grown = lambda: topics.partition_count(client, topic) == 3  # noqa: E731
        await asyncio.to_thread(eventually, grown, 20, what="three partitions")
        described = (await admin.describe_topics([topic]))[topic]
        assert (described.partitions, described.replicas) == (3, (1, 1, 1))
    finally:
        await admin.close()


async def test_settings_of_many_topics_come_in_a_few_requests(kafka_pair, topic_name, monkeypatch):
    monkeypatch.setattr("runtime.kafka.admin.SETTINGS_CHUNK", 2)
    client = kafka_pair.a.client_properties()
    kept_ms = {topic_name(f"kept-{number}"): str(100_000 + number) for number in range(5)}
    for name, value in kept_ms.items():
        await asyncio.to_thread(topics.create_topic, client, name, config={"retention.ms": value})
    admin = ClusterAdmin(ClientSettings(client), cluster="A")
    await admin.open()
    try:
        found = await admin.describe_topic_configs([*kept_ms, *kept_ms])
        assert {name: settings["retention.ms"] for name, settings in found.items()} == kept_ms
        missing = topic_name("missing")
        with pytest.raises(UnavailableError, match=f"the settings of the topic {missing}"):
            await admin.describe_topic_configs([*kept_ms, missing])
    finally:
        await admin.close()


def test_a_cluster_that_is_away_hides_nothing_of_the_other(kafka_pair, tmp_path):
    away = f"127.0.0.1:{free_port()}"
    clusters = {"A": kafka_pair.a.client_properties(), "B": {"bootstrap.servers": away}}
    path = write_config(tmp_path, clusters, flows={"A->B": {}})
    code, text, flat = said(path)
    assert code == 4, text
    assert f"cluster B at {away}: describing the cluster failed: nothing listens there" in flat
    assert "A: id " in flat
    assert "Not known which are on B" in flat or "no topic is visible on A" in flat
    assert "FAILED: B cannot be reached" in flat


def test_a_probe_takes_the_bytes_that_check_counts(kafka_pair, topic_name):
    """Send probes as the canary does and weigh the segment file."""
    topic, broker = topic_name("weighed"), kafka_pair.a
    topics.create_topic(broker.client_properties(), topic)
    identity = topics.topic_id(broker.client_properties(), topic)
    reports = []
    sender = Sender(
        ClientSettings(broker.client_properties()),
        name="weighed",
        cluster="A",
        clock=SystemClock(),
        sink=reports.append,
        message_timeout_s=10.0,
    )
    counted = 0
    sender.start()
    for sequence in range(5):
        probe = encode(Stamp("0" * 32, "0" * 16, 10**6 + sequence, identity, topic, 0, 1_790_000_000_000))
        counted += batch_bytes(probe.key, probe.value, probe.headers)
        assert sender.send(topic, 0, key=probe.key, value=probe.value, headers=probe.headers, tag=sequence)
        assert sender.flush(10.0) == 0  # so that each goes by itself, as at a probe a second
    sender.stop()
    sender.join(5.0)
    eventually(lambda: len(reports) == 5, 10, what="the reports")
    assert all(isinstance(report, Delivered) for report in reports)
    segment = next((broker.folder / "data").rglob(f"{topic}-0/*.log"))
    assert segment.stat().st_size == counted
    assert abs(counted / 5 - probe_bytes(topic, 1)) <= 2


# --- rights


def test_a_wrong_password_is_said_and_not_shown(secure_broker, tmp_path):
    client = secure_broker.java_properties("watcher")
    wrong = client | {"sasl.jaas.config": client["sasl.jaas.config"].replace("atch", "rong")}
    assert wrong != client
    code, text, flat = said(write_config(tmp_path, {"A": client, "B": wrong}, flows={"A->B": {}}))
    assert code == 4, text
    assert "the cluster does not accept the credentials" in flat
    assert re.search(r"A: id \S+, 1 broker", flat)
    assert "rong" not in text.replace("wrong", "")


@pytest.fixture
def secure_config(secure_broker, topic_name, tmp_path):
    """Write a configuration in which the secured broker is both ends of a flow."""
    client = secure_broker.java_properties("watcher")
    port = free_port()
    path = write_config(
        tmp_path,
        {"A": client, "B": client},
        flows={"A->B": {}},
        mirror_version="4.3",
        canary={"topic": topic_name("canary"), "interval": "200ms", "threshold": "2s", "horizon": "10s"},
        http={"listen": f"127.0.0.1:{port}"},
    )
    return path, port


def granted_by_the_printed_commands(text, broker, folder):
    """Run every kafka-acls command of the text, as its reader would, with Kafka's own tool."""
    write_properties(folder / "admin.properties", broker.java_properties())
    main = (
        "kafka.admin.AclCommand" if kafka_version().startswith("3.") else "org.apache.kafka.tools.AclCommand"
    )
    script = text.replace("\\\n", " ")
    commands = [shlex.split(line) for line in script.splitlines() if line.startswith("kafka-acls.sh")]
    for number, (_, *arguments) in enumerate(commands):
        arguments[arguments.index("admin.properties")] = str(folder / "admin.properties")
        command = java_command(kafka_version(), folder, main, *arguments, heap_mb=128)
        process = Process(f"acls-{number}", command, folder=folder)
        process.start()
        try:
            assert process.wait(deadline_s=60.0) == 0, process.logged()
        finally:
            process.kill()
    return len(commands)


def value_of(port, series):
    """Return the sum of a series of the running service, None while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return None
    found = re.findall(rf"^{re.escape(series)}\S* (\S+)$", text, re.MULTILINE)
    return sum(float(number) for number in found)


@contextmanager
def copying(broker, source, target):
    """Give a function that copies what is new in one topic to another, in place of a mirror."""
    client = broker.client_properties()
    consumer = Consumer({**client, "group.id": "copying", "enable.auto.commit": False, "log_level": 0})
    producer = Producer({**client, "log_level": 0})
    consumer.assign([TopicPartition(source, 0, 0)])

    def copy():
        for message in consumer.consume(100, 0.2):
            if message.error() is None:
                producer.produce(
                    target,
                    partition=0,
                    key=message.key(),
                    value=message.value(),
                    headers=message.headers(),
                )
        producer.flush(5)

    try:
        yield copy
    finally:
        consumer.close()


def test_the_printed_rights_suffice_for_the_service(
    secure_broker, rights, secure_config, topic_name, tmp_path
):
    path, port = secure_config
    source, target = topic_name("canary"), f"A.{topic_name('canary')}"
    code, text, flat = said(path)
    assert code == 4, text  # nothing is granted yet
    assert "the principal may not do this with the topic" in flat
    assert "User:watcher" in flat
    assert 'w"atch' not in text
    assert (
        granted_by_the_printed_commands(commands(path), secure_broker, tmp_path) == 14
    )  # six for the lag monitor, three for the failover audit
    eventually(lambda: said(path)[0] == 0, 20, what="check content with the rights that it printed")

    service = Process("service", [sys.executable, "-m", "mirrorwatch", "run", str(path)], folder=tmp_path)
    service.start()
    try:
        client = secure_broker.client_properties()
        eventually(lambda: topics.partition_count(client, source) > 0, 30, what="the canary's topic")
        topics.create_topic(client, target)  # a mirror has rights of its own to do so
        with copying(secure_broker, source, target) as copy:

            def delivered():
                copy()
                return (value_of(port, "mirrorwatch_canary_good_total") or 0) >= 3

            eventually(delivered, 60, what=f"good probes; the service said:\n{service.logged()[-3000:]}")
        assert value_of(port, 'mirrorwatch_control_probes_total{kafka_cluster="A",outcome="good"}') > 0
        assert value_of(port, 'mirrorwatch_control_probes_total{kafka_cluster="B",outcome="good"}') > 0
        read = 'mirrorwatch_commits_backfill_ratio{kafka_cluster="A"}'
        eventually(lambda: value_of(port, read) == 1, 30, what="the commits of groups")
        assert value_of(port, 'mirrorwatch_commits_source{kafka_cluster="A",source="topic"}') == 1
        labels = '{flow="A->B",source_cluster="A",target_cluster="B"}'
        audited = f"mirrorwatch_failover_last_success_timestamp_seconds{labels}"
        eventually(lambda: value_of(port, audited), 90, what="a failover audit")
        service.stop()
        refused = [line for line in service.logged().splitlines() if "may not do this with the topic" in line]
        # Topics of other tests may be there, whose settings only the optional permission shows.
        assert all("cannot show retention headroom" in line for line in refused), refused
        assert "may not do this with the cluster" not in service.logged()
    finally:
        service.kill()
    rights.withdraw()
    assert said(path)[0] == 4  # the rights are gone, and that is seen


@pytest.mark.parametrize("lacking", [None, "CREATE", "WRITE", "READ", "ALTER", "DESCRIBE_CONFIGS"])
async def test_each_right_is_needed(secure_broker, rights, topic_name, lacking):
    """Do with one topic what the canary does with it at the source; without one right, one step is refused."""
    topic = topic_name("rights")
    settings = ClientSettings(secure_broker.client_properties("watcher"))
    # Describe comes with Read or Write; it is what tells a test that the rights have arrived.
    needed = ("CREATE", "WRITE", "READ", "ALTER", "DESCRIBE_CONFIGS")
    rights.grant(topic, *(name for name in needed if name != lacking))
    refused = set()
    admin = ClusterAdmin(settings, cluster="S")
    await admin.open()
    try:
        await admin.describe_cluster()
        try:
            await admin.create_topic(NewTopicRequest(topic, 1, {}))
        except RefusedError:
            refused.add("CREATE")
            await asyncio.to_thread(topics.create_topic, secure_broker.client_properties(), topic)
        await asyncio.to_thread(topics.wait_led, secure_broker.client_properties(), topic)
        assert (await admin.describe_topics([topic]))[topic] is not None
        assert await admin.end_offsets(topic, [0]) == {0: 0}
        assert topic in await admin.list_topics()
        for step, doing in (
            ("DESCRIBE_CONFIGS", admin.describe_topic_config(topic)),
            ("ALTER", admin.grow_topic(topic, 2)),
        ):
            try:
                await doing
            except RefusedError:
                refused.add(step)
    finally:
        await admin.close()
    refused |= await _send_and_read(settings, secure_broker, topic)
    assert refused == ({lacking} if lacking else set())


async def _send_and_read(settings, broker, topic):
    refused, seen = set(), []
    if not await asyncio.to_thread(_sent_idempotently, settings, topic):
        refused.add("WRITE")
        producer = Producer({**broker.client_properties(), "log_level": 0})
        producer.produce(topic, b"v", partition=0)
        assert await asyncio.to_thread(producer.flush, 10) == 0
    tap = Tap(settings, name="rights", cluster="S", clock=SystemClock(), sink=seen.append)
    tap.start([Place(topic, 0, 0)])

    def concluded():
        # The client asks for the coordinator of a group that is never joined: that says nothing of rights.
        return [
            one
            for one in seen
            if isinstance(one, TappedRecord)
            or (isinstance(one, TapFault) and "consumer group" not in str(one.error))
        ]

    try:
        first = (await eventually_async(concluded, 20, what="a record"))[0]
    finally:
        tap.stop()
        await asyncio.to_thread(tap.join, 10.0)
    if isinstance(first, TapFault):
        assert isinstance(first.error, RefusedError), str(first.error)
        refused.add("READ")
    return refused


def _sent_idempotently(settings, topic):
    """Produce one record as the canary does, and tell whether the cluster let us."""
    reports = []
    producer = Producer({**settings.librdkafka, "enable.idempotence": True, "log_level": 0})
    producer.produce(topic, b"v", partition=0, on_delivery=lambda error, _: reports.append(error))

    def reported():
        producer.poll(0.1)
        return reports

    try:
        eventually(reported, 20, what="a report of the record", every_s=0)
    except KafkaException as error:
        reports.append(error.args[0])
    if reports[0] is None:
        return True
    assert reports[0].code() in (
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ), str(reports[0])
    return False
