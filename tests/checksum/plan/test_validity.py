"""Whether an interrupted run can go on with its plan."""

from __future__ import annotations

from dataclasses import replace

from checksum.history.entries import VerifiedTo
from checksum.plan.building import PlanRules
from checksum.plan.validity import basis, outdated
from fleet.verdicts.flow import Flow
from tests.checksum.plan.test_building import found, plan

FLOW, RULES = Flow("A", "B", mirror_version="4.3"), PlanRules()


def test_fewer_cells_than_the_settings_have_make_no_other_plan_and_other_settings_do():
    made = replace(plan(found("t")), cells=1, bucket_ms=3_600_000)
    assert not outdated(made, FLOW, RULES)
    assert outdated(made, FLOW, replace(RULES, excluded_headers=("via",)))
    assert outdated(made, replace(FLOW, exactly_once=True), RULES)
    verified = {("t", 0): VerifiedTo("S", "T", 5, 5, 1)}
    hashes = {
        basis(made, {}, RULES),
        basis(made, verified, RULES),
        basis(made, {}, replace(RULES, cells=8)),
        basis(made, {}, replace(RULES, bucket_ms=60_000)),
    }
    assert len(hashes) == 4
    assert basis(made, {("other", 0): verified["t", 0]}, RULES) == basis(made, {}, RULES)
