"""Where the replicas of a cluster are: who leads, who is in sync, and how an operator moves them.

Every function takes the client properties of a cluster. Errors of the Kafka client (KafkaException) pass
through: their readers are developers.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import ElectionType, KafkaError, TopicPartition

from deploy.local.jars import StackError
from deploy.local.java import REASSIGN, run_tool
from deploy.local.topics import admin_client
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TIMEOUT_S = 20.0
_LOOK_S = 5.0


def brokers_there(client: Mapping[str, str]) -> list[int]:
    """Return the numbers of the brokers that the cluster counts as alive."""
    return sorted(admin_client(client).list_topics(timeout=_LOOK_S).brokers)


def behind(client: Mapping[str, str]) -> list[str]:
    """Return each partition, such as `orders-0`, of which a replica is not in sync or without a leader."""
    return sorted(
        f"{topic.topic}-{partition.id}"
        for topic in admin_client(client).list_topics(timeout=_LOOK_S).topics.values()
        for partition in topic.partitions.values()
        if partition.leader < 0 or set(partition.isrs) != set(partition.replicas)
    )


def leaders(client: Mapping[str, str], topic: str) -> dict[int, int]:
    """Return by partition the broker that leads it."""
    found = admin_client(client).list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
    return {number: partition.leader for number, partition in sorted(found.items())}


def replicas(client: Mapping[str, str], topic: str) -> dict[int, list[int]]:
    """Return by partition the brokers that hold it, the preferred leader first."""
    found = admin_client(client).list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
    return {number: list(partition.replicas) for number, partition in sorted(found.items())}


def elect_preferred(client: Mapping[str, str]) -> None:
    """Have the first replica of every partition lead it again.

    Raises StackError where a partition could not be given its leader.
    """
    admin = admin_client(client)
    topics = admin.list_topics(timeout=_TIMEOUT_S).topics
    asked = [TopicPartition(name, number) for name, topic in topics.items() for number in topic.partitions]
    for partition, error in admin.elect_leaders(ElectionType.PREFERRED, asked).result(_TIMEOUT_S).items():
        if error is not None and error.code() != KafkaError.ELECTION_NOT_NEEDED:
            raise StackError(f"No leader was elected for {partition.topic}-{partition.partition}: {error}")


def reassign(
    client: Mapping[str, str],
    topic: str,
    wanted: Mapping[int, Sequence[int]],
    *,
    deadline_s: float = 90.0,
) -> None:
    """Give partitions of the topic other replicas, in this order, and wait until these are in sync.

    With Kafka's own tool, since the client library has no call for it. Raises StackError where the tool
    fails, and TimeoutError after the deadline.
    """
    plan = {
        "version": 1,
        "partitions": [
            {"topic": topic, "partition": number, "replicas": list(nodes)} for number, nodes in wanted.items()
        ],
    }
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-reassign-") as name:
        file = Path(name) / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        server = client["bootstrap.servers"]
        run_tool(REASSIGN, "--bootstrap-server", server, "--reassignment-json-file", str(file), "--execute")

    def done() -> bool:
        found = replicas(client, topic)
        unfinished = {one.rpartition("-")[0] for one in behind(client)}
        return topic not in unfinished and all(
            found[number] == list(nodes) for number, nodes in wanted.items()
        )

    wait_until(done, deadline_s=deadline_s, what=f"The reassignment of {topic}", every_s=0.25)
