"""What the service keeps itself, apart from the loops that it runs."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from fleet.verdicts.evidence import FindingKind
from fleet.verdicts.judgement import follow
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.service.service import Service
from runtime.process.supervision import Phase, State
from tests.fleet.verdicts.test_judgement import ALL_STAND, NOW, finding, flow, moving
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.mirrorwatch.service.test_duplicate_processes import row

BACK_S = -3600.0


def moved(one, by_s, *names):
    return dataclasses.replace(one, **{name: getattr(one, name) + by_s for name in names})


def made(folder):
    """Return a service that is never run, and so has no lag monitor to end."""
    return Service(read_configuration(configuration(folder, lag="{commits: off}"), environ={}))


async def test_every_instant_moves_with_a_wall_clock_that_is_set(tmp_path):
    service = made(tmp_path)
    service.problem("B", "nothing listens")
    service._judging.verdicts["A->B"] = before = follow(None, flow(*ALL_STAND), now_at=NOW)
    service._keeper.states["A"] = (state, since_at) = (State("A", Phase.RUNNING), NOW)
    started_at, (complaint,) = service._started_at, service._complaints.active()
    service._move_instants(BACK_S)
    assert service._judging.verdicts == {"A->B": moved(before, BACK_S, "since_at", "shown_at")}
    assert service._complaints.active() == (moved(complaint, BACK_S, "since_at", "last_at"),)
    assert service._keeper.states == {"A": (state, since_at + BACK_S)}
    assert service._started_at == started_at + BACK_S


async def test_so_do_those_of_what_is_next_to_a_verdict(tmp_path):
    service = made(tmp_path)
    lost = finding(FindingKind.LOST, ago_s=80)
    service._judging.verdicts["A->B"] = before = follow(None, flow(*ALL_STAND, findings=(lost,)), now_at=NOW)
    service._move_instants(BACK_S)
    assert service._judging.verdicts["A->B"].also == moved(before.also, BACK_S, "since_at", "shown_at")


async def test_a_cause_is_held_no_longer_after_a_clock_that_was_set_back(tmp_path):
    service = made(tmp_path)
    service._judging.verdicts["A->B"] = follow(None, flow(*ALL_STAND), now_at=NOW)
    service._move_instants(BACK_S)
    coming = flow(moving(0, late_age_s=0.2), *ALL_STAND[1:])
    verdict = follow(service._judging.verdicts["A->B"], coming, now_at=NOW + BACK_S + 60)
    assert verdict.cause is Cause.UNEXPLAINED


LONE = "clusters: {A: {bootstrap.servers: 'a:1'}, B: {bootstrap.servers: 'b:1'}}\nstore: {replica: here}\n"
FLOW = LONE + "flows: {A->B: {topics: '.*'}}\n"


def written(folder, text):
    path = folder / "mirrorwatch.yaml"
    path.write_text(text, encoding="utf-8")
    return Service(read_configuration(path, environ={}))


@pytest.mark.parametrize(
    ("text", "harm"),
    [
        (FLOW, "every flow that both watch is probed twice"),
        (FLOW.replace(".*", "orders"), "each overwrites"),  # the canary's topic is not mirrored
        (FLOW + "canary: {mode: 'off'}\n", "each overwrites"),
        (LONE, "each overwrites"),
    ],
)
async def test_a_namesake_is_shown_to_probe_twice_only_where_there_are_probes(
    tmp_path, monkeypatch, text, harm
):
    service, said = written(tmp_path, text), []

    async def read(_what):
        return [row(replica="here", begun_at=service._clock.wall_s(), renewed_at=service._clock.wall_s())]

    monkeypatch.setattr(service, "_store", SimpleNamespace(read=read, where="a file"))
    monkeypatch.setattr(service, "_log", SimpleNamespace(warning=lambda sentence, **_: said.append(sentence)))
    await service._warn_of_duplicates()
    assert [harm in sentence for sentence in said] == [True]


async def test_it_is_not_ready_before_a_cluster_without_a_flow_was_tried(tmp_path):
    service = written(tmp_path, LONE)
    assert service._untried() == {"A", "B"}
    told = {"last_success_at": {"A": {}, "B": {"positions": 1.0}}, "errors": {"A": {"positions": 1.0}}}
    service._lagging._collected.take(told, incarnation=1, now_ns=0)
    assert service._untried() == set()


async def test_clusters_of_flows_are_tried_by_the_canary(tmp_path):
    service = written(tmp_path, FLOW + "lag: {commits: 'off'}\n")
    service._keeper.tried.add("A")
    assert service._untried() == {"B"}
