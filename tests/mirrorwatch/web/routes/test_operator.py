"""Who may order what over HTTP, how often, and what is answered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from canary.persistence.latches import Latch
from fleet.errors import UnavailableError
from mirrorwatch.configuration.reloading import Reloaded
from mirrorwatch.web.routes.main import routes
from mirrorwatch.web.routes.operator import RELOADS_PER_MINUTE, RESUMES_PER_MINUTE, operator_routes
from runtime.config.sections import HttpConfig
from tests.mirrorwatch import views
from tests.runtime.fake_clock import FakeClock

RESUME = "/api/v1/flows/A:B/canary/resume"
OURS = {"Authorization": "Bearer t0ken"}


class Service:
    def __init__(self):
        self.http = HttpConfig(tokens={"operator": "t0ken"}, reload=True)
        self.latches = {
            ("A", "mirrorwatch-canary"): Latch("A", "mirrorwatch-canary", "one", 5.0, "it came back")
        }
        self.outcome = Reloaded(("B->A: added",), ("http.listen: takes effect at the next start",))
        self.broken = False
        self.reloads = 0

    def view(self):
        return views.service(views.flow())

    async def resume(self, source, topic):
        if self.broken:
            raise UnavailableError("the store is away")
        return self.latches.pop((source, topic), None)

    async def reload(self):
        self.reloads += 1
        return self.outcome


@pytest.fixture
async def scene():
    service, clock = Service(), FakeClock()
    application = web.Application()
    application.add_routes([*routes(service.view), *operator_routes(service, clock=clock)])
    async with TestClient(TestServer(application)) as client:
        yield SimpleNamespace(service=service, clock=clock, client=client)


async def ask(scene, path, headers=None):
    answer = await scene.client.post(path, headers=headers)
    return answer.status, await answer.json()


async def test_a_latch_is_lifted_once_and_then_there_is_none(scene):
    assert await ask(scene, RESUME, OURS) == (
        200,
        {
            "flow": "A->B",
            "sentence": "Mirrorwatch sends probes to mirrorwatch-canary on A again, for every flow from A",
            "lifted": {
                "kafka_cluster": "A",
                "topic": "mirrorwatch-canary",
                "latched_at": "1970-01-01T00:00:05.000Z",
                "sentence": "it came back",
            },
        },
    )
    status, problem = await ask(scene, RESUME, OURS)
    assert (status, problem["code"], problem["detail"]) == (
        409,
        "not_latched",
        "no latch to lift: no probe sent to mirrorwatch-canary on A came back to its source",
    )


@pytest.mark.parametrize(
    ("path", "headers", "status", "words"),
    [
        (RESUME, None, 401, "Authorization: Bearer TOKEN"),
        (RESUME, {"Authorization": "Bearer t0ke"}, 401, "http.tokens.operator"),
        (RESUME, {"Authorization": "Basic dDBrZW46"}, 401, "http.tokens.operator"),
        ("/api/v1/flows/A:C/canary/resume", OURS, 404, "unknown flow 'A:C'; known: A->B"),
        ("/api/v1/flows/A:C/canary/resume", None, 401, "http.tokens.operator"),
        ("/-/reload", None, 401, "http.tokens.operator"),
    ],
)
async def test_who_may_not(scene, path, headers, status, words):
    answer = await scene.client.post(path, headers=headers)
    assert answer.status == status
    assert words in (await answer.json())["detail"]
    assert ("WWW-Authenticate" in answer.headers) is (status == 401)
    assert scene.service.latches
    assert not scene.service.reloads


async def test_without_a_token_in_the_configuration_no_one_resumes(scene):
    scene.service.http = HttpConfig()
    status, problem = await ask(scene, RESUME, OURS)
    assert (status, problem["code"]) == (403, "forbidden")
    assert problem["detail"] == "This is forbidden: http.tokens.operator is not configured."
    status, answer = await ask(scene, "/-/reload", OURS)
    assert (status, answer["detail"]) == (
        403,
        "reloading over HTTP: off; set http.reload: true, or send the process SIGHUP",
    )


async def test_a_store_that_does_not_answer_changes_nothing(scene):
    scene.service.broken = True
    status, answer = await ask(scene, RESUME, OURS)
    assert (status, answer["detail"]) == (503, "nothing was changed: the store is away")


@pytest.mark.parametrize(("path", "most"), [(RESUME, RESUMES_PER_MINUTE), ("/-/reload", RELOADS_PER_MINUTE)])
async def test_not_too_often(scene, path, most):
    for _ in range(most):
        assert (await ask(scene, path, OURS))[0] != 429
    answer = await scene.client.post(path, headers=OURS)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert (await ask(scene, path))[0] == 401  # a stranger learns nothing of that
    scene.clock.advance(60)
    assert (await ask(scene, path, OURS))[0] != 429


@pytest.mark.parametrize(
    ("outcome", "status", "document"),
    [
        (
            Reloaded(("B->A: added",), ("x: takes effect at the next start",)),
            200,
            {"changes": ["B->A: added"], "at_the_next_start": ["x: takes effect at the next start"]},
        ),
        (
            Reloaded(problems=("f:1: k: no", "f:2: l: no")),
            400,
            {"code": "invalid_configuration", "problems": ["f:1: k: no", "f:2: l: no"]},
        ),
        (
            Reloaded(problems=("the store",), unavailable=True),
            503,
            {"code": "unavailable", "problems": ["the store"]},
        ),
    ],
)
async def test_a_reload_reports_how_it_went(scene, outcome, status, document):
    scene.service.outcome = outcome
    found, answer = await ask(scene, "/-/reload", OURS)
    assert (found, {name: answer[name] for name in document}) == (status, document)


async def test_without_a_token_a_page_of_another_site_may_not_reload(scene):
    scene.service.http = HttpConfig(reload=True)
    assert (await ask(scene, "/-/reload", {"Sec-Fetch-Site": "cross-site"}))[0] == 403
    for origin in ("http://evil.example", "null"):  # all that a browser says where it trusts no plain HTTP
        assert (await ask(scene, "/-/reload", {"Origin": origin}))[0] == 403
    assert scene.service.reloads == 0
    assert (await ask(scene, "/-/reload"))[0] == 200
    ours = str(scene.client.make_url("/")).rstrip("/")
    assert (await ask(scene, "/-/reload", {"Origin": ours}))[0] == 200
    assert (await scene.client.get("/-/reload")).status == 405
