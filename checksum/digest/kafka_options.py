"""Client properties as options of Spark's Kafka source: Java's own, unchanged.

Spark uses Java clients, so it needs the properties of MirrorMaker's configuration. Ours override the user's
if the digest depends on them: what is read, how much at once, and under which names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from checksum.plan.pacing import MOST_FETCH_BYTES
from fleet.errors import ConfigurationError, Problem
from fleet.secret_keys import is_secret
from runtime.kafka.properties.java_clients import JAVA_KEYS
from runtime.kafka.properties.msk import OWN_KEYS
from runtime.kafka.properties.native_keys import NATIVE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import PurePath

GROUP_PREFIX: Final = "mirrorwatch-checksum"
_MAX_POLL_RECORDS = 2**31 - 1

# Spark sets these itself, or refuses to start with them; the last ones only cause warnings.
_SPARKS_OWN: Final = frozenset(
    {
        *("key.deserializer", "value.deserializer", "key.serializer", "value.serializer"),
        *("auto.offset.reset", "enable.auto.commit", "interceptor.classes", "partition.assignment.strategy"),
        *("group.id", "group.instance.id", "group.protocol", "client.id", "isolation.level"),
        *("max.poll.records", "config.providers", "acks", "batch.size", "linger.ms", "transactional.id"),
    }
)
# Paths of files: a relative one would be resolved against each program's own folder.
_PATHS: Final = frozenset({"ssl.truststore.location", "ssl.keystore.location"})


@dataclass(frozen=True, slots=True)
class Cluster:
    """How to read one side: the alias, the options, and the secrets never to show."""

    alias: str
    options: Mapping[str, str] = field(repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)


def client_options(
    properties: Mapping[str, str], *, cluster: str, file: str, folder: PurePath | None = None
) -> dict[str, str]:
    """Return the options with which Spark connects to a cluster: Java properties with the prefix `kafka.`.

    They contain secrets: never print them. Empty values are ignored. Relative paths of stores are resolved
    against `folder`. Raises ConfigurationError with every key that only librdkafka supports.
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
    """Return the options of a digest; brokers set quotas on `client_id`; `digest` names plan and side.

    One group for all slices of a digest lets Spark keep its consumers and their fetched data for the next
    slice. Spark caches them by group, topic and partition, without the cluster: two sides in one group would
    get each other's records. Nothing joins the group or commits. A poll takes all fetched records, because
    Spark seeks after each poll and would fetch the rest again.
    """
    return {
        "kafka.client.id": client_id,
        "kafka.group.id": f"{GROUP_PREFIX}-{digest}",
        "kafka.isolation.level": isolation,
        "kafka.max.poll.records": str(_MAX_POLL_RECORDS),
        "kafka.max.partition.fetch.bytes": str(fetch_bytes),
        "kafka.fetch.max.bytes": str(fetch_bytes),  # a consumer reads one partition
        # At a log's end, a broker delays a fetch by half a second, and the consumer's next requests too.
        # Every partition would take that long, however little is read.
        "kafka.fetch.max.wait.ms": "10",
        "kafka.receive.buffer.bytes": str(1 << 20),
        # The default is spark.network.timeout: two minutes for each of three attempts if a broker fails
        # during a digest.
        "kafkaConsumer.pollTimeoutMs": "60000",
        "fetchOffset.numRetries": "2",
        # Retention may delete the start of a log while it is read. The log start offsets are read afterwards,
        # and what was deleted is unverifiable: hours of work are not lost for it.
        "failOnDataLoss": "false",
    }


def secrets_of(properties: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values that must not appear in error texts."""
    return [value for key, value in properties if is_secret(key) and value]
