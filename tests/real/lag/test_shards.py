"""Three processes that share the groups of one broker: together they show what one process shows."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from contextlib import ExitStack, asynccontextmanager

import pytest
from confluent_kafka import Producer

from deploy.local.broker import Broker, start_together
from deploy.local.groups import set_offsets
from deploy.local.topics import add_partitions, create_topic, partition_count
from fleet.errors import UnavailableError
from fleet.mm2.filters import EVERYTHING
from fleet.shards import WHOLE, Shard
from fleet.verdicts.flow import Flow
from lagmon.arrays.java_hash import partition_of
from lagmon.exposition.format import Form
from lagmon.ingest.orders import write_orders
from lagmon.mirrors.answers.orders import order_of
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.clock import SystemClock
from runtime.process.worker import Worker
from tests.real.lag.test_groups import Reader

COMMITS = "__consumer_offsets"
PARTITIONS, MORE = 11, 14  # of it, with no divisor in common with the number of shards
DEADLINE_S, AGAIN_S = 90, 200  # topics are listed once a minute
TOPICS = ("orders", "bills")
WRITTEN = 20
STORED = [f"g-{number}" for number in range(30)]
SHARDS = [Shard(number, 3) for number in (1, 2, 3)]


@pytest.fixture
def broker(tmp_path):
    """Give a broker with two topics, thirty groups without members, and two groups that read on."""
    broker = Broker("S", tmp_path / "S", properties={"offsets.topic.num.partitions": str(PARTITIONS)})
    with ExitStack() as held:
        held.callback(broker.kill)
        start_together((broker,))
        broker.wait_ready()
        client = broker.client_properties()
        producer = Producer(client)
        for topic in TOPICS:
            create_topic(client, topic, partitions=2)
            for number in range(WRITTEN):
                producer.produce(topic, b"%d" % number, partition=number % 2)
        assert producer.flush(30) == 0
        commit(client)
        for protocol in ("classic", "consumer"):
            held.enter_context(Reader(client, f"{protocol}-reader", "orders", **{"group.protocol": protocol}))
        yield broker


def commit(client):
    for number, group in enumerate(STORED):
        places = {(topic, partition): number % 10 for topic in TOPICS for partition in (0, 1)}
        set_offsets(client, group, places if number % 3 else {("bills", 1): number % 10})


class Process:
    """A lag monitor's process, and what it says."""

    def __init__(self, client, shard, commits, *, mirrors=()):
        settings = ClientSettings(client)
        told = write_orders(
            {"S": settings, "T": settings} if mirrors else {"S": settings},
            burrow_names={"S": "S", "T": "T"},
            groups=EVERYTHING,
            groups_exclude="",
            per_partition=True,
            max_series=10_000,
            log_level="warning",
            log_format="text",
            secrets=frozenset(),
            mirrors=mirrors,
            commits=commits,
            shard=shard,
        )
        self.worker = Worker("lagmon", what="the lag monitor", orders=told, clock=SystemClock())

    async def ask(self, question, **details):
        head, body = await self.worker.ask(question, **details)
        return head, json.loads(body) if question != "metrics" and body else body.decode()

    async def groups(self):
        """Return what is said of each group, without what passes with time; None if they are not all known."""
        _, listed = await self.ask("groups", kafka_cluster="S", most=1000)
        if listed["not_ready"]:
            return None
        found = {}
        for line in listed["groups"]:
            _, whole = await self.ask("group", kafka_cluster="S", group=line["group"])
            if "rows" not in whole:  # all is being read again
                return None
            rows = [
                (*(row[key] for key in ("topic", "partition", "status", "lag_records")),)
                for row in whole["rows"]
            ]
            found[line["group"]] = line["status"], line["lag_records"], whole["members"], sorted(rows)
        return found

    async def counts(self):
        _, listed = await self.ask("groups", kafka_cluster="S")
        by_status = {status: count for status, count in listed["by_status"].items() if count}
        return Counter({"all": listed["count"], **by_status}), Counter(listed["other_groups"]["S"])

    async def burrow(self):
        _, found = await self.ask("burrow", path="/v3/kafka/S/consumer")
        return found["consumers"]

    async def series(self):
        """Return the series about groups, and the share of the commits that is read."""
        _, text = await self.ask("metrics", form=Form.PLAIN.value)
        told = re.findall(r"^(\w+\{[^}]*\bgroup=.*\}) ", text, re.MULTILINE)
        (share,) = re.findall(r'commits_backfill_ratio\{kafka_cluster="S"\} (\S+)', text)
        return [one for one in told if 'kafka_cluster="S"' in one], float(share)


@asynccontextmanager
async def processes(client, commits, *, mirrors_of=()):
    """Run a process without shards, and one for each shard; `mirrors_of` has flows by shard."""
    made = [
        Process(client, shard, commits, mirrors=dict(mirrors_of).get(shard, ())) for shard in (WHOLE, *SHARDS)
    ]
    stopping = asyncio.Event()
    running = [asyncio.create_task(one.worker.run(stopping)) for one in made]
    try:
        yield made[0], made[1:]
    finally:
        stopping.set()
        await asyncio.gather(*running)
        for one in made:
            one.worker.close()


async def agree(one, parts, *, least, deadline_s=DEADLINE_S):
    """Wait until the parts together say what one says of so many groups; return their groups."""
    until = asyncio.get_running_loop().time() + deadline_s
    while True:
        try:
            whole, *shares = [await each.groups() for each in (one, *parts)]
        except UnavailableError:
            whole, shares = None, [None]
        if whole is not None and None not in shares and len(whole) >= least:
            names = [name for share in shares for name in share]
            merged = {name: found for share in shares for name, found in share.items()}
            if len(names) == len(merged) and merged == whole:
                return shares
        if asyncio.get_running_loop().time() > until:
            raise AssertionError(_difference(whole, shares))
        await asyncio.sleep(1)


def _difference(whole, shares):
    if whole is None or None in shares:
        return f"not all groups are known: {[one is not None for one in (whole, *shares)]}"
    found = {name: [share[name] for share in shares if name in share] for name in set(whole).union(*shares)}
    differing = [(name, whole.get(name), them) for name, them in found.items() if [whole.get(name)] != them]
    return f"not the same: {differing}"


async def all_say_the_same(one, parts):
    """Check all that is counted or listed of groups, at an instant at which they agree."""
    expected, found = await one.counts(), [await part.counts() for part in parts]
    assert sum((counts for counts, _ in found), Counter()) == expected[0]
    assert sum((others for _, others in found), Counter()) == expected[1]
    assert sorted([name for part in parts for name in await part.burrow()]) == sorted(await one.burrow())
    (series, share), told = await one.series(), [await part.series() for part in parts]
    assert sorted([line for lines, _ in told for line in lines]) == sorted(series)
    assert {share, *(share for _, share in told)} == {1.0}


@pytest.mark.parametrize("commits", ["topic", "admin"])
async def test_each_group_is_shown_by_one_of_three_processes_as_by_one_alone(broker, commits):
    client = broker.client_properties()
    async with processes(client, commits) as (one, parts):
        shares = await agree(one, parts, least=len(STORED) + 2)
        for number, share in enumerate(shares):
            assert share
            assert {partition_of(name, PARTITIONS) % 3 for name in share} == {number}
        await all_say_the_same(one, parts)
        read = [(await each.ask("state"))[0]["S"]["total_records"] for each in (one, *parts)]
        assert 0 < min(read[1:]) <= max(read[1:]) < read[0] if commits == "topic" else read == [0] * 4


async def test_a_process_with_a_mirror_that_reads_as_a_group_shows_its_own_groups_only(broker):
    """Both clusters of the flow are this broker; its groups belong to all shards."""
    flow = order_of(Flow("S", "T"), lag_from="group", group="g-.*")
    async with processes(broker.client_properties(), "topic", mirrors_of=[(SHARDS[1], (flow,))]) as (
        one,
        parts,
    ):
        shares = await agree(one, parts, least=len(STORED) + 2)
        assert all(
            {partition_of(name, PARTITIONS) % 3 for name in share} == {at} for at, share in enumerate(shares)
        )
        await all_say_the_same(one, parts)
        states = [(await each.ask("state"))[0]["S"] for each in (one, *parts)]
        assert states[2]["read_records"] >= states[0]["total_records"]  # all partitions
        assert states[1]["total_records"] + states[3]["total_records"] < states[0]["total_records"]


@pytest.mark.long
@pytest.mark.parametrize("commits", ["topic", "admin"])
async def test_each_group_is_shown_once_after_the_topic_of_commits_has_grown(broker, commits):
    """Brokers divide groups by the number of partitions at their start, so some move after a restart."""
    client = broker.client_properties()
    async with processes(client, commits) as (one, parts):
        await agree(one, parts, least=len(STORED) + 2)
        add_partitions(client, COMMITS, total=MORE)
        assert partition_count(client, COMMITS) == MORE

        async def divided():
            # A group that reads on may not survive it: its coordinator is another one then.
            shares = await agree(one, parts, least=len(STORED), deadline_s=AGAIN_S)
            return all(
                {partition_of(name, MORE) % 3 for name in share} == {at} for at, share in enumerate(shares)
            )

        for restarts in (False, True)[: 1 + (commits == "topic")]:  # the Admin API has one answer for each
            if restarts:
                await asyncio.to_thread(broker.restart)
                await asyncio.to_thread(commit, client)
            until = asyncio.get_running_loop().time() + AGAIN_S
            while not await divided():
                assert asyncio.get_running_loop().time() < until
                await asyncio.sleep(1)
            await all_say_the_same(one, parts)
