"""When a cluster's topics were last looked at, and what the looks said; how long its taps have been silent."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from canary.config import CanaryMode
from canary.site import reader as reader_module
from canary.site.site import Site
from fleet.errors import RefusedError, UnavailableError
from fleet.verdicts.evidence import Control
from runtime.kafka.admin import TopicDescription
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.tap import TappedEnd, TappedRecord
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

    async def poll_details(self, _site):
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
            inbox=SimpleNamespace(put_when_room=None),
            reporter=SimpleNamespace(problem=lambda *_said: None, settled=lambda _where: None),
        )
        self.site.admin = self.admin
        self.site.wanted = {"c", "d"}

    async def look(self):
        await self.site._poll(self.listener)

    def last_described(self, topic):
        at_ns, error = self.site.last_described(topic)
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
    assert scene.last_described("c") == (110, "")
    assert scene.last_described("d") == (100, "describing topics ran into a time-out")
    assert scene.listener.closer == 2
    scene.admin.hidden.clear()
    scene.clock.advance(5)
    await scene.look()
    assert scene.last_described("d") == (115, "")


async def test_a_change_that_is_not_taken_in_is_no_look():
    scene = Scene()
    scene.listener.error = "asking for offsets ran into a time-out"
    assert scene.last_described("c") == (0, "")
    scene.clock.advance(7)
    with pytest.raises(UnavailableError):
        await scene.look()
    assert scene.last_described("c") == (0, "asking for offsets ran into a time-out")


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
    assert (scene.site.unreached, scene.last_described("c")) == ("", (0, ""))
    with pytest.raises(type(error)):
        await scene.site.run(scene.listener, asyncio.Event())
    assert scene.site.control.control is control
    assert scene.site.unreached == scene.last_described("c")[1] == str(error)
    scene.site.reached = True
    assert scene.site.unreached == scene.last_described("c")[1] == ""


async def test_the_time_in_which_the_cluster_was_down_does_not_count(scene):
    scene.site.control.become(Control.FAILING, "away", scene.clock.wall_s())
    scene.clock.advance(3)
    assert scene.last_described("c") == (110, "")


def test_a_topic_is_looked_for_from_when_it_was_first_asked_about():
    scene = Scene()
    scene.clock.advance(500)
    assert scene.last_described("new") == (500, "")
    scene.clock.advance(20)
    assert scene.last_described("new") == (500, "")
    scene.site.forget("new")
    assert scene.last_described("new") == (520, "")


@pytest.mark.parametrize("dead", [False, True])
def test_a_tap_whose_thread_died_is_recreated(dead):
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


# --- a tap that goes back by itself, as into the log of a topic that was made anew


class Tap:
    """A tap that begins where it is told, and says nothing."""

    def __init__(self, begun, *, lazy):
        self.begun, self.lazy, self.dead, self.last_poll_ns = begun, lazy, False, 0

    def start(self, places):
        self.begun |= {(place.topic, place.partition): place.offset for place in places}

    def stop(self):
        pass

    def join(self, _longest_s):
        pass


@pytest.fixture
async def tapped(scene, monkeypatch):
    """Give a scene whose reader has read c to offset 27, and d; `begun` is where its taps begin."""
    scene.begun, reader = {}, scene.site.reader
    monkeypatch.setattr(reader_module, "Tap", lambda *_, lazy, **__: Tap(scene.begun, lazy=lazy))
    await reader.read({("c", 0): 27, ("d", 0): 27}, drop=set(), drain=lambda: None)

    def go_back(topic="c", to=3):
        reader.note(TappedRecord(reader.tap_name, topic, 0, to - 1, to, b"k", b"v", [], 0))

    async def remade(topic="c"):
        """Have the reader begin with the topic's new log, as once its id is known."""
        await reader.read({(topic, 0): 0}, drop={topic}, drain=lambda: None)
        return scene.begun[topic, 0]

    scene.go_back, scene.remade = go_back, remade
    return scene


async def test_of_a_log_that_was_recreated_nothing_is_read_twice(tapped):
    tapped.go_back()
    assert await tapped.remade() == 3
    assert await tapped.remade() == 0  # which is another one: in that nothing has been read


async def test_a_new_log_that_was_empty_when_a_tap_found_its_way_into_it_is_not_read_twice(tapped):
    reader = tapped.site.reader
    reader.note(TappedEnd(reader.tap_name, "c", 0, 0, 0))
    for to in (1, 2, 3):
        tapped.go_back(to=to)
    assert await tapped.remade() == 3


async def test_an_end_that_is_where_all_is_read_is_no_step_back(tapped):
    reader = tapped.site.reader
    tapped.go_back(to=28)  # which is the next one
    reader.note(TappedEnd(reader.tap_name, "c", 0, 28, 0))
    assert reader.positions["c", 0] == 28
    assert await tapped.remade() == 0


async def test_what_went_back_before_a_look_that_found_the_topic_did_so_in_the_same_log(tapped):
    tapped.go_back()
    await tapped.look()
    assert await tapped.remade() == 0


async def test_what_goes_back_while_the_topics_are_looked_at_may_be_in_a_new_log_already(tapped, monkeypatch):
    describe = tapped.admin.describe_topics

    async def slowly(names):
        found = await describe(names)  # the topic as it was, and the tap finds its way meanwhile
        tapped.go_back()
        return found

    monkeypatch.setattr(tapped.admin, "describe_topics", slowly)
    await tapped.look()
    assert await tapped.remade() == 3


async def test_what_goes_back_while_the_topic_is_gone_is_in_a_new_log(tapped, monkeypatch):
    async def gone(names):
        return dict.fromkeys(names)

    tapped.go_back()
    monkeypatch.setattr(tapped.admin, "describe_topics", gone)
    await tapped.look()
    assert await tapped.remade() == 3


async def test_other_topics_that_are_begun_or_dropped_leave_what_went_back_as_it_is(tapped):
    tapped.go_back()
    await tapped.site.reader.read({("e", 0): 0}, drop={"d"}, drain=lambda: None)
    assert await tapped.remade() == 3
    tapped.go_back(to=2)
    await tapped.site.reader.read({}, drop={"c"}, drain=lambda: None)
    assert await tapped.remade() == 0


@pytest.mark.parametrize(("wanted", "told"), [(set(), []), ({"c"}, ["topics"])])
async def test_only_topics_that_are_asked_for_are_read_with_success(scene, monkeypatch, wanted, told):
    stopping = asyncio.Event()

    async def poll_details(_site):
        stopping.set()

    monkeypatch.setattr(scene.listener, "poll_details", poll_details)
    scene.site.throttles, scene.site.wanted = {}, wanted
    await scene.site._watch_topics(scene.listener, stopping)
    assert [*scene.site.counts.last_success_at] == told
