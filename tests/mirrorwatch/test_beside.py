"""What stands beside the canary: which topics of the mirror are read, and how what they say is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canary.config import CanaryConfig
from canary.watch.unreached import Side, UnreachedBroker
from fleet.errors import Problem
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.topology import Cluster, Topology
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.configuration.flow_canaries import canary_flows
from mirrorwatch.configuration.sections import FlowSection
from mirrorwatch.service.unreached import counted_by_side, unreached_of
from mirrorwatch.service.view import UnreachedView
from mirrorwatch.web.documents import flow_document
from mirrorwatch.web.linking import WITHIN
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.texts import unreached_text
from tests.mirrorwatch import views

HEARTBEAT = "1.2 s old; it does not cover single tasks"


@pytest.mark.parametrize(
    ("changes", "said", "heartbeats", "tasks"),
    [
        ({}, None, "A.heartbeats", "mm2-configs.A.internal"),
        ({"policy": ReplicationPolicy(PolicyKind.IDENTITY)}, None, "A.heartbeats", "mm2-configs.A.internal"),
        ({"policy": ReplicationPolicy(separator="_")}, None, "A_heartbeats", "mm2-configs.A.internal"),
        ({"heartbeats_replicated": False}, None, "A.heartbeats", "mm2-configs.A.internal"),  # by topics = .*
        ({"config_storage_topic": "ours"}, None, "A.heartbeats", "ours"),
        ({}, {"offsets": {"topic": "connect-offsets"}}, "A.heartbeats", ""),
        ({"on_connect": True, "config_storage_topic": "ours"}, None, "A.heartbeats", ""),
        ({}, {"canary": {"threshold": "2s"}}, "A.heartbeats", "mm2-configs.A.internal"),
    ],
)
def test_which_topics_of_the_mirror_are_read(changes, said, heartbeats, tasks):
    flow = Flow("A", "B", mirror_version="4.3", **changes)
    (found,), _, _ = canary_flows(
        Topology((Cluster("A"), Cluster("B")), (flow,)),
        CanaryConfig(),
        {} if said is None else {"A->B": FlowSection(**said)},
        where=lambda key, sentence: Problem("", ".".join(key), sentence),
    )
    assert (found.heartbeats_topic, found.tasks_topic) == (heartbeats, tasks)


def test_brokers_that_no_probe_passes_are_reported_by_side():
    class FlowState:
        def unreached(self, name):
            assert name == "A->B"
            return tuple(
                UnreachedBroker(alias, number, side)
                for alias, number, side in (
                    ("B", 6, Side.TARGET),
                    ("A", 3, Side.SOURCE),
                    ("B", 4, Side.TARGET),
                )
            )

    found = unreached_of(FlowState(), "A->B")
    assert found == (UnreachedView("source", "A", (3,)), UnreachedView("target", "B", (4, 6)))
    assert counted_by_side(found) == {"source": 1, "target": 2}
    assert counted_by_side(()) == {"source": 0, "target": 0}
    assert [unreached_text(side) for side in found] == [
        "Not probed: broker 3 of A, which leads no partition of the canary topic.",
        "Not probed: brokers 4 and 6 of B, which lead no partition of the canary topic.",
    ]
    many = unreached_text(UnreachedView("target", "B", tuple(range(9))))
    assert many.startswith("Not probed: brokers 0, 1, 2, 3, 4, 5 and 3 more of B, ")


def test_the_document_reports_all_of_it():
    flow = views.flow(unreached=(UnreachedView("target", "B", (4, 6)),))
    document = flow_document(flow, WITHIN)
    assert document["heartbeat_age_s"] == 1.2
    assert document["canary"]["interval_s"] == 1.0
    assert document["canary"]["unreached"] == [{"side": "target", "kafka_cluster": "B", "broker_ids": [4, 6]}]
    assert flow_document(replace(flow, heartbeat_age_s=None, unreached=()), WITHIN)["heartbeat_age_s"] is None


@pytest.fixture(scope="module")
def page():
    return Page()


def test_what_is_fine_takes_no_room_and_what_is_not_is_shown(page):
    fine = page.page(views.service(views.flow()))
    assert "Not probed" not in fine
    assert fine.count(HEARTBEAT) == 1  # among the facts, which are folded
    bad = page.page(
        views.service(views.flow(verdict=Verdict.STALLED, unreached=(UnreachedView("target", "B", (4,)),)))
    )
    assert bad.count(HEARTBEAT) == 2
    assert bad.count("Not probed: broker 4 of B") == 1
    none = page.page(views.service(views.flow(verdict=Verdict.STALLED, heartbeat_age_s=None)))
    assert "heartbeat:" not in none
    assert "no heartbeat of MirrorMaker read" in none


def test_a_latched_canary_shows_once_why_and_how_to_resume(page):
    sentence = "A probe came back to A. Have it go on by POST /api/v1/flows/A->B/canary/resume"
    flow = views.flow(
        verdict=Verdict.REPEATING,
        canary_state="latched",
        canary_sentence=sentence,
        sentence=f"{sentence}.",
    )
    drawn = page.page(views.service(flow))
    escaped = sentence.replace("->", "-&gt;")
    # The parts repeat the verdict's sentence in the fold: here, and once on the card.
    assert drawn.count(escaped) == 2
    assert "Canary latched." not in drawn
    other = page.page(views.service(replace(flow, canary_sentence="another reason")))
    assert "<strong>Canary latched.</strong> another reason" in other
    assert flow_document(flow, WITHIN)["canary"]["state"] == "latched"


@pytest.mark.parametrize("watched", [True, False])
def test_what_offsets_show_of_a_flow_is_one_click_away_and_only_where_they_are_read(watched):
    flow = views.flow("eu-1", "dc-west")
    parts = (("canary", "well"), ("lag", "12 partitions move."))[: 1 + watched]
    flow = replace(flow, verdict=replace(flow.verdict, parts=parts))
    drawn = Page().page(views.service(flow))
    before_folded = drawn[drawn.index("card-body") : drawn.index("<details")]
    assert ('href="/flows/eu-1-%3Edc-west/offsets"' in before_folded) is watched
