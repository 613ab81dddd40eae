"""What `mirrorwatch status` prints of consumer groups, over the lag monitor's own answers."""

from __future__ import annotations

import io
import json
import re
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fleet.verdicts.flow import Flow
from lagmon.ingest.commits import Progress
from mirrorwatch.cli.status import Question, status
from mirrorwatch.cli.status_answer import GroupsAnswer, groups_of
from mirrorwatch.cli.status_table import show_groups
from mirrorwatch.web.routes.lag import lag_routes
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.texts import NOTHING
from tests.mirrorwatch import views
from tests.mirrorwatch.monitored import NOW_S, Monitored


@pytest.fixture
def monitored():
    made = Monitored("A", "B")
    for alias in "AB":
        made.topic(alias, "orders")
    made.group("A", "billing", "orders", "stopped")
    made.group("B", "ship\x1b[31mping", "orders", "growing")
    made.group("A", "x" * 32_000, "orders", "rewound")
    made.group("B", "well", "orders", "moving")
    return made


async def asked(monitored, *, width=140, terminal=False, as_json=False, lag=True, **narrowed):
    application = web.Application()
    application.add_routes(routes(lambda: views.service(views.flow())))
    if lag:
        application.add_routes(lag_routes(monitored))
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    async with TestServer(application) as server:
        question = Question(str(server.make_url("/")), as_json=as_json, **narrowed)
        code = await status(question, console=console, errors=console)
    return code, console.file.getvalue()


async def test_groups_stand_below_the_flows_worst_first(monitored):
    code, text = await asked(monitored)
    assert code == 0  # that of the flows
    assert "4 groups: 1 STOP, 1 REWIND, 1 WARN\n" in text
    assert " ".join(text.split("behind")[1].split()[1:6]) == "billing A STOP 30,270 10"
    assert "billing on A is STOP: orders 0: Group stopped: lag 30,270 at offset 1014730" in text
    assert "x" * 59 + "… on A is REWIND: orders 0: Group went back" in text
    assert "x" * 60 not in text
    assert "well" not in text
    assert "\x1b" not in text


async def test_names_that_differ_in_blanks_alone_look_different(monitored):
    for name in ("new\nline", "new line", "billing "):
        monitored.group("A", name, "orders", "stopped")
    _, text = await asked(monitored)
    assert all(f"{name} " in text for name in ("new↵line", "new line", "billing␣"))


async def test_what_mirrors_carry_is_counted_apart():
    monitored = Monitored("A", "B", flows=[Flow("A", "B", sync_group_offsets=True)])
    monitored.topic("B", "A.orders")
    for number in range(20):
        monitored.group("B", f"copy-{number}", "A.orders", "stopped")
    monitored.topic("B", "orders")
    monitored.group("B", "billing", "orders", "stopped")
    _, text = await asked(monitored)
    assert "21 groups (20 synced by A->B): 1 STOP\n" in text
    assert "copy-" not in text


async def test_a_narrow_terminal_gets_sentences_alone(monitored):
    _, text = await asked(monitored, width=60, terminal=True)
    assert "4 groups: 1 STOP, 1 REWIND, 1 WARN" in text
    assert "cluster  status" not in text
    assert "billing on A is STOP" in text


async def test_ten_of_many_are_shown(monitored):
    for number in range(30):
        monitored.group("A", f"late-{number}", "orders", "growing")
    _, text = await asked(monitored)
    assert "34 groups: 1 STOP, 1 REWIND, 31 WARN" in text
    assert text.count(" WARN ") == 8  # rows of the table
    # One sentence of the worst, though the numbers differ, and where the others are.
    assert text.count(" is WARN: ") == 1
    assert "(7 more groups like this, on orders.)" in text
    assert re.search(r"Shown: the 10 worst of 34 groups; all: http://127.0.0.1:\d+/groups", text)


def shown(groups, width=240):
    """Give what is printed of groups, each a name and what more its document has."""
    said = {"kafka_cluster": "A", "status": "STOP", "sentence": "12 records to read, none for 5 min."}
    document = {
        "groups": [{"group": name} | said | place for name, place in groups],
        "count": len(groups),
        "by_status": {"STOP": len(groups)},
    }
    console = Console(file=io.StringIO(), width=width)
    show_groups(groups_of(document), console)
    return console.file.getvalue()


def about(*topics, partition=3):
    worst = ({"topic": topic, "partition": partition} for topic in topics)
    return [(f"g{number}", {"worst_partition": one}) for number, one in enumerate(worst)]


@pytest.mark.parametrize(
    ("topics", "folded"),
    [
        (["orders"], ""),
        (["orders", "bills"], " (1 more group like this, on bills.)"),
        (["orders", "orders", "orders"], " (2 more groups like this, on orders.)"),
        (["orders", "a", "b", "a", "c"], " (4 more groups like this, on a, b, c.)"),
        (["orders", *"abcd"], " (4 more groups like this, on a, b, c and 1 more topic.)"),
        (["orders", *"abcde"], " (5 more groups like this, on a, b, c and 2 more topics.)"),
        (["orders", "x" * 100], f" (1 more group like this, on {'x' * 59}….)"),
    ],
)
def test_a_sentence_is_reported_with_its_partition_and_those_that_are_alike_with_their_topics(topics, folded):
    said = f"g0 on A is STOP: orders 3: 12 records to read, none for 5 min.{folded}\n"
    assert shown(about(*topics)).endswith(f"\n{said}")


def test_a_service_that_names_no_partition_is_shown_without():
    for place in ({}, {"worst_partition": None}, {"worst_partition": {"topic": "orders"}}):
        text = shown([("g0", place), ("g1", {})])
        assert "g0 on A is STOP: 12 records to read, none for 5 min. (1 more group like this.)" in text


async def test_groups_are_narrowed_by_a_part_of_their_names_and_by_cluster(monitored):
    for number in range(30):
        monitored.group("A", f"late-{number}", "orders", "growing")
    code, text = await asked(monitored, search="BILL")
    assert code == 0
    assert "1 group: 1 STOP\n" in text
    assert "late-" not in text
    _, text = await asked(monitored, kafka_cluster="B")
    assert "2 groups: 1 WARN\n" in text
    _, text = await asked(monitored, search="late-", kafka_cluster="A")
    assert re.search(
        r"Shown: the 10 worst of 30 groups; all: http://[^/]+/groups\?search=late-&kafka_cluster=A",
        text,
    )
    _, text = await asked(monitored, search="none of them")
    assert "No group matches this search\n" in text
    found = await asked(monitored, kafka_cluster="C")
    assert found == (2, "--cluster: unknown Kafka cluster 'C'; known: A, B.\n")


async def test_a_service_that_watches_no_groups_shows_nothing_of_them(monitored):
    _, text = await asked(monitored, lag=False)
    assert "group" not in text.lower()


async def test_the_document_of_flows_stays_as_it_is(monitored):
    _, text = await asked(monitored, as_json=True)
    assert "flows" in json.loads(text)
    assert monitored.asked == 0


async def test_what_is_still_read_and_a_monitor_that_is_away_are_shown(monitored):
    progress = Progress(total_records=2000, read_records=500, began_at=1.0)
    for watch in monitored.watches.values():
        watch.reader = SimpleNamespace(progress=progress)
    _, text = await asked(monitored)
    assert "Groups of A: Reading commits of groups: 500 of 2,000 records, 25 %." in text
    assert "4 groups: 1 STOP" in text
    monitored.away = "the lag monitor ended by itself"
    _, text = await asked(monitored)
    assert "Groups: The lag monitor ended by itself." in text
    assert "No group" not in text


async def test_a_cluster_that_went_away_is_shown_below_its_groups_as_on_the_pages(monitored):
    monitored.watches["A"].lag.note_answer(NOW_S * 1000, "all brokers are down")
    _, body = await monitored.ask("groups")
    said = json.loads(body)["away"]["A"]["sentence"]
    _, text = await asked(monitored)
    assert said.startswith("A has not answered since ")
    assert f"Groups of A: {said}\n" in text
    assert "4 groups: 1 STOP" in text
    _, text = await asked(monitored, search="none of them")
    assert "No group matches this search\n" in text
    assert f"Groups of A: {said}\n" in text


def test_time_lags_are_reported_as_what_they_are_worth():
    kinds = {"at_least": 95.0, "estimate": 259_200.0, "exact": 42.0, "none": None, "": 7.0}
    document = {
        "groups": [
            {"group": f"of {kind}", "status": "STOP", "kafka_cluster": "A", "lag_s": lag_s}
            | ({"lag_s_kind": kind} if kind else {})  # another version may not tell it
            for kind, lag_s in kinds.items()
        ],
        "count": len(kinds),
        "by_status": {"STOP": len(kinds)},
    }
    console = Console(file=io.StringIO(), width=140)
    show_groups(groups_of(document), console)
    rows = [
        line.split("STOP")[1].split() for line in console.file.getvalue().splitlines() if " STOP  " in line
    ]
    assert [" ".join(row[1:]) for row in rows] == ["at least 1 min 35 s", "about 3 d", "42 s", NOTHING, "7 s"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "groups",
                    "count",
                    "by_status",
                    "clusters",
                    "not_ready",
                    "away",
                    "detail",
                    "group",
                    "lag_s",
                    "lag_s_kind",
                    "lag_records",
                    "worst_partition",
                    "topic",
                    "partition",
                    "A",
                )
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_is_answered_makes_an_answer_or_none(document):
    found = groups_of(document)
    assert found is None or isinstance(found, GroupsAnswer)
