"""Connectors as flows: the same as MirrorMaker's own file gives, and what of Connect differs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.connect.connectors import Connector, Overrides, Worker, read_connectors, version_of_worker
from fleet.connect.json import expanded, written
from fleet.connect.kinds import Task, Written
from fleet.errors import ConfigurationError, MalformedError
from fleet.java import properties as java_properties
from fleet.mm2.config_providers import Lookup
from fleet.mm2.properties import FlowOverrides, read_mm2
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.mm2.resolution import CHECKPOINT, HEARTBEAT, SOURCE, Mm2Properties

INPUTS = Path(__file__).parents[1] / "golden" / "inputs" / "mm2"
PACKAGE = "org.apache.kafka.connect.mirror."
BOTH = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


def connector(kind=SOURCE, name="m", **more):
    return Connector(name, {**BOTH, "connector.class": PACKAGE + kind, **more})


def read(*connectors, worker=None, **said):
    return read_connectors(connectors, worker or Worker(), file="connect", said=Overrides(**said))


def flow(*connectors, **more):
    (found,) = read(*connectors, **more).topology.flows
    return found


def problems(*connectors, **more):
    with pytest.raises(ConfigurationError) as refusal:
        read(*connectors, **more)
    return [str(problem) for problem in refusal.value.problems]


def readable_inputs():
    for path in sorted(INPUTS.glob("*.properties")):
        text = path.read_bytes().decode("latin-1")
        try:
            mm2 = read_mm2(text, file="mm2", mirror_version="4.3", environ={}, read_file=no_file)
        except ConfigurationError:
            continue
        yield pytest.param(text, mm2, id=path.name)


def no_file(name):
    raise OSError(0, "there is none")


@pytest.mark.parametrize(("text", "mm2"), list(readable_inputs()))
def test_flows_are_those_of_a_dedicated_mirror_given_the_same(text, mm2):
    """What MirrorMaker gives its three connectors, as connectors on a worker with the same settings."""
    raw = java_properties.as_mapping(java_properties.parse(text))
    given_to = Mm2Properties(raw, 4, Lookup({}, no_file))
    if "${" in text:
        pytest.skip("a dedicated MirrorMaker looks variables up, and of a connector that cannot be done here")
    for expected in mm2.topology.flows:
        ends = expected.source, expected.target
        three = [
            Connector(kind, given_to.connector_config(*ends, kind))
            for kind in (SOURCE, CHECKPOINT, HEARTBEAT)
        ]
        worker = Worker(given_to.worker_config(*ends))
        (found,) = read(*three, worker=worker, mirror_version="4.3").topology.flows
        assert found == replace(
            expected, connector=SOURCE, on_connect=True, offset_storage_cluster=expected.target
        )


def test_inputs_are_there():
    assert len(list(readable_inputs())) >= 5


def test_what_connect_assumes():
    found = flow(connector())
    assert (found.name, found.connector, found.on_connect) == ("A->B", "m", True)
    assert (found.offset_storage_topic, found.offset_storage_cluster) == (None, "B")
    assert (found.tasks_max, found.refresh_topics_interval_s, found.offset_syncs_location) == (
        1,
        600,
        "source",
    )
    assert (found.heartbeats_enabled, found.emit_checkpoints_interval_s) == (False, None)


def test_checkpoints_and_heartbeats_are_those_of_their_connectors():
    found = flow(
        connector(),
        connector(CHECKPOINT, "c", **{"groups": "shop-.*", "emit.checkpoints.interval.seconds": "5"}),
        connector(HEARTBEAT, "h"),
        connector(
            CHECKPOINT, "back", **{"source.cluster.alias": "B", "target.cluster.alias": "A", "groups": "x"}
        ),
    )
    assert (found.group_filter.include, found.emit_checkpoints_interval_s) == ("shop-.*", 5)
    assert (found.heartbeats_enabled, found.heartbeats_interval_s) == (True, 1)


def test_a_connector_that_is_not_enabled_serves_nothing():
    found = flow(
        connector(),
        connector(HEARTBEAT, "off", enabled="false"),
        connector(CHECKPOINT, "no", enabled="FALSE"),
    )
    assert (found.heartbeats_enabled, found.emit_checkpoints_interval_s) == (False, None)
    assert flow(connector(), connector(name="second", enabled="false")).connector == "m"
    assert flow(connector(name="first", enabled="false"), connector()).connector == "m"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"tasks.max": "7"}, {"tasks_max": 7}),
        ({"offset-syncs.topic.location": "target"}, {"offset_syncs_location": "target"}),
        ({"exactly.once.support": "required"}, {"exactly_once": True}),
        ({"exactly.once.support": "requested"}, {"exactly_once": False}),
        ({"refresh.topics.enabled": "false"}, {"refresh_topics_interval_s": None}),
        ({"offsets.storage.topic": "own"}, {"offset_storage_topic": "own"}),
        ({"topics": "orders"}, {"source": "A"}),
        ({"target.cluster.alias": "C"}, {"target": "C", "offset_storage_cluster": "C"}),
    ],
)
def test_a_property_of_the_connector(more, expected):
    found = flow(connector(**more))
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_target_without_an_alias_is_called_target():
    source = connector()
    config = {key: value for key, value in source.config.items() if key != "target.cluster.alias"}
    assert flow(Connector("m", config)).name == "A->target"


@pytest.mark.parametrize("name", [PACKAGE + SOURCE, SOURCE, "MirrorSource"])
def test_a_class_may_be_named_in_short(name):
    assert flow(connector(**{"connector.class": name})).name == "A->B"


def test_a_worker_tells_topic_cluster_flush_and_exactly_once():
    config = {
        "offset.storage.topic": "offsets",
        "config.storage.topic": "configs",
        "offset.flush.interval.ms": "5000",
        "exactly.once.source.support": "enabled",
    }
    found = flow(connector(), worker=Worker(config, "3.9.1", "A"))
    assert (found.offset_storage_topic, found.offset_storage_cluster) == ("offsets", "A")
    assert (found.config_storage_topic, found.offset_flush_interval_s) == ("configs", 5)
    assert (found.exactly_once, found.mirror_version) == (True, "3.9.1")
    own = flow(connector(**{"offsets.storage.topic": "own"}), worker=Worker(config, "3.9.1", "A"))
    assert (own.offset_storage_topic, own.offset_storage_cluster) == ("own", "B")
    assert flow(connector(), worker=Worker(config, "3.9.1"), mirror_version="4.3").mirror_version == "4.3"


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("4.3.0", "4.3.0"),
        ("2.8.1", "2.8.1"),
        ("7.5.0-ccs", None),
        ("7.5.0", None),
        ("4.3.0-SNAPSHOT", None),
        ("", None),
    ],
)
def test_the_version_of_a_worker_is_kafkas_or_not_known(told, version):
    assert version_of_worker(told) == version


def test_the_policy_by_class_and_by_hand():
    identity = f"{PACKAGE}IdentityReplicationPolicy"
    found = flow(connector(**{"replication.policy.class": identity}))
    assert found.policy == ReplicationPolicy(PolicyKind.IDENTITY, source_alias="A")
    assert flow(connector(**{"replication.policy.separator": "_"})).remote_topic("t") == "A_t"
    theirs = connector(**{"replication.policy.class": "com.example.Policy"})
    (told,) = problems(theirs)
    assert told.startswith("connect: m.replication.policy.class: names a class that is not supported")
    flow_overrides = {"A->B": FlowOverrides(topics="a", policy=PolicyKind.DEFAULT, separator="-")}
    assert flow(theirs, flow_overrides=flow_overrides).remote_topic("t") == "A-t"


def test_security_is_that_of_the_cluster_or_of_one_of_its_clients():
    clusters = read(
        connector(
            **{
                "source.cluster.security.protocol": "SSL",
                "source.admin.ssl.truststore.location": "/admin.jks",
                "source.consumer.ssl.truststore.location": "/consumer.jks",
                "target.producer.sasl.mechanism": "PLAIN",
                "producer.override.sasl.mechanism": "GSSAPI",
                "source.cluster.max.poll.records": "5",
            }
        )
    ).topology
    assert clusters.cluster("A").client == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "SSL",
        "ssl.truststore.location": "/admin.jks",
    }
    assert clusters.cluster("B").client == {"bootstrap.servers": "b:9092", "sasl.mechanism": "PLAIN"}


HAND = "Mirrorwatch's own configuration."
NO_PREFIX = {"source.cluster.alias": " ", "replication.policy.separator": ""}  # topics keep their names


def without_alias():
    one = connector()
    config = {key: value for key, value in one.config.items() if key != "source.cluster.alias"}
    return replace(one, config=config)


@pytest.mark.parametrize(
    ("name", "source"), [("m", "source"), ("A->B.MirrorSourceConnector", "A"), ("a->b.Mirror", "source")]
)
def test_a_source_without_an_alias_in_topic_names_has_one_in_the_name_of_its_flow(name, source):
    found = read(connector(name=name, **NO_PREFIX), connector(name="other", **{"source.cluster.alias": "C"}))
    first, second = found.topology.flows
    assert (first.name, first.named_source, first.remote_topic("orders")) == (f"{source}->B", "", "orders")
    assert (first.connector, first.offset_syncs_topic) == (name, "mm2-offset-syncsBinternal")
    assert second.name == "C->B"
    assert found.topology.cluster(source).client["bootstrap.servers"] == "a:9092"


def test_connectors_of_one_worker_without_aliases_are_told_apart_by_their_targets():
    there = connector(name="n", **NO_PREFIX, **{"target.cluster.alias": "C"})
    assert [one.name for one in read(connector(**NO_PREFIX), there).topology.flows] == [
        "source->B",
        "source->C",
    ]
    same = connector(name="n", **NO_PREFIX, **{"source.cluster.bootstrap.servers": "x:9092"})
    (problem,) = [one for one in problems(connector(**NO_PREFIX), same) if "replicates" in one]
    assert "n replicates source->B, as does m; keep one of them in the file" in problem


def test_a_target_whose_alias_is_empty_is_called_target_too():
    assert flow(connector(**{"target.cluster.alias": ""})).name == "A->target"
    assert flow(connector(name="A->B.MirrorSourceConnector", **{"target.cluster.alias": ""})).name == "A->B"


@pytest.mark.parametrize(
    ("connectors", "said"),
    [
        ((), ["connect: has no connector; a flow requires a MirrorSourceConnector."]),
        (
            (connector(HEARTBEAT, "h"), Connector("x", {"connector.class": "io.x.FileSink"})),
            ["connect: has no MirrorSourceConnector, and a flow requires one (found: FileSink, MirrorHeartbeatConnector)."],
        ),
        (
            (without_alias(),),
            ["connect: m.source.cluster.alias: is missing; MirrorMaker does not start this connector without the alias of its source."],
        ),
        (
            (connector(**{"source.cluster.alias": "B"}),),
            ["connect: m.source.cluster.alias: is B, as is target.cluster.alias; a flow leads to another cluster."],
        ),
        (
            (connector(), connector(name="n")),
            ["connect: n.connector.class: n replicates A->B, as does m; keep one of them in the file, or name one in connect.connectors. Watch the other with a separate Mirrorwatch."],
        ),
        (
            (connector(enabled="false"),),
            ["connect: m.enabled: has only source connectors that are disabled; enable one."],
        ),
        (
            (connector(**{"source.cluster.bootstrap.servers": ""}),),
            [f"connect: m.source.cluster.bootstrap.servers: is missing; write clusters.A.bootstrap.servers in {HAND}"],
        ),
        (
            (connector(**{"source.cluster.bootstrap.servers": " , "}),),
            [f"connect: m.source.cluster.bootstrap.servers: is missing; write clusters.A.bootstrap.servers in {HAND}"],
        ),
        (
            (connector(), connector(name="n", **{"source.cluster.alias": "B", "target.cluster.alias": "A"})),
            [
                f"connect: n.source.cluster.bootstrap.servers: differs from m.target.cluster.bootstrap.servers, which is B too; write its address as clusters.B.bootstrap.servers in {HAND}",
                f"connect: n.target.cluster.bootstrap.servers: differs from m.source.cluster.bootstrap.servers, which is A too; write its address as clusters.A.bootstrap.servers in {HAND}",
            ],
        ),
        (
            (connector(**{"source.cluster.sasl.jaas.config": "x ${file:/s:p} y"}),),
            [f"connect: m.source.cluster.sasl.jaas.config: holds a variable that only the Connect worker can resolve; write clusters.A.sasl.jaas.config in {HAND}"],
        ),
        (
            (connector(**{"topics": "${env:T}", "tasks.max": "many"}),),
            [
                "connect: m.topics: holds ${env:T}, which only the Connect worker can resolve; write the value itself there, or set the flow's topics and policy under flows: in Mirrorwatch's configuration.",
                "connect: m.tasks.max: must be a whole number; write digits only, without a unit.",
            ],
        ),
    ],
)  # fmt: skip
def test_what_is_refused(connectors, said):
    assert problems(*connectors) == said


@pytest.mark.parametrize(
    "ours",
    [
        {"sasl.jaas.config": "ours"},
        {"sasl.password": "ours"},
        {"security.protocol": "PLAINTEXT"},
    ],
)
def test_our_own_stands_in_for_what_only_the_worker_can_look_up(ours):
    theirs = connector(**{"source.cluster.sasl.jaas.config": "${file:/s:p}"})
    client = read(theirs, clusters={"A": ours}).topology.cluster("A").client
    assert client == {"bootstrap.servers": "a:9092", **ours}


@pytest.mark.parametrize(
    ("secret", "ours", "needed"),
    [
        ("ssl.truststore.password", {"ssl.ca.location": "ca.pem"}, False),
        ("ssl.truststore.password", {"ssl.certificate.location": "ours.pem"}, True),
        ("ssl.keystore.password", {"ssl.certificate.location": "ours.pem"}, False),
        ("ssl.key.password", {"ssl.keystore.location": "ours.p12"}, False),
        ("ssl.key.password", {"ssl.ca.location": "ca.pem"}, True),
        ("ssl.truststore.location", {"ssl.truststore.password": "x"}, True),
    ],
)
def test_the_password_of_a_store_is_not_needed_if_ours_replaces_the_store(secret, ours, needed):
    theirs = connector(**{f"source.cluster.{secret}": "${file:/s:p}"})
    if needed:
        (said,) = problems(theirs, clusters={"A": ours})
        assert f"m.source.cluster.{secret}: holds a variable" in said
    else:
        client = read(theirs, clusters={"A": ours}).topology.cluster("A").client
        assert client == {"bootstrap.servers": "a:9092", **ours}


def test_our_own_address_settles_a_difference():
    there = connector(name="n", **{"source.cluster.alias": "B", "target.cluster.alias": "A"})
    ours = {"A": {"bootstrap.servers": "x:1"}, "B": {"bootstrap.servers": "y:1"}}
    found = read(connector(), there, clusters=ours).topology
    assert [cluster.client["bootstrap.servers"] for cluster in found.clusters] == ["x:1", "y:1"]


def test_a_secret_kept_elsewhere_is_asked_for_by_key():
    secret = Written("spec.x", "names a secret", ("sasl.password", "sasl.jaas.config"))
    worker = Worker(secrets={"A": (secret,)})
    assert problems(connector(), worker=worker) == [
        f"connect: spec.x: names a secret; write clusters.A.sasl.password or clusters.A.sasl.jaas.config in {HAND}"
    ]
    theirs = connector(**{"source.cluster.sasl.username": "mirror"})
    jaas = read(theirs, worker=worker, clusters={"A": {"sasl.jaas.config": "x"}}).topology.cluster("A").client
    assert "sasl.username" not in jaas
    password = (
        read(theirs, worker=worker, clusters={"A": {"sasl.password": "x"}}).topology.cluster("A").client
    )
    assert password["sasl.username"] == "mirror"


def test_every_problem_at_once():
    assert len(problems(connector(**{"topics": "a[", "tasks.max": "0"}), connector(name="n"))) == 3


STATES = "as its worker reports; check its status and log."


@pytest.mark.parametrize(
    ("state", "tasks", "said"),
    [
        ("RUNNING", ("RUNNING", "RUNNING"), []),
        ("", (), []),
        ("FAILED", (), [f"is FAILED, {STATES}"]),
        ("UNASSIGNED", ("UNASSIGNED",), [f"is UNASSIGNED, {STATES}", f"has 1 of its 1 tasks that is UNASSIGNED, {STATES}"]),
        ("RUNNING", ("FAILED", "RUNNING", "FAILED"), [f"has 2 of its 3 tasks that are FAILED, {STATES}"]),
        ("PAUSED", ("PAUSED",), ["is PAUSED: it replicates nothing until it is resumed."]),
        ("STOPPED", (), ["is STOPPED: it replicates nothing until it is resumed."]),
        ("RUNNING", ("RESTARTING",), []),
    ],
)  # fmt: skip
def test_only_states_that_can_be_believed_are_told(state, tasks, said):
    numbered = tuple(Task(number, each) for number, each in enumerate(tasks))
    found = read(replace(connector(), state=state, tasks=numbered)).warnings
    assert [str(warning) for warning in found] == [f"connect: m: {sentence}" for sentence in said]


def test_what_belongs_to_no_flow_is_told():
    found = read(
        connector(),
        connector(name="off", **{"source.cluster.alias": "C", "enabled": "false"}),
        connector(HEARTBEAT, "h", **{"source.cluster.alias": "D"}),
        Connector("sink", {"connector.class": "io.x.FileSink"}),
    )
    assert [flow.name for flow in found.topology.flows] == ["A->B"]
    assert [cluster.alias for cluster in found.topology.clusters] == ["A", "B"]
    assert [str(warning) for warning in found.warnings] == [
        "connect: off.enabled: is not true, so this connector replicates nothing; C->B is not a flow.",
        "connect: h.connector.class: serves D->B, which no source connector here replicates; skipped.",
    ]


def test_a_connector_without_its_name_is_called_by_its_class_and_nothing_is_looked_for_by_that():
    bare = written(dict(connector().config))
    assert flow(*bare).connector == ""
    (warning,) = read(*bare).warnings
    assert str(warning) == (
        "connect: MirrorSourceConnector.name: is missing; write the connector's name there. Otherwise offsets of"
        " all connectors that replicate A and share an offsets topic count as this one's."
    )
    (inner,) = written({**connector().config, "name": "mine"})
    (empty,) = written({"name": "", "config": connector().config})
    assert (inner.name, inner.named, empty.name, empty.named) == ("mine", True, SOURCE, False)
    assert (flow(inner).connector, read(inner).warnings) == ("mine", ())


def test_secrets_do_not_show_when_a_connector_is_printed():
    assert "hunter2" not in repr(connector(**{"source.cluster.sasl.jaas.config": "hunter2"}))
    assert "hunter2" not in repr(Worker({"sasl.jaas.config": "hunter2"}))


# --- JSON


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"name": "m", "config": {"connector.class": "x"}, "tasks": [], "type": "source"}, ["m"]),
        ({"connector.class": "a.b.X"}, ["X"]),
        ({"connector.class": "x", "name": "inner"}, ["inner"]),
        ([{"name": "m", "config": {"connector.class": "x"}}, {"connector.class": "y", "name": "n"}], ["m", "n"]),
        ({"m": {"info": {"config": {"connector.class": "x"}}}}, ["m"]),
    ],
)  # fmt: skip
def test_forms_of_json(document, names):
    assert [each.name for each in written(document)] == names


def test_json_values_become_the_text_that_connect_makes_of_them():
    config = {"connector.class": "x", "tasks.max": 2, "enabled": True, "topics": None}
    (found,) = written(config)
    assert found.config == {"connector.class": "x", "tasks.max": "2", "enabled": "true"}


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "is an empty list; write a connector's name and config"),
        (5, "is not a connector; write its name and config"),
        ({"name": "m"}, "is not a connector: connector.class is missing"),
        ([{"connector.class": "x"}, 5], "has an entry (number 2) that is not a connector; write its name and config"),
        ([{"connector.class": "x"}] * 2, "has two connectors called x; give each its own name"),
        ({"m": {"info": 5}}, "not a list of connectors with their configuration"),
    ],
)  # fmt: skip
def test_json_that_is_no_connector(document, sentence):
    with pytest.raises(MalformedError) as refusal:
        written(document)
    assert str(refusal.value) == sentence


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["name", "config", "info", "status", "tasks", "connector", "connector.class", "state", "id"])
        | st.text(max_size=4),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(document=ANY)
@settings(max_examples=300)
def test_any_document_is_read_or_refused(document):
    for form in (written, expanded):
        try:
            found = form(document)
        except MalformedError:
            continue
        for each in found:
            assert all(isinstance(value, str) for value in each.config.values())
        with suppress(ConfigurationError):
            assert read(*found).topology.flows
