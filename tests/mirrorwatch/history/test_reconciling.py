"""A report compared with Prometheus: queries, differences, and a Prometheus that does not answer."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.reports import Figures, ObjectiveReport, Report, figures_of
from alerts.reports.reconciling import queries_of
from alerts.reports.tally import Tally
from mirrorwatch.history.reporting import reconciled

START = 20_000 * 1440


def report_on(*kinds, **more):
    objectives = []
    for kind in kinds:
        one = Objective(
            flow="A->B",
            source="A",
            target="B",
            kind=kind,
            target_ratio=0.9,
            limit_s=kind.default_limit_s,
            **more,
        )
        figures: Figures = figures_of(one, [Tally(20_000, 60, 90, 100, 0, ())], [(START, START + 60)])
        objectives.append(ObjectiveReport(one, figures))
    return Report(START, START + 60, tuple(objectives))


@asynccontextmanager
async def prometheus(values):
    """Answer queries by what they start with; anything else has no data."""
    asked = []

    async def answer(request):
        query = request.query["query"]
        asked.append((query, request.query["time"]))
        value = next((value for start, value in values.items() if start in query), None)
        if value is ...:
            return web.Response(text="<html>not here</html>", status=404)
        result = [] if value is None else [{"metric": {}, "value": [1, str(value)]}]
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})

    app = web.Application()
    app.add_routes([web.get("/api/v1/query", answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"delivered": 89.0, "concluded": 100.0},
            "A->B availability: 89 % in Prometheus, a difference of -1.0000 points.",
        ),
        (
            {"count_over_time": 30.0, "delivered": 45.0, "concluded": 50.0},
            (
                "A->B availability: 90 % in Prometheus, a difference of +0.0000 points; Prometheus holds"
                " only 50 % of what the store counts."
            ),
        ),
        (
            # Two independent replicas: Prometheus adds up the probes of both.
            {"count_over_time": 30.0, "delivered": 90.0, "concluded": 100.0},
            (
                "A->B availability: 90 % in Prometheus, a difference of +0.0000 points; Prometheus holds"
                " only 50 % of what the store counts."
            ),
        ),
        ({}, "A->B availability: not compared with Prometheus: it has no data of this period."),
        (
            {"concluded": "NaN"},
            "A->B availability: not compared with Prometheus: it has no data of this period.",
        ),
    ],
)
async def test_differences_are_shown(values, said):
    async with prometheus(values) as (address, asked):
        found = await reconciled(report_on(ObjectiveKind.AVAILABILITY), address)
    assert found.notes == (said,)
    assert {at for _, at in asked} == {str((START + 60) * 60)}


async def test_what_has_no_series_is_named():
    async with prometheus({}) as (address, _):
        found = await reconciled(report_on(ObjectiveKind.LOSS), address)
    assert found.notes == ("A->B loss: not compared with Prometheus: it has no such series.",)


async def test_a_prometheus_that_does_not_answer_leaves_the_report_as_it_is():
    made = report_on(ObjectiveKind.FRESHNESS, ObjectiveKind.RECOVERY_POINT)
    found = await reconciled(made, "http://127.0.0.1:1")
    assert found.objectives == made.objectives
    (note,) = found.notes
    assert note.startswith(
        "Nothing more was compared with Prometheus: http://127.0.0.1:1/api/v1/query cannot be"
    )
    async with prometheus({"good": ...}) as (address, _):
        (note,) = (await reconciled(made, address)).notes
    assert note.endswith(f"{address}: it does not answer as Prometheus does (status 404)")


def test_queries_are_those_of_one_flow_over_the_period():
    age = report_on(ObjectiveKind.RECOVERY_POINT).objectives[0].objective
    assert queries_of(age, 3600.0)["good"] == (
        '60 * sum_over_time((max(mirrorwatch_flow_recovery_point_age_seconds{flow="A->B"}) <= bool 300)[3600s:1m])'
    )
    sliced = report_on(ObjectiveKind.FRESHNESS, slice_ratio=0.9).objectives[0].objective
    assert queries_of(sliced, 3600.0) == {}
    json.dumps(queries_of(age, 1.0))
