"""What the process answers under /v3 as its clusters are read."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from lagmon.ingest.answers import Answers
from lagmon.ingest.commits import Progress
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.supervision import Phase, State
from tests.mirrorwatch.monitored import NOW_S, Monitored

GROUPS = "/v3/kafka/local/consumer"
WHY = "cluster A: nothing listens there"


@pytest.fixture
def monitored():
    made = Monitored("A")
    made.topic("A", "orders")
    made.group("A", "billing", "orders", "moving")
    return made


@pytest.fixture
def ask(monitored):
    orders = SimpleNamespace(
        burrow_names={"A": "local"},
        clients={"A": ClientSettings({"bootstrap.servers": "a1:9092"})},
        per_partition=False,
        max_series=1000,
    )
    answers = Answers(orders, list(monitored.watches.values()), clock=monitored)
    answers.states = monitored.states

    async def asked(path=GROUPS):
        answer = await answers.answer({"question": "burrow", "path": path})
        return answer.head["status"], json.loads(b"".join(answer.pieces))

    return asked


async def test_a_cluster_that_was_never_read_is_not_an_empty_one(monitored, ask):
    watch = Monitored("A").watches["A"]
    monitored.watches["A"].lag.begin_commits(1)
    monitored.watches["A"].reader = watch.reader = None
    monitored.states["A"] = State("A", Phase.DOWN, WHY)
    status, document = await ask()
    assert (status, document["error"]) == (503, True)
    assert document["message"] == "the groups of local are not read yet: Cluster A: nothing listens there."
    assert (await ask(f"{GROUPS}/billing/lag"))[0] == 503


async def test_groups_do_not_vanish_while_they_are_read_anew(monitored, ask):
    assert (await ask())[1]["consumers"] == ["billing"]
    progress = Progress(partitions=1, total_records=10, began_at=1.0)
    monitored.watches["A"].reader = SimpleNamespace(progress=progress)
    monitored.watches["A"].lag.begin_commits(1)
    status, document = await ask()
    assert status == 503
    assert "Reading commits of groups: 0 of 10 records" in document["message"]


async def test_what_was_read_stays_while_the_cluster_is_away(monitored, ask):
    monitored.watches["A"].reader = None
    monitored.watches["A"].lag.note_answer(NOW_S * 1000, WHY)
    monitored.states["A"] = State("A", Phase.DOWN, WHY)
    assert await ask() == (200, (await ask())[1])
    assert (await ask())[1]["consumers"] == ["billing"]
    assert (await ask("/v3/kafka/local/topic"))[1]["topics"] == ["orders"]
