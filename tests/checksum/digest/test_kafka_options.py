"""Java client properties reach Spark as they are; what the digest rests on is ours."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from checksum.digest.kafka_options import client_options, reading_options, secrets_of
from fleet.errors import ConfigurationError

JAVA = {
    "bootstrap.servers": "a1:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required password="p=ü;";',
    "ssl.truststore.location": "certs/ca.pem",
    "ssl.truststore.type": "PEM",
    "ssl.endpoint.identification.algorithm": "",
    "sasl.client.callback.handler.class": "com.example.Ours",
}


def options(properties, **more):
    return client_options(properties, cluster="A", file="mirror.yml", **more)


def test_java_s_properties_are_untranslated():
    found = options(JAVA)
    assert found == {f"kafka.{key}": value for key, value in JAVA.items()}


def test_what_is_mirrorwatch_s_own_is_left_out():
    assert client_options({"bootstrap.servers": "a:1", "aws_region": "eu-west-1"}, cluster="A", file="f") == {
        "kafka.bootstrap.servers": "a:1"
    }


def test_a_relative_store_is_beside_its_file():
    found = options(JAVA, folder=PurePath("/etc/mirror"))
    assert found["kafka.ssl.truststore.location"] == "/etc/mirror/certs/ca.pem"
    absolute = JAVA | {"ssl.truststore.location": "/x/ca.pem"}
    assert options(absolute, folder=PurePath("/etc"))["kafka.ssl.truststore.location"] == "/x/ca.pem"


def test_an_empty_value_is_not_given():
    assert "kafka.client.rack" not in options(JAVA | {"client.rack": " "})


@pytest.mark.parametrize(
    "key",
    [
        "auto.offset.reset",
        "enable.auto.commit",
        "interceptor.classes",
        "key.deserializer",
        "group.id",
        "client.id",
    ],
)
def test_what_spark_refuses_or_we_set_is_left_out(key):
    assert f"kafka.{key}" not in options(JAVA | {key: "x"})


def test_librdkafka_s_spelling_is_refused_with_every_key():
    with pytest.raises(ConfigurationError) as caught:
        options(
            {
                "bootstrap.servers": "a1:9092",
                "sasl.username": "u",
                "ssl.ca.location": "/x",
                "sasl.password": "p",
            }
        )
    assert [problem.key for problem in caught.value.problems] == [
        "clusters.A.sasl.username",
        "clusters.A.ssl.ca.location",
        "clusters.A.sasl.password",
    ]
    assert str(caught.value).startswith(
        "mirror.yml: clusters.A.sasl.username: librdkafka property that Spark's Java clients do not support"
    )


def test_a_cluster_without_brokers_is_refused():
    with pytest.raises(ConfigurationError, match=r"clusters\.A\.bootstrap\.servers: missing"):
        options({"security.protocol": "PLAINTEXT"})


def test_a_digest_reads_by_names_of_its_own():
    found = reading_options(
        client_id="audit", digest="aaaa-target", isolation="read_committed", fetch_bytes=500_000
    )
    assert found["kafka.max.partition.fetch.bytes"] == found["kafka.fetch.max.bytes"] == "500000"
    assert found["kafka.isolation.level"] == "read_committed"
    assert (found["kafka.client.id"], found["kafka.group.id"]) == (
        "audit",
        "mirrorwatch-checksum-aaaa-target",
    )


def test_a_broker_that_stays_away_is_given_up_before_spark_would():
    found = reading_options(client_id="audit", digest="aaaa-target", isolation="read_committed")
    assert found["kafkaConsumer.pollTimeoutMs"] == "60000"


def test_secrets_are_known_by_their_keys():
    found = secrets_of([*JAVA.items(), ("ssl.key.password", "")])
    assert found == [JAVA["sasl.jaas.config"]]
