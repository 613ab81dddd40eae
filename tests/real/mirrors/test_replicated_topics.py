"""What `check` says is replicated, against what a real MirrorMaker replicates, over some fifty names and filters.

The flow is read from the very file that MirrorMaker was started with. Every topic of a test carries a mark of its
own in its name, so the brokers may hold those of other tests too.
"""

import hashlib

import pytest
from confluent_kafka.cimpl import NewTopic

from deploy.local.jars import kafka_version
from deploy.local.topics import admin_client, create_topic
from fleet.mm2.properties import read_mm2
from tests.eventually import eventually

# No two may differ in '.' and '_' alone, nor may their remote names: Kafka takes such for a collision.
_TEXT = """
a-{m} b.one-{m} c_two-{m} {m} {m}.x {m}-y {m}_z.w UPPER-{m} 0-{m} d..e-{m} f.-{m} g-.{m} {m}. {m}-- {m}.-
A.one-{m} A.B.two-{m} A_three-{m} A-four-{m} A..five-{m}
B.one-{m} B.A.two-{m} B_three-{m} B-four-{m} B--five-{m} B..six-{m}
C.one-{m} C.A.two-{m} C.B.three-{m} C_B_four-{m} C.D.B.five-{m} C_D_six-{m}
.hidden-{m} ._-{m} __own-{m} _plain-{m}
mm2-one-{m}.internal mm2-two-{m}-internal mm2_three-{m}_internal mm2-four-{m} xmm2-five-{m}.internal mm2-six-{m}--internal
{m}-one.internal {m}-two-internal {m}-three_internal {m}-four.internal.x internal-five-{m}
{m}-one.checkpoints.internal B.two-{m}.checkpoints.internal {m}-three_checkpoints_internal {m}-four-checkpoints
{m}-one.replica {m}-two-replica A.three-{m}.replica
{m}-heartbeats {m}-one.heartbeats B.{m}-two.heartbeats {m}-three_heartbeats {m}xheartbeats
orders.eu-{m} orders.us-{m} orders-three-{m} ORDERS.four-{m} console-consumer-{m}
"""
NAMES = _TEXT.split()

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
SETTINGS = {
    "as it comes": {},
    "filters and a separator": {
        "replication.policy.separator": "_",
        "A->B.topics": r"orders\..*{m}, (?i)[a-c][._-].*{m}, .*{m}.*internal, \Q{m}\E[.-]+\w?, mm2.*{m}, [b-d&&[^d]]_.*{m}, .*{m}-late",
        "topics.exclude": r".*\.us-{m}, a.three-.*, .*(?<!three)_internal",
    },
    "another separator": {
        "replication.policy.separator": "--",
        "replication.policy.internal.topic.separator.enabled": "false",
        "topics": r".*{m}.*",
        "A->B.topics.exclude": r"C\..*, .*\.eu-.*",
    },
    "identity": {"replication.policy.class": IDENTITY, "topics": r".*{m}.*"},
}


def names_on(broker, mark):
    found = admin_client(broker.client_properties()).list_topics(timeout=20).topics
    return {name for name in found if mark in name}


def create_all(broker, names):
    admin = admin_client(broker.client_properties())
    futures = admin.create_topics([NewTopic(name, 1, 1) for name in names])
    for future in futures.values():
        future.result(30)


def flow_of(mirror):
    text = mirror.properties_file.read_bytes().decode("iso-8859-1")
    mm2 = read_mm2(
        text,
        file=mirror.properties_file.name,
        mirror_version=kafka_version(),
        environ={},
        read_file=lambda path: pytest.fail(f"nothing in the file names {path}"),
    )
    return mm2.topology.flow("A->B")


@pytest.mark.parametrize("case", SETTINGS)
def test_exactly_what_is_said_is_replicated(kafka_pair, mirror, case):
    mark = "m" + hashlib.sha256(case.encode()).hexdigest()[:8]
    names = {name.replace("{m}", mark) for name in NAMES}
    assert len(names) == len(NAMES) >= 50
    # The mirror comes first: one of another test, with other settings, must never see these topics.
    flow = flow_of(mirror({key: value.replace("{m}", mark) for key, value in SETTINGS[case].items()}))
    # It may begin with the settings of the one before, which it finds in its own topic of them.
    first = f"first.{mark}-late"
    create_topic(kafka_pair.a.client_properties(), first)
    eventually(lambda: flow.remote_topic(first) in names_on(kafka_pair.b, mark), 60, what="its own settings")
    create_all(kafka_pair.a, names)

    decisions = {name: flow.decide(name) for name in names}
    expected = {decision.remote_topic for decision in decisions.values() if decision.replicated}
    assert 5 < len(expected) < len(names)
    eventually(lambda: names_on(kafka_pair.b, mark) & expected, 60, what="the first topic on B")

    # A topic that was created later and has arrived proves that all the others have been looked at.
    late = f"orders.{mark}-late"
    create_topic(kafka_pair.a.client_properties(), late)
    eventually(
        lambda: flow.remote_topic(late) in names_on(kafka_pair.b, mark), 30, what="the late topic on B"
    )

    wrong = {flow.remote_topic(name): decision.sentence for name, decision in decisions.items()}
    arrived = {name for name in names_on(kafka_pair.b, mark) if not name.endswith((first, late))}
    assert {wrong.get(name, name) for name in arrived ^ expected} == set()
