"""When a cluster's topics were last looked at, and what the looks said; how long its taps have been silent."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from canary.config import CanaryMode
from canary.site import Site
from fleet.errors import RefusedError, UnavailableError
from fleet.evidence import Control
from runtime.kafka.admin import TopicDescription
from runtime.kafka.client_settings import ClientSettings
from tests.runtime.fake_clock import FakeClock

SECOND = 1_000_000_000


class Admin:
    """Describes topics, except those that a test has hidden."""

    def __init__(self):
        self.hidden = {}

    async def describe_topics(self, names):
        for name in names:
            if name in self.hidden:
                raise UnavailableError(self.hidden[name])
        return {name: TopicDescription(name, f"id of {name}", (1,)) for name in names}


class Listener:
    """Takes changes, unless it is to fail."""

    def __init__(self):
        self.error = ""
        self.closer = 0

    async def topics_changed(self, _site, _changes):
        if self.error:
            raise UnavailableError(self.error)

    async def look_closer(self, _site):
        self.closer += 1


class Scene:
    def __init__(self):
        self.clock, self.admin, self.listener = FakeClock(), Admin(), Listener()
        self.site = Site(
            "B",
            ClientSettings({}),
            mode=CanaryMode.CREATE,
            nonce=b"n",
            clock=self.clock,
            inbox=SimpleNamespace(),
            reporter=SimpleNamespace(problem=lambda *_said: None, settled=lambda _where: None),
        )
        self.site.admin = self.admin
        self.site.wanted = {"c", "d"}

    async def look(self):
        await self.site._look(self.listener)

    def looked(self, topic):
        at_ns, error = self.site.looked(topic)
        return at_ns / SECOND, error


@pytest.fixture
async def scene():
    found = Scene()
    found.site.reached = True
    found.clock.advance(100)
    await found.look()
    found.clock.advance(10)
    return found


async def test_a_topic_that_cannot_be_looked_at_hides_no_other(scene):
    scene.admin.hidden["d"] = "describing topics ran into a time-out"
    with pytest.raises(UnavailableError):
        await scene.look()
    assert scene.looked("c") == (110, "")
    assert scene.looked("d") == (100, "describing topics ran into a time-out")
    assert scene.listener.closer == 2
    scene.admin.hidden.clear()
    scene.clock.advance(5)
    await scene.look()
    assert scene.looked("d") == (115, "")


async def test_a_change_that_is_not_taken_in_is_no_look():
    scene = Scene()
    scene.listener.error = "asking for offsets ran into a time-out"
    assert scene.looked("c") == (0, "")
    scene.clock.advance(7)
    with pytest.raises(UnavailableError):
        await scene.look()
    assert scene.looked("c") == (0, "asking for offsets ran into a time-out")


@pytest.mark.parametrize(
    ("error", "control"),
    [
        (RefusedError("B refused the name or password"), Control.UNKNOWN),
        (UnavailableError("B does not answer"), Control.FAILING),
    ],
)
async def test_a_cluster_that_was_not_reached_says_why(error, control):
    scene = Scene()

    async def say():
        raise error

    async def nothing():
        pass

    scene.admin.open, scene.admin.close, scene.admin.describe_cluster = nothing, nothing, say
    assert (scene.site.unreached, scene.looked("c")) == ("", (0, ""))
    with pytest.raises(type(error)):
        await scene.site.run(scene.listener, asyncio.Event())
    assert scene.site.control.control is control
    assert scene.site.unreached == scene.looked("c")[1] == str(error)
    scene.site.reached = True
    assert scene.site.unreached == scene.looked("c")[1] == ""


async def test_the_time_in_which_the_cluster_was_down_does_not_count(scene):
    scene.site.control.become(Control.FAILING, "away", scene.clock.wall_s())
    scene.clock.advance(3)
    assert scene.looked("c") == (110, "")


def test_a_topic_is_looked_for_from_when_it_was_first_asked_about():
    scene = Scene()
    scene.clock.advance(500)
    assert scene.looked("new") == (500, "")
    scene.clock.advance(20)
    assert scene.looked("new") == (500, "")
    scene.site.forget("new")
    assert scene.looked("new") == (520, "")


@pytest.mark.parametrize("dead", [False, True])
def test_a_tap_whose_thread_died_is_made_anew(dead):
    reader = Scene().site.reader
    reader._taps = [SimpleNamespace(dead=False), SimpleNamespace(dead=dead)]
    assert reader.outdated is dead


def test_each_tap_is_silent_for_itself():
    scene = Scene()
    reader = scene.site.reader
    assert (reader.silent_s, reader.lazily_silent_s) == (0.0, 0.0)
    scene.clock.advance(10)
    reader._taps = [
        SimpleNamespace(lazy=False, last_poll_ns=8 * SECOND),
        SimpleNamespace(lazy=True, last_poll_ns=3 * SECOND),
    ]
    assert (reader.silent_s, reader.lazily_silent_s) == (2.0, 7.0)


@pytest.mark.parametrize(("wanted", "told"), [(set(), []), ({"c"}, ["topics"])])
async def test_only_topics_that_are_asked_for_are_read_with_success(scene, monkeypatch, wanted, told):
    stopping = asyncio.Event()

    async def look_closer(_site):
        stopping.set()

    monkeypatch.setattr(scene.listener, "look_closer", look_closer)
    scene.site.throttles, scene.site.wanted = {}, wanted
    await scene.site._watch_topics(scene.listener, stopping)
    assert [*scene.site.counts.last_success_at] == told
