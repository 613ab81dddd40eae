"""mm2.properties: our reading against that of the real MirrorMakerConfig, the problems and the warnings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fleet.errors import ConfigurationError
from fleet.java.properties import as_mapping, parse
from fleet.mm2.config_providers import Lookup
from fleet.mm2.filters import TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.ignored import why_ignored
from fleet.mm2.names import ROLE_NAMES, WORKER_NAMES, client_names, connector_names
from fleet.mm2.properties import FlowOverrides, read_mm2
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.mm2.resolution import CHECKPOINT, HEARTBEAT, SOURCE, Mm2Properties
from fleet.mm2.value_rules import fault_of

GOLDEN = Path(__file__).parents[1] / "golden"
INPUTS = GOLDEN / "inputs"
NAMES = (INPUTS / "names.txt").read_text().splitlines()
VERSIONS = {"3.9.2": 3, "4.3.0": 4}
ANSWERS = {version: json.loads((GOLDEN / f"kafka-{version}.json").read_text()) for version in VERSIONS}
FILES = sorted(path.name for path in (INPUTS / "mm2").iterdir())
ENVIRON = {
    "MW_GOLDEN_PASSWORD": "secret of the environment",
    "MW_GOLDEN_TOPICS": "orders.*, A.*",
    "MW_GOLDEN_TRUE": "true",
    "MW_GOLDEN_FALSE": "false",
}
# What their worker or the class path decides.
LEFT_TO_MIRRORMAKER = {
    "admin.listeners", "inter.worker.key.generation.algorithm", "inter.worker.signature.algorithm",
    "inter.worker.verification.algorithms", "listeners", "predicates", "response.http.headers.config", "transforms",
}  # fmt: skip
# Files that the real one cannot use either, or that it would use without reaching a cluster or a secret.
UNUSABLE = {
    "bad-location.properties": "offset-syncs.topic.location",
    "bad-number.properties": "tasks.max",
    "bad-regex.properties": "topics",
    "comma-in-regex.properties": "topics",
    "enabled-spelling.properties": "B->A.enabled",
    "enabled-trailing-blank-quiet.properties": "A->B.enabled",
    "no-clusters.properties": "clusters",
    "one-cluster.properties": "A->B.enabled",
    "policy-short-name.properties": "replication.policy.class",
    "providers-env.properties": "B.sasl.jaas.config",
    "providers-file.properties": "B.sasl.jaas.config",
    "providers-missing-file.properties": "A.ssl.key.password",
    "providers-restricted.properties": "A.ssl.key.password",
    "spaces-in-key.properties": "A->B.enabled",
}

# What they say beside it: a flow that is not there may be one that is misspelt.
ALSO_SAID = {"spaces-in-key.properties": ("A", "A -> B.enabled")}


def read_input(path):
    return (INPUTS / path).read_text(encoding="utf-8")


def text_of(name):
    return (INPUTS / "mm2" / name).read_bytes().decode("iso-8859-1")


def properties_of(name, version):
    return Mm2Properties(as_mapping(parse(text_of(name))), VERSIONS[version], Lookup(ENVIRON, read_input))


def read(text, version="4.3.0", **more):
    return read_mm2(
        text, file="mm2.properties", mirror_version=version, environ=ENVIRON, read_file=read_input, **more
    )


def problems_of(text, version="4.3.0", **more):
    with pytest.raises(ConfigurationError) as refusal:
        read(text, version, **more)
    return refusal.value.problems


def test_the_table_is_as_large_as_it_should_be():
    assert len(FILES) >= 50
    for answers in ANSWERS.values():
        assert sorted(answers["mm2"]) == FILES


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_the_known_names_are_those_of_the_real_definitions(version):
    names = ANSWERS[version]["names"]
    major = VERSIONS[version]
    assert sorted(client_names(major)) == names["client"]
    assert sorted(connector_names(major)) == names["connectors"]
    assert set(names["worker"]) <= WORKER_NAMES | client_names(major)
    assert set(names["roles"]) <= ROLE_NAMES | client_names(major)


@pytest.mark.parametrize("version", sorted(VERSIONS))
@pytest.mark.parametrize("name", FILES)
def test_every_part_of_the_mirror_is_given_the_same(version, name):
    answer = ANSWERS[version]["mm2"][name]
    ours = properties_of(name, version)
    if isinstance(answer, str):
        assert name in UNUSABLE
        return
    assert sorted(ours.clusters) == answer["clusters"]
    assert sorted(f"{source}->{target}" for source, target in ours.pairs) == sorted(answer["herders"])
    for alias, client in answer["clients"].items():
        if isinstance(client, dict):  # else the client does not start
            assert ours.client_config(alias) == client
    for source, target in ours.pairs:
        herder = answer["herders"][f"{source}->{target}"]
        assert ours.worker_config(source, target) == herder["worker"]
        base = ours.connector_config(source, target, SOURCE)
        assert base == herder["source"]
        for connector, part in ((CHECKPOINT, "checkpoint_differs"), (HEARTBEAT, "heartbeat_differs")):
            other = ours.connector_config(source, target, connector)
            assert {key: other.get(key) for key in base | other if other.get(key) != base.get(key)} == herder[
                part
            ]


@pytest.mark.parametrize("version", sorted(VERSIONS))
@pytest.mark.parametrize("name", [name for name in FILES if name not in UNUSABLE])
def test_every_flow_is_and_does_the_same(version, name):
    answer = ANSWERS[version]["mm2"][name]
    mm2 = read(text_of(name), version)
    enabled = {flow for flow, herder in answer["herders"].items() if herder["decisions"]["enabled"]}
    assert {flow.name for flow in mm2.topology.flows} == enabled
    for flow in mm2.topology.flows:
        decisions = answer["herders"][flow.name]["decisions"]
        assert [topic for topic in NAMES if not flow.decide(topic).replicated] == decisions["not_replicated"]
        assert flow.remote_topic("orders") == decisions["orders"]
        assert [
            name for name in NAMES if flow.group_filter.matches(name, major=VERSIONS[version])
        ] == decisions["groups"]
        assert flow.tasks_max == decisions["tasks.max"]
        assert flow.refresh_topics_interval_s == decisions["refresh.topics.s"]
        assert flow.offset_lag_max == decisions["offset.lag.max"]
        assert flow.offset_syncs_topic == decisions["offset_syncs"]
        assert flow.checkpoints_topic == decisions["checkpoints"]
        assert flow.emit_checkpoints_interval_s == decisions["emit.checkpoints.s"]
        assert flow.sync_group_offsets is (decisions["sync.group.offsets.s"] is not None)
        assert flow.heartbeats_interval_s == decisions["emit.heartbeats.s"]
        assert flow.isolation_level == (decisions["isolation.level"] or "read_uncommitted")
        worker = answer["herders"][flow.name]["worker"]
        assert flow.offset_storage_topic == worker["offset.storage.topic"]
        assert flow.offset_flush_interval_s * 1000 == int(worker.get("offset.flush.interval.ms", 60_000))
        assert flow.exactly_once is (worker.get("exactly.once.source.support") == "enabled")


@pytest.mark.parametrize("name", sorted(UNUSABLE))
def test_a_file_that_cannot_be_used_names_the_key(name):
    problems = problems_of(text_of(name))
    assert [problem.key for problem in problems] == [*ALSO_SAID.get(name, ()), UNUSABLE[name]]
    assert all(problem.file == "mm2.properties" for problem in problems)
    assert "secret" not in str(problems[0]).replace("secrets.properties", "")


PLAIN = """clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def test_a_plain_file_gives_no_warning():
    assert read(PLAIN).warnings == ()


@pytest.mark.parametrize(
    "name", ["one-way", "both-ways", "exactly-once", "intervals", "providers-directory", "separator"]
)
def test_a_good_file_gives_no_warning(name):
    found = [
        warning
        for warning in read(text_of(f"{name}.properties")).warnings
        if warning.key != "dedicated.mode.enable.internal.rest"
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("", "earliest"),
        ("A.consumer.auto.offset.reset = latest", "latest"),
        ("A->B.consumer.auto.offset.reset = latest", "latest"),
        ("A->B.source.consumer.auto.offset.reset = LATEST", "latest"),
        ("B.consumer.auto.offset.reset = latest", "earliest"),  # the target's
        ("A.auto.offset.reset = latest", "earliest"),  # only what every client has reaches it from there
    ],
)
def test_a_flow_begins_where_its_consumer_is_told_to(line, begins):
    (flow,) = read(f"{PLAIN}{line}\n").topology.flows
    assert flow.offset_reset == begins


FILTER = "org.apache.kafka.connect.transforms.Filter"
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("", {}),
        (
            (f"A->B.transforms = one, two, three\nA->B.transforms.one.type = {FILTER}\n"
            f"A->B.transforms.two.type = {ROUTER}\nA->B.transforms.three.type = com.example.Masks"),
            {"drops": ("one", "three")},
        ),
        ("transforms = one", {"drops": ("one",)}),  # a name that every connector has reaches them all
        ("A->B.errors.tolerance = all", {"skips_failed": True}),
        ("B.producer.max.request.size = 5000", {"max_request_bytes": 5000}),
        ("A.producer.max.request.size = 5000", {}),  # the source's
        ("B.producer.max.request.size = ${file:/etc/size:most}", {"max_request_bytes": None}),
        ("B.producer.max.request.size = many", {"max_request_bytes": None}),
        ("B.producer.compression.type = zstd", {"compresses": True}),
        ("B.producer.compression.type = zstd\nA->B.producer.override.compression.type = none", {}),
        ("B.producer.max.request.size = 5\nA->B.producer.override.max.request.size = 7", {"max_request_bytes": 7}),
    ],
)  # fmt: skip
def test_what_a_mirror_does_to_records_and_at_failures(lines, found):
    (flow,) = read(f"{PLAIN}{lines}\n").topology.flows
    plain = Handling(skips_failed=False, max_request_bytes=1 << 20, compresses=False)
    assert flow.handling == replace(plain, **found)


WARNED = [
    ("offset.flush.interval.ms = 1000", "offset.flush.interval.ms", "as B.offset.flush.interval.ms."),
    ("exactly.once.source.support = enabled", "exactly.once.source.support", "as B.exactly.once.source.support."),
    ("A->B.offset.flush.interval.ms = 1", "A->B.offset.flush.interval.ms", "write B.offset.flush.interval.ms."),
    ("A->B.producer.linger.ms = 5", "A->B.producer.linger.ms", "reaches only the producer of offset syncs"),
    ("A.topics = x", "A.topics", "write A->B.topics."),
    ("A.isolation.level = read_committed", "A.isolation.level", "write A.consumer.isolation.level."),
    ("A->B.isolation.level = x", "A->B.isolation.level", "write A.consumer.isolation.level or"),
    ("consumer.isolation.level = x", "consumer.isolation.level", "write it with the alias"),
    ("A->C.enabled = true", "A->C.enabled", "clusters does not name C (it names A, B)"),
    ("A->A.enabled = true", "A->A.enabled", "from one cluster to another"),
    ("C.bootstrap.servers = x", "C.bootstrap.servers", "clusters does not name C"),
    ("B -> A.enabled = true", "B", "a space ends the key"),
    ("topics.blacklist = x", "topics.blacklist", "is ignored: write topics.exclude."),
    ("A->B.topics.blacklist = x", "A->B.topics.blacklist", "write A->B.topics.exclude."),
    ("A->B.topic = x", "A->B.topic", "did you mean A->B.topics?"),
    ("A->B.topisc = orders", "A->B.topisc", "did you mean A->B.topics?"),
    ("A->B.gruops = orders", "A->B.gruops", "did you mean A->B.groups?"),
    ("topisc = orders", "topisc", "did you mean topics?"),
    ("A->B.task.max = 2", "A->B.task.max", "did you mean A->B.tasks.max?"),
    ("refresh.topic.interval.seconds = 2", "refresh.topic.interval.seconds", "did you mean refresh.topics.interval.seconds?"),
    ("A.bootstrap.server = x", "A.bootstrap.server", "did you mean A.bootstrap.servers?"),
    ("nonsense = x", "nonsense", "it is not a key of MirrorMaker and does not start with an alias"),
    ("task.max = 2", "task.max", "is not a key of MirrorMaker; did you mean tasks.max?"),
    ("A->B.enable = true", "A->B.enable", "did you mean A->B.enabled?"),
    ("A->B.Topics = orders", "A->B.Topics", "did you mean A->B.topics?"),
    ("tasks_max = 2", "tasks_max", "did you mean tasks.max?"),
    ("A->B.replication.policy.seperator = _", "A->B.replication.policy.seperator", "did you mean A->B.replication.policy.separator?"),
    ("offset.storage.replication.facter = 2", "offset.storage.replication.facter", "did you mean offset.storage.replication.factor?"),
    ("A.producer.sasl.mechanisms = PLAIN", "A.producer.sasl.mechanisms", "did you mean A.producer.sasl.mechanism?"),
    ("A.consumer.auto.offset.rest = latest", "A.consumer.auto.offset.rest", "did you mean A.consumer.auto.offset.reset?"),
    ("A->B.producer.override.linger_ms = 5", "A->B.producer.override.linger_ms", "did you mean A->B.producer.override.linger.ms?"),
    ("A=>B.enabled = true", "A", "a space ends the key"),
    ("A->B.groups = 'orders'", "A->B.groups", "is in quotes"),
    ("A->B.topics = orders # all of them", "A->B.topics", "has a # after its value"),
    ("transforms.x.type = y", "transforms.x.type", "write A->B.transforms.x.type."),
    ("B.replication.policy.separator = _", "B.replication.policy.separator", "belongs to a flow, not to a cluster"),
    ("replication.policy.separator = _ ", "replication.policy.separator", "ends with a space"),
    ("enabled = true", "enabled", "enables every flow"),
    ("topics = é", "topics", "characters beyond ASCII"),
    ("A->B.enabled = true", "A->B.enabled", "is set in lines 4 and 5; the last one applies."),
    ("worker.note = ${file:/x:y}", "worker.note", "looks like a variable"),
    ('A.sasl.jaas.config = x password="Top${SEC:RET}"', "A.sasl.jaas.config", "looks like a variable"),
    ("tasks.max = 2", "dedicated.mode.enable.internal.rest", "if this MirrorMaker runs on several nodes"),
    ("A->B.refresh.topics.enabled = false", "A->B.refresh.topics.enabled", "only after a restart"),
    ("replication.policy.class = org.apache.kafka.connect.mirror.LegacyReplicationPolicy", "replication.policy.class", "is not a class of an Apache Kafka release"),
    (f"B->A.enabled = true\nreplication.policy.class = {IDENTITY}", "replication.policy.class", "loops forever"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "key", "sentence"), WARNED)
def test_what_is_silently_ignored_or_means_something_else_is_said(line, key, sentence):
    (warning,) = read(PLAIN + line).warnings
    assert warning.key == key
    assert sentence in warning.sentence


OVERRIDDEN = """clusters=cloud, source
source.bootstrap.servers=127.0.0.1:1
cloud.bootstrap.servers=127.0.0.1:2
source->cloud.enabled=true
cloud->source.enabled=false
source->cloud.topics=orders.*, mirrorwatch-canary
replication.policy.separator=
source.cluster.alias=
cloud.cluster.alias=cloud
"""


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_an_empty_alias_and_separator_keep_the_names_of_topics(version):
    mm2 = read(OVERRIDDEN, version)
    (flow,) = mm2.topology.flows
    assert (flow.name, flow.named_source, flow.named_target) == ("source->cloud", "", "cloud")
    assert flow.decide("orders.eu").remote_topic == flow.upstream_topic("orders.eu") == "orders.eu"
    assert flow.keeps_names
    assert flow.offset_syncs_topic == "mm2-offset-syncscloudinternal"
    assert flow.checkpoints_topic == "checkpointsinternal"
    assert flow.offset_storage_topic == "mm2-offsets.source.internal"  # the worker's, whatever the alias is
    assert mm2.warnings == ()


def test_an_overridden_alias_is_the_one_in_all_names():
    text = PLAIN + "source.cluster.alias = up\nA->B.target.cluster.alias = down"
    (flow,) = read(text).topology.flows
    assert (flow.source, flow.target, flow.named_source, flow.named_target) == ("A", "B", "up", "down")
    assert flow.remote_topic("orders") == "up.orders"
    assert (flow.upstream_topic("up.orders"), flow.upstream_topic("A.orders")) == ("orders", None)
    assert (flow.offset_syncs_topic, flow.checkpoints_topic) == (
        "mm2-offset-syncs.down.internal",
        "up.checkpoints.internal",
    )
    assert [flow.decide(topic).rule for topic in ("down.orders", "B.orders")] == ["cycle", "replicated"]
    assert "came from down" in flow.decide("down.orders").sentence


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            "source.cluster.alias =\nreplication.policy.separator =",
            "keeps the names of topics on A->B and B->A",
        ),
        ("source.cluster.alias = up", "loops forever under ever longer names"),
        ("A->B.source.cluster.alias = up", None),  # B->A cannot see the cycle, A->B does
        ("A->B.source.cluster.alias = up\nB->A.source.cluster.alias = down", "under ever longer names"),
        ("A->B.source.cluster.alias = A\nB->A.target.cluster.alias = A", None),
    ],
)
def test_aliases_that_hide_a_cycle_are_warned_of(lines, sentence):
    warnings = read(f"{PLAIN}B->A.enabled = true\n{lines}").warnings
    assert [warning.key for warning in warnings] == (["source.cluster.alias"] if sentence else [])
    assert all(sentence in warning.sentence for warning in warnings)


BOM = "\xef\xbb\xbf"  # as MirrorMaker reads it


def test_a_byte_order_mark_is_named_as_the_reason():
    (problem,) = problems_of(BOM + PLAIN)
    assert problem.key == f"{BOM}clusters"
    assert "starts with a byte order mark, which MirrorMaker reads as part of this key" in problem.sentence
    lines = PLAIN.splitlines()
    first, second = problems_of(BOM + "\n".join([lines[1], lines[0], *lines[2:]]))
    assert (first.key, second.key) == (f"{BOM}A.bootstrap.servers", "A.bootstrap.servers")


def test_a_byte_order_mark_before_a_comment_does_no_harm_and_is_said():
    (warning,) = read(f"{BOM}# the mirror\n{PLAIN}").warnings
    assert "byte order mark" in warning.sentence


@pytest.mark.parametrize("key", ["cluster", "Clusters", "clusters.", "cluster.s"])
def test_a_key_that_was_meant_to_be_clusters_is_named(key):
    (problem,) = problems_of(PLAIN.replace("clusters", key))
    assert str(problem) == f"mm2.properties: {key}: is not a key of MirrorMaker; did you mean clusters?"


@pytest.mark.parametrize("version", ["4.3.0", "3.9.2", None])
def test_no_key_that_is_read_is_taken_for_a_misspelt_one(version):
    major = None if version is None else VERSIONS[version]
    keys = [*connector_names(major), *(f"A->B.{name}" for name in connector_names(major))]
    keys += [f"{role}{name}" for role in ("A.", "B.admin.", "A->B.consumer.") for name in client_names(major)]
    keys += [f"B.{name}" for name in WORKER_NAMES]
    keys += [f"{role}{name}" for role in ("A.consumer.", "A->B.producer.override.") for name in ROLE_NAMES]
    keys += [
        "key.converter.type", "A->B.transforms.a", "A->B.transforms.a.type", "B.offset.storage.cleanup.policy",
        "A.producer.partitioner.class", "A.consumer.interceptor.classes", "A->B.own.plugin.setting",
        "replication.policy.mine", "B.header.converter.type", "config.providers.env.param.x", "B.producer.acks",
    ]  # fmt: skip
    mm2 = Mm2Properties({"clusters": "A, B", "A->B.enabled": "true"}, major, Lookup({}, read_input))
    said = {key: why_ignored(key, "x", mm2) for key in keys}
    assert {key: why for key, why in said.items() if why is not None and "did you mean" in why} == {}


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_the_values_that_are_accepted_are_those_of_the_real_definitions(version):
    values = [line[1:-1] for line in (INPUTS / "values.txt").read_text().splitlines()]
    compared = 0
    for group in ANSWERS[version]["accepted"]:
        for key in set(group["keys"]) - LEFT_TO_MIRRORMAKER:
            ours = [value for value in values if fault_of(key, value, version) is None]
            assert ours == group["values"], key
            compared += 1
    assert compared > 150


def test_an_empty_entry_of_a_list_is_refused_where_mirrormaker_does():
    text = PLAIN + "topics = a,,b"
    assert [problem.key for problem in problems_of(text)] == ["topics"]
    for version in (None, "3.9.2"):
        (warning,) = read(text, version).warnings
        assert "which MirrorMaker 4.3 refuses" in warning.sentence


@pytest.mark.parametrize(
    ("line", "key", "sentence"),
    [
        ("A->C.enabled = yes\nB.session.timeout.ms = 10s", "B.session.timeout.ms", "must be a whole number"),
        ("emit.heartbeats.enabled = no", "emit.heartbeats.enabled", "must be true or false"),
        ("A.session.timeout.ms = 10s", "A.session.timeout.ms", "must be a whole number"),  # of the worker B->A
        ("ssl.client.auth = maybe", "ssl.client.auth", "must be required, requested or none"),
        ("security.protocol = TLS", "security.protocol", "must be plaintext, ssl, sasl_plaintext or sasl_ssl"),
        ("config.providers = env\nconfig.providers.env.class = com.example.P ", "config.providers.env.class", "must be the name of a class"),
        ("tasks.max = 0", "tasks.max", "is 0; write at least 1"),
        ("B.offset.storage.replication.factor = 0", "B.offset.storage.replication.factor", "is 0; write at least 1"),
        ("sasl.login.refresh.window.factor = 2", "sasl.login.refresh.window.factor", "from 0.5 to 1.0"),
    ],
)  # fmt: skip
def test_what_keeps_mirrormaker_from_starting_is_refused(line, key, sentence):
    problems = problems_of(PLAIN + line)
    assert {problem.key for problem in problems} == {key}
    assert all(sentence in problem.sentence for problem in problems)


def test_heartbeats_are_always_replicated_by_3x():
    text = PLAIN + "heartbeats.replication.enabled = false\ntopics = orders"
    assert [
        read(text, each).topology.flows[0].decide("heartbeats").replicated for each in ("3.9", "4.3")
    ] == [True, False]


def test_a_negative_interval_switches_off():
    text = (
        PLAIN
        + "refresh.topics.interval.seconds = -1\nemit.checkpoints.interval.seconds = -5\noffset.lag.max = -3"
    )
    (flow,) = read(text).topology.flows
    assert (flow.refresh_topics_interval_s, flow.emit_checkpoints_interval_s, flow.offset_lag_max) == (
        None,
        None,
        0,
    )


def test_a_value_that_holds_a_variable_is_resolved_twice_as_mirrormaker_does():
    text = PLAIN + (
        "config.providers=file,env\nconfig.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
        "A.ssl.key.password = ${file:secrets.properties:nested}"
    )
    assert read(text).topology.cluster("A").client["ssl.key.password"] == ENVIRON["MW_GOLDEN_PASSWORD"]


def test_an_alias_that_holds_the_separator_is_warned_of():
    warnings = read(text_of("dotted-alias.properties")).warnings
    assert [warning.key for warning in warnings] == ["us.east->eu.replication.policy.separator"]
    assert "reads its topics as those of us and cannot see a cycle" in warnings[0].sentence


def test_what_3x_still_reads_is_said_for_an_unknown_version():
    (warning,) = read(PLAIN + "topics.blacklist = orders", None).warnings
    assert "read by 3.x only and ignored from 4.0 on; write topics.exclude." in warning.sentence
    flow = read(PLAIN + "topics.blacklist = orders", None).topology.flow("A->B")
    decision = flow.decide("orders")
    assert decision.rule == "version_unknown"
    assert [(reading, each.replicated) for reading, each in decision.readings] == [
        ("3.x", False),
        ("4.x", True),
    ]


def test_a_variable_without_a_value_is_a_problem_where_it_is_needed():
    provider = "config.providers = env\nconfig.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    (problem,) = problems_of(PLAIN + provider + "A->B.topics = ${env:MW_GOLDEN_MISSING}")
    assert problem.key == "A->B.topics"
    assert problem.sentence == (
        "${env:MW_GOLDEN_MISSING} cannot be resolved: the environment has no variable MW_GOLDEN_MISSING that the "
        "provider may read; set it."
    )
    assert read(PLAIN + provider + "B.client.id = ${env:MW_GOLDEN_MISSING}").warnings == ()


def test_a_variable_without_a_provider_is_text_in_a_password_and_a_problem_elsewhere():
    file = "config.providers = file\nconfig.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
    for more in ("", file):
        found = read(f"{PLAIN}{more}A.ssl.key.password = Top${{SEC:RET}}\n")
        assert found.topology.cluster("A").client["ssl.key.password"] == "Top${SEC:RET}"
        assert "SEC" not in str(*found.warnings)
        (problem,) = problems_of(f"{PLAIN}{more}A.ssl.truststore.location = ${{fil:x:y}}\n")
        assert problem.sentence.startswith(
            "${fil:x:y} stays unresolved, because config.providers names no 'fil'"
        )


@pytest.mark.parametrize("servers", ["", ",", " , ,"])
def test_a_cluster_without_a_server_is_a_problem(servers):
    (problem,) = problems_of(PLAIN.replace("a:9092", servers), "3.9.2")
    assert problem.key == "A.bootstrap.servers"
    assert "is missing; write where the cluster is" in problem.sentence


def test_where_no_flow_is_left_the_lines_that_name_none_are_told():
    """The same sentence as the warning that there is where another flow is enabled."""
    wrong = "A->C.enabled = true"
    text = PLAIN.replace("A->B.enabled = true", wrong)
    (warning,) = read(PLAIN + wrong).warnings
    assert problems_of(text)[0] == warning
    assert [problem.key for problem in problems_of(text)] == ["A->C.enabled", "A->B.enabled"]


def test_all_problems_come_at_once():
    text = "clusters = A, B\nA->B.enabled = true\ntasks.max = x\ntopics = *a\ngroups = (b\noffset.lag.max = x"
    assert sorted(problem.key for problem in problems_of(text)) == [
        "A.bootstrap.servers", "B.bootstrap.servers", "groups", "offset.lag.max", "tasks.max", "topics",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("# only a comment", "is empty"),
        ("clusters = A\\u00", "line 1 holds"),
        ("x" * 1_000_001, "is longer than"),
        ("clusters = " + ",".join(f"c{number}" for number in range(201)), "more than 200 clusters"),
    ],
)
def test_a_file_that_is_none_is_refused(text, sentence):
    (problem,) = problems_of(text)
    assert sentence in problem.sentence


def test_a_bad_version_is_refused():
    (problem,) = problems_of(PLAIN, "four")
    assert (problem.key, "write for example 4.3" in problem.sentence) == ("mirror_version", True)


def test_our_own_clusters_go_over_those_of_the_file_key_by_key():
    text = PLAIN + "A.security.protocol = SSL\nA.ssl.truststore.location = ${file:/nowhere:x}\n"
    assert [problem.key for problem in problems_of(text)] == ["A.ssl.truststore.location"]
    own = {"A": {"ssl.truststore.location": "mine"}, "C": {"bootstrap.servers": "c:1"}}
    topology = read(text, clusters=own).topology
    assert topology.cluster("A").client == {
        "bootstrap.servers": "a:9092", "security.protocol": "SSL", "ssl.truststore.location": "mine",
    }  # fmt: skip
    assert topology.cluster("C").client == {"bootstrap.servers": "c:1"}


def test_a_cluster_without_an_address_may_have_it_from_us():
    text = "clusters = A, B\nB.bootstrap.servers = b:1\nA->B.enabled = true"
    assert [problem.key for problem in problems_of(text)] == ["A.bootstrap.servers"]
    assert read(text, clusters={"A": {"bootstrap.servers": "a:1"}}).topology.cluster("A").client == {
        "bootstrap.servers": "a:1"
    }


def test_keys_that_stand_only_under_a_role_reach_our_client():
    client = read(text_of("client-keys-by-role.properties")).topology.cluster("A").client
    assert client["security.protocol"] == "SASL_SSL"


def test_an_unknown_policy_can_be_given_by_hand():
    text = PLAIN + "replication.policy.class = com.example.Mine\ntopic.filter.class = com.example.Filter"
    assert [problem.key for problem in problems_of(text)] == [
        "replication.policy.class",
        "topic.filter.class",
    ]
    assert "IdentityReplicationPolicy" in problems_of(text)[0].sentence
    flow_overrides = {"A->B": FlowOverrides(topics="orders", policy=PolicyKind.IDENTITY)}
    flow = read(text, flow_overrides=flow_overrides).topology.flow("A->B")
    assert flow.decide("orders").remote_topic == "orders"
    assert not flow.decide("other").replicated


@pytest.mark.parametrize(
    ("policy", "separator", "expected"),
    [
        (None, None, ReplicationPolicy(PolicyKind.IDENTITY, "_", False, "A")),
        (PolicyKind.DEFAULT, None, ReplicationPolicy(PolicyKind.DEFAULT, "_", False)),
        (None, "-", ReplicationPolicy(PolicyKind.IDENTITY, "-", False, "A")),
        (PolicyKind.LEGACY, "-", ReplicationPolicy(PolicyKind.LEGACY, "-", False)),
    ],
)
def test_each_setting_of_a_policy_is_replaced_alone(policy, separator, expected):
    text = (
        PLAIN
        + "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
        + "replication.policy.separator = _\n"
        + "replication.policy.internal.topic.separator.enabled = false\n"
    )
    flow_overrides = {"A->B": FlowOverrides(policy=policy, separator=separator)}
    assert read(text, flow_overrides=flow_overrides).topology.flow("A->B").policy == expected


def test_topics_of_ours_keep_the_exclusion_of_the_file():
    text = PLAIN + "topics = a\ntopics.exclude = orders-old\n"
    flow_overrides = {"A->B": FlowOverrides(topics="orders.*")}
    flow = read(text, flow_overrides=flow_overrides).topology.flow("A->B")
    assert flow.topic_filter == TopicFilter("orders.*", "orders-old")
    assert (flow.own_topics, flow.unread_exclusion) == (True, "")


def test_an_exclusion_that_cannot_be_translated_is_no_problem_with_topics_of_ours():
    text = PLAIN + "A->B.topics.exclude = \\\\p{IsGreek}.*\n"
    assert [problem.key for problem in problems_of(text)] == ["A->B.topics.exclude"]
    flow = read(text, flow_overrides={"A->B": FlowOverrides(topics="a")}).topology.flow("A->B")
    assert flow.topic_filter == TopicFilter("a")
    assert flow.unread_exclusion.startswith("A->B.topics.exclude: ")
    ours = {"A->B": FlowOverrides(topics="a")}
    variable = "config.providers = e\nconfig.providers.e.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    flow = read(PLAIN + variable + "topics.exclude = ${e:NONE}\n", flow_overrides=ours).topology.flow("A->B")
    assert flow.unread_exclusion == "topics.exclude has a variable without a value"


def test_secrets_are_never_shown():
    text = PLAIN + "A.sasl.jaas.config = hunter2\nA->B.tasks.max = hunter3"
    assert "hunter" not in "".join(map(str, problems_of(text)))
    assert "hunter" not in repr(read(PLAIN + "A.sasl.jaas.config = hunter2\nA.ssl.key.passwort = hunter4"))
