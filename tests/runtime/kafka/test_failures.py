"""What librdkafka 2.16.0 really said, provoked on Kafka 4.3.0 brokers and on plain TLS servers."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import KafkaError

from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from runtime.kafka.diagnosis import diagnose
from runtime.kafka.failures import Symptoms, explain, listening_logger

_AT = "sasl_ssl://127.0.0.1:25758/bootstrap: "

SAID = [
    (
        KafkaError._AUTHENTICATION,
        _AT
        + "SASL authentication error: Authentication failed during authentication due to invalid credentials "
        "with SASL mechanism SCRAM-SHA-512 (after 332ms in state AUTH_REQ)",
        RefusedError,
        "does not accept the credentials",
    ),
    (
        KafkaError._AUTHENTICATION,
        _AT + "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported "
        "mechanisms: SCRAM-SHA-512 (after 302ms in state AUTH_HANDSHAKE)",
        RefusedError,
        "set sasl.mechanism to one it speaks",
    ),
    *(
        (
            KafkaError._AUTHENTICATION,
            _AT
            + f"SASL {mechanism} mechanism handshake failed: Broker: Request not valid in current SASL state: "
            "broker's supported mechanisms:  (after 2ms in state AUTH_HANDSHAKE)",
            UnavailableError,
            "the port does not speak SASL: compare security.protocol with what this port of the cluster speaks",
        )
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    ),
    (
        KafkaError._AUTHENTICATION,
        'Failed to acquire SASL OAUTHBEARER token: {"error": "invalid_client", "error_description": "bad secret"}',
        RefusedError,
        "the identity provider gives no token",
    ),
    (
        KafkaError._AUTHENTICATION,
        (
            "Failed to acquire SASL OAUTHBEARER token: Failed to connect to 127.0.0.1:1 after 0 ms: Could not connect "
            "to server"
        ),
        UnavailableError,
        "no token received",
    ),
    (
        KafkaError._AUTHENTICATION,
        (
            "Failed to acquire SASL OAUTHBEARER token: SSL certificate OpenSSL verify result: unable to get local "
            "issuer certificate (20)"
        ),
        RefusedError,
        "name its CA in https.ca.location",
    ),
    (
        KafkaError._SSL,
        _AT
        + "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate "
        "could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates are "
        "installed (install ca-certificates package) (after 4ms in state SSL_HANDSHAKE)",
        RefusedError,
        "the broker's certificate is not trusted",
    ),
    (
        KafkaError._TRANSPORT,
        _AT + "error:0A000086:SSL routines::certificate verify failed (after 4ms in state SSL_HANDSHAKE)",
        RefusedError,
        "the broker's certificate is not trusted",
    ),
    (
        KafkaError._TRANSPORT,
        (
            "ssl://127.0.0.1:45523/bootstrap: Receive failed: error:0A000418:SSL routines::tlsv1 alert unknown ca: SSL "
            "alert number 48 (after 0ms in state APIVERSION_QUERY)"
        ),
        RefusedError,
        "does not accept the client certificate",
    ),
    (
        KafkaError._TRANSPORT,
        (
            "sasl_ssl://127.0.0.1:18847/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: "
            "connecting to a PLAINTEXT broker listener? (after 0ms in state SSL_HANDSHAKE)"
        ),
        UnavailableError,
        "does not speak TLS",
    ),
    (
        KafkaError._TRANSPORT,
        (
            "127.0.0.1:36441/bootstrap: Connect to ipv4#127.0.0.1:36441 failed: Connection refused (after 0ms in state "
            "CONNECT)"
        ),
        UnavailableError,
        "nothing listens there",
    ),
    (
        KafkaError._RESOLVE,
        (
            "no-such-host.invalid:9092/bootstrap: Failed to resolve 'no-such-host.invalid:9092': Name or service not "
            "known (after 0ms in state CONNECT)"
        ),
        UnavailableError,
        "unknown host name",
    ),
    (KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down", UnavailableError, "no broker of the cluster"),
    (
        KafkaError._TRANSPORT,
        "Failed to get metadata: Local: Broker transport failure",
        UnavailableError,
        "no broker of the cluster can be reached: is it up, and does bootstrap.servers name the port of a Kafka",
    ),
    (KafkaError._MSG_TIMED_OUT, "Local: Message timed out", UnavailableError, "it may be written"),
    (KafkaError._TIMED_OUT, "Local: Timed out", UnavailableError, "no answer in time"),
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        "Broker: Topic authorization failed",
        RefusedError,
        "with the topic",
    ),
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        "Authorization failed.",
        RefusedError,
        "`mirrorwatch check --acls`",
    ),
    (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        "FindCoordinator response error: Group authorization failed.",
        RefusedError,
        "with the consumer group",
    ),
    (
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        "Cluster authorization failed.",
        RefusedError,
        "with the cluster",
    ),
    (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        "Broker: Unknown topic or partition",
        UnavailableError,
        "does not exist",
    ),
    (KafkaError._UNKNOWN_PARTITION, "Local: Unknown partition", UnavailableError, "does not exist"),
    (
        KafkaError._NOENT,
        "Failed to query partition leaders: No leaders found",
        UnavailableError,
        "has a leader",
    ),
    (KafkaError.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.", UnavailableError, "exists already"),
    (
        KafkaError.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because "
            "only 1 broker(s) are registered or some brokers have all their log directories cordoned."
        ),
        RefusedError,
        "too few brokers for this replication factor",
    ),
    (KafkaError.POLICY_VIOLATION, "Too many partitions", RefusedError, "`canary: {mode: precreated}`"),
    (
        KafkaError.INVALID_CONFIG,
        "Invalid value x for configuration retention.ms: Not a number of type LONG",
        RefusedError,
        "reported: Invalid value x for configuration retention.ms",
    ),
    (KafkaError.TOPIC_EXCEPTION, "Topic name is invalid: 'u/x'", RefusedError, "rejects the request"),
    (
        KafkaError.INVALID_PARTITIONS,
        "Topic already has 1 partition(s).",
        RefusedError,
        "already has 1 partition",
    ),
    (
        KafkaError.MSG_SIZE_TOO_LARGE,
        "Broker: Message size too large",
        RefusedError,
        "raise max.message.bytes",
    ),
    (
        KafkaError.NOT_ENOUGH_REPLICAS,
        "Broker: Not enough in-sync replicas",
        UnavailableError,
        "min.insync.replicas",
    ),
    (
        KafkaError._AUTO_OFFSET_RESET,
        "fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)",
        UnavailableError,
        "the offset is out of the range of the partition",
    ),
    (
        KafkaError._INVALID_ARG,
        (
            "Failed to create admin client: ssl.ca.location failed: crypto/x509/by_file.c:248:X509_load_cert_crl_file_ex "
            "error:05880020:x509 certificate routines::BIO lib"
        ),
        ConfigurationError,
        "the Kafka client rejects its settings",
    ),
    (
        KafkaError._INVALID_ARG,
        "ssl.cipher.suites failed: ssl\\ssl_ciph.c:1455: error:0A0000B9:SSL routines::no cipher match: ",
        ConfigurationError,
        "the Kafka client rejects its settings",
    ),
    (KafkaError._FAIL, "Local: Communication failure", UnavailableError, "Local: Communication failure"),
]


@pytest.mark.parametrize(("code", "text", "kind", "said"), SAID)
def test_explains_what_librdkafka_says(code, text, kind, said):
    error = explain(KafkaError(code, text), cluster="A", doing="reading the list of topics")
    assert type(error) is kind
    assert said in str(error)
    assert str(error).startswith("cluster A")
    assert "\n" not in str(error)


def test_tells_where():
    code, text, *_ = SAID[0]
    error = explain(KafkaError(code, text), cluster="A", doing="connecting")
    assert str(error).startswith(
        "cluster A at 127.0.0.1:25758: connecting failed: the cluster does not accept"
    )


LINES = [
    (
        (
            "FAIL [rdkafka#producer-1] [thrd:127.0.0.1:43383/bootstrap]: 127.0.0.1:43383/bootstrap: Disconnected: "
            "connection reset by peer (after 2ms in state APIVERSION_QUERY)"
        ),
        "the broker closes the connection at the first request, as a TLS port does with a client without",
    ),
    (
        (
            "FAIL [rdkafka#producer-4] [thrd:ssl://127.0.0.1:43383/bootstrap]: ssl://127.0.0.1:43383/bootstrap: "
            "Connection setup timed out in state SSL_HANDSHAKE (after 2002ms in state SSL_HANDSHAKE)"
        ),
        "the TLS handshake timed out",
    ),
    (
        (
            "FAIL [rdkafka#producer-3] [thrd:127.0.0.1:43383/bootstrap]: 127.0.0.1:43383/bootstrap: Connection setup "
            "timed out in state APIVERSION_QUERY (after 2001ms in state APIVERSION_QUERY)"
        ),
        "no Kafka broker answers",
    ),
]


@pytest.mark.parametrize(("line", "said"), LINES)
def test_a_vague_error_is_explained_by_the_log(line, said):
    symptoms = Symptoms()
    passed_on: list[tuple[int, str]] = []
    logger = listening_logger(symptoms, passed_on=lambda level, text: passed_on.append((level, text)))
    logger.info(line)
    symptoms.hear_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    vague = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")
    error = explain(vague, cluster="A", doing="connecting", symptoms=symptoms)
    assert isinstance(error, UnavailableError)
    assert said in str(error)
    assert "127.0.0.1:43383" in str(error)
    assert passed_on == [(logging.INFO, line)]


def test_a_vague_error_is_explained_by_the_error_heard_before_it():
    symptoms = Symptoms()
    code, text, *_ = SAID[0]
    symptoms.hear_error(KafkaError(code, text))
    symptoms.hear_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    vague = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")
    assert isinstance(explain(vague, cluster="A", doing="connecting", symptoms=symptoms), RefusedError)
    symptoms.clear()
    assert isinstance(explain(vague, cluster="A", doing="connecting", symptoms=symptoms), UnavailableError)


def test_a_clear_error_is_not_overruled_by_symptoms():
    symptoms = Symptoms()
    code, text, *_ = SAID[0]
    symptoms.hear_error(KafkaError(code, text))
    clear = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Broker: Topic authorization failed")
    assert "with the topic" in str(explain(clear, cluster="A", doing="writing", symptoms=symptoms))


def test_no_leader_is_found_where_nothing_listens_and_that_is_said_instead():
    symptoms = Symptoms()
    away = "127.0.0.1:19092/1: Connect to ipv4#127.0.0.1:19092 failed: Connection refused (after 0ms in state CONNECT)"
    symptoms.hear_error(KafkaError(KafkaError._TRANSPORT, away))
    none = KafkaError(KafkaError._NOENT, "Failed to query partition leaders: No leaders found")
    doing = "reading where partitions begin and end"
    assert "nothing listens there" in str(explain(none, cluster="A", doing=doing, symptoms=symptoms))
    assert "none of the partitions has a leader" in str(explain(none, cluster="A", doing=doing))


def test_what_a_cluster_says_is_bounded_and_printable():
    error = explain(
        KafkaError(KafkaError.POLICY_VIOLATION, "\x1b[31m" + "x" * 9000), cluster="A", doing="creating t"
    )
    assert len(str(error)) < 700
    assert "\x1b" not in str(error)


def test_every_code_of_the_client_has_a_sentence():
    names = {
        KafkaError(getattr(KafkaError, name)).name()
        for name in dir(KafkaError)
        if name.strip("_").isupper() and isinstance(getattr(KafkaError, name), int)
    }
    assert len(names) > 100
    assert all(diagnose(name, "").sentence for name in names)
