"""The plan held against played clusters: what is told, when it is looked at again, and what is grown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from canary.config import CanaryConfig
from canary.prober import Prober
from canary.site import control
from canary.site.topic_checks import AGAIN_S, BROKERS_S, PLANNING_S, RATE, SETTINGS_S
from canary.watch.unreached import Side, UnreachedBroker
from fleet.errors import RefusedError, UnavailableError
from runtime.kafka.admin import ClusterDescription, TopicDescription
from tests.mirrorwatch.check.test_cost import flow
from tests.runtime.fake_clock import FakeClock

TOPIC = "mirrorwatch-canary"
COPY = f"A.{TOPIC}"
COMPACTED = {"cleanup.policy": "compact"}


class Admin:
    """Answers from tables; an exception there is raised."""

    def __init__(self):
        self.brokers = (1, 2)
        self.settings = {}
        self.topics = {}
        self.asked = []
        self.grown = []
        self.grow_error = None

    async def describe_cluster(self):
        return ClusterDescription("id", self.brokers)

    async def describe_topics(self, names):
        return {name: self.topics.get(name) for name in names}

    async def describe_topic_config(self, name):
        self.asked.append(name)
        found = self.settings.get(name, {})
        if isinstance(found, Exception):
            raise found
        return found

    async def grow_topic(self, name, partitions):
        if self.grow_error is not None:
            raise self.grow_error
        self.grown.append((name, partitions))


class Scene:
    def __init__(self, **canary):
        self.clock, self.problems, self.events = FakeClock(), {}, []
        reporter = SimpleNamespace(
            problem=self.problems.__setitem__,
            settled=lambda where: self.problems.pop(where, None),
            event=lambda sentence, **facts: self.events.append((sentence, facts)),
        )
        self.prober = Prober(
            [flow("A", "B")],
            {"A": SimpleNamespace(), "B": SimpleNamespace()},
            CanaryConfig(**canary),
            installation="0" * 32,
            memory=SimpleNamespace(
                incarnation="00000000000000aa",
                watch=lambda _held: None,
                note_carried=lambda *_: None,
                forget_loops=lambda _flow: None,
            ),
            inherited={},
            clock=self.clock,
            reporter=reporter,
        )
        self.topic_checks = self.prober.topic_checks
        for site in self.prober.sites.values():
            site.admin = Admin()
            site.description = ClusterDescription("id", (1, 2))
        self.a, self.b = self.prober.sites["A"], self.prober.sites["B"]
        self.there("A", TOPIC, (1, 2))
        self.there("B", COPY, (1, 2))

    def there(self, alias, name, leaders, identity="one"):
        topic = TopicDescription(name, identity, leaders, (1,) * len(leaders))
        self.prober.sites[alias].topics.present[name] = topic

    async def look(self, after_s=0.0):
        self.clock.advance(after_s)
        for site in (self.a, self.b):
            await self.topic_checks.check(site)


async def test_topics_as_they_should_be_are_no_problem():
    scene = Scene()
    await scene.look()
    assert scene.problems == {}
    assert scene.a.admin.asked == [TOPIC]
    assert scene.b.admin.asked == [COPY]


async def test_what_is_wrong_is_told_and_taken_back():
    scene = Scene()
    scene.b.admin.settings[COPY] = COMPACTED
    await scene.look()
    assert "is compacted" in scene.problems[f"B: settings of {COPY}"]
    scene.b.admin.settings[COPY] = {}
    await scene.look(SETTINGS_S - 1)
    assert scene.problems
    assert scene.b.admin.asked == [COPY]
    await scene.look(1)
    assert scene.problems == {}


@pytest.mark.parametrize(("leaders", "identity"), [((1, 2), "two"), ((1, 2, 1), "one")])
async def test_a_topic_that_is_not_what_it_was_is_looked_at_at_once(leaders, identity):
    scene = Scene()
    await scene.look()
    scene.there("B", COPY, leaders, identity)
    scene.b.admin.settings[COPY] = COMPACTED
    await scene.look(1)
    assert f"B: settings of {COPY}" in scene.problems


async def test_a_topic_that_is_gone_is_no_problem_any_more():
    scene = Scene()
    scene.b.admin.settings[COPY] = COMPACTED
    await scene.look()
    scene.b.topics.present[COPY] = None
    await scene.look(1)
    assert scene.problems == {}


async def test_the_control_topic_is_looked_for_until_it_is_there():
    scene = Scene()
    await scene.look()
    scene.a.admin.topics[control.TOPIC] = TopicDescription(control.TOPIC, "c", (1,), (1,))
    scene.a.admin.settings[control.TOPIC] = COMPACTED
    await scene.look(AGAIN_S - 1)
    assert scene.problems == {}
    await scene.look(1)
    assert "have no key and are refused" in scene.problems[f"A: settings of {control.TOPIC}"]


async def test_of_each_topic_that_is_advised_with_which_it_would_have_been_made():
    scene = Scene()
    scene.a.admin.topics[control.TOPIC] = TopicDescription(control.TOPIC, "c", (1,), (1,))
    for name in (TOPIC, control.TOPIC):
        scene.a.admin.settings[name] = {"retention.ms": "1"}
    await scene.look()
    assert "Set retention.ms=86400000" in scene.problems[f"A: settings of {TOPIC}"]
    assert "Set retention.ms=3600000" in scene.problems[f"A: settings of {control.TOPIC}"]


async def test_a_missing_right_is_reported_once_and_partitions_are_judged_all_the_same():
    scene = Scene()
    scene.a.admin.settings[TOPIC] = RefusedError("reading the settings failed: not allowed")
    scene.there("A", TOPIC, (1,))
    for _ in range(3):
        await scene.look(SETTINGS_S)
    told = [facts["why"] for sentence, facts in scene.events if "cannot check" in sentence]
    assert told == ["reading the settings failed: not allowed"]
    assert "has 1 partition; 2 would cover" in scene.problems[f"A: settings of {TOPIC}"]


async def test_a_cluster_that_does_not_answer_is_asked_again_soon():
    scene = Scene()
    scene.a.admin.settings[TOPIC] = UnavailableError("no answer")
    await scene.look()
    assert scene.problems == {}
    scene.a.admin.settings[TOPIC] = COMPACTED
    await scene.look(AGAIN_S)
    assert f"A: settings of {TOPIC}" in scene.problems


async def test_a_topic_grows_only_with_consent():
    scene = Scene()
    scene.there("A", TOPIC, (1,))
    await scene.look()
    assert scene.a.admin.grown == []
    assert "set canary.grow: true" in scene.problems[f"A: settings of {TOPIC}"]


async def test_with_consent_partitions_are_added_once():
    scene = Scene(grow=True)
    scene.there("A", TOPIC, (1,))
    await scene.look()
    await scene.look(2)
    assert scene.a.admin.grown == [(TOPIC, 2)]
    assert scene.problems == {}
    scene.there("A", TOPIC, (1, 2))
    await scene.look(SETTINGS_S)
    assert scene.a.admin.grown == [(TOPIC, 2)]


async def test_in_mode_precreated_nothing_is_grown():
    scene = Scene(grow=True, mode="precreated")
    scene.there("A", TOPIC, (1,))
    await scene.look()
    assert scene.a.admin.grown == []
    assert f"A: settings of {TOPIC}" in scene.problems


async def test_a_topic_that_may_not_be_grown_says_so():
    scene = Scene(grow=True)
    scene.there("A", TOPIC, (1,))
    scene.a.admin.grow_error = RefusedError("adding partitions failed: not allowed")
    await scene.look()
    assert scene.problems == {
        f"A: growing {TOPIC}": "adding partitions failed: not allowed. The canary uses 1 partition meanwhile"
    }
    scene.a.admin.grow_error = None
    await scene.look(SETTINGS_S)
    assert scene.problems == {}


@pytest.mark.parametrize(
    "how", ["a person added them", "no consent any more", "fewer are planned", "it is gone"]
)
async def test_a_topic_that_may_not_be_grown_is_no_problem_once_there_is_nothing_to_be_grown(how):
    scene = Scene(grow=True)
    scene.there("A", TOPIC, (1,))
    scene.a.admin.grow_error = RefusedError("adding partitions failed: not allowed")
    await scene.look()
    assert list(scene.problems) == [f"A: growing {TOPIC}"]
    if how == "a person added them":
        scene.there("A", TOPIC, (1, 2))
    elif how == "no consent any more":
        scene.prober.roster.use(scene.prober.roster.config.model_copy(update={"grow": False}))
    elif how == "fewer are planned":
        scene.prober.roster.use(scene.prober.roster.config.model_copy(update={"max_partitions": 1}))
    else:
        scene.a.topics.present[TOPIC] = None
    await scene.look(SETTINGS_S)
    assert f"A: growing {TOPIC}" not in scene.problems


async def test_a_topic_is_planned_when_the_targets_brokers_are_known():
    scene = Scene()
    scene.b.description = None
    assert "no target cluster has answered" in scene.topic_checks.waits_for("A")
    scene.b.description = ClusterDescription("id", (1, 2, 3))
    assert scene.topic_checks.waits_for("A") == ""
    assert scene.topic_checks.partitions("A") == 3


async def test_a_target_that_is_away_is_not_waited_for_for_ever():
    scene = Scene()
    scene.b.description = None
    assert scene.topic_checks.waits_for("A")
    scene.clock.advance(PLANNING_S)
    assert scene.topic_checks.waits_for("A") == ""
    assert scene.topic_checks.partitions("A") == 2


async def test_more_than_the_greatest_rate_is_a_problem_while_it_lasts():
    scene = Scene(max_rate=1)
    await scene.look()
    assert scene.topic_checks.interval_s() == 2.0
    assert "canary.interval is raised to 2 s" in scene.problems[RATE]
    scene.prober.roster.use(replace_rate(scene, 1000))
    await scene.look(1)
    assert scene.topic_checks.interval_s() == 1.0
    assert RATE not in scene.problems


def replace_rate(scene, max_rate):
    return scene.prober.roster.config.model_copy(update={"max_rate": max_rate})


async def test_brokers_that_lead_nothing_are_shown_and_looked_at_again():
    scene = Scene()
    assert scene.prober.unreached("A->B") == ()
    scene.there("B", COPY, (2, None))
    assert scene.prober.unreached("A->B") == (UnreachedBroker("B", 1, Side.TARGET),)
    scene.a.admin.brokers = (1, 2, 9)
    await scene.look()
    assert UnreachedBroker("A", 9, Side.SOURCE) not in scene.prober.unreached("A->B")
    await scene.look(BROKERS_S)
    assert UnreachedBroker("A", 9, Side.SOURCE) in scene.prober.unreached("A->B")
    scene.b.topics.present[COPY] = None
    assert {one.side for one in scene.prober.unreached("A->B")} == {Side.SOURCE}


async def test_each_read_of_the_brokers_counts_as_a_success_or_an_error_of_its_collector():
    scene = Scene()
    await scene.look()
    await scene.look(BROKERS_S)
    assert scene.a.counts.last_success_at["cluster"] == scene.clock.wall_s()
    succeeded_at = scene.clock.wall_s()

    async def away():
        raise UnavailableError("A: no answer")

    scene.a.admin.describe_cluster = away
    await scene.look(BROKERS_S)
    assert (scene.a.counts.last_success_at["cluster"], scene.a.counts.errors["cluster"]) == (succeeded_at, 1)
    assert scene.problems == {}


async def test_nothing_is_said_of_a_flow_without_a_canary():
    scene = Scene()
    held = scene.prober.flows["A->B"]
    held.flow = replace(held.flow, off="filtered")
    scene.there("B", COPY, (1,))
    assert scene.prober.unreached("A->B") == ()


@pytest.mark.parametrize(("canary", "factor"), [({}, -1), ({"replication_factor": 3}, 3)])
async def test_a_topic_is_requested_with_the_replication_factor_of_the_configuration(canary, factor):
    request = Scene(**canary).topic_checks.request("A")
    assert (request.name, request.replication_factor) == (TOPIC, factor)
