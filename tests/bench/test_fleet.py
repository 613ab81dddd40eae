"""The fleet of the benchmark, and what its figures make of verdicts that were told."""

from __future__ import annotations

from collections import Counter

from bench.fleet import CLUSTERS, FROZEN, KILLED, aliases, flows
from bench.fleet_figures import Phase, _healthy_from, _quantiles, _told, _unwell
from bench.watched_service import Change


def test_fifty_flows_leave_every_cluster_for_two_or_three_others():
    found = flows()
    assert len(set(found)) == 50
    assert set(Counter(source for source, _ in found).values()) == {2, 3}
    assert {target for _, target in found} == set(aliases())
    assert all(source != target for source, target in found)
    assert len(aliases()) == CLUSTERS


def test_no_flow_touches_both_ill_clusters():
    assert not any({KILLED, FROZEN} <= set(flow) for flow in flows())


def change(flow: str, at: float, verdict: str, cause: str = "none") -> Change:
    return Change(flow, at, verdict, cause, "a sentence")


def phase(ill: str, began_at: float, ended_at: float) -> Phase:
    return Phase("it", ill, 0, began_at, 0, ended_at)


SAID = [
    change("A->B", 100.0, "healthy"),
    change("A->B", 206.0, "stalled", "target_down"),
    change("B->C", 100.0, "healthy"),
    change("B->C", 207.0, "stalled", "source_down"),
    change("C->D", 100.0, "healthy"),
    change("A->B", 302.0, "healthy"),
    change("B->C", 303.5, "healthy"),
    change("C->D", 350.0, "unknown", "prober"),
]


def test_what_is_said_of_an_ill_cluster_is_told_by_its_side():
    told = _told(SAID, ["A->B", "B->C"], phase("B", 200.0, 300.0))
    assert told["verdicts"] == {
        "ill target: stalled (target_down)": ["A->B 6.0 s"],
        "ill source: stalled (source_down)": ["B->C 7.0 s"],
    }
    assert "all_healthy_again_s" not in told


def test_when_all_are_well_again_is_told_of_those_that_were_not():
    assert _told(SAID, ["A->B", "B->C"], phase("B", 300.0, 400.0))["all_healthy_again_s"] == 3.5


def test_other_flows_are_told_only_where_they_are_not_healthy_and_only_within_the_phase():
    assert _unwell(SAID, ["C->D"], phase("B", 200.0, 300.0)) == []
    (found,) = _unwell(SAID, ["C->D"], phase("B", 300.0, 400.0))
    assert found == "C->D: unknown (prober) after 50.0 s: a sentence"


def test_what_was_not_healthy_before_a_phase_and_stays_so_is_told_again():
    (found,) = _unwell(SAID, ["A->B", "C->D"], phase("B", 400.0, 500.0))
    assert found == "C->D: still unknown (prober): a sentence"


def test_a_flow_that_was_never_healthy_is_so_at_no_time():
    assert _healthy_from(SAID, "D->E", 0.0) == float("inf")


def test_quantiles_are_of_the_values_themselves():
    found = _quantiles([1_000_000 * number for number in range(1, 201)])
    assert found == {"count": 200, "p50_ms": 101.0, "p99_ms": 199.0, "max_ms": 200.0}
    assert _quantiles([]) == {}
