"""Any replica of a group answers for all shards as one service would, and shows what is missing."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from urllib.parse import quote

import bcrypt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fleet.errors import UnavailableError
from mirrorwatch.configuration.reloading import Reloaded
from mirrorwatch.web.replicas import questions, whole_view
from mirrorwatch.web.replicas.forwarding import PART
from runtime.http.audit import FORWARDED
from runtime.http.users import Users
from tests.mirrorwatch import views
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.told_runs import run
from tests.mirrorwatch.web.replicas.group_stage import FLOWS, GROUPS, OURS, group

ALL_FLOWS = sorted(flow for flows in FLOWS.values() for flow in flows)
ADA = {"Authorization": "Basic " + base64.b64encode(b"ada:pw").decode()}
NO_REPLICA = "no replica watches this shard; start one more"


@pytest.fixture
async def stage():
    async with group() as made:
        yield made


def asked_of(replica, path):
    """Return the requests for a path that came from other replicas."""
    return [headers for _, asked, headers in replica.requests if asked.startswith(path) and PART in headers]


async def silence(stage, number):
    """Close a replica, whose address stays known."""
    await stage.replicas[number].client.close()


# --- flows


@pytest.mark.parametrize("number", FLOWS)
async def test_every_replica_lists_the_flows_of_all_as_one_service_does(stage, number):
    found, alone = [
        await each.json("/api/v1/flows?fields=flow,verdict,sentence")
        for each in (stage.replicas[number], stage.single)
    ]
    assert found["flows"] == alone["flows"]
    assert [one["flow"] for one in found["flows"]][:2] == ["B->C", "D->A"]  # the worst first
    assert (found["count"], found["problems"], found["missing_flows"]) == (5, [], [])
    clusters = {one["kafka_cluster"]: one for one in found["clusters"]}
    for one in alone["clusters"]:
        same = clusters.pop(one["kafka_cluster"])
        assert {**same, "flows_from": sorted(same["flows_from"]), "flows_to": sorted(same["flows_to"])} == {
            **one,
            "flows_from": sorted(one["flows_from"]),
            "flows_to": sorted(one["flows_to"]),
        }
    assert not clusters


@pytest.mark.parametrize("path", ["/", "/view", "/flows", "/checksums"])
async def test_pages_show_the_flows_of_all(stage, path):
    text = await stage.replicas[2].get(path)
    for flow in ALL_FLOWS:
        assert f'href="/flows/{flow.replace("->", ":")}"' in text
    assert "not shown" not in text


async def test_what_a_standby_passes_on_is_answered_for_all(stage):
    document = await stage.replicas[2].json("/api/v1/flows", headers={FORWARDED: "standby"})
    assert document["count"] == 5
    assert [one[FORWARDED] for one in asked_of(stage.replicas[1], whole_view.PATH)] == ["replica-2"]
    await stage.replicas[2].get("/api/v1/flows/A:B", headers={FORWARDED: "standby"})
    assert asked_of(stage.replicas[1], "/api/")[0][FORWARDED] == "standby, replica-2"


async def test_flows_come_a_page_at_a_time(stage):
    found, address = [], "/api/v1/flows?limit=2&fields=flow"
    while address:
        document = await stage.replicas[3].json(address)
        found += [one["flow"] for one in document["flows"]]
        address = document["next"]
    alone = await stage.single.json("/api/v1/flows?fields=flow")
    assert found == [one["flow"] for one in alone["flows"]]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/flows/B:C", "losing"),
        ("/flows/B->C/offsets", ""),
        ("/api/v1/flows/B:C", '"flow": "B->C"'),
        ("/api/v1/flows/B->C/offsets", '"from": [2]'),
        ("/api/v1/flows/B:C/counts?topic=orders", '"flow": "B->C"'),
        ("/api/v1/failover/B:C/reports", '"group": "reports"'),
    ],
)
async def test_a_request_about_one_flow_is_answered_by_its_replica(stage, path, said):
    stage.replicas[2].runs.knows = lambda flow: flow == "B->C"
    own = await stage.replicas[2].client.get(path)
    assert said in await own.text()
    for number in (1, 3):
        answer = await stage.replicas[number].client.get(path)
        assert (answer.status, answer.content_type) == (own.status, own.content_type)
        assert said in await answer.text()
    asked = asked_of(stage.replicas[2], path.replace(">", "%3E"))
    assert [one[FORWARDED] for one in asked] == ["replica-1", "replica-3"]
    assert {one[PART] for one in asked} == {"2/3"}


async def test_a_redirect_and_a_question_without_a_body_are_passed_on(stage):
    answer = await stage.replicas[1].client.get("/flows/B:C/incident", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (302, "/flows/B:C")
    answer = await stage.replicas[1].client.head("/api/v1/flows/B:C")
    assert (answer.status, await answer.read()) == (200, b"")


@pytest.mark.parametrize("path", ["/flows/A:X", "/api/v1/flows/A:X", "/api/v1/flows/A:X/offsets"])
async def test_an_unknown_flow_is_refused_with_the_names_of_all(stage, path):
    text = await stage.replicas[1].get(path, 404)
    assert "nknown flow" in text
    if path.startswith("/api/"):
        problem = json.loads(text)
        assert problem["code"] == "unknown_flow"
        assert "unknown flow 'A:X'" in problem["detail"]
        assert "did you mean" in problem["detail"] or set(ALL_FLOWS) <= set(
            problem["detail"].partition("known: ")[2].split(", ")
        )
    assert not any(asked_of(each, "/") for each in stage.replicas.values())


async def test_incidents_of_a_flow_of_another_shard_are_listed(stage):
    text = await stage.replicas[2].get("/incidents?flow=A:B")
    assert "<bdi>A</bdi>" in text
    document = await stage.replicas[2].json("/api/v1/incidents?flow=A:B")
    assert document == await stage.single.json("/api/v1/incidents?flow=A:B")
    assert document["count"] == 2


async def test_clients_share_the_views_of_others_for_a_moment(stage):
    replica = stage.replicas[1]
    await asyncio.gather(*(replica.get("/api/v1/flows") for _ in range(20)))
    assert len(asked_of(stage.replicas[2], whole_view.PATH)) == 1
    replica.clock.advance(1)
    await replica.get("/api/v1/flows")
    assert len(asked_of(stage.replicas[2], whole_view.PATH)) == 2
    await replica.get("/api/v1/flows", headers=OURS)  # of another user
    assert len(asked_of(stage.replicas[2], whole_view.PATH)) == 3


@pytest.mark.parametrize(
    "path", ["/-/healthy", "/-/ready", "/static/page.css", "/runbooks/mirror_down", "/burrow/admin"]
)
async def test_what_is_of_this_replica_asks_no_other(stage, path):
    await stage.replicas[1].get(path)
    assert not stage.replicas[2].requests


# --- groups


def _same(document):
    return {
        **document,
        "clusters": [{**one, "kafka_cluster": one["kafka_cluster"]} for one in document["clusters"]],
    }


@pytest.mark.parametrize(
    "query",
    [
        "",
        "search=l",
        "kafka_cluster=B",
        "search=none",
        "limit=3&offset=2",
        "fields=group,lag_records",
        "offset=50",
    ],
)
async def test_groups_are_listed_as_one_service_does(stage, query):
    path = f"/api/v1/groups?{query}"
    assert await stage.replicas[2].json(path) == await stage.single.json(path)


async def test_groups_come_a_page_at_a_time(stage):
    found, address = [], "/api/v1/groups?limit=2"
    while address:
        document = await stage.replicas[3].json(address)
        assert document["count"] == 8
        found += [(one["kafka_cluster"], one["group"]) for one in document["groups"]]
        address = document["next"]
    assert len(found) == 8
    assert set(found) == {name for groups in GROUPS.values() for name in groups}


async def test_pages_show_the_groups_of_all(stage):
    for path in ("/groups", "/groups?search=l&kafka_cluster=A"):
        found, alone = [Markup(await each.get(path)).text for each in (stage.replicas[1], stage.single)]
        assert found == alone
    found, alone = [await each.get("/view") for each in (stage.replicas[1], stage.single)]
    assert "8 groups: 1 ERR, 3 STOP, 2 WARN" in found
    assert "8 groups: 1 ERR, 3 STOP, 2 WARN" in alone


async def test_an_unknown_cluster_is_refused(stage):
    problem = await stage.replicas[1].json("/api/v1/groups?kafka_cluster=X", 404)
    assert problem["code"] == "unknown_cluster"


@pytest.mark.parametrize(
    "path", ["/api/v1/groups?offset=60000", "/groups?offset=60000", "/api/v1/failover?offset=60000"]
)
async def test_a_page_too_far_behind_is_refused(stage, path):
    assert "50,000 items" in await stage.replicas[1].get(path, 400)


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/failover"])
async def test_pages_end_before_one_that_would_be_refused(stage, monkeypatch, path):
    monkeypatch.setattr(questions, "MOST_ROWS", 5)
    pages, address = [], f"{path}?limit=2"
    while address:
        pages.append(await stage.replicas[1].json(address))
        address = pages[-1]["next"]
    assert [len(one["groups"]) for one in pages] == [2, 2]
    assert pages[-1]["count"] > 5
    await stage.replicas[1].get(f"{path}?limit=2&offset=4", 400)


@pytest.mark.parametrize("number", FLOWS)
@pytest.mark.parametrize(
    "path",
    [
        "/groups/A/reports",
        "/api/v1/groups/A/reports",
        "/v3/kafka/A/consumer/reports/lag",
        "/v3/kafka/A/consumer/reports",
    ],
)
async def test_one_group_is_found_where_it_is(stage, number, path):
    found, alone = [await each.get(path) for each in (stage.replicas[number], stage.single)]
    assert Markup(found).text == Markup(alone).text


async def test_a_group_with_a_slash_and_its_id_are_found(stage):
    document = await stage.replicas[1].json("/api/v1/groups/A/a%2Fb?limit=1")
    assert (document["group"], document["next"]) == ("a/b", "/api/v1/groups/A/a%2Fb?limit=1&offset=1")


@pytest.mark.parametrize("path", ["/groups/A/none", "/api/v1/groups/A/none", "/v3/kafka/A/consumer/none"])
async def test_a_group_that_no_replica_knows_is_not_found(stage, path):
    found, alone = [await each.get(path, 404) for each in (stage.replicas[1], stage.single)]
    assert Markup(found).text == Markup(alone).text


@pytest.mark.parametrize(
    "path", ["/v3/kafka/A/consumer", "/v3/kafka/A/topic/orders/consumers", "/v3/kafka/A/topic", "/v3/kafka"]
)
async def test_burrows_lists_have_the_consumers_of_all(stage, path):
    found = await stage.replicas[2].json(path)
    assert found == await stage.single.json(path)
    if "consumer" in path:
        assert found["consumers"] == ["a/b", "billing", "late", "reports", "shipping"]


async def test_groups_that_are_off_are_off(stage):
    for each in stage.replicas.values():
        each.lagging.on = False
    assert (await stage.replicas[1].json("/api/v1/groups", 404))["code"] == "lag_off"
    assert (await stage.replicas[1].json("/api/v1/groups/A/late", 404))["code"] == "lag_off"


# --- failover


@pytest.mark.parametrize("query", ["", "flow=B:C", "search=o&limit=3&offset=4", "fields=group,flow&limit=2"])
async def test_failover_is_listed_as_one_service_does(stage, query):
    found, alone = [
        await each.json(f"/api/v1/failover?{query}") for each in (stage.replicas[1], stage.single)
    ]
    alone["flows"].sort(key=lambda one: one["flow"])
    assert found == alone


async def test_failover_of_an_unknown_flow_is_refused(stage):
    problem = await stage.replicas[1].json("/api/v1/failover?flow=X:Y", 404)
    assert problem["code"] == "unknown_flow"


# --- missing shards


async def test_a_shard_without_a_replica_is_shown_everywhere(stage):
    del stage.urls[2]
    replica, sentence = stage.replicas[1], f"flows A-&gt;C, B-&gt;C not shown: {NO_REPLICA}"
    document = await replica.json("/api/v1/flows")
    assert (document["count"], document["missing_flows"]) == (3, ["A->C", "B->C"])
    (problem,) = document["problems"]
    assert (problem["where"], problem["sentence"]) == (
        "shard 2 of 3",
        f"flows A->C, B->C not shown: {NO_REPLICA}",
    )
    for path in ("/", "/view"):
        text = await replica.get(path)
        assert sentence in text
        assert "1 of 5 flows is late, 2 are not known" in text
        assert f"Groups of shard 2 of 3 are not shown: {NO_REPLICA}." in text
    assert f"Shard 2 of 3: {sentence}." in await replica.get("/flows")
    assert "2 of 5 flows are not known" in await replica.get("/checksums")
    groups = await replica.json("/api/v1/groups?limit=1")
    assert groups["count"] == 5
    assert [one["not_ready"]["sentence"] for one in groups["clusters"]] == [
        f"Groups of shard 2 of 3 are not shown: {NO_REPLICA}."
    ] * 2
    assert f"Groups of shard 2 of 3 are not shown: {NO_REPLICA}." in await replica.get("/groups")
    failover = await replica.json("/api/v1/failover")
    assert [one["flow"] for one in failover["flows"] if one["problem"]] == ["A->C", "B->C"]
    assert failover["flows"][2]["problem"] == f"shard 2 of 3: {NO_REPLICA}"


@pytest.mark.parametrize(
    "path",
    [
        "/flows/A:C",
        "/flows/A:C/offsets",
        "/api/v1/flows/A:C",
        "/api/v1/flows/A:C/offsets",
        "/api/v1/failover/A:C/reports",
        "/api/v1/failover?flow=A:C",
        "/incidents?flow=A:C",
        "/api/v1/incidents?flow=A:C",
        "/groups/A/reports",
        "/api/v1/groups/A/reports",
        "/v3/kafka/A/consumer",
        "/v3/kafka/A/consumer/reports/status",
        "/checksums/r2",
        "/api/v1/checksums/r2",
    ],
)
async def test_what_a_missing_shard_alone_knows_is_unavailable(stage, path):
    stage.documents["r2"] = run("r2", flow="A->C")
    del stage.urls[2]
    text = await stage.replicas[1].get(path, 503)
    assert "shard 2 of 3" in text or "Shard 2 of 3" in text
    assert "no replica watches this shard" in text
    # What another knows is found all the same.
    assert await stage.replicas[1].json("/api/v1/groups/A/late")
    assert (await stage.replicas[1].json("/v3/kafka/A/consumer/late"))["error"] is False


async def test_a_replica_that_has_ended_is_shown(stage):
    await silence(stage, 3)
    document = await stage.replicas[1].json("/api/v1/flows")
    (problem,) = document["problems"]
    assert problem["sentence"] == f"flow C->A not shown: its replica at {stage.urls[3]} does not answer"
    assert "does not answer" in await stage.replicas[1].get("/flows/C:A", 503)


@pytest.mark.parametrize("path", ["/api/v1/flows", "/api/v1/groups", "/api/v1/groups/A/none"])
async def test_a_replica_that_hangs_holds_up_nothing(stage, path):
    async def hang(_request):
        await asyncio.sleep(30)

    app = web.Application()
    app.add_routes([web.route("*", "/{rest:.*}", hang)])
    async with TestServer(app, shutdown_timeout=0) as server:
        stage.urls[2] = str(server.make_url("")).rstrip("/")
        begun = asyncio.get_running_loop().time()
        text = await stage.replicas[1].get(path, 503 if path.endswith("none") else 200)
        assert asyncio.get_running_loop().time() - begun < 8
        assert re.search("does not answer within (2|5)", text)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[1]\n[2]\n", "has an unknown form"),
        (b"<html>", "not lines of JSON"),
        (b"[" * 20_000, "not lines of JSON"),
    ],
    ids=["other", "html", "deep"],
)
async def test_a_replica_of_another_version_is_shown(stage, body, said):
    async def answer(_request):
        return web.Response(body=body)

    app = web.Application()
    app.add_routes([web.get("/{rest:.*}", answer)])
    async with TestServer(app) as server:
        stage.urls[2] = str(server.make_url("")).rstrip("/")
        document = await stage.replicas[1].json("/api/v1/flows")
        assert said in document["problems"][0]["sentence"]
        assert "give all replicas the same version" in document["problems"][0]["sentence"]
        for path in ("/api/v1/groups", "/groups"):
            text = await stage.replicas[1].get(path)
            assert "give all replicas the same version" in text


@pytest.mark.parametrize("path", ["/api/v1/groups", "/groups", "/api/v1/failover", "/v3/kafka/A/consumer"])
async def test_answers_that_do_not_fit_together_are_refused(stage, path):
    async def answer(_request):
        return web.Response(body=b'{"status": 200}\n{}')

    app = web.Application()
    app.add_routes([web.get("/{rest:.*}", answer)])
    async with TestServer(app) as server:
        stage.urls[2] = str(server.make_url("")).rstrip("/")
        assert "give all replicas the same version" in await stage.replicas[1].get(path, 503)


async def test_a_replica_that_has_another_shard_by_now_answers_nothing(stage):
    stage.urls[2] = stage.urls[3]  # it would be counted twice
    document = await stage.replicas[1].json("/api/v1/flows")
    assert (document["count"], document["missing_flows"]) == (3, ["A->C", "B->C"])
    assert "does not watch shard 2/3" in document["problems"][0]["sentence"]
    assert "does not watch shard 2/3" in await stage.replicas[1].get("/flows/A:C", 503)


async def test_an_own_lag_monitor_without_an_answer_hides_no_groups_of_others(stage):
    async def ask(*_args, **_details):
        raise UnavailableError("the lag monitor restarts")

    stage.replicas[1].lagging.ask = ask
    document = await stage.replicas[1].json("/api/v1/groups")
    assert document["count"] == 5
    assert (
        "shard 1 of 3 are not shown: the lag monitor restarts"
        in document["clusters"][0]["not_ready"]["sentence"]
    )
    assert await stage.replicas[1].json("/api/v1/groups/A/late")
    assert (
        "the lag monitor restarts"
        in (await stage.replicas[1].json("/api/v1/groups/A/billing", 503))["detail"].lower()
    )
    document = await stage.replicas[2].json("/api/v1/groups")
    assert "the lag monitor restarts" in document["clusters"][0]["not_ready"]["sentence"]
    del stage.urls[2], stage.urls[3]
    problem = await stage.replicas[1].json("/api/v1/groups", 503)
    assert "the lag monitor restarts" in problem["detail"]


async def test_problems_are_shown_once_and_with_their_shard(stage):
    everywhere, one = views.problem("cluster B"), views.problem("store")
    for each in stage.replicas.values():
        each.problems = (everywhere,)
    stage.replicas[2].problems += (one,)
    document = await stage.replicas[1].json("/api/v1/flows")
    assert [(each["where"], each["count"]) for each in document["problems"]] == [
        ("cluster B", 15),
        ("store (shard 2 of 3)", 5),
    ]


# --- rights


@pytest.fixture
async def guarded():
    users = Users({"ada": bcrypt.hashpw(b"pw", bcrypt.gensalt(4))})
    async with group(users=users) as made:
        yield made


async def test_the_user_of_a_request_is_the_user_of_its_parts(guarded):
    replica = guarded.replicas[1]
    assert (await replica.json("/api/v1/flows", headers=ADA))["problems"] == []
    assert (await replica.json("/api/v1/groups", headers=ADA))["count"] == 8
    assert await replica.json("/api/v1/groups/A/late", headers=ADA)
    assert await replica.json("/api/v1/flows/A:C", headers=ADA)
    await replica.get("/api/v1/flows", 401)
    assert not [one for one in guarded.replicas[2].requests if "Authorization" not in one[2]]


async def test_rights_that_another_replica_refuses_are_shown(guarded):
    guarded.replicas[2].users = Users({"bob": bcrypt.hashpw(b"pw", bcrypt.gensalt(4))})
    document = await guarded.replicas[1].json("/api/v1/flows", headers=ADA)
    assert "refuses the request (HTTP status 401)" in document["problems"][0]["sentence"]
    groups = await guarded.replicas[1].json("/api/v1/groups", headers=ADA)
    assert "refuses the request" in groups["clusters"][0]["not_ready"]["sentence"]
    await guarded.replicas[1].get("/api/v1/flows/A:C", 401, headers=ADA)


@pytest.mark.parametrize("path", [whole_view.PATH, f"{questions.PATH}?question=group_counts"])
async def test_what_replicas_ask_needs_a_user_and_a_part(guarded, path):
    part = {PART: "1/3"}
    replica = guarded.replicas[1]
    await replica.get(path, 401, headers=part)
    await replica.get(path, 404, headers=ADA)
    await replica.get(path, 503, headers={**ADA, PART: "2/3"})
    assert await replica.get(path, headers={**ADA, **part})


@pytest.mark.parametrize(
    "query",
    [
        "question=group",
        "question=snapshot",
        "of=failover&question=flows",
        "of=failover&question=burrow&path=/v3/kafka/A/consumer",
        "question=burrow&path=/v3/kafka/A/consumer/g",
        "question=burrow",
        "of=store",
        "most=50001",
        "first=1",
        "gzip=1",
        f"search={'x' * 300}",
    ],
)
async def test_replicas_ask_only_what_they_need(stage, query):
    await stage.replicas[1].get(f"{questions.PATH}?{query}", 400, headers={PART: "1/3"})


async def test_a_part_is_answered_alone_so_no_request_goes_round(stage):
    stage.urls[2] = stage.urls[1]  # each takes the other for what it is not
    replica, part = stage.replicas[1], {PART: "1/3"}
    document = await replica.json("/api/v1/flows", headers=part)
    assert (document["count"], document["missing_flows"]) == (2, [])
    assert (await replica.json("/api/v1/groups", headers=part))["count"] == 3
    await replica.get("/api/v1/flows/A:C", 404, headers=part)
    await replica.get("/api/v1/groups/A/late", 404, headers=part)
    assert not any(each.requests for number, each in stage.replicas.items() if number != 1)


# --- orders


async def test_a_reload_reaches_every_replica(stage):
    answer = await stage.replicas[2].client.post("/-/reload", headers=OURS)
    assert await answer.json() == {
        "changes": [
            "flows of shard 2: changed",
            "http.tokens: changed",
            "flows of shard 1: changed",
            "flows of shard 3: changed",
        ],
        "at_the_next_start": ["http.listen: later"],
    }
    assert [each.orders.reloads for each in stage.replicas.values()] == [1, 1, 1]


async def test_a_reload_without_the_token_reaches_none(stage):
    answer = await stage.replicas[2].client.post("/-/reload")
    assert answer.status == 401
    assert [each.orders.reloads for each in stage.replicas.values()] == [0, 0, 0]


async def test_an_invalid_own_file_reloads_no_other(stage):
    stage.replicas[2].orders.outcome = Reloaded(problems=("a.yaml: flows: invalid",))
    answer = await stage.replicas[2].client.post("/-/reload", headers=OURS)
    assert (answer.status, (await answer.json())["problems"]) == (400, ["a.yaml: flows: invalid"])
    assert [each.orders.reloads for each in stage.replicas.values()] == [0, 1, 0]


async def test_a_reload_that_fails_at_another_is_reported(stage, unused_tcp_port):
    stage.replicas[1].orders.outcome = Reloaded(problems=("a.yaml: flows: invalid",))
    stage.urls[3] = f"http://127.0.0.1:{unused_tcp_port}"
    answer = await stage.replicas[2].client.post("/-/reload", headers=OURS)
    problem = await answer.json()
    assert (answer.status, problem["code"]) == (400, "invalid_configuration")
    assert problem["problems"] == [
        "shard 1 of 3: a.yaml: flows: invalid",
        f"shard 3 of 3: its replica at {stage.urls[3]} does not answer",
    ]
    assert problem["detail"].endswith("; the other shards use the new configuration")
    del stage.urls[3]  # nothing is there to be reloaded
    stage.replicas[1].orders.outcome = Reloaded()
    answer = await stage.replicas[2].client.post("/-/reload", headers=OURS)
    assert answer.status == 200


@pytest.mark.parametrize("number", FLOWS)
async def test_a_latch_is_lifted_for_every_flow_of_its_source(stage, number):
    path = f"/api/v1/flows/{quote('A->C', safe='')}/canary/resume"
    replica = stage.replicas[number]
    answer = await replica.client.post(path)
    assert answer.status == 401
    answer = await replica.client.post(path, headers=OURS)
    assert (await answer.json())["flow"] == "A->C"
    assert {one: each.orders.latched for one, each in stage.replicas.items()} == {1: False, 2: False, 3: True}
    answer = await replica.client.post(path, headers=OURS)
    assert (answer.status, (await answer.json())["code"]) == (409, "not_latched")


async def test_checksum_runs_of_every_flow_are_stored_and_found(stage):
    told = {"runs": [run("r1", flow="A->B"), run("r2", flow="C->A")]}
    headers = {"Authorization": "Bearer aud1t"}
    for each in stage.replicas.values():
        each.tokens["audit"] = "aud1t"
    answer = await stage.replicas[1].client.post(
        "/api/v1/checksums", data=io.BytesIO(json.dumps(told).encode()), headers=headers
    )
    assert answer.status == 201, await answer.text()
    for number in FLOWS:
        assert (await stage.replicas[number].json("/api/v1/checksums/r2"))["run"] == "r2"
        assert "r1" in await stage.replicas[number].get("/checksums/r1")
        assert (await stage.replicas[number].json("/api/v1/checksums/r3", 404))["code"] == "unknown_run"
    told = {"runs": [run("r4", flow="X->Y")]}
    answer = await stage.replicas[1].client.post(
        "/api/v1/checksums", data=io.BytesIO(json.dumps(told).encode()), headers=headers
    )
    assert (await answer.json())["code"] == "unknown_flow"
