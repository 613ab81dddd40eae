"""A cluster's client properties as options of Spark's Kafka source: Java's own, untranslated.

Spark's clients are Java's, so what a mirror's file says of a cluster is what they need. Ours go before the
operator's where the digest rests on them: what is read, how much of it at once, and under which names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from checksum.plan.pacing import MOST_FETCH_BYTES
from fleet.errors import ConfigurationError, Problem
from runtime.kafka.properties.java_clients import JAVA_KEYS
from runtime.kafka.properties.msk import OWN_KEYS
from runtime.kafka.properties.native_keys import NATIVE_KEYS
from runtime.kafka.properties.redaction import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import PurePath

GROUP_PREFIX: Final = "mirrorwatch-checksum"
_MAX_POLL_RECORDS = 2**31 - 1

# Spark sets these itself, or refuses to start with them; the last ones would only be warned about.
_SPARKS_OWN: Final = frozenset(
    {
        *("key.deserializer", "value.deserializer", "key.serializer", "value.serializer"),
        *("auto.offset.reset", "enable.auto.commit", "interceptor.classes", "partition.assignment.strategy"),
        *("group.id", "group.instance.id", "group.protocol", "client.id", "isolation.level"),
        *("max.poll.records", "config.providers", "acks", "batch.size", "linger.ms", "transactional.id"),
    }
)
# Where Java reads a file; a relative path means another folder to each program that reads it.
_PATHS: Final = frozenset({"ssl.truststore.location", "ssl.keystore.location"})


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a side is read from: its alias, the options that reach it, what of them never to show."""

    alias: str
    options: Mapping[str, str] = field(repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)


def client_options(
    properties: Mapping[str, str], *, cluster: str, file: str, folder: PurePath | None = None
) -> dict[str, str]:
    """Return the options that let Spark reach a cluster, each a Java client property behind `kafka.`.

    They hold secrets: never print them. Empty values count as not given. Stores given by a relative path are
    looked for in `folder`. Raises ConfigurationError with every key that only librdkafka understands.
    """
    problems = []
    found = {}
    for key, value in properties.items():
        if not value.strip() and key != "ssl.endpoint.identification.algorithm":
            continue
        if key in NATIVE_KEYS and key not in JAVA_KEYS:
            problems.append(
                Problem(
                    file,
                    f"clusters.{cluster}.{key}",
                    "librdkafka property that Spark's Java clients do not support; use Java's properties "
                    "(sasl.jaas.config, ssl.truststore.location and so on)",
                )
            )
        elif key not in _SPARKS_OWN and key not in OWN_KEYS:
            found[f"kafka.{key}"] = str(folder / value) if key in _PATHS and folder is not None else value
    if problems:
        raise ConfigurationError(problems)
    if "kafka.bootstrap.servers" not in found:
        raise ConfigurationError(
            [Problem(file, f"clusters.{cluster}.bootstrap.servers", "missing; name at least one broker")]
        )
    return found


def reading_options(
    *, client_id: str, digest: str, isolation: str, fetch_bytes: int = MOST_FETCH_BYTES
) -> dict[str, str]:
    """Return how a digest reads: by a client id, on which brokers set quotas; `digest` names plan and side.

    One group for all slices of a digest lets Spark keep its consumers, and what they fetched beyond a
    slice's end, for the next one. Spark keeps them by group, topic and partition, whatever the cluster: two
    sides in one group would be given each other's records. Nothing joins the group, nothing is committed. A
    poll takes all that was fetched: Spark seeks after each, and would fetch again what one leaves behind.
    """
    return {
        "kafka.client.id": client_id,
        "kafka.group.id": f"{GROUP_PREFIX}-{digest}",
        "kafka.isolation.level": isolation,
        "kafka.max.poll.records": str(_MAX_POLL_RECORDS),
        "kafka.max.partition.fetch.bytes": str(fetch_bytes),
        "kafka.fetch.max.bytes": str(fetch_bytes),  # a consumer reads one partition
        # What is read is there. Behind a log's end a broker lets a fetch wait for half a second, and with it
        # all that the consumer asks after it: so long each partition would take, however little is read.
        "kafka.fetch.max.wait.ms": "10",
        "kafka.receive.buffer.bytes": str(1 << 20),
        # Unset it is spark.network.timeout: two minutes each of the three times that a task is tried, where a
        # broker stays away in the middle of a digest.
        "kafkaConsumer.pollTimeoutMs": "60000",
        "fetchOffset.numRetries": "2",
        # Retention may take a log's head while it is read. What is gone is found out by reading after the
        # scan where logs begin, and called unverifiable: a whole night's work is not given up for it.
        "failOnDataLoss": "false",
    }


def secrets_of(properties: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values that must not show in an error's text."""
    return [value for key, value in properties if is_secret(key) and value]
