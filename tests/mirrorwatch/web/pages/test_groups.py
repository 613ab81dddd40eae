"""The pages about groups: words, addresses and markup, over the lag monitor's own answers."""

from __future__ import annotations

from types import SimpleNamespace
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Verdict
from fleet.wire.commits import GroupDescribed, Member
from lagmon.arrays.group_id import group_id
from lagmon.groups.rules.words import WORSE, Status
from lagmon.ingest.commits import Progress
from mirrorwatch.web import texts
from mirrorwatch.web.pages.groups import (
    MEANINGS,
    STATUS_VERDICTS,
    ShownName,
    group_address,
    groups_away,
    groups_view,
    headline,
    worst_verdict,
)
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.routes.groups import GroupCounts, group_routes
from mirrorwatch.web.routes.lag import lag_routes
from mirrorwatch.web.routes.main import routes
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.monitored import NOW_S, Monitored, end_at

READING = Progress(partitions=50, total_records=2000, read_records=500, began_at=1.0)
LONG = "x" * 32_000 + views.HOSTILE
ODD = [views.HOSTILE, "a/b", "..", ".", "", "ü%2F", "a b?c#d", "two\n\tlines", LONG]


@pytest.fixture
def monitored():
    made = Monitored("A", "B")
    for alias in "AB":
        made.topic(alias, "orders")
    made.group("A", "billing", "orders", "moving", "stopped", "growing", "overtaken")
    made.group("A", "shipping", "orders", "moving")
    return made


@pytest.fixture(scope="module")
def page():
    return Page()


@pytest.fixture
async def client(monitored, page):
    application = web.Application()
    application.add_routes(
        [
            *lag_routes(monitored),
            *group_routes(monitored, page=page, clock=monitored),
            *routes(
                lambda: views.service(views.flow()),
                page=page,
                groups=GroupCounts(monitored, clock=monitored).view,
            ),
        ]
    )
    async with TestClient(TestServer(application)) as client:
        yield client


async def drawn(client, address, status=200):
    answer = await client.get(URL(address, encoded=True))
    assert answer.status == status
    return Markup(await answer.text())


@pytest.mark.parametrize(
    ("counts", "total", "lacking", "said"),
    [
        ({"STOP": 3, "WARN": 12, "OK": 4985}, 5000, {}, "5,000 groups: 3 STOP, 12 WARN"),
        ({"UNKNOWN": 1}, 1, {}, "1 group: 1 UNKNOWN"),
        ({"OK": 1}, 1, {}, "The group is OK"),
        ({"OK": 2}, 2, {}, "Both groups are OK"),
        ({"OK": 5000}, 5000, {}, "All 5,000 groups are OK"),
        ({}, 0, {}, "No group has committed an offset"),
        ({}, 0, {"A": {}}, "Groups not known yet"),
        ({"OK": 3}, 3, {"A": {}}, "3 groups OK, others are not known"),
        ({"STOP": 1, "OK": 2}, 3, {"A": {}}, "3 groups: 1 STOP"),
    ],
)
def test_the_first_line_counts_what_is_not_well(counts, total, lacking, said):
    assert headline(counts, total, partial=bool(lacking)) == said


@pytest.mark.parametrize(
    ("total", "lacking", "said"),
    [
        (0, {}, "No group matches this search"),
        (0, {"A": {}}, "Groups not known yet"),
        (1, {"A": {}}, "1 group: 1 STOP"),
    ],
)
def test_a_search_finds_nothing_only_where_all_groups_are_known(total, lacking, said):
    assert headline({"STOP": 1} if total else {}, total, searched=True, partial=bool(lacking)) == said


@pytest.mark.parametrize(("total", "said"), [(1, "1 group found, OK"), (3, "3 groups found, all OK")])
def test_a_search_is_not_about_all_groups(total, said):
    assert headline({"OK": total}, total, searched=True) == said


async def test_while_a_cluster_is_not_read_the_groups_of_others_are_not_all(page):
    monitored = Monitored("A", "B")
    monitored.topic("A", "orders")
    monitored.group("A", "shipping", "orders", "moving")
    monitored.watches["B"].reader = SimpleNamespace(progress=None)
    said = "1 group OK, others are not known"
    counts = await GroupCounts(monitored, clock=monitored).view()
    assert (counts.headline, counts.verdict) == (said, Verdict.UNKNOWN)
    application = web.Application()
    application.add_routes(group_routes(monitored, page=page, clock=monitored))
    async with TestClient(TestServer(application)) as client:
        assert f"? {said}" in (await drawn(client, "/groups")).text
        assert "1 group found, OK" in (await drawn(client, "/groups?kafka_cluster=A")).text


@pytest.mark.parametrize(
    ("counts", "total", "carried", "said"),
    [
        ({"STOP": 3, "OK": 997}, 1000, {"A->B": 613}, "1,000 groups (613 synced by A->B): 3 STOP"),
        ({"OK": 1000}, 1000, {"A->B": 613}, "All 1,000 groups are OK (613 synced by A->B)"),
        ({"OK": 9}, 9, {"A->B": 2, "C->B": 3}, "All 9 groups are OK (2 synced by A->B, 3 synced by C->B)"),
    ],
)
def test_what_mirrors_carry_is_counted_apart(counts, total, carried, said):
    assert headline(counts, total, carried) == said


async def test_a_carried_group_shows_who_carries_it_in_the_list_and_on_its_page(page):
    monitored = Monitored("A", "B", flows=[Flow("A", "B", sync_group_offsets=True)])
    monitored.topic("B", "A.orders")
    monitored.group("B", "billing", "A.orders", "stopped")
    application = web.Application()
    application.add_routes(group_routes(monitored, page=page, clock=monitored))
    async with TestClient(TestServer(application)) as client:
        listed = await drawn(client, "/groups")
        assert "The group is OK (1 synced by A->B)" in listed.text
        assert "Offset synced by A->B; no member of the group reads here" in listed.text
        one = await drawn(client, "/groups/B/billing")
        assert "OK: billing" in one.text
        assert "Offset synced by A->B" in one.text


def test_every_status_has_a_look_and_all_that_are_shown_a_meaning():
    assert set(STATUS_VERDICTS) == {status.name for status in Status}
    assert list(MEANINGS) == [status.name for status in reversed(WORSE) if status is not Status.NOTFOUND]
    assert worst_verdict({"STOP": 1, "OK": 3}) is Verdict.STALLED
    assert worst_verdict({}) is Verdict.UNKNOWN


@given(st.text(max_size=30) | st.sampled_from(ODD))
def test_an_address_leads_back_to_the_group(group):
    address = group_address("A/1", group)
    split = urlsplit(address)
    prefix = "/groups/A%2F1/"
    assert split.path.startswith(prefix)
    name = split.path.removeprefix(prefix)
    assert "/" not in name
    assert name not in (".", "..")
    assert len(address) < 2100
    if split.query:
        assert parse_qs(split.query) == {"id": [group_id(group)]}
    else:
        assert unquote(name, errors="surrogatepass") == group


def test_a_long_name_is_cut_and_stands_whole_in_a_title():
    assert ShownName.of("billing") == ShownName("billing", "")
    assert ShownName.of("") == ShownName("(no name)", "")
    shown = ShownName.of(LONG)
    assert shown.text == "x" * 79 + "…"
    assert shown.title.startswith("x" * 32_000 + "<script>")
    assert "\u202e" not in shown.title


@pytest.mark.parametrize("group", ODD)
async def test_a_group_of_any_name_is_led_to_and_inert(client, monitored, group):
    monitored.group("B", group, "orders", "stopped")
    listed = await drawn(client, "/groups?kafka_cluster=B")
    address = next(a["href"] for a in listed.all("a") if a["href"].startswith("/groups/B/"))
    for markup in (listed, await drawn(client, address)):
        assert "STOP" in markup.text
        shown = ShownName.of(group).text.replace("\u202e", "\ufffd")[:79]
        assert " ".join(shown.split()) in markup.text
        assert [script["src"][:15] for script in markup.all("script")] == ["/static/page.js"]
        for tag, attributes in markup.elements:
            assert tag != "style"
            assert "style" not in attributes
            assert not [name for name in attributes if name.startswith("on")]
            assert not any("\u202e" in (value or "") for value in attributes.values())
    document = await (await client.get(URL("/api/v1" + address, encoded=True))).json()
    assert document["group"] == group


async def test_names_that_differ_in_blanks_alone_look_different(client, monitored):
    names = ["good", "good ", " good", "go od", "go  od", "new\nline", "new\tline", "new line", "new\r\nline"]
    for name in names:
        monitored.group("B", name, "orders", "moving")
    listed = await drawn(client, "/groups?kafka_cluster=B")
    for shown in (
        "good",
        "good␣",
        "␣good",
        "go od",
        "go ␣od",
        "new↵line",
        "new⇥line",
        "new line",
        "new␍↵line",
    ):
        assert f" {shown} " in listed.text
    assert len({ShownName.of(name).text for name in names}) == len(names)


async def test_a_cluster_that_is_away_is_shown_at_the_head_of_the_list_and_of_its_groups(client, monitored):
    monitored.watches["A"].lag.note_answer(NOW_S * 1000, "cluster A: nothing listens there")
    said = "A has not answered since 2026-05-28 20:26:40 UTC: cluster A: nothing listens there."
    for address in ("/groups", "/groups?kafka_cluster=A", "/groups/A/billing"):
        assert said in (await drawn(client, address)).text
    assert said not in (await drawn(client, "/groups?kafka_cluster=B")).text


async def test_the_list_shows_the_worst_first_with_why(client):
    markup = await drawn(client, "/groups")
    assert "2 groups: 1 ERR" in markup.text
    assert "1 ERR, 1 STOP, 1 WARN, 1 OK orders 3: Up to 89,550 records deleted" in markup.text
    assert "✓ OK shipping A 270 5 s 1 OK Lag" in markup.text
    assert "Statuses" in markup.text


async def test_the_list_shows_which_groups_are_not_in_it(client, monitored):
    markup = await drawn(client, "/groups")
    assert "no offsets" not in markup.text
    membership = monitored.watches["B"].lag.membership
    for group, protocol_type in [("a", "connect"), ("b", "connect"), (views.HOSTILE, views.HOSTILE)]:
        membership.note_kind(group, protocol_type)
    markup = await drawn(client, "/groups")
    assert "B: 2 groups of Kafka Connect and 1 group of another kind commit no offsets here." in markup.text
    assert "no offsets" not in (await drawn(client, "/groups?kafka_cluster=A")).text
    document = await (await client.get("/api/v1/groups")).json()
    counted = {one["kafka_cluster"]: one["other_groups"] for one in document["clusters"]}
    assert counted == {"A": {}, "B": {"connect": 2, "other": 1}}


async def test_a_partition_without_a_commit_has_its_row_and_its_picture(client, monitored):
    lag = monitored.watches["A"].lag
    member = Member("m", None, "rdkafka", "/10.0.0.1", (("orders", (0, 1)),), ())
    lag.membership.take(GroupDescribed("shipping", "consumer", 1, None, None, None, (member,)))
    lag.silences.follow(lag.topics)
    lag.silences.owned.since_ms[:] = (NOW_S - 300) * 1000
    lag.silences.owned.first[:] = end_at(NOW_S - 300)
    markup = await drawn(client, "/groups?search=shipping")
    said = "orders 1: Lag unknown: the group has never committed here, although 15,000 records were written"
    assert f"UNKNOWN shipping A at least 270 at least 5 s 1 UNKNOWN, 1 OK {said}" in markup.text
    markup = await drawn(client, "/groups/A/shipping")
    no = texts.NOTHING
    said = f"{no} {no} {no} {end_at(NOW_S):,} rdkafka Lag unknown: the group has never committed"
    assert f"UNKNOWN orders 1 {said}" in markup.text
    (picture, *_) = [svg for svg in markup.all("svg") if svg.get("role") == "img"]
    assert "log end offset went from" in picture["aria-label"]
    assert "committed" not in picture["aria-label"]


async def test_a_search_that_finds_nothing_shows_so_and_leads_back(client):
    markup = await drawn(client, "/groups?search=%22%3Cb%3E&kafka_cluster=A")
    assert "No group matches this search" in markup.text
    assert next(field for field in markup.all("input"))["value"] == '"<b>'
    assert [option["value"] for option in markup.all("option") if "selected" in option] == ["A"]
    assert "/groups" in [a["href"] for a in markup.all("a")]
    assert markup.all("table") == []


async def test_a_page_never_holds_more_than_one_page_of_rows(client, monitored):
    for number in range(240):
        monitored.group("B", f"group-{number:03d}", "orders", "moving")
    first = await drawn(client, "/groups?search=GROUP&limit=5000")
    assert len(first.all("tr")) == 101
    assert "1 to 100 of 240, worst first" in first.text
    following = [a["href"] for a in first.all("a") if a.get("rel") == "next"]
    assert following[0] == "/groups?search=GROUP&offset=100"
    second = await drawn(client, following[0])
    assert "101 to 200 of 240" in second.text
    assert {a["href"] for a in second.all("a") if a.get("rel") == "prev"} == {"/groups?search=GROUP"}
    last = await drawn(client, "/groups?search=GROUP&offset=200")
    assert "201 to 240 of 240" in last.text
    assert not [a for a in last.all("a") if a.get("rel") == "next"]
    beyond = await drawn(client, "/groups?search=GROUP&offset=900")
    assert "No rows from 901 on: there are 240" in beyond.text
    assert {a["href"] for a in beyond.all("a") if a.get("rel") == "prev"} == {
        "/groups?search=GROUP&offset=140"
    }


async def test_a_groups_page_shows_members_partitions_and_pictures(client, monitored):
    members = tuple(
        Member(f"m{number}", None, f"client-{number}", "/10.0.0.7", {"orders": (number,)}, ("orders",))
        for number in range(2)
    )
    monitored.watches["A"].lag.membership.take(
        GroupDescribed("billing", "consumer", 1, "range", "m0", None, members)
    )
    markup = await drawn(client, "/groups/A/billing")
    assert "✕ ERR: billing" in markup.text
    assert "On cluster A. orders 3: Up to 89,550 records deleted before the group read them" in markup.text
    assert "Members2" in markup.text
    assert "client-0 at /10.0.0.7, 1 partition" in markup.text
    assert "■ STOP orders 1 30,270 10 min 5 s 1,014,730 1,045,000 client-1" in markup.text
    pictures = [svg for svg in markup.all("svg") if svg.get("role") == "img"]
    assert len(pictures) == 3  # of those that are not OK
    assert "committed offset went from 1,010,230 to 1,014,730" in pictures[1]["aria-label"]
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


async def test_partitions_are_paged_too_and_a_long_name_stands_whole_in_its_title(client, monitored):
    monitored.topic("A", "wide", 130)
    monitored.group("A", LONG, "wide", *["moving"] * 130)
    address = group_address("A", LONG)
    markup = await drawn(client, address + "&limit=5000")
    assert len(markup.all("tr")) == 101
    assert "1 to 100 of 130, worst first" in markup.text
    following = next(a["href"] for a in markup.all("a") if a.get("rel") == "next")
    assert following == address + "&offset=100"
    assert len((await drawn(client, following)).all("tr")) == 31
    titles = [attributes["title"] for attributes in markup.all("bdi") if "title" in attributes]
    assert titles == [ShownName.of(LONG).title]


async def test_a_group_that_is_well_shows_how_it_moves(client):
    markup = await drawn(client, "/groups/A/shipping")
    assert "Progress" in markup.text
    assert "polls log end offsets" not in markup.text
    assert len([svg for svg in markup.all("svg") if svg.get("role") == "img"]) == 1


async def test_a_group_that_is_past_the_last_look_is_explained(client, monitored):
    monitored.group("A", "quick", "orders", "ahead")
    markup = await drawn(client, "/groups/A/quick")
    assert "OK: quick" in markup.text
    assert "Mirrorwatch polls log end offsets about every 10 s" in markup.text


async def test_a_group_whose_offsets_are_asked_for_shows_what_its_dots_and_words_are(client, monitored):
    said = "Mirrorwatch polls the offsets of this group with the Admin API."
    assert said not in (await drawn(client, "/groups/A/billing")).text
    assert "Admin API" not in (await drawn(client, "/groups")).text
    monitored.watches["A"].commits_from = "admin"
    assert said in (await drawn(client, "/groups/A/billing")).text
    assert (
        "A: Mirrorwatch polls the offsets of its groups with the Admin API"
        in (await drawn(client, "/groups")).text
    )


async def test_what_is_still_read_shows_how_far_it_is(client, monitored):
    monitored.watches["A"].reader = SimpleNamespace(progress=READING)
    said = "A: Reading commits of groups: 500 of 2,000 records, 25 %."
    assert said in (await drawn(client, "/groups")).text
    assert said in (await drawn(client, "/groups/A/billing")).text
    assert said in (await drawn(client, "/")).text
    assert "Groups of A are not read yet" in (await drawn(client, "/groups/A/new", 503)).text
    answer = await client.get("/api/v1/groups?kafka_cluster=A")
    assert answer.status == 200
    (cluster,) = (await answer.json())["clusters"]
    assert (cluster["kafka_cluster"], cluster["not_ready"]["phase"]) == ("A", "reading")
    answer = await client.get("/api/v1/groups/A/new")
    assert (answer.status, (await answer.json())["code"]) == (503, "not_ready")


async def test_a_monitor_that_is_away_is_shown_everywhere(client, monitored):
    monitored.away = "the lag monitor ended by itself, with status 9"
    said = "The lag monitor ended by itself, with status 9."
    for address in ("/groups", "/groups/A/billing"):
        assert said in (await drawn(client, address, 503)).text
    main = await drawn(client, "/")
    assert said in main.text
    assert "Groups not known: no answer from the lag monitor" in main.text
    for address in ("/api/v1/groups", "/api/v1/groups/A/billing"):
        answer = await client.get(address)
        assert (answer.status, (await answer.json())["detail"]) == (503, said)


@pytest.mark.parametrize("address", ["/groups/C/billing", "/groups?kafka_cluster=C"])
async def test_an_unknown_cluster_is_not_found(client, address):
    assert "unknown Kafka cluster 'C'; known: A, B" in (await drawn(client, address, 404)).text


async def test_only_the_pages_about_groups_may_send_a_form(client):
    for address, allowed in (("/", "'none'"), ("/groups", "'self'"), ("/api/v1/groups", "'none'")):
        policy = (await client.get(address)).headers["Content-Security-Policy"]
        assert f"form-action {allowed}" in policy
        assert "default-src 'none'; style-src 'self'; script-src 'self'" in policy


async def test_many_who_look_at_the_main_page_ask_for_the_counts_once(client, monitored):
    for _ in range(5):
        markup = await drawn(client, "/")
    assert "2 groups: 1 ERR" in markup.text
    assert "/groups" in [a["href"] for a in markup.all("a")]
    assert monitored.asked == 1
    monitored.now_s += 2
    await drawn(client, "/")
    assert monitored.asked == 2


def test_without_a_lag_monitor_the_main_page_shows_nothing_of_groups(page):
    assert "Consumer groups" not in Markup(page.page(views.service(views.flow()))).text


def test_counts_for_the_main_page():
    lacking = {"A": {"sentence": "Reading."}}
    seen = groups_view({"count": 2, "by_status": {"WARN": 1, "OK": 1}, "not_ready": lacking})
    assert (seen.headline, seen.verdict, seen.notes) == ("2 groups: 1 WARN", Verdict.LATE, ("A: Reading.",))
    assert groups_away("Gone.").notes == ("Gone.",)


async def test_what_makes_no_sense_is_answered_with_a_page_that_leads_back(client):
    answer = await client.get("/groups?offset=-5")
    assert answer.status == 400
    text = await answer.text()
    assert "offset: invalid value &#39;-5&#39;; write a whole number from 0 to" in text
    assert '<a href="/groups">groups</a>' in text
