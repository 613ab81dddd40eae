"""A KafkaMirrorMaker2 of Strimzi as flows, in both of its versions; what only Kubernetes holds is asked for."""

from __future__ import annotations

from copy import deepcopy

import pytest

from fleet.connect.connectors import Overrides, read_connectors
from fleet.errors import ConfigurationError
from fleet.mm2.replication import PolicyKind
from fleet.strimzi.mirror import read_resource

OLDER = {
    "apiVersion": "kafka.strimzi.io/v1beta2",
    "kind": "KafkaMirrorMaker2",
    "metadata": {"name": "shop"},
    "spec": {
        "version": "4.1.0",
        "replicas": "3",
        "connectCluster": "B",
        "clusters": [
            {"alias": "A", "bootstrapServers": "a:9092", "config": {"ssl.endpoint.identification.algorithm": ""}},
            {
                "alias": "B",
                "bootstrapServers": "b:9092",
                "config": {"config.storage.replication.factor": "-1", "offset.flush.interval.ms": "10000"},
            },
        ],
        "mirrors": [
            {
                "sourceCluster": "A",
                "targetCluster": "B",
                "topicsPattern": "orders.*",
                "topicsExcludePattern": "orders-private",
                "groupsPattern": "shop-.*",
                "groupsExcludePattern": "shop-test",
                "sourceConnector": {
                    "tasksMax": "4",
                    "config": {
                        "topics": "overridden by topicsPattern",
                        "refresh.topics.interval.seconds": "60",
                        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
                        "sync.topic.acls.enabled": "false",
                    },
                },
                "checkpointConnector": {"config": {"sync.group.offsets.enabled": "true"}},
            }
        ],
    },
}  # fmt: skip
NEWER = {
    "apiVersion": "kafka.strimzi.io/v1",
    "kind": "KafkaMirrorMaker2",
    "spec": {
        "version": "4.1.1",
        "target": {
            "alias": "B",
            "bootstrapServers": "b:9092",
            "groupId": "g",
            "configStorageTopic": "shop-config",
            "offsetStorageTopic": "shop-offset",
            "statusStorageTopic": "shop-status",
            "config": {"exactly.once.source.support": "enabled"},
        },
        "mirrors": [
            {"source": {"alias": "A", "bootstrapServers": "a:9092"}, "sourceConnector": {}},
            {"source": {"alias": "C", "bootstrapServers": "c:9092"}, "sourceConnector": {}, "heartbeatConnector": {}},
        ],
    },
}  # fmt: skip
SCRAM = {
    "type": "scram-sha-512",
    "username": "mirror",
    "passwordSecret": {"secretName": "s", "password": "p"},
}
OURS = "in Mirrorwatch's own configuration."


def changed(resource, *steps, to):
    """Return the resource with another value at the end of these steps; None takes the key away."""
    found = deepcopy(resource)
    inner = found
    for step in steps[:-1]:
        inner = inner[step]
    if to is None:
        del inner[steps[-1]]
    else:
        inner[steps[-1]] = to
    return found


def read(resource, **said):
    connectors, worker = read_resource(resource, file="mirror.yaml")
    return read_connectors(connectors, worker, file="mirror.yaml", said=Overrides(**said))


def problems(resource, **said):
    with pytest.raises(ConfigurationError) as refusal:
        read(resource, **said)
    return [str(problem).removeprefix("mirror.yaml: ") for problem in refusal.value.problems]


def test_the_older_version():
    topology = read(OLDER).topology
    (flow,) = topology.flows
    assert (flow.name, flow.connector, flow.mirror_version) == ("A->B", "A->B.MirrorSourceConnector", "4.1.0")
    assert (flow.topic_filter.include, flow.topic_filter.exclude) == ("orders.*", "orders-private")
    assert (flow.group_filter.include, flow.group_filter.exclude) == ("shop-.*", "shop-test")
    assert (flow.tasks_max, flow.refresh_topics_interval_s, flow.offset_flush_interval_s) == (4, 60, 10)
    assert (flow.policy.kind, flow.sync_group_offsets, flow.heartbeats_enabled) == (
        PolicyKind.IDENTITY,
        True,
        False,
    )
    assert flow.offset_storage_topic == "mirrormaker2-cluster-offsets"
    assert flow.config_storage_topic == "mirrormaker2-cluster-configs"
    assert flow.offset_storage_cluster == "B"
    assert topology.cluster("A").client == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "PLAINTEXT",
        "ssl.endpoint.identification.algorithm": "",
    }


def test_the_older_version_with_topics_of_its_own():
    named = changed(OLDER, "spec", "clusters", 1, "config", to={"offset.storage.topic": "mine"})
    (flow,) = read(named).topology.flows
    assert (flow.offset_storage_topic, flow.offset_flush_interval_s) == ("mine", 60)


def test_offsets_lie_where_connect_runs():
    (flow,) = read(changed(OLDER, "spec", "connectCluster", to="A")).topology.flows
    assert flow.offset_storage_cluster == "A"


def test_the_newer_version():
    topology = read(NEWER).topology
    assert [flow.name for flow in topology.flows] == ["A->B", "C->B"]
    assert [flow.heartbeats_enabled for flow in topology.flows] == [False, True]
    for flow in topology.flows:
        assert (flow.offset_storage_topic, flow.config_storage_topic) == ("shop-offset", "shop-config")
        assert (flow.offset_storage_cluster, flow.exactly_once, flow.mirror_version) == ("B", True, "4.1.1")


def test_what_a_connector_is_given_goes_over_what_its_clusters_are():
    config = {"target.cluster.bootstrap.servers": "b:9094", "tasks.max": "1"}
    given = changed(OLDER, "spec", "mirrors", 0, "sourceConnector", "config", to=config)
    given = changed(given, "spec", "mirrors", 0, "checkpointConnector", to=None)
    topology = read(given).topology
    assert topology.cluster("B").client["bootstrap.servers"] == "b:9094"
    assert topology.flows[0].tasks_max == 4


def test_only_a_source_connector_makes_a_flow():
    without = changed(OLDER, "spec", "mirrors", 0, "sourceConnector", to=None)
    (told,) = problems(without)
    assert told.startswith("has no MirrorSourceConnector")


@pytest.mark.parametrize(
    ("cluster", "client"),
    [
        ({"tls": {}}, {"security.protocol": "SSL"}),
        ({"tls": {"trustedCertificates": []}}, {"security.protocol": "SSL"}),
        ({"authentication": SCRAM}, {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "mirror"}),
        ({"tls": {}, "authentication": SCRAM | {"type": "plain"}}, {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "mirror"}),
        ({"tls": {}, "authentication": SCRAM | {"type": "scram-sha-256"}}, {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "mirror"}),
        ({"tls": {}, "authentication": {"type": "oauth", "clientId": "x"}}, {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}),
        (
            {"tls": {}, "authentication": {"type": "custom", "sasl": "true", "config": {"sasl.mechanism": "PLAIN"}}},
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
        ),
        ({"authentication": {"type": "custom", "sasl": "false"}}, {"security.protocol": "PLAINTEXT"}),
    ],
)  # fmt: skip
def test_how_a_cluster_is_reached(cluster, client):
    resource = changed(
        OLDER, "spec", "clusters", 0, to={"alias": "A", "bootstrapServers": "a:9092", **cluster}
    )
    ours = {"A": {"sasl.password": "p", "sasl.oauthbearer.client.secret": "s"}}
    found = read(resource, clusters=ours).topology.cluster("A").client
    assert found == {"bootstrap.servers": "a:9092", **client, **ours["A"]}


TRUST = {
    "trustedCertificates": [
        {"secretName": "ca", "pattern": "*.crt"},
        {"secretName": "more", "certificate": "x"},
    ]
}


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (
            {"authentication": SCRAM},
            f"spec.clusters.0.authentication.passwordSecret: names the secret s of Kubernetes, which this file does not hold; write clusters.A.sasl.password or clusters.A.sasl.jaas.config {OURS}",
        ),
        (
            {"authentication": {"type": "tls", "certificateAndKey": {"secretName": "k"}}},
            f"spec.clusters.0.authentication.certificateAndKey: names the secret k of Kubernetes, which this file does not hold; write clusters.A.ssl.keystore.location or clusters.A.ssl.key.location {OURS}",
        ),
        (
            {"authentication": {"type": "oauth"}},
            f"spec.clusters.0.authentication: names secrets, which this file does not hold; write clusters.A.sasl.oauthbearer.client.secret or clusters.A.sasl.jaas.config {OURS}",
        ),
        (
            {"authentication": {"type": "kerberos"}},
            f"spec.clusters.0.authentication.type: is 'kerberos', which is not supported; write clusters.A.security.protocol or clusters.A.sasl.jaas.config {OURS}",
        ),
    ],
)
def test_what_only_kubernetes_holds_is_asked_for(cluster, said):
    resource = changed(
        OLDER, "spec", "clusters", 0, to={"alias": "A", "bootstrapServers": "a:9092", **cluster}
    )
    assert problems(resource) == [said]
    another = {"A": {"bootstrap.servers": "a:9094", "security.protocol": "PLAINTEXT"}}
    assert read(resource, clusters=another).topology.cluster("A").client["bootstrap.servers"] == "a:9094"


def test_a_trust_store_that_only_kubernetes_holds_is_a_warning_since_the_systems_may_do():
    resource = changed(OLDER, "spec", "clusters", 0, "tls", to=TRUST)
    (warning,) = read(resource).warnings
    assert str(warning) == (
        "mirror.yaml: spec.clusters.0.tls.trustedCertificates: names the secrets ca, more of Kubernetes, which"
        " this file does not hold; write clusters.A.ssl.truststore.location or clusters.A.ssl.ca.location in"
        " Mirrorwatch's own configuration (the system's CAs are trusted until then)."
    )
    assert read(resource, clusters={"A": {"ssl.ca.location": "a.pem"}}).warnings == ()


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (
            changed(OLDER, "apiVersion", to="v1"),
            ["apiVersion: is 'v1'; a mirror of Strimzi has kafka.strimzi.io/v1beta2 or kafka.strimzi.io/v1."],
        ),
        (changed(OLDER, "spec", to="text"), ["spec.mirrors: is missing; it lists what is replicated where."]),
        (changed(OLDER, "spec", "mirrors", to=[]), ["spec.mirrors: is missing; it lists what is replicated where."]),
        (changed(OLDER, "spec", "clusters", to=None), ["spec.clusters: is missing; it gives the address of each cluster."]),
        (
            changed(OLDER, "spec", "clusters", 1, "alias", to="A"),
            [
                "spec.clusters.1.alias: repeats A; keep one of the two.",
                "spec.mirrors.0.targetCluster: names 'B', and no cluster has that alias (known: A).",
                "spec.connectCluster: names 'B', and no cluster has that alias (known: A).",
            ],
        ),
        (
            changed(OLDER, "spec", "mirrors", 0, "sourceCluster", to="a"),
            ["spec.mirrors.0.sourceCluster: names 'a', and no cluster has that alias (known: A, B)."],
        ),
        (changed(OLDER, "spec", "mirrors", 0, to="x"), ["spec.mirrors.0: is not a mapping of keys; write sourceConnector."]),
        (
            changed(NEWER, "spec", "mirrors", 0, "source", "alias", to=None),
            ["spec.mirrors.0.source.alias: is missing; every cluster has an alias."],
        ),
        (
            changed(OLDER, "spec", "clusters", 0, "bootstrapServers", to=""),
            [f"spec.clusters.0.bootstrapServers: is missing; write clusters.A.bootstrap.servers {OURS}"],
        ),
        (
            changed(OLDER, "spec", "mirrors", 0, "sourceConnector", "tasksMax", to="many"),
            ["spec.mirrors.0.sourceConnector.tasksMax: must be a whole number; write digits only, without a unit."],
        ),
    ],
)  # fmt: skip
def test_what_is_refused(resource, said):
    assert problems(resource) == said


def test_a_paused_connector_is_told():
    for key, value in (("pause", "true"), ("state", "paused"), ("state", "stopped")):
        paused = changed(OLDER, "spec", "mirrors", 0, "sourceConnector", key, to=value)
        (warning,) = read(paused).warnings
        word = "STOPPED" if value == "stopped" else "PAUSED"
        assert warning.sentence == f"is {word}: it replicates nothing until it is resumed."
