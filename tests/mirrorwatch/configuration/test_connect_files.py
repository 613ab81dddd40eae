"""Files that tell of a mirror on Connect: how their form is known, and what comes of good ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet.errors import ConfigurationError
from lagmon.cluster.state import ClusterLag
from lagmon.mirrors.answers.orders import read_mirror
from lagmon.mirrors.flow import MirrorFlow
from mirrorwatch.configuration.configuration import LagSource
from mirrorwatch.configuration.connect_url import rest_address
from mirrorwatch.configuration.forms import Form, form_of_mirror
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag.orders import lag_orders, mirror_orders

RECORDED = json.loads(
    (Path(__file__).parents[1] / "golden_connect" / "connect-4.3.0.json").read_text("utf-8")
)
CONNECTOR = RECORDED["GET /connectors/mirror-source"]["body"]
STRIMZI = """\
# Applied by hand.
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: shop}
spec:
  version: 4.1.0
  connectCluster: B
  clusters:
    - alias: A
      bootstrapServers: a:9092
      authentication:
        type: scram-sha-512
        username: mirror
        passwordSecret: {secretName: mirror-a, password: password}
    - alias: B
      bootstrapServers: b:9092
  mirrors:
    - sourceCluster: A
      targetCluster: B
      sourceConnector: {tasksMax: 3, config: {sync.topic.acls.enabled: "false"}}
"""
PASSWORD = 'clusters: {A: {sasl.password: "${env:P}"}}\n'


def read(folder, ours, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    path = folder / "mirrorwatch.yaml"
    path.write_text(ours, encoding="utf-8")
    return read_configuration(path, environ={"P": "hunter2secret"})


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("mm2.properties", "clusters = A, B", Form.PROPERTIES),
        ("mm2.properties", "{}", Form.PROPERTIES),
        ("mm2.conf", "clusters = A, B", Form.PROPERTIES),
        ("m.json", "", Form.CONNECTORS),
        ("m", ' \n{"name": "m"}', Form.CONNECTORS),
        ("m.yaml", '[{"name": "m"}]', Form.CONNECTORS),
        ("m", "\ufeff{}", Form.CONNECTORS),
        ("m.yaml", "kind: Kafka", Form.RESOURCES),
        ("m.YML", "", Form.RESOURCES),
        ("m", STRIMZI, Form.RESOURCES),
        ("m", "kind: 'KafkaMirrorMaker2' # mine\r\nspec:", Form.RESOURCES),
        ("m", "  kind: KafkaMirrorMaker2\n", Form.PROPERTIES),
        ("m", "kind: KafkaMirrorMaker2Other\n", Form.RESOURCES),
    ],
)
def test_the_form_of_a_file_that_is_named_as_a_mirrors(name, content, form):
    assert form_of_mirror(Path(name), content.encode()) is form


def test_a_connector_as_a_worker_tells_it(tmp_path):
    ours = "mm2: connector.json\nflows: {A->B: {offsets: {topic: connect-offsets, kafka_cluster: A}}}\n"
    config = read(tmp_path, ours, "connector.json", CONNECTOR)
    (flow,) = config.topology.flows
    assert (flow.name, flow.connector, flow.on_connect, flow.tasks_max) == ("A->B", "mirror-source", True, 2)
    assert config.lag_sources == {
        "A->B": LagSource("connect-offsets", None, "A", "connect-offsets", topics_read=True)
    }
    assert [warning for warning in config.warnings if warning.key.endswith("offsets")] == []
    assert config.mm2_path == tmp_path / "connector.json"
    assert any("shown-in-clear" in secret for secret in config.secrets)
    assert "shown-in-clear" not in repr(config)


def test_a_bare_configuration_tells_no_name_and_the_connectors_own_offsets_are_taken(tmp_path):
    """As PUT /connectors/mirror-source/config takes it: the name is in the address alone."""
    ours = "mm2: connector.json\nflows: {A->B: {offsets: {topic: connect-offsets}}}\n"
    bare = {key: value for key, value in json.loads(CONNECTOR)["config"].items() if key != "name"}
    config = read(tmp_path, ours, "connector.json", json.dumps(bare))
    (order,) = mirror_orders(config)
    assert (order.connector, order.offsets_topic, order.status_topic) == ("", "connect-offsets", "")
    assert "MirrorSourceConnector.name" in [warning.key for warning in config.worth_reading]


TASKS = (
    "flows: {A->B: {offsets: {topic: connect-offsets, kafka_cluster: A, status_topic: ' connect-status ',"
    " config_topic: connect-configs}}}\n"
)


def of_tasks(config):
    """Return the order of the only flow, and the warnings about the topics that tell of its tasks."""
    (order,) = mirror_orders(config)
    assert (order.offsets_cluster, order.status_topic) == ("A", "connect-status")
    assert order.config_topic == "connect-configs"
    keys = [f"flows.A->B.offsets.{kind}_topic" for kind in ("status", "config")]
    return order, [one for one in config.worth_reading if one.key in keys]


def told_of_tasks(config):
    """Return the topics and connectors of the only flow's tasks, as the lag monitor's process is told."""
    (told,) = lag_orders(config).told["mirrors"]
    flow = MirrorFlow(read_mirror(told), *(ClusterLag(wanted=lambda *_: True) for _ in range(2)))
    order = flow.order
    return {order.status_topic: flow.states.connector, order.config_topic: flow.assignments.connector}


def both_of(connector):
    return {"connect-status": connector, "connect-configs": connector}


def test_the_tasks_of_a_connector_are_read_where_its_worker_is_said_to_tell_of_them(tmp_path):
    config = read(tmp_path, "mm2: connector.json\n" + TASKS, "connector.json", CONNECTOR)
    order, warned = of_tasks(config)
    assert warned == []
    assert told_of_tasks(config) == both_of("mirror-source")
    without = read(tmp_path, "mm2: connector.json\n", "connector.json", CONNECTOR)
    assert told_of_tasks(without) == {"": "mirror-source"}
    assert not lag_orders(config).same(order.name, lag_orders(without))


@pytest.mark.parametrize("told", ["a connector without its name", "a flow by hand"])
def test_without_a_connectors_name_mirrormakers_own_is_taken_and_that_is_warned_of(tmp_path, told):
    bare = {key: value for key, value in json.loads(CONNECTOR)["config"].items() if key != "name"}
    clusters = "clusters: {A: {bootstrap.servers: 'a:9092'}, B: {bootstrap.servers: 'b:9092'}}\n"
    mirror = clusters if told == "a flow by hand" else "mm2: connector.json\n"
    config = read(tmp_path, mirror + TASKS, "connector.json", json.dumps(bare))
    _, warned = of_tasks(config)
    assert [one.key.rpartition(".")[2] for one in warned] == ["status_topic", "config_topic"]
    (sentence,) = {one.sentence for one in warned}
    assert sentence == (
        "unknown connector name, so Mirrorwatch reads the tasks of MirrorSourceConnector; if yours has"
        " another name, set connect, or add name to its JSON"
    )
    assert told_of_tasks(config) == both_of("MirrorSourceConnector")


def test_a_dedicated_mirror_and_one_by_strimzi_may_be_told_where_their_tasks_are(tmp_path):
    mirror = (
        "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\nA->B.enabled = true\n"
    )
    config = read(tmp_path, "mm2: mm2.properties\n" + TASKS, "mm2.properties", mirror)
    assert of_tasks(config)[1] == []
    assert told_of_tasks(config) == both_of("MirrorSourceConnector")
    config = read(tmp_path, "mm2: mirror.yaml\n" + PASSWORD + TASKS, "mirror.yaml", STRIMZI)
    assert of_tasks(config)[1] == []
    assert told_of_tasks(config) == both_of("A->B.MirrorSourceConnector")


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "KafkaMirrorMaker2", "spec": %s}',
        '{"connector.class": "MirrorSource", "x": %s}',
        '[{"connector.class": "MirrorSource", "x": %s}]',
        '{"m": {"info": {"config": {"connector.class": "MirrorSource", "x": %s}}}}',
    ],
)
@pytest.mark.parametrize("depth", [600, 980, 50_000])
def test_what_is_nested_however_deeply_is_refused_in_a_sentence(tmp_path, text, depth):
    with pytest.raises(ConfigurationError) as refusal:
        read(tmp_path, "mm2: mirror.json\n", "mirror.json", text % ("[" * depth + "]" * depth))
    if depth == 50_000:
        assert str(refusal.value).endswith("mirror.json: nested too deeply for a connector; check the path")


def test_a_list_of_connectors_and_what_our_own_file_says_over_them(tmp_path):
    three = [
        json.loads(RECORDED[f"POST /connectors mirror-{kind}"]["body"])
        for kind in ("source", "checkpoint", "heartbeat")
    ]
    ours = (
        'mm2: mirror\nmirror_version: "3.9"\nclusters: {B: {bootstrap.servers: "outside:9094"}}\n'
        "flows: {A->B: {topics: other, separator: _, delivery: exactly_once}}\n"
    )
    config = read(tmp_path, ours, "mirror", json.dumps(three))
    (flow,) = config.topology.flows
    assert (flow.topic_filter.include, flow.remote_topic("t"), flow.exactly_once) == ("other", "A_t", True)
    assert (flow.group_filter.include, flow.heartbeats_enabled) == ("shop-.*", True)
    assert flow.mirror_version == "3.9"
    assert config.clients["B"].librdkafka["bootstrap.servers"] == "outside:9094"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_strimzi_mirror(tmp_path, as_json):
    text = STRIMZI
    if as_json:
        text = json.dumps(
            {
                "apiVersion": "kafka.strimzi.io/v1beta2",
                "kind": "KafkaMirrorMaker2",
                "spec": {
                    "version": "4.1.0",
                    "connectCluster": "B",
                    "clusters": [
                        {
                            "alias": "A",
                            "bootstrapServers": "a:9092",
                            "authentication": {"type": "scram-sha-512", "username": "mirror"},
                        },
                        {"alias": "B", "bootstrapServers": "b:9092", "tls": None},
                    ],
                    "mirrors": [
                        {
                            "sourceCluster": "A",
                            "targetCluster": "B",
                            "sourceConnector": {"tasksMax": 3, "config": {"sync.topic.acls.enabled": False}},
                        }
                    ],
                },
            }
        )
    config = read(tmp_path, "mm2: mirror.yaml\n" + PASSWORD, "mirror.yaml", text)
    (flow,) = config.topology.flows
    assert (flow.name, flow.tasks_max, flow.mirror_version) == ("A->B", 3, "4.1.0")
    client = config.clients["A"].librdkafka
    assert (client["security.protocol"], client["sasl.mechanism"]) == ("sasl_plaintext", "SCRAM-SHA-512")
    assert (client["sasl.username"], client["sasl.password"]) == ("mirror", "hunter2secret")
    assert config.clients["B"].librdkafka.get("security.protocol", "plaintext") == "plaintext"
    assert config.lag_sources["A->B"] == LagSource(
        "connect-offsets", None, "B", "mirrormaker2-cluster-offsets", topics_read=True
    )
    assert config.canary_flows[0].tasks_topic == ""


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL"])
def test_what_is_null_in_a_strimzi_mirror_is_not_there(tmp_path, null):
    """A template leaves such fields behind, and Kubernetes drops them."""
    above = STRIMZI.replace("bootstrapServers: b:9092", f"bootstrapServers: b:9092\n      tls: {null}")
    fields = ("topicsPattern", "groupsPattern", "checkpointConnector")
    text = above + "".join(f"      {name}: {null}\n" for name in fields)
    config = read(tmp_path, "mm2: mirror.yaml\n" + PASSWORD, "mirror.yaml", text)
    (flow,) = config.topology.flows
    assert (flow.topic_filter.include, flow.group_filter.include) == (".*", ".*")
    assert flow.emit_checkpoints_interval_s is None
    assert config.clients["B"].librdkafka.get("security.protocol", "plaintext") == "plaintext"
    without = STRIMZI.replace('{tasksMax: 3, config: {sync.topic.acls.enabled: "false"}}', null)
    with pytest.raises(ConfigurationError, match="has no connector; a flow requires a MirrorSourceConnector"):
        read(tmp_path, "mm2: mirror.yaml\n" + PASSWORD, "mirror.yaml", without)


def test_text_in_quotes_stays_text_in_a_strimzi_mirror(tmp_path):
    text = STRIMZI + "      topicsPattern: 'null'\n      checkpointConnector: \"\"\n"
    (flow,) = read(tmp_path, "mm2: mirror.yaml\n" + PASSWORD, "mirror.yaml", text).topology.flows
    assert flow.topic_filter.include == "null"
    assert flow.emit_checkpoints_interval_s == 60


def test_a_strimzi_mirror_whose_spec_is_null_has_none(tmp_path):
    with pytest.raises(ConfigurationError, match="apiVersion: is ''; a mirror of Strimzi has"):
        read(tmp_path, "mm2: mirror.yaml\n", "mirror.yaml", "kind: KafkaMirrorMaker2\nspec:\n")


def test_offset_syncs_that_the_mirror_does_not_write_tell_nothing_and_that_is_warned_of(tmp_path):
    mirror = (
        "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\n"
        "A->B.enabled = true\nB->A.enabled = true\nA->B.emit.offset-syncs.enabled = false\n"
    )
    ours = "mm2: mm2.properties\nflows: {A->B: {lag_from: offset-syncs}, B->A: {lag_from: offset-syncs}}\n"
    config = read(tmp_path, ours, "mm2.properties", mirror)
    (warning,) = [one for one in config.worth_reading if "offset-syncs" in one.sentence]
    assert warning.key == "flows.A->B.lag_from"
    assert warning.sentence == (
        "the mirror writes no offset syncs (emit.offset-syncs.enabled is false), so its progress stays"
        " unknown; set connect-offsets, or enable offset syncs"
    )
    config = read(tmp_path, "mm2: mm2.properties\n", "mm2.properties", mirror)
    assert [one for one in config.worth_reading if "offset-syncs" in one.sentence] == []


def test_where_progress_is_read_without_a_mirrors_file(tmp_path):
    flows = {
        "A->B": "{lag_from: group, group: 'mm1-.*'}",
        "B->A": "{lag_from: equal-offsets}",
        "A->C": "{lag_from: offset-syncs}",
        "B->C": "{offsets: {topic: ' t '}}",
        "C->A": "{}",
    }
    written = "".join(f"  {name}: {said}\n" for name, said in flows.items())
    clusters = "".join(f"  {alias}: {{bootstrap.servers: '{alias.lower()}:9092'}}\n" for alias in "ABC")
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(f"clusters:\n{clusters}flows:\n{written}", encoding="utf-8")
    config = read_configuration(path, environ={})
    assert config.lag_sources == {
        "A->B": LagSource("group", "mm1-.*"),
        "B->A": LagSource("equal-offsets"),
        "A->C": LagSource("offset-syncs"),
        "B->C": LagSource("connect-offsets", None, "C", "t"),
        "C->A": LagSource("connect-offsets", None, "A", None),
    }
    assert [warning.key for warning in config.warnings if "does nothing" in warning.sentence] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://connect:8083", "http://connect:8083"),
        (" https://connect.example.org/ ", "https://connect.example.org"),
        ("http://connect:8083/connectors", "http://connect:8083"),
        ("http://proxy/connect/connectors/", "http://proxy/connect"),
        ("http://[::1]:8083", "http://[::1]:8083"),
    ],
)
def test_an_address(text, address):
    assert rest_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "http://mw:hunter2secret@connect:8083",
        "http://mw:hunter2#secret@connect:8083",
        "http://mw:hunter2/secret@connect:8083",
        "http://mw:hunter2?secret@connect:8083",
        "http://mw:hunter2 secret@connect:8083",
        "mw:hunter2secret@connect:8083",
        "http://mw:hunter2@secret@[",
    ],
)
def test_an_address_with_a_user_is_never_shown_whatever_the_password_holds(text):
    with pytest.raises(ValueError, match="must not contain a user") as refusal:
        rest_address(text)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["", "connect", "ftp://x", "http://", "http://x:99999", "http://x:0", "http://[", "http://a b"]
)
def test_no_address(text):
    with pytest.raises(ValueError, match="write it as http://connect:8083"):
        rest_address(text)
