"""Reloads over a prober that is played: all of a file or nothing, one after the other, none while stopping."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from canary.persistence.inherited import InheritedState
from fleet.errors import RefusedError, UnavailableError
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.configuration.reloading import WHERE, Reloading
from tests.mirrorwatch.configuration.test_changes import configuration


class Roster:
    def __init__(self, flows, clusters):
        self.flows = set(flows)
        self.clusters = set(clusters)
        self.done = []

    def drop(self, name):
        self.flows.remove(name)
        self.done.append(f"drop {name}")
        return SimpleNamespace(watch=SimpleNamespace(counters=SimpleNamespace(as_dict=dict)))

    def add(self, flow, inherited):
        assert {flow.source, flow.target} <= self.clusters
        self.flows.add(flow.name)
        self.done.append(f"add {flow.name} {sorted(inherited.carried)}")

    def take_idle(self):
        return []

    def use(self, config):
        self.config = config

    def add_site(self, alias, _settings):
        self.clusters.add(alias)
        self.done.append(f"site {alias}")

    def drop_site(self, alias):
        self.clusters.remove(alias)
        return SimpleNamespace(alias=alias, reader=SimpleNamespace(stop=nothing))

    async def leave(self, alias):
        self.done.append(f"leave {alias}")


async def nothing():
    pass


class Keeper:
    def __init__(self):
        self.done = []

    def begin(self, site, _listener, _group):
        self.done.append(f"begin {site}")

    async def end(self, alias):
        self.done.append(f"end {alias}")


@pytest.fixture
async def scene(tmp_path):
    path = configuration(tmp_path)
    config = read_configuration(path, environ={})
    roster = Roster((flow.name for flow in config.canary_flows), config.clients)
    found = SimpleNamespace(
        folder=tmp_path,
        path=path,
        config=config,
        roster=roster,
        prober=SimpleNamespace(roster=roster, probings={}, sites={alias: alias for alias in "ABCD"}),
        keeper=Keeper(),
        said={},
        left=[],
        noted=[],
        asked=asyncio.Event(),
        reads=[],
        group=None,
    )

    def read(running):
        found.reads.append(running)
        return read_configuration(path, environ={}, running=running)

    def use(config, changes):
        assert roster.flows == {flow.name for flow in config.canary_flows}
        assert roster.clusters == set(config.clients)
        found.config, found.changes = config, changes

    async def load():
        return {"B->A": InheritedState(frozenset({("one", 0)}))}

    found.load = load
    reporter = SimpleNamespace(
        problem=found.said.__setitem__, settled=lambda where: found.said.pop(where, None)
    )
    found.reloading = Reloading(
        found.asked,
        read=read,
        running=lambda: found.config,
        load=lambda: found.load(),  # noqa: PLW0108 - a test changes it
        use=use,
        removed=found.left.append,
        note=found.noted.append,
        keeper=found.keeper,
        reporter=reporter,
    )
    working = asyncio.create_task(found.reloading.keep(found.prober, None))
    yield found
    await found.reloading.end()
    async with asyncio.timeout(5):
        await working


async def reload(scene, **sections):
    configuration(scene.folder, **sections)
    async with asyncio.timeout(5):
        return await scene.reloading.ask()


async def test_flows_and_clusters_come_and_go(scene):
    done = await reload(scene, flows={"B->A": "{}", "B->C": "{}"})
    assert done.sentences == (
        *("A->B: removed", "B->C: added", "cluster C: added"),
        "lag monitor: restarted",
    )
    assert scene.roster.done == ["drop A->B", "site C", "add B->C []"]
    done = await reload(scene, flows={"B->C": "{}"}, clusters={"B": "b:9"})
    await reload(scene, flows={"B->C": "{}"}, clusters={"B": "b:9"})  # the one before is over then
    assert done.sentences == (
        *("B->A: removed", "cluster A: removed", "cluster B: clients re-created"),
        "lag monitor: restarted",
    )
    assert scene.left == ["A"]
    assert sorted(scene.keeper.done) == ["begin B", "begin C", "end A", "end B"]
    assert scene.roster.done[-2:] == ["leave B", "site B"]


async def test_what_the_store_knows_of_a_flow_comes_with_it(scene):
    await reload(scene, flows={"A->B": "{}"})
    await reload(scene)
    assert scene.noted == [True, True]
    assert scene.roster.done == ["drop B->A", "add B->A [('one', 0)]"]


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"flows": {"A->A": "{}"}, "nonsense": "1"}, 2),
        ({"canary": "{interval: soon}"}, 1),
    ],
)
async def test_a_file_with_problems_changes_nothing_until_it_is_mended(scene, sections, told):
    before = scene.config
    done = await reload(scene, **sections)
    assert len(done.problems) == told
    assert scene.noted == [False]
    assert all(str(scene.path) in sentence for sentence in done.problems)
    assert not done.unavailable
    assert scene.config is before
    assert scene.roster.done == scene.keeper.done == []
    assert scene.said[WHERE].startswith("configuration not reloaded, the previous one stays in effect: ")
    assert ("(and 1 more, see the log)" in scene.said[WHERE]) is (told == 2)
    assert (await reload(scene)).sentences == ("no changes",)
    assert scene.said == {}


async def test_a_file_that_is_gone_is_a_problem_like_another(scene):
    scene.path.unlink()
    async with asyncio.timeout(5):
        done = await scene.reloading.ask()
    assert len(done.problems) == 1
    assert "cannot be read" in done.problems[0]


async def test_a_fault_of_ours_in_reading_ends_nothing(scene):
    scene.reloading._read = lambda _running: 1 // 0
    done = await reload(scene)
    assert done.problems == ("bug in mirrorwatch: ZeroDivisionError; see the log",)


@pytest.mark.parametrize("kind", [UnavailableError, RefusedError])
async def test_connect_that_does_not_answer_or_lets_nobody_in_ends_nothing(scene, kind):
    def read(_running):
        raise kind("Connect is away")

    scene.reloading._read = read
    done = await reload(scene)
    assert (done.problems, done.unavailable) == (("Connect is away",), True)
    assert scene.roster.done == []


async def test_a_store_that_does_not_answer_is_no_problem_of_the_file(scene):
    async def load():
        raise UnavailableError("the store is away")

    scene.load = load
    done = await reload(scene, flows={"A->B": "{}", "B->A": "{}", "A->C": "{}"})
    assert (done.problems, done.unavailable) == (("the store is away",), True)
    assert scene.roster.done == []


async def test_topic_and_mode_stay_as_they_are_and_the_rest_is_taken_over(scene):
    done = await reload(scene, flows={"A->B": "{}"}, canary="{topic: other, mode: precreated}")
    assert done.later == (
        "canary.mode: takes effect at the next start",
        "canary.topic: takes effect at the next start",
    )
    assert scene.roster.flows == {"A->B"}
    assert [flow.source_topic for flow in scene.config.canary_flows] == ["mirrorwatch-canary"]


def held_up(scene):
    """Have the store's answer wait; return what is set once it is asked, and what lets it go on."""
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def load():
        reading.set()
        await go_on.wait()
        return {}

    scene.load = load
    return reading, go_on


async def test_who_asks_meanwhile_is_answered_by_the_next_which_reads_anew(scene):
    reading, go_on = held_up(scene)
    first = asyncio.create_task(reload(scene, flows={"A->B": "{}", "B->A": "{}", "A->C": "{}"}))
    async with asyncio.timeout(5):
        await reading.wait()
    others = [asyncio.create_task(reload(scene)) for _ in range(3)]
    await asyncio.sleep(0)
    go_on.set()
    assert "A->C: added" in (await first).sentences
    assert {(await other).sentences for other in others} == {
        ("A->C: removed", "cluster C: removed", "lag monitor: restarted")
    }
    assert len(scene.reads) == 2


async def test_what_is_being_taken_over_at_the_end_is_complete_and_nothing_follows(scene):
    reading, go_on = held_up(scene)
    first = asyncio.create_task(reload(scene, flows={"A->B": "{}", "B->A": "{}", "A->C": "{}"}))
    async with asyncio.timeout(5):
        await reading.wait()
    later = asyncio.create_task(reload(scene))
    ending = asyncio.create_task(scene.reloading.end())
    await asyncio.sleep(0)
    go_on.set()
    async with asyncio.timeout(5):
        await ending
        assert "A->C: added" in (await first).sentences
        assert (await later).unavailable
    assert scene.roster.flows == {"A->B", "B->A", "A->C"}
    assert (await reload(scene)).problems == ("reload refused: the service is stopping",)


async def test_who_asks_while_clients_are_made_anew_is_answered_when_the_service_stops(scene):
    leaving, go_on = asyncio.Event(), asyncio.Event()

    async def leave(_alias):
        leaving.set()
        await go_on.wait()

    scene.roster.leave = leave
    await reload(scene, clusters={"B": "b:9"})
    async with asyncio.timeout(5):
        await leaving.wait()
        later = asyncio.create_task(scene.reloading.ask())
        await asyncio.sleep(0)
        await scene.reloading.end()
        assert (await later).unavailable
    go_on.set()
