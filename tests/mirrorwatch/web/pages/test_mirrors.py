"""The page about a flow's offsets, and its JSON, over the lag monitor's own answers."""

from __future__ import annotations

import json
import re
import threading

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from fleet.errors import UnavailableError
from lagmon.groups.rules.words import How
from lagmon.mirrors.answers.flows import MirrorAnswers
from mirrorwatch.web.pages.mirrors import _headroom, mirror_names
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.mirrors import mirror_routes
from tests.lagmon.mirror_flows import Mirrored
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup

HOSTILE = "<b onclick=x>"


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (How.BY_RETENTION, "59 min"),
        (How.BY_SPEED, "about 59 min"),
        (How.BY_RECORD_TIME, "about 59 min"),
        (How.AT_MOST, "at most 59 min"),
    ],
)
def test_seconds_of_headroom_that_are_no_more_than_a_bound_are_never_shown_as_more(how, text):
    assert _headroom({"headroom_s": 3540.0, "headroom_from": str(how), "headroom_records": 5}) == text


class Monitor:
    """Answers of the lag monitor about one flow; `away` makes it silent, with that sentence."""

    def __init__(self, flow):
        self.flow = flow
        self.away = ""
        self._answers = MirrorAnswers([flow.flow], [threading.Lock()], clock=self)

    def wall_s(self):
        return self.flow.now / 1000

    async def ask(self, question, **details):
        if self.away:
            raise UnavailableError(self.away)
        assert question == "flow"
        answer = self._answers.answer_flow(details)
        return answer.head, b"".join(answer.pieces)


@pytest.fixture
def flow():
    flow = Mirrored({"orders": 2, HOSTILE: 1, "wide": 120})

    def each():
        flow.write(100, partition=0)
        flow.commit(partition=0)
        flow.write(10, partition=1)
        flow.commit(partition=1, to=max(1, flow.ends["orders", 1] - 500))

    return flow.go(120, each=each)


@pytest.fixture
async def client(flow):
    application, monitor = web.Application(), Monitor(flow)
    page = Page()
    application.add_routes(
        [
            *mirror_routes(monitor, page=page, clock=monitor),
            *routes(lambda: views.service(views.flow()), page=page),
        ]
    )
    async with TestClient(TestServer(application)) as client:
        client.monitor = monitor
        yield client


async def drawn(client, address, status=200):
    answer = await client.get(URL(address, encoded=True))
    assert answer.status == status
    return Markup(await answer.text())


async def test_a_flow_is_shown_partition_by_partition_with_its_numbers(client, flow):
    markup = await drawn(client, "/flows/A-%3EB/offsets")
    assert "A → B, by offsets" in markup.text
    assert re.search(r"connect-offsets\. MirrorMaker commits every \d s; last read 0 s ago", markup.text)
    end = flow.ends["orders", 1]
    assert f"{end - 500:,}" in markup.text
    assert f"{end:,}" in markup.text
    assert "committed offset of the mirror" in markup.text
    assert "1 to 100 of 123, worst first" in markup.text
    following = next(a["href"] for a in markup.all("a") if a.get("rel") == "next")
    assert following == "/flows/A-%3EB/offsets?offset=100"
    assert len((await drawn(client, following)).all("tr")) == 24
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


async def test_the_head_reports_a_bound_as_the_rows_do():
    flow = Mirrored()
    flow.write(1000, copied=False)  # came before the first look
    flow.commit(to=10)
    flow.poll()
    flow.go(30)
    _, body = await Monitor(flow).ask("flow", flow="A->B")
    names = mirror_names(json.loads(body))
    assert [names["behind"], names["rows"][0]["behind"]] == ["at least 30 s"] * 2


async def test_partitions_that_are_not_well_are_not_called_moving(client, flow):
    assert "Progress" in (await drawn(client, "/flows/A-%3EB/offsets")).text
    flow.write(10, "wide", 7)  # where the mirror has written no offset yet: the flow is well meanwhile
    flow.poll()
    markup = await drawn(client, "/flows/A-%3EB/offsets")
    assert "healthy: A → B" in markup.text
    assert "UNKNOWN wide 7" in markup.text
    assert "The worst partitions" in markup.text
    following = (await drawn(client, "/flows/A-%3EB/offsets?offset=100")).text
    assert "The worst partitions" not in following
    assert "Progress" not in following


async def test_an_offset_past_the_end_as_it_was_last_looked_at_is_explained(client, flow):
    said = "Mirrorwatch polls log end offsets about every 10 s, so a mirror without lag may be past"
    assert said not in (await drawn(client, "/flows/A-%3EB/offsets?search=orders")).text
    flow.now += 2000
    flow.write(100, partition=0)
    flow.commit(partition=0)
    markup = await drawn(client, "/flows/A-%3EB/offsets?search=orders")
    assert f"{flow.ends['orders', 0]:,}" in markup.text
    assert said in markup.text


async def test_names_stay_names(client):
    markup = await drawn(client, "/flows/A-%3EB/offsets")
    assert not [attributes for _, attributes in markup.elements if "onclick" in attributes]
    assert HOSTILE in markup.text


async def test_what_retention_took_is_reported_with_its_offsets(client, flow):
    next_offset = flow.rest().ends["orders", 0]
    flow.write(500, partition=0, copied=False)
    flow.starts["orders", 0] = next_offset + 300
    flow.go(100)
    markup = await drawn(client, "/flows/A-%3EB/offsets")
    assert (
        f"300 records of orders 0, offsets {next_offset:,} to {next_offset + 299:,}, were deleted on A before "
        "they were replicated."
    ) in markup.text
    assert "ERR orders 0" in markup.text


async def test_what_retention_may_have_taken_is_reported_as_no_more_than_that(client, flow):
    def each():  # its copy is looked at while records are under way, and never at rest
        flow.write(100, "wide")
        flow.commit("wide")

    flow.go(120, each=each)
    flow.write(500, "wide", copied=False)
    flow.starts["wide", 0] = flow.ends["wide", 0] - 450
    flow.go(100)
    flow.target_ends["A.wide", 0] += 450
    flow.go(200, each=each)
    document = await (await client.get("/api/v1/flows/A-%3EB/offsets")).json()
    assert document["overtaken"] == []
    ((records, most, proved),) = {
        (one["records"], one["records_most"], one["proved"]) for one in document["findings"]
    }
    assert (records, most, proved) == (0, 50, False)
    text = await (await client.get("/flows/A-%3EB/offsets")).text()
    assert "deleted up to 50 records of wide-0 before" in text


async def test_what_is_not_mirrored_is_shown_with_a_hundred_findings_with_how_much_more_there_is(flow):
    _, body = await Monitor(flow).ask("flow", flow="A->B")
    document = json.loads(body)
    assert (document["missing"], document["missing_total"]) == ([], 0)
    assert (mirror_names(document, search="")["found"], mirror_names(document, search="")["more_found"]) == (
        [],
        "",
    )
    finding = {"code": "filtered", "proved": True, "at_ms": 1, "sentence": "It is left out."}
    remade = {"topic": "orders", "side": "source", "at_ms": 2, "before": "x", "now": "y"}
    lacks = [{"since_ms": number, "sentence": f"t{number} waits."} for number in range(100)]
    document |= {
        "findings": [finding] * 100,
        "findings_total": 130,
        "recreated": [remade],
        "missing": lacks,
        "missing_total": 20_000,
    }
    names = mirror_names(document, search="")
    sentences = [sentence for _, sentence in names["found"]]
    assert len(sentences) == 50
    assert sentences[:25] == ["It is left out."] * 25
    assert sentences[26:] == [f"t{number} waits." for number in range(24)]
    assert names["more_found"] == "105 findings, 19,976 incompletely mirrored topics"
    document |= {"findings": [], "findings_total": 0, "recreated": []}
    document |= {"missing": lacks[:51], "missing_total": 51}
    assert mirror_names(document, search="")["more_found"] == "1 incompletely mirrored topic"


async def test_what_waits_to_be_mirrored_stands_on_the_page(client, flow):
    for number in range(1, 60):
        flow.write(10, "wide", number, copied=False)
    for number in range(60):
        flow.a.note_topics({**flow.a.topics, f"new{number:02}": 1})
    flow.go(20)
    document = await (await client.get("/api/v1/flows/A:B/offsets")).json()
    text = (await drawn(client, "/flows/A-%3EB/offsets")).text
    more = document["missing_count"] - 50
    assert [one["cause"]["sentence"] in text for one in document["missing"]] == [True] * 50 + [False] * more
    assert f"and {more} incompletely mirrored topics; the JSON has up to 100 of each" in text


async def test_a_topic_that_was_recreated_is_reported_with_what_was_lost(client, flow):
    flow.flow.note_ids("B", {"A.orders": "before"}, flow.now)
    flow.go(20)
    flow.flow.note_ids("B", {"A.orders": "after"}, flow.now)
    flow.target_ends |= {("A.orders", 0): 0, ("A.orders", 1): 0}
    flow.go(20)
    markup = await drawn(client, "/flows/A-%3EB/offsets")
    assert "Topic orders was re-created on the target: its id changed from before to after." in markup.text
    document = await (await client.get("/api/v1/flows/A:B/offsets?limit=1")).json()
    assert [one["cause"]["sentence"] in markup.text for one in document["findings"]] == [True, True]


async def test_the_same_as_json_a_page_at_a_time(client):
    answer = await client.get("/api/v1/flows/A:B/offsets?limit=2&offset=1")
    told = await answer.json()
    assert (told["flow"], told["count"], told["offset"], len(told["partitions"])) == ("A->B", 123, 1, 2)
    whole = await (await client.get("/api/v1/flows/A->B/offsets")).json()
    assert whole["partitions"][1:3] == told["partitions"]
    assert told["next"] == "/api/v1/flows/A:B/offsets?limit=2&offset=3"


async def test_topics_are_searched_for_by_a_part_of_their_names(client):
    markup = await drawn(client, "/flows/A-%3EB/offsets?search=WIDE")
    assert "1 to 100 of 120, worst first" in markup.text
    assert "Partitions found" in markup.text
    following = next(a["href"] for a in markup.all("a") if a.get("rel") == "next")
    assert following == "/flows/A-%3EB/offsets?search=WIDE&offset=100"
    document = await (await client.get("/api/v1/flows/A:B/offsets?search=rder")).json()
    assert (document["count"], {row["topic"] for row in document["partitions"]}) == (2, {"orders"})
    nothing = await drawn(client, "/flows/A-%3EB/offsets?search=%3Cb%3E%22x")
    assert "No topic of this flow matches this search." in nothing.text
    (box,) = (one for one in nothing.all("input") if one.get("name") == "search")
    assert box["value"] == '<b>"x'
    assert not nothing.all("b")


@pytest.mark.parametrize("query", ["offset=-1", "offset=x", "limit=0", "limit=99999999"])
async def test_what_is_no_page_is_refused_with_a_sentence(client, query):
    for address in (f"/flows/A:B/offsets?{query}", f"/api/v1/flows/A:B/offsets?{query}"):
        assert (await client.get(address)).status == 400


async def test_an_unknown_flow_and_a_monitor_that_is_away_are_shown(client):
    assert (
        "unknown flow 'A->C'; did you mean 'A->B'?" in (await drawn(client, "/flows/A:C/offsets", 404)).text
    )
    client.monitor.away = "the lag monitor ended by itself, with status 9"
    said = "The lag monitor ended by itself, with status 9."
    assert said in (await drawn(client, "/flows/A:B/offsets", 503)).text
    answer = await client.get("/api/v1/flows/A:B/offsets")
    assert (answer.status, (await answer.json())["detail"]) == (503, said)


async def test_a_flow_s_own_address_is_answered_as_before(client):
    assert (await client.get("/api/v1/flows/A:B")).status == 200
