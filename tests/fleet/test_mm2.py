"""mm2.properties: our reading against that of the real MirrorMakerConfig, the problems and the warnings."""

import json
from pathlib import Path

import pytest

from fleet.config_providers import Lookup
from fleet.errors import ConfigurationError
from fleet.java_properties import as_mapping, parse
from fleet.mm2 import ByHand, read_mm2
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
            assert {key: other.get(key) for key in base | other if other.get(key) != base.get(key)} == herder[part]


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
        assert [name for name in NAMES if flow.group_filter.matches(name, major=VERSIONS[version])] == decisions["groups"]
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
    assert [problem.key for problem in problems] == [UNUSABLE[name]]
    assert all(problem.file == "mm2.properties" for problem in problems)
    assert "secret" not in str(problems[0]).replace("secrets.properties", "")
