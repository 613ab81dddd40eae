"""What an operator does to topics, in one call each that returns when it is done.

Every function takes the client properties of a cluster, so that it works from any process. Errors of the
Kafka client (KafkaException) pass through: their readers are developers.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, OffsetSpec
from confluent_kafka.cimpl import NewPartitions, NewTopic

from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 20.0

# librdkafka reports each refused connection while a broker is down: that is no news here.
_silent = logging.getLogger("deploy.local.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def admin_client(client: Mapping[str, str]) -> AdminClient:
    """Return a quiet admin client. Keep it while its futures run: it cancels them when it goes away."""
    return AdminClient(dict(client), logger=_silent)


def create_topic(
    client: Mapping[str, str], topic: str, *, partitions: int = 1, config: Mapping[str, str] | None = None
) -> None:
    """Create a topic with one replica and wait until the cluster shows it and its leaders answer."""
    admin = admin_client(client)
    admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])[topic].result(_TIMEOUT_S)
    _wait_led(admin, topic, partitions)


def wait_led(client: Mapping[str, str], topic: str, *, partitions: int = 1) -> None:
    """Wait until the cluster shows a topic that another client has created, and its leaders answer."""
    _wait_led(admin_client(client), topic, partitions)


def _wait_led(admin: AdminClient, topic: str, partitions: int) -> None:
    wait_until(lambda: _partitions(admin, topic) == partitions, deadline_s=_TIMEOUT_S, what=f"Topic {topic}")
    wait_until(lambda: _is_led(admin, topic, partitions), deadline_s=_TIMEOUT_S, what=f"Leaders of {topic}")


def _is_led(admin: AdminClient, topic: str, partitions: int) -> bool:
    """Return whether every leader answers: a broker that is busy shows a topic before it leads it."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, number): latest for number in range(partitions)}
    try:
        return all(future.result(_TIMEOUT_S).offset >= 0 for future in admin.list_offsets(asked).values())
    except KafkaException:
        return False


def delete_topic(client: Mapping[str, str], topic: str) -> None:
    """Delete a topic and wait until the cluster no longer shows it."""
    admin = admin_client(client)
    admin.delete_topics([topic])[topic].result(_TIMEOUT_S)
    wait_until(lambda: _partitions(admin, topic) == 0, deadline_s=_TIMEOUT_S, what=f"Deletion of {topic}")


def recreate_topic(
    client: Mapping[str, str], topic: str, *, partitions: int | None = None, away_s: float = 0.0
) -> None:
    """Delete a topic and create it again, empty, with as many partitions as before unless told otherwise.

    A mirror that misses its target topic may be the first to create it again: that is as good.
    """
    count = partitions or _partitions(admin_client(client), topic)
    delete_topic(client, topic)
    time.sleep(away_s)
    try:
        create_topic(client, topic, partitions=count)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        _wait_led(admin_client(client), topic, count)


def add_partitions(client: Mapping[str, str], topic: str, *, total: int) -> None:
    """Grow a topic to `total` partitions, and wait until all of their leaders answer."""
    admin = admin_client(client)
    admin.create_partitions([NewPartitions(topic, total)])[topic].result(_TIMEOUT_S)
    wait_until(lambda: _partitions(admin, topic) == total, deadline_s=_TIMEOUT_S, what=f"Growth of {topic}")
    wait_until(lambda: _is_led(admin, topic, total), deadline_s=_TIMEOUT_S, what=f"Leaders of {topic}")


def delete_records(client: Mapping[str, str], topic: str, *, before: Mapping[int, int] | None = None) -> None:
    """Delete the records of a topic: those before an offset per partition, or all that are there now."""
    admin = admin_client(client)
    offsets = before or dict.fromkeys(range(_partitions(admin, topic)), -1)  # -1: up to the log's end
    requests = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    for future in admin.delete_records(requests).values():
        future.result(_TIMEOUT_S)


def alter_config(client: Mapping[str, str], topic: str, settings: Mapping[str, str | None]) -> None:
    """Set settings of a topic, or remove them where the value is None."""
    entries = [
        ConfigEntry(
            key,
            value,
            incremental_operation=AlterConfigOpType.SET if value is not None else AlterConfigOpType.DELETE,
        )
        for key, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = admin_client(client)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(_TIMEOUT_S)


def topic_id(client: Mapping[str, str], topic: str) -> str:
    """Return the topic's id, which changes when the topic is re-created."""
    admin = admin_client(client)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(_TIMEOUT_S)
    return str(described.topic_id)


def partition_count(client: Mapping[str, str], topic: str) -> int:
    """Return how many partitions the topic has, 0 when there is no such topic."""
    return _partitions(admin_client(client), topic)


def log_end(client: Mapping[str, str], topic: str) -> int:
    """Return the sum of the log ends of all partitions: how many offsets were ever given out."""
    return sum(log_ends(client, topic))


def log_ends(client: Mapping[str, str], topic: str) -> list[int]:
    """Return where the log of each partition ends."""
    admin = admin_client(client)
    count = _partitions(admin, topic)
    if count:
        _wait_led(admin, topic, count)  # a new topic shows before its leaders answer
    with closing(_reader(client)) as consumer:
        partitions = [TopicPartition(topic, partition) for partition in range(count)]
        return [consumer.get_watermark_offsets(one, timeout=_TIMEOUT_S)[1] for one in partitions]


def first_from(client: Mapping[str, str], topic: str, partition: int, offset: int) -> int:
    """Return the offset of the first record that is left from an offset on, -1 where none comes."""
    with closing(_reader(client)) as consumer:
        consumer.assign([TopicPartition(topic, partition, offset)])
        message = consumer.poll(_TIMEOUT_S)
        return -1 if message is None or message.error() else message.offset() or 0


def _reader(client: Mapping[str, str]) -> Consumer:
    # Without a commit: it would be one more group of that topic.
    return Consumer({**client, "group.id": "log-end", "enable.auto.commit": False, "log_level": 0})


def _partitions(admin: AdminClient, topic: str) -> int:
    metadata = admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
    if metadata.error is not None:
        if metadata.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001  (its public name)
            return 0
        raise KafkaException(metadata.error)
    return len(metadata.partitions)
