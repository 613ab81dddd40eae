"""Counters, applications' records and groups at the end, compared with what the topics hold.

The counters of all processes are in PostgreSQL. `bench.book_truth` reads SQLite, so the tables are copied.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
from confluent_kafka import Consumer, TopicPartition
from psycopg import sql

from bench.book_truth import TABLES, books_and_topics
from bench.soak.faults import FLOWS
from bench.soak.stack import CANARY_TOPIC
from bench.topic_truth import compare, read_topic
from deploy.local.demo.readers import READERS
from deploy.local.topics import partition_count
from deploy.local.traffic import STREAMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.soak.stack import SoakReplica, SoakStack

_TIMEOUT_S = 20.0
SEEN_AGAIN_S = 240.0


def counters(stack: SoakStack, file: Path) -> dict[str, Any]:
    """Return what of the store's counters does not agree with the canary topics, and their figures."""
    dump_store(stack.store_url(), file)
    found: dict[str, Any] = {"violations": [], "flows": {}}
    for flow in FLOWS:
        source, target = flow.split("->")
        truth = books_and_topics(
            file,
            flow,
            read_topic(stack.pair.brokers[source].client_properties(), CANARY_TOPIC),
            read_topic(stack.pair.brokers[target].client_properties(), f"{source}.{CANARY_TOPIC}"),
        )
        found["violations"] += [f"{flow}: {one}" for one in truth.violations]
        found["flows"][flow] = truth.figures
    return found


def dump_store(url: str, file: Path) -> None:
    """Copy the tables that count probes from PostgreSQL to a SQLite file."""
    with psycopg.connect(url) as server, closing(sqlite3.connect(file)) as connection:
        for table in (*TABLES, "installation"):
            cursor = server.execute(sql.SQL("select * from {}").format(sql.Identifier(table)))
            names = [column.name for column in cursor.description or ()]
            columns = ", ".join(f'"{name}"' for name in names)
            marks = ", ".join("?" for _ in names)
            connection.execute(f"create table {table} ({columns})")
            connection.executemany(f"insert into {table} values ({marks})", cursor)  # noqa: S608
        connection.commit()


def table_rows(url: str) -> dict[str, int]:
    """Return how many rows each table of the store has."""
    found = {}
    with psycopg.connect(url) as server:
        names = server.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        for (name,) in sorted(names):
            counted = server.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(name)))
            found[name] = int((counted.fetchone() or (0,))[0])
    return found


def applications(stack: SoakStack, acknowledged: Mapping[str, int]) -> dict[str, Any]:
    """Return by flow how many records of the applications both sides hold, and how many are missing."""
    found: dict[str, Any] = {}
    for flow in FLOWS:
        source, target = flow.split("->")
        here, there = (stack.pair.brokers[alias].client_properties() for alias in (source, target))
        truths = [
            compare((here, one.topic), (there, f"{source}.{one.topic}"), deadline_s=SEEN_AGAIN_S)
            for one in STREAMS
        ]
        found[flow] = {
            "acknowledged": acknowledged.get(source, 0),
            "on_source": sum(one.source_records for one in truths),
            "on_target": sum(one.target_records for one in truths),
            "repeated_on_target": sum(one.target_repeated for one in truths),
            "altered_on_target": sum(one.target_altered for one in truths),
            "missing_on_target": sum(len(one.missing) for one in truths),
        }
    return found


def groups(stack: SoakStack, service: SoakReplica) -> list[dict[str, Any]]:
    """Return for each consumer group its lag by the API and by the brokers.

    The applications have ended, so both are at rest.
    """
    found = []
    for reader in READERS:
        client = stack.pair.brokers[reader.cluster].client_properties()
        listed = service.document(f"/api/v1/groups/{reader.cluster}/{reader.group}")
        found.append(
            {
                "group": f"{reader.cluster}/{reader.group}",
                "lag_records": listed.get("lag_records"),
                "lag_by_brokers": lag_of(client, reader.group, reader.topics),
                "status": listed.get("status"),
            }
        )
    return found


def lag_of(client: Mapping[str, str], group: str, topics: tuple[str, ...]) -> int:
    """Return how many offsets the group has not committed, by the brokers."""
    consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False, "log_level": 0})
    try:
        places = [
            TopicPartition(topic, number)
            for topic in topics
            for number in range(partition_count(client, topic))
        ]
        lag = 0
        for place in consumer.committed(places, timeout=_TIMEOUT_S):
            low, high = consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
            lag += high - max(low, place.offset)
        return lag
    finally:
        consumer.close()
