"""mm2.properties: our reading against that of the real MirrorMakerConfig, the problems and the warnings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fleet.config_providers import Lookup
from fleet.errors import ConfigurationError
from fleet.java_properties import as_mapping, parse
from fleet.mm2 import ByHand, read_mm2
from fleet.mm2_handling import Handling
from fleet.mm2_names import WORKER_NAMES, client_names, connector_names
from fleet.mm2_resolution import CHECKPOINT, HEARTBEAT, SOURCE, Mm2Properties
from fleet.replication import PolicyKind, ReplicationPolicy

GOLDEN = Path(__file__).parent / "golden"
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
    "providers-none.properties": "A.ssl.key.password",
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
        ("A->B.errors.tolerance = ALL", {"skips_failed": True}),
        ("A->B.errors.tolerance = ${env:TOLERANCE}", {"skips_failed": None}),
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
    ("B -> A.enabled = true", "B", "a blank ends the key"),
    ("topics.blacklist = x", "topics.blacklist", "is ignored: write topics.exclude."),
    ("A->B.topics.blacklist = x", "A->B.topics.blacklist", "write A->B.topics.exclude."),
    ("A->B.topic = x", "A->B.topic", "write A->B.topics if that is meant"),
    ("A->B.topisc = orders", "A->B.topisc", "write A->B.topics if that is meant"),
    ("A->B.gruops = orders", "A->B.gruops", "write A->B.groups if that is meant"),
    ("topisc = orders", "topisc", "write topics if that is meant"),
    ("A->B.task.max = 2", "A->B.task.max", "write A->B.tasks.max if that is meant"),
    ("refresh.topic.interval.seconds = 2", "refresh.topic.interval.seconds", "write refresh.topics.interval.seconds"),
    ("A.bootstrap.server = x", "A.bootstrap.server", "write A.bootstrap.servers if that is meant"),
    ("nonsense = x", "nonsense", "is no key of MirrorMaker's and begins with the alias of no cluster"),
    ("transforms.x.type = y", "transforms.x.type", "write A->B.transforms.x.type."),
    ("B.replication.policy.separator = _", "B.replication.policy.separator", "belongs to a flow, not to a cluster"),
    ("replication.policy.separator = _ ", "replication.policy.separator", "has a blank at its end"),
    ("enabled = true", "enabled", "turns on every flow"),
    ("topics = a,,b", "topics", "has an empty entry"),
    ("topics = é", "topics", "characters beyond ASCII"),
    ("A->B.enabled = true", "A->B.enabled", "stands in lines 4 and 5; the last one holds."),
    ("worker.note = ${file:/x:y}", "worker.note", "looks like a variable"),
    ("tasks.max = 2", "dedicated.mode.enable.internal.rest", "if this MirrorMaker runs on several nodes"),
    ("A->B.refresh.topics.enabled = false", "A->B.refresh.topics.enabled", "only after a restart"),
    ("replication.policy.class = org.apache.kafka.connect.mirror.LegacyReplicationPolicy", "replication.policy.class", "in no release of Apache Kafka"),
    (f"B->A.enabled = true\nreplication.policy.class = {IDENTITY}", "replication.policy.class", "is copied round for ever"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "key", "sentence"), WARNED)
def test_what_is_silently_ignored_or_means_something_else_is_said(line, key, sentence):
    (warning,) = read(PLAIN + line).warnings
    assert warning.key == key
    assert sentence in warning.sentence


def test_an_alias_that_holds_the_separator_is_warned_of():
    warnings = read(text_of("dotted-alias.properties")).warnings
    assert [warning.key for warning in warnings] == ["us.east->eu.replication.policy.separator"]
    assert "takes its topics for those of us and cannot see a cycle" in warnings[0].sentence


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


def test_where_no_flow_is_left_the_lines_that_name_none_are_told():
    """The same sentence as the warning that there is where another flow is enabled."""
    wrong = "A->C.enabled = true"
    text = PLAIN.replace("A->B.enabled = true", wrong)
    (warning,) = read(PLAIN + wrong).warnings
    assert problems_of(text)[0] == warning
    assert [problem.key for problem in problems_of(text)] == ["A->C.enabled", "A->B.enabled"]


def test_all_problems_come_at_once():
    text = (
        "clusters = A, B\nA->B.enabled = true\ntasks.max = x\ntopics = *a\ngroups = (b\noffset.lag.max = -1"
    )
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
    text = PLAIN + "A.security.protocol = SSL\nA.sasl.jaas.config = ${file:/nowhere:x}\n"
    assert [problem.key for problem in problems_of(text)] == ["A.sasl.jaas.config"]
    own = {"A": {"sasl.jaas.config": "mine"}, "C": {"bootstrap.servers": "c:1"}}
    topology = read(text, clusters=own).topology
    assert topology.cluster("A").client == {
        "bootstrap.servers": "a:9092", "security.protocol": "SSL", "sasl.jaas.config": "mine",
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
    by_hand = {"A->B": ByHand(topics="orders", policy=ReplicationPolicy(PolicyKind.IDENTITY))}
    flow = read(text, by_hand=by_hand).topology.flow("A->B")
    assert flow.decide("orders").remote_topic == "orders"
    assert not flow.decide("other").replicated


def test_secrets_are_never_shown():
    text = PLAIN + "A.sasl.jaas.config = hunter2\nA->B.tasks.max = hunter3"
    assert "hunter" not in "".join(map(str, problems_of(text)))
    assert "hunter" not in repr(read(PLAIN + "A.sasl.jaas.config = hunter2\nA.ssl.key.passwort = hunter4"))
