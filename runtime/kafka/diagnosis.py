"""Table of librdkafka's errors: from code and text to a sentence, in order.

Pure: codes are the names of KafkaError, texts are librdkafka 2.16's and the broker's own. The tests have the
texts as real brokers send them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong and what to do; `weight`: how specific it is, `quotes`: the text is shown too."""

    kind: Literal["refused", "unavailable", "configuration"]
    sentence: str
    weight: int = 2
    quotes: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    codes: str  # names separated by white space; empty for any
    text: str  # a regular expression that the text must contain; empty for any
    diagnosis: Diagnosis


def _refused(sentence: str, *, quotes: bool = False) -> Diagnosis:
    return Diagnosis("refused", sentence, quotes=quotes)


def _unavailable(sentence: str, *, weight: int = 2, quotes: bool = False) -> Diagnosis:
    return Diagnosis("unavailable", sentence, weight=weight, quotes=quotes)


_ACLS: Final = "`mirrorwatch check --acls` prints the kafka-acls commands for the permissions it needs"
_PORT: Final = "compare security.protocol with what this port of the cluster speaks"

# Passes by itself: the client refreshes the leaders.
CHANGES_LEADERS: Final = (
    "LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION REPLICA_NOT_AVAILABLE BROKER_NOT_AVAILABLE "
    "COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR NOT_CONTROLLER "
    "KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH"
)

_RULES: Final = (
    # Settings are rejected before there is a connection, in texts that otherwise mean one failed.
    _Rule(
        "_INVALID_ARG",
        "",
        Diagnosis("configuration", "the Kafka client rejects its settings", quotes=True),
    ),
    # Connection failures. One failure may have several errors: texts are matched first.
    _Rule(
        "",
        "OAUTHBEARER token.*(?:certificate|trust anchors)",
        _refused(
            "the identity provider's certificate is not trusted: name its CA in https.ca.location",
            quotes=True,
        ),
    ),
    _Rule(
        "",
        """OAUTHBEARER token.*(?:"error"|invalid_|unauthorized|access_denied)""",
        _refused(
            "the identity provider gives no token: check the client's id, secret and scope, and "
            "sasl.oauthbearer.token.endpoint.url",
            quotes=True,
        ),
    ),
    _Rule(
        "",
        "OAUTHBEARER token",
        _unavailable("no token received: check sasl.oauthbearer.token.endpoint.url", quotes=True),
    ),
    _Rule(
        "",
        "Unsupported SASL mechanism",
        _refused(
            "the listener does not speak this SASL mechanism: set sasl.mechanism to one it speaks",
            quotes=True,
        ),
    ),
    # A broker says so of a request for which its listener has no SASL: it is no answer to a password.
    _Rule(
        "",
        "not valid in current SASL state",
        _unavailable(f"the port does not speak SASL: {_PORT}"),
    ),
    _Rule(
        "_AUTHENTICATION SASL_AUTHENTICATION_FAILED",
        "",
        _refused("the cluster does not accept the credentials: the user, or the password or token, is wrong"),
    ),
    _Rule(
        "",
        "certificate verify failed|certificate could not be verified|SSL certificate verification failed",
        _refused(
            "the broker's certificate is not trusted: either ssl.truststore.location names another CA than "
            "the one that signed it, or lacks the root above that CA, or the certificate has expired, or it "
            "does not name the host in bootstrap.servers or in advertised.listeners"
        ),
    ),
    _Rule(
        "",
        "alert certificate required|peer did not return a certificate|alert handshake failure",
        _refused(
            "the listener ends the TLS handshake: if it asks for a client certificate, name one in "
            "ssl.keystore.location"
        ),
    ),
    _Rule(
        "",
        "alert (?:unknown ca|bad certificate|certificate (?:unknown|expired|revoked)|unsupported "
        "certificate)",
        _refused(
            "the broker does not accept the client certificate in ssl.keystore.location: it has to be valid, "
            "and signed by a CA in the broker's trust store"
        ),
    ),
    _Rule(
        "",
        "PLAINTEXT broker listener|wrong version number|unsupported protocol|alert protocol version",
        _unavailable(f"the port does not speak TLS, or no common TLS version: {_PORT}"),
    ),
    _Rule(
        "",
        "SSL handshake failed|SSL routines",
        _unavailable(f"the TLS handshake fails: {_PORT}", quotes=True),
    ),
    _Rule(
        "",
        r"[Dd]isconnected.*in state (?:APIVERSION_QUERY|AUTH_HANDSHAKE|AUTH_LEGACY)",
        _unavailable(
            "the broker closes the connection at the first request, as a TLS port does with a client without"
            f" TLS: {_PORT}"
        ),
    ),
    _Rule(
        "",
        "timed out in state SSL_HANDSHAKE",
        _unavailable("the port is open, but the TLS handshake timed out: is it a Kafka listener with TLS?"),
    ),
    _Rule(
        "",
        "timed out in state (?:APIVERSION_QUERY|AUTH)",
        _unavailable("the port is open, but no Kafka broker answers: is it a Kafka listener?"),
    ),
    _Rule(
        "_RESOLVE",
        "",
        _unavailable("unknown host name: correct bootstrap.servers, or fix the name service"),
    ),
    _Rule(
        "",
        "Failed to resolve",
        _unavailable("unknown host name: correct bootstrap.servers, or fix the name service"),
    ),
    _Rule(
        "",
        "Connection refused",
        _unavailable("nothing listens there: is the broker up, and bootstrap.servers right?"),
    ),
    _Rule(
        "",
        "timed out in state CONNECT|Network is unreachable|No route to host|Host is unreachable",
        _unavailable("the host cannot be reached: check the network and firewalls"),
    ),
    # What a cluster answers.
    _Rule(
        "TOPIC_AUTHORIZATION_FAILED",
        "",
        _refused(f"the principal may not do this with the topic: {_ACLS}"),
    ),
    _Rule(
        "GROUP_AUTHORIZATION_FAILED",
        "",
        _refused(f"the principal may not do this with the consumer group: {_ACLS}"),
    ),
    _Rule(
        "CLUSTER_AUTHORIZATION_FAILED",
        "",
        _refused(f"the principal may not do this with the cluster: {_ACLS}"),
    ),
    _Rule(
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "",
        _refused(f"the principal lacks a permission: {_ACLS}"),
    ),
    _Rule(
        "POLICY_VIOLATION",
        "",
        _refused(
            "a policy of the cluster forbids it: change the settings, or create the topic yourself and set "
            "`canary: {mode: precreated}`",
            quotes=True,
        ),
    ),
    _Rule(
        "INVALID_REPLICATION_FACTOR",
        "",
        _refused(
            "the cluster has too few brokers for this replication factor: ask for fewer replicas", quotes=True
        ),
    ),
    _Rule(
        "TOPIC_EXCEPTION INVALID_PARTITIONS INVALID_CONFIG INVALID_REQUEST INVALID_REPLICA_ASSIGNMENT",
        "",
        _refused("the cluster rejects the request", quotes=True),
    ),
    _Rule(
        "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE",
        "",
        _refused("the record is larger than the cluster accepts: raise max.message.bytes of the topic"),
    ),
    _Rule(
        "UNSUPPORTED_VERSION _UNSUPPORTED_FEATURE",
        "",
        _refused("the cluster does not support this request: it requires a newer Kafka", quotes=True),
    ),
    _Rule("SECURITY_DISABLED", "", _refused("the cluster has no authorizer, so it has no ACLs")),
    _Rule("TOPIC_ALREADY_EXISTS", "", _unavailable("the topic exists already")),
    _Rule(
        "UNKNOWN_TOPIC_OR_PART UNKNOWN_TOPIC_ID _UNKNOWN_TOPIC _UNKNOWN_PARTITION",
        "",
        _unavailable("the topic or the partition does not exist, or the principal may not see it"),
    ),
    _Rule(
        "_NOENT",
        "No leaders found",
        _unavailable(
            "none of the partitions has a leader, or they do not exist, or the principal may not see them"
        ),
    ),
    _Rule(
        "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "",
        _unavailable("too few replicas are in sync (min.insync.replicas): a broker is down or behind"),
    ),
    _Rule(
        CHANGES_LEADERS,
        "",
        _unavailable("the cluster is changing leaders, or a broker is down: it should pass", quotes=True),
    ),
    _Rule(
        "OFFSET_OUT_OF_RANGE _AUTO_OFFSET_RESET",
        "",
        _unavailable("the offset is out of the range of the partition"),
    ),
    # The least specific rules come last.
    _Rule(
        "_MSG_TIMED_OUT",
        "",
        _unavailable("the record was not acknowledged in time; it may be written", weight=1),
    ),
    _Rule(
        "_TIMED_OUT _TIMED_OUT_QUEUE REQUEST_TIMED_OUT _WAIT_COORD",
        "",
        _unavailable("no answer in time", weight=1),
    ),
    _Rule(
        "_TRANSPORT _ALL_BROKERS_DOWN",
        "",
        # All that is known of a port that takes a connection and only hangs up, as a web server does.
        _unavailable(
            "no broker of the cluster can be reached: is it up, and does bootstrap.servers name the port of a"
            " Kafka listener?",
            weight=1,
        ),
    ),
)
_UNKNOWN: Final = _unavailable("the Kafka client reports an error", weight=0, quotes=True)


def diagnose(code: str, text: str) -> Diagnosis:
    """Return the diagnosis of an error; `code` is KafkaError.name(), empty for a log line."""
    for rule in _RULES:
        if rule.codes and code not in rule.codes.split():
            continue
        if rule.text and re.search(rule.text, text) is None:
            continue
        return rule.diagnosis
    return _UNKNOWN
