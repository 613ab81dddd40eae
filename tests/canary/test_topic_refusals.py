"""What a target's topic refuses by its settings is known soon after probes begin to wait, and forgotten after."""

import asyncio
from types import SimpleNamespace

import pytest

from canary.config import CanaryConfig
from canary.site.topic_checks import HASTE_S, SETTINGS_S, Refusal, TopicChecks
from runtime.kafka.admin import TopicDescription
from tests.runtime.fake_clock import FakeClock

COPY = "A.mirrorwatch-canary"
PLACE = ("B", COPY)


class Scene:
    """Cluster B with the copies of one flow; nothing is probed from it."""

    def __init__(self):
        self.settings = {}
        self.asked = 0
        self.clock = FakeClock()
        self.present = {COPY: TopicDescription(COPY, "id", (1, 1), (1, 1))}
        self.site = SimpleNamespace(
            alias="B",
            wanted={COPY},
            topics=SimpleNamespace(present=self.present),
            admin=SimpleNamespace(
                describe_topic_config=self.describe_topic_config,
                describe_topics=self.describe_topics,
            ),
            read_brokers=self.read_brokers,
        )
        roster = SimpleNamespace(
            config=CanaryConfig(),
            sites={"B": self.site},
            probings={},
            self_check=SimpleNamespace(on_clock_set=[]),
            dispatch=SimpleNamespace(running={}, by_source={}),
        )
        reporter = SimpleNamespace(
            problem=lambda *_: None, settled=lambda *_: None, event=lambda *_, **__: None
        )
        self.topic_checks = TopicChecks(roster, clock=self.clock, reporter=reporter)

    async def describe_topic_config(self, _name):
        self.asked += 1
        return self.settings

    async def read_brokers(self):
        return None

    async def describe_topics(self, names):
        return dict.fromkeys(names)

    def look(self, after_s=0.0):
        self.clock.advance(after_s)
        asyncio.run(self.topic_checks.check(self.site))
        return self.topic_checks.refusals.get(PLACE)


def test_what_refuses_copies_is_known_once_probes_wait():
    scene = Scene()
    assert scene.look() is None
    scene.settings = {"max.message.bytes": "200"}
    assert scene.look(HASTE_S + 1) is None  # nobody waits: the settings are read every few minutes only
    scene.topic_checks.hasten(*PLACE)
    refusal = scene.look()
    assert "max.message.bytes is 200, and a probe has up to" in refusal.sentence

    assert refusal.since_at == refusal.seen_at == scene.clock.wall_s()
    later = scene.look(SETTINGS_S)
    assert later == refusal._replace(seen_at=scene.clock.wall_s())
    scene.settings = {}
    scene.topic_checks.hasten(*PLACE)
    scene.look(HASTE_S)
    assert scene.topic_checks.refusals[PLACE] == later._replace(sentence="")  # when it was seen stays known
    scene.settings = {"max.message.bytes": "200"}
    anew = scene.look(SETTINGS_S)
    assert anew.since_at == anew.seen_at == scene.clock.wall_s()
    del scene.present[COPY]
    assert scene.look() is None


def test_when_it_was_seen_moves_with_a_clock_that_is_set():
    scene = Scene()
    scene.settings = {"max.message.bytes": "200"}
    seen = scene.look()
    for move in scene.topic_checks._roster.self_check.on_clock_set:
        move(-3600.0)
    moved = Refusal(seen.sentence, seen.since_at - 3600, seen.seen_at - 3600)
    assert scene.topic_checks.refusals[PLACE] == moved


def test_waiting_probes_have_the_settings_read_no_oftener_than_that():
    scene = Scene()
    for _ in range(10):
        scene.topic_checks.hasten(*PLACE)
        scene.look(1.0)
    assert scene.asked == 1 + 9 // (int(HASTE_S))
    scene.look(SETTINGS_S)
    assert scene.asked == 2 + 9 // int(HASTE_S)


@pytest.mark.parametrize(
    "settings", [{"cleanup.policy": "compact"}, {"min.insync.replicas": "2"}, {"retention.ms": "1000"}, {}]
)
def test_what_takes_every_copy_is_no_refusal(settings):
    scene = Scene()
    scene.settings = settings
    assert scene.look() is None
