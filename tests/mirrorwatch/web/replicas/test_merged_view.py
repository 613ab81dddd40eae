"""One view of those of all shards: flows, clusters and problems once, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.service.view import MissingShard
from mirrorwatch.web import texts
from mirrorwatch.web.documents import flows_document
from mirrorwatch.web.replicas.merged_view import merged_view
from tests.mirrorwatch import views

LOST = MissingShard("shard 3 of 3", "its replica does not answer", ("C->A", "C->B"), views.NOW_AT - 30)


def merged(own, *others, missing=()):
    return merged_view(own, dict(enumerate(others, 2)), missing, number=1, count=3)


def of(alias, state="up", *, sentence="", flows_from=(), flows_to=()):
    one = replace(views.cluster(alias, state=state, sentence=sentence), flows_from=flows_from)
    return replace(one, flows_to=flows_to)


def with_clusters(*clusters):
    return replace(views.service(), clusters=clusters)


def test_flows_are_in_one_order():
    own = views.service(views.flow("B", "A"), views.flow("A", "B", Verdict.STALLED))
    other = views.service(views.flow("A", "C"), views.flow("D", "A", Verdict.LOSING))
    found = merged(own, other)
    assert [flow.flow for flow in found.flows] == ["D->A", "A->B", "A->C", "B->A"]
    assert (found.now_at, found.version, found.links) == (own.now_at, own.version, own.links)


def test_a_flow_of_two_shards_is_that_of_the_own():
    own, other = views.flow("A", "B", Verdict.LATE), views.flow("A", "B")
    assert merged(views.service(own), views.service(other)).flows == (own,)


@pytest.mark.parametrize(
    ("seen", "state", "sentence"),
    [
        # A replica without flows of the cluster knows it by the lag monitor alone.
        ([of("A", "connecting", sentence="no data"), of("A", flows_from=("A->B",))], "up", ""),
        (
            [of("A", flows_to=("B->A",)), of("A", "down", sentence="x", flows_from=("A->B",))],
            "down",
            "shard 2 of 3: x",
        ),
        ([of("A", "down", sentence="x"), of("A", "down", sentence="x")], "down", "x"),
        ([of("A"), of("A")], "up", ""),
    ],
)
def test_a_cluster_is_in_its_worst_state(seen, state, sentence):
    (found,) = merged(*map(with_clusters, seen)).clusters
    assert (found.state, found.sentence) == (state, sentence)
    assert found.flows_from == tuple(sorted({flow for one in seen for flow in one.flows_from}))
    assert found.flows_to == tuple(sorted({flow for one in seen for flow in one.flows_to}))


def test_a_problem_of_some_shards_names_them():
    both, one = views.problem("cluster B"), replace(views.problem("store"), since_at=5.0, last_at=6.0)
    own, others = (
        views.service(problems=(both, one)),
        [views.service(problems=(both,)), views.service(problems=(one, both))],
    )
    found = merged(own, *others).problems
    assert [(each.where, each.times) for each in found] == [
        ("cluster B", 15),
        ("store (shard 1 of 3, shard 3 of 3)", 10),
    ]
    assert (found[1].since_at, found[1].last_at) == (5.0, 6.0)


def test_a_missing_shard_is_a_problem_and_no_summary_looks_complete():
    view = merged(views.service(views.flow(), views.flow("B", "A")), missing=[LOST])
    (problem,) = view.problems
    assert (problem.where, problem.since_at) == ("shard 3 of 3", views.NOW_AT - 30)
    assert problem.sentence == "flows C->A, C->B not shown: its replica does not answer"
    assert texts.headline(view) == "2 of 4 flows are not known"
    assert texts.title(view) == "unknown 2/4 · mirrorwatch"
    assert texts.worst(view) is Verdict.UNKNOWN
    document = flows_document(view)
    assert (document["count"], document["missing_flows"]) == (2, ["C->A", "C->B"])
    losing = merged(views.service(views.flow(verdict=Verdict.LOSING)), missing=[LOST])
    assert texts.headline(losing) == "1 of 3 flows is losing records, 2 are not known"
    assert texts.title(losing) == "losing 1/3 · mirrorwatch"


def test_nothing_but_missing_shards():
    view = merged(views.service(), missing=[LOST])
    assert texts.headline(view) == "2 of 2 flows are not known"
    assert texts.title(view) == "unknown 2/2 · mirrorwatch"


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ((), "why"),
        (("A->B",), "flow A->B not shown: why"),
        (tuple("abcdefg"), "flows a, b, c, d, e and 2 more not shown: why"),
    ],
)
def test_a_missing_shard_names_some_flows(flows, said):
    assert MissingShard("shard 1 of 2", "why", flows, 0.0).sentence == said


def test_a_missing_shard_without_flows_hides_none():
    view = merged(views.service(views.flow()), missing=[replace(LOST, flows=())])
    assert texts.headline(view) == "The flow is healthy"
    assert texts.worst(view) is Verdict.HEALTHY
    assert [one.sentence for one in view.problems] == ["its replica does not answer"]
