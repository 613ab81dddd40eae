"""The local stack is what it says it is: real brokers, a real mirror, faults on demand, nothing left behind."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from deploy.local import topics, traffic
from deploy.local.broker import Broker
from deploy.local.jars import StackError, verify
from deploy.local.java import CONFIGURE, run_tool
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.properties import write_properties
from tests.eventually import eventually


def produce(broker, topic, values, *, partition=0, headers=None):
    producer = Producer(broker.client_properties())
    failures = []
    for value in values:
        producer.produce(
            topic,
            value=value,
            key=b"k",
            partition=partition,
            headers=headers,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    assert producer.flush(20) == 0
    assert failures == []


def read(broker, topic, *, at_least=1, until=None, partition=0, deadline_s=20.0):
    settings = {
        "group.id": "reader",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }
    consumer = Consumer({**broker.client_properties(), **settings})
    consumer.assign([TopicPartition(topic, partition, 0)])
    records = []

    def enough():
        record = consumer.poll(0.2)
        if record is not None and record.error() is None:
            records.append(record)
        return len(records) >= at_least and (until is None or until in [r.value() for r in records])

    try:
        eventually(enough, deadline_s, what=f"{at_least} records in {topic}", every_s=0)
    finally:
        consumer.close()
    return records


def test_a_record_passes_unchanged(kafka_pair, mirror, topic_name):
    mirror()
    topic = topic_name()
    topics.create_topic(kafka_pair.a.client_properties(), topic)
    produce(kafka_pair.a, topic, [b"\x00\xffone"], headers=[("h", b"\x01")])
    (record,) = read(kafka_pair.b, f"A.{topic}", at_least=1)
    assert (record.key(), record.value(), record.headers()) == (b"k", b"\x00\xffone", [("h", b"\x01")])


def test_the_switch_drops_exactly_what_it_names(kafka_pair, mirror, topic_name):
    running = mirror()
    topic = topic_name()
    topics.create_topic(kafka_pair.a.client_properties(), topic)
    running.switch.on("drop", topics=topic, modulus=3, remainder=1)
    produce(kafka_pair.a, topic, [b"%d" % n for n in range(10)])
    assert [r.value() for r in read(kafka_pair.b, f"A.{topic}", at_least=7)] == [
        b"0",
        b"2",
        b"3",
        b"5",
        b"6",
        b"8",
        b"9",
    ]
    running.switch.on("alter", topics=topic)
    produce(kafka_pair.a, topic, [b"a"])
    assert read(kafka_pair.b, f"A.{topic}", at_least=8)[-1].value() == b"`"
    running.switch.off()
    produce(kafka_pair.a, topic, [b"a"])
    assert read(kafka_pair.b, f"A.{topic}", at_least=9)[-1].value() == b"a"


def test_the_way_to_the_wrong_topic_and_the_mangled_header(kafka_pair, mirror, topic_name):
    running = mirror()
    topic, other = topic_name("from"), topic_name("to")
    for name in (topic, other):
        topics.create_topic(kafka_pair.a.client_properties(), name)
    eventually(lambda: topics.partition_count(kafka_pair.b.client_properties(), f"A.{other}") == 1, 20)
    running.switch.on("misroute", topics=topic, to=f"A.{other}")
    produce(kafka_pair.a, topic, [b"lost"])
    assert read(kafka_pair.b, f"A.{other}", at_least=1)[0].value() == b"lost"
    running.switch.on("unheader", topics=topic)
    produce(kafka_pair.a, topic, [b"bare"], headers=[("h", b"1")])
    (bare,) = read(kafka_pair.b, f"A.{topic}", at_least=1)
    assert (bare.value(), bare.headers()) == (b"bare", None)


def test_a_frozen_mirror_copies_nothing_until_it_is_thawed(kafka_pair, mirror, topic_name):
    running = mirror()
    topic = topic_name()
    topics.create_topic(kafka_pair.a.client_properties(), topic)
    produce(kafka_pair.a, topic, [b"before"])
    read(kafka_pair.b, f"A.{topic}", at_least=1)
    running.freeze()
    produce(kafka_pair.a, topic, [b"during"])
    with pytest.raises(AssertionError, match="2 records"):
        read(kafka_pair.b, f"A.{topic}", at_least=2, deadline_s=2.0)
    running.thaw()
    assert read(kafka_pair.b, f"A.{topic}", at_least=2)[1].value() == b"during"


def test_records_topics_and_partitions_change_as_told(kafka_pair, topic_name):
    client, topic = kafka_pair.a.client_properties(), topic_name()
    topics.create_topic(client, topic)
    produce(kafka_pair.a, topic, [b"%d" % n for n in range(10)])
    topics.delete_records(client, topic, before={0: 4})
    assert read(kafka_pair.a, topic, at_least=6)[0].value() == b"4"
    first = topics.topic_id(client, topic)
    topics.recreate_topic(client, topic)
    assert topics.topic_id(client, topic) != first
    topics.add_partitions(client, topic, total=3)
    assert topics.partition_count(client, topic) == 3
    topics.delete_topic(client, topic)
    assert topics.partition_count(client, topic) == 0


@pytest.mark.long
def test_traffic_goes_on_when_a_topic_is_away_and_comes_back(kafka_pair, topic_name):
    client, topic, stop = kafka_pair.a.client_properties(), topic_name(), threading.Event()
    stream = traffic.Stream(topic=topic, partitions=2, records_per_s=100)
    traffic.create_topics(client, [stream])
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(traffic.run, client, stop, streams=[stream])
        try:
            eventually(lambda: topics.log_end(client, topic) > 0, 20, what="Records")
            topics.delete_topic(client, topic)
            assert not wait([writing], timeout=60.0).done  # a client believes it after 40 s or so
            traffic.create_topics(client, [stream])
            eventually(lambda: topics.log_end(client, topic) > 0, 20, what="Records of the new topic")
        finally:
            stop.set()
        assert writing.result(20) > 0


def test_a_restarted_broker_keeps_its_address_and_its_data(tmp_path):
    broker = Broker("R", tmp_path)
    try:
        broker.start()
        broker.wait_ready()
        address = broker.bootstrap
        topics.create_topic(broker.client_properties(), "kept")
        produce(broker, "kept", [b"1"])
        broker.kill()
        broker.restart()
        assert broker.bootstrap == address
        assert read(broker, "kept", at_least=1)[0].value() == b"1"
    finally:
        broker.kill()
    assert not broker.running


def test_a_secured_broker_takes_its_super_user_and_refuses_the_others(secure_broker):
    topics.create_topic(secure_broker.client_properties(), "guarded")
    produce(secure_broker, "guarded", [b"1"])
    with pytest.raises(KafkaException) as refused:
        topics.create_topic(secure_broker.client_properties("stranger"), "another")
    assert refused.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    wrong = {**secure_broker.client_properties("watcher"), "sasl.password": "wrong"}
    with pytest.raises(KafkaException):
        topics.admin_client(wrong).list_topics(timeout=2)


def test_a_mirror_reads_from_a_secured_broker(secure_broker, kafka_pair, tmp_path, topic_name):
    topic = topic_name()
    topics.create_topic(secure_broker.client_properties(), topic)
    produce(secure_broker, topic, [b"over TLS"])
    mirror = MirrorMaker(
        (secure_broker, kafka_pair.b), tmp_path, flows=["S->B"], settings={"S->B.topics": topic}
    )
    try:
        mirror.start()
        mirror.wait_ready()
        assert read(kafka_pair.b, f"S.{topic}", at_least=1)[0].value() == b"over TLS"
    finally:
        mirror.kill()


def test_nothing_outlives_a_parent_that_is_killed(tmp_path):
    program = (
        "import sys, pathlib, threading\n"
        "from deploy.local.pair import Pair\n"
        "pair = Pair(pathlib.Path(sys.argv[1]))\n"
        "starter = threading.Thread(target=pair.start)\n"
        "starter.start()\n"
        "starter.join()\n"
        "print(pair.a.pid, pair.b.pid, pair.mirror.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        pids = [int(text) for text in parent.stdout.readline().split()]
        # That the thread which asked for the start has ended must not take the children along.
        assert len(pids) == 3
        assert [alive(pid) for pid in pids] == [True, True, True]
        parent.kill()
    eventually(lambda: not any(alive(pid) for pid in pids), 10, what="the end of all three")


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_jars_that_are_not_the_committed_ones_are_refused(tmp_path):
    (tmp_path / "a.jar").write_bytes(b"a")
    (tmp_path / "b.jar").write_bytes(b"b")
    sums = tmp_path.parent / "sums.sha256"
    sums.write_text(f"{hashlib.sha256(b'a').hexdigest()}  a.jar\n{'0' * 64}  b.jar\n{'0' * 64}  c.jar\n")
    with pytest.raises(StackError, match=r"c\.jar is missing; b\.jar has another sha256"):
        verify(tmp_path, sums)


def test_properties_survive_what_java_would_take_apart(tmp_path):
    write_properties(tmp_path / "p", {"a:b=c #d": " \\d+\n", "A->B.topics": "ünï 𝄞=:#!"})
    assert (tmp_path / "p").read_text() == (
        "a\\:b\\=c\\ \\#d=\\ \\\\d+\\n\nA->B.topics=\\u00fcn\\u00ef \\ud834\\udd1e=:#!\n"
    )


@pytest.mark.long
def test_faults_come_and_go_from_another_process(tmp_path):
    def fault(*arguments):
        command = [sys.executable, "-m", "deploy.local.faults", str(tmp_path), *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def begin_and_end(name, *options):
        for act in ("begin", "end"):
            with fault(act, name, *options) as acting:
                eventually(
                    lambda p=acting: (pair.attend(), p.poll() is not None)[1], 60, what=f"{act} {name}"
                )
                assert (acting.returncode, acting.stdout.read()) == (0, "")

    with Pair(tmp_path) as pair:
        a, b = pair.a.client_properties(), pair.b.client_properties()
        topics.create_topic(a, "orders")
        topics.create_topic(a, "page-views")
        produce(pair.a, "orders", [b"first"])
        read(pair.b, "A.orders", at_least=1)
        for name, process in (
            ("kill-mirror", pair.mirror),
            ("stop-target", pair.b),
            ("restart-source", pair.a),
        ):
            before = process.pid
            begin_and_end(name)
            assert process.pid != before
        pair.wait_ready()
        produce(pair.a, "orders", [b"after"])
        read(pair.b, "A.orders", until=b"after", deadline_s=40)
        with fault("begin", "drop-some", "--topic", "orders") as acting:
            assert acting.wait(10) == 0
        assert pair.mirror.switch.path.exists()
        with fault("end", "drop-some", "--topic", "orders") as acting:
            assert acting.wait(10) == 0
        assert not pair.mirror.switch.path.exists()
        begin_and_end("recreate-source-topic", "--topic", "page-views")
        begin_and_end("add-partitions", "--topic", "page-views")
        assert topics.partition_count(a, "page-views") == 2
        assert topics.partition_count(b, "A.orders") == 1
        pids = [pair.a.pid, pair.b.pid, pair.mirror.pid]
    assert not any(alive(pid) for pid in pids)
    with fault("begin", "freeze-mirror") as acting:
        assert acting.wait(10) == 0  # there is nothing left to freeze


def test_killing_a_broker_ends_what_formats_its_folder_too(tmp_path):
    broker = Broker("F", tmp_path / "broker")
    broker.begin_format()
    formatter = int((tmp_path / "broker" / "format-F.pid").read_text(encoding="ascii"))
    assert Path(f"/proc/{formatter}").exists()
    broker.kill()
    assert not Path(f"/proc/{formatter}").exists()


def test_a_tool_that_fails_is_quoted():
    with pytest.raises(
        StackError, match=r"(?s)kafka.admin.ConfigCommand --nonsense failed: .*nonsense is not"
    ):
        run_tool(CONFIGURE, "--nonsense")
