"""What the service keeps itself, apart from the loops that it runs."""

from __future__ import annotations

import dataclasses

from fleet.evidence import FindingKind
from fleet.judgement import follow
from fleet.vocabulary import Cause
from mirrorwatch.config_reading import read_configuration
from mirrorwatch.service import Service
from runtime.supervision import Phase, State
from tests.fleet.test_judgement import ALL_STAND, NOW, finding, flow, moving
from tests.mirrorwatch.test_changes import configuration

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


async def test_so_do_those_of_what_stands_beside_a_verdict(tmp_path):
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
