"""Which replica leads: by a real store and a clock that only moves when somebody waits."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from fleet.errors import ConfigurationError, UnavailableError
from fleet.shards import Shard
from mirrorwatch.service.leading import EXPIRES_S, POLL_S, RENEW_S, WHERE, LeadershipLostError, Leading
from runtime.store.leases import MIGRATIONS, read_leases, renew_lease, take_lease
from runtime.store.store import Store
from tests.runtime.fake_clock import FakeClock

FACTS = {"url": "http://one:9699", "version": "1", "flows": "A->B", "configuration": "same"}


class Reporter:
    def __init__(self):
        self.problems = {}
        self.events = []

    def problem(self, where, sentence):
        self.problems[where] = sentence

    def settled(self, where):
        self.problems.pop(where, None)

    def event(self, sentence, **facts):
        self.events.append((sentence, facts))


class Time(FakeClock):
    """Calls `then` at each wait: what others do meanwhile."""

    def __init__(self):
        super().__init__()
        self.then = []

    async def wait(self, event, *, timeout_s):
        found = await super().wait(event, timeout_s=timeout_s)
        for one in list(self.then):
            await one()
        return found


@pytest.fixture
async def store(tmp_path):
    found = Store(f"sqlite:///{tmp_path}/mw.db", migrations=MIGRATIONS)
    await found.open()
    yield found
    await found.close()


@pytest.fixture
def stage(store):
    clock, reporter = Time(), Reporter()

    def make(name, *, facts=FACTS, on=store, count=1):
        return Leading(
            on,
            group="pair",
            count=count,
            holder=f"process of {name}",
            replica=name,
            facts=lambda: facts,
            flow_shards=lambda: {"A->B": 1, "A->C": 2, "B->A": 1},
            clock=clock,
            reporter=reporter,
        )

    return clock, reporter, make


def beating(store, clock, name, *, ahead_s=0.0, shard="1/1"):
    """Return what keeps a lease alive."""

    async def beat():
        renew = partial(
            renew_lease,
            name=f"pair/{shard}",
            holder=f"process of {name}",
            facts={"replica": name, **FACTS},
            now_at=clock.wall_s() + ahead_s,
        )
        await store.write(renew)

    return beat


def stopping_after(clock, waits):
    """Return an event that is set after so many waits."""
    stopping, left = asyncio.Event(), [waits]

    async def count():
        left[0] -= 1
        if left[0] <= 0:
            stopping.set()

    clock.then.append(count)
    return stopping


async def test_a_group_without_a_leader_is_led_at_once(stage):
    clock, reporter, make = stage
    left = make("left")
    assert await left.stand_by(asyncio.Event())
    assert (left.leads, left.former, clock.waits_s) == (True, "", [])
    assert reporter.events[-1] == ("this replica leads its group", {"group": "pair", "former_leader": ""})


async def test_a_silent_leader_is_followed_once_its_lease_has_expired(stage):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    right = make("right")
    assert await right.stand_by(asyncio.Event())
    assert right.former == "process of left"
    assert EXPIRES_S <= sum(clock.waits_s) <= EXPIRES_S + 2 * POLL_S
    assert reporter.problems == {}


async def test_a_leader_that_renews_is_never_followed(stage, store):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left"))
    right = make("right")
    assert not await right.stand_by(stopping_after(clock, 100))
    assert not right.leads
    assert right.url(1) == "http://one:9699"
    assert reporter.problems == {}


async def test_a_leader_that_ends_in_order_is_followed_at_once(stage):
    clock, _, make = stage
    left = make("left")
    await left.stand_by(asyncio.Event())
    await left.release()
    assert await make("right").stand_by(asyncio.Event())
    assert sum(clock.waits_s) <= POLL_S
    assert not left.leads


async def test_who_was_followed_ends_and_writes_nothing_more(stage, store):
    _, _, make = stage
    left, right = make("left"), make("right")
    await left.stand_by(asyncio.Event())
    await store.write(left.guard)
    await right.stand_by(asyncio.Event())
    with pytest.raises(LeadershipLostError, match="another replica leads group pair"):
        await store.write(left.guard)
    with pytest.raises(LeadershipLostError, match="as a standby"):
        await left.keep(asyncio.Event())
    assert not left.leads


async def test_a_leader_renews_until_it_is_to_stop(stage, store):
    clock, _, make = stage
    left = make("left")
    await left.stand_by(asyncio.Event())
    await left.keep(stopping_after(clock, 5))
    assert clock.waits_s == [RENEW_S] * 5
    assert (await store.read(partial(read_leases, group="pair")))["pair/1/1"].beat == 4


class Away:
    """A store that does not answer."""

    async def read(self, _function):
        raise UnavailableError("the store is away")

    write = read


async def test_without_the_store_the_leader_goes_on_and_nobody_follows(stage):
    clock, reporter, make = stage
    left = make("left")
    await left.stand_by(asyncio.Event())
    left._store = Away()
    await left.keep(stopping_after(clock, 20))
    assert left.leads
    assert "the lead is not renewed: the store is away" in reporter.problems[WHERE]
    clock.then.clear()
    assert not await make("right", on=Away()).stand_by(stopping_after(clock, 20))
    assert "cannot see who leads" in reporter.problems[WHERE]


async def test_a_lease_that_was_not_seen_for_a_while_may_have_been_renewed(stage, store):
    clock, _, make = stage
    await make("left").stand_by(asyncio.Event())
    right = make("right")
    right._store, away = Away(), [40]

    async def come_back():
        away[0] -= 1
        if away[0] == 0:
            right._store = store

    clock.then.append(come_back)
    assert await right.stand_by(asyncio.Event())
    assert sum(clock.waits_s) >= 40 * RENEW_S + EXPIRES_S


async def test_two_replicas_of_one_name_are_refused(stage, store):
    clock, _, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left"))
    again = make("left")
    again._holder = "another process of left"
    with pytest.raises(ConfigurationError, match="has the same name 'left'; give each replica its own"):
        await again.stand_by(asyncio.Event())


async def test_a_replica_that_restarts_waits_for_its_own_old_lease(stage):
    clock, _, make = stage
    await make("left").stand_by(asyncio.Event())
    again = make("left")
    again._holder = "another process of left"
    assert await again.stand_by(asyncio.Event())
    assert sum(clock.waits_s) >= EXPIRES_S


async def test_another_configuration_and_another_clock_are_said(stage, store):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left", ahead_s=60))
    other = FACTS | {"configuration": "other", "flows": "A->C", "version": "2"}
    await make("right", facts=other).stand_by(stopping_after(clock, 10))
    assert reporter.problems == {
        f"{WHERE}: clock of left": (
            "the clocks of this machine and of left differ by about -60 s; synchronize them"
        ),
        f"{WHERE}: configuration of left": (
            "left has another configuration: its flows are A->B, and here A->C; give both the same file"
        ),
    }
    version = {"replica": "left", "version": "1"}
    assert ("another replica has another version", version) in reporter.events


async def test_a_problem_with_another_replica_is_over_once_the_own_configuration_fits(stage, store):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left"))
    mine = FACTS | {"configuration": "other"}
    right = make("right", facts=mine)
    await right.stand_by(stopping_after(clock, 10))
    assert set(reporter.problems) == {f"{WHERE}: configuration of left"}
    mine["configuration"] = "same"
    await right.stand_by(stopping_after(clock, 1))
    assert reporter.problems == {}


@pytest.mark.parametrize("released", [True, False])
async def test_a_problem_with_another_replica_is_over_once_that_one_leads_no_more(stage, store, released):
    clock, reporter, make = stage
    left = make("left", count=2)
    await left.stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left", ahead_s=60, shard="1/2"))
    right = make("right", count=2, facts=FACTS | {"configuration": "other"})
    await right.stand_by(asyncio.Event())
    await right.keep(stopping_after(clock, 3))
    assert set(reporter.problems) == {f"{WHERE}: configuration of left", f"{WHERE}: clock of left"}
    clock.then.clear()
    if released:
        await left.release()
    await right.keep(stopping_after(clock, 2 if released else EXPIRES_S + 2))
    assert reporter.problems == {}


async def test_what_a_dead_replica_wrote_is_no_problem(stage):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    await make("right", facts=FACTS | {"configuration": "other"}).stand_by(stopping_after(clock, 10))
    assert reporter.problems == {}


async def test_a_store_that_cannot_be_written_is_one_problem(stage, store):
    clock, reporter, make = stage
    left = make("left")
    settled = []
    reporter.settled = settled.append

    class ReadOnly(Away):
        async def read(self, function):
            return await store.read(function)

        write = Away.read

    left._store = ReadOnly()
    assert not await left.stand_by(stopping_after(clock, 5))
    assert "cannot take the lead: the store is away" in reporter.problems[WHERE]
    assert settled == []


async def test_it_sees_the_leases_as_long_as_the_store_answers(stage, store):
    clock, _, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left"))
    right = make("right")
    await right.stand_by(stopping_after(clock, 100))
    assert right.sees
    right._store = Away()
    await right.stand_by(stopping_after(clock, EXPIRES_S - 1))
    assert right.sees
    await right.stand_by(stopping_after(clock, 2))
    assert not right.sees


async def test_a_lease_that_is_released_is_not_renewed_again(stage, store):
    clock, _, make = stage
    left = make("left")
    await left.stand_by(asyncio.Event())
    clock.then.append(left.release)
    await left.keep(asyncio.Event())
    assert (await store.read(partial(read_leases, group="pair")))["pair/1/1"].released


async def test_each_shard_is_worked_by_one_replica_and_the_next_is_on_standby(stage, store):
    clock, reporter, make = stage
    replicas = [make(name, count=2) for name in ("left", "right")]
    for one in replicas:
        assert await one.stand_by(asyncio.Event())
    assert [one.shard for one in replicas] == [Shard(1, 2), Shard(2, 2)]
    clock.then += [beating(store, clock, "left", shard="1/2"), beating(store, clock, "right", shard="2/2")]
    assert [replicas[0].number_of(flow) for flow in ("A->C", "C->A")] == [2, None]
    assert replicas[0].flows_of(1) == ("A->B", "B->A")
    spare = make("spare", count=2)
    assert not await spare.stand_by(stopping_after(clock, 100))
    assert spare.shard is None
    standby = [(said, facts) for said, facts in reporter.events if "standby" in said]
    assert standby == [
        (
            "on standby: other replicas lead all shards of the group",
            {"group": "pair", "replicas": "left, right", "urls": "http://one:9699, http://one:9699"},
        )
    ]
    assert reporter.problems == {}


async def test_the_shard_of_a_dead_replica_is_taken_and_the_other_is_left(stage, store):
    clock, _, make = stage
    for name in ("left", "right"):
        await make(name, count=2).stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "right", shard="2/2"))
    spare = make("spare", count=2)
    assert await spare.stand_by(asyncio.Event())
    assert (spare.shard, spare.former) == (Shard(1, 2), "process of left")
    assert spare.holders == {"process of right"}
    await spare.keep(stopping_after(clock, 3))
    assert spare.url(2) == "http://one:9699"


async def test_a_leader_that_is_gone_has_no_address_and_one_that_cannot_be_seen_keeps_its_own(stage, store):
    clock, _, make = stage
    left, right = make("left", count=2), make("right", count=2)
    for one in (left, right):
        await one.stand_by(asyncio.Event())
    await left.keep(stopping_after(clock, 4))
    assert left.url(2) == "http://one:9699"
    left._store = Away()
    await left.keep(stopping_after(clock, 20))
    assert left.url(2) == "http://one:9699"
    left._store = store
    await left.keep(stopping_after(clock, 2))
    assert left.url(2) == ""


async def test_a_replica_with_another_number_of_shards_waits_for_the_others_to_end(stage, store):
    clock, reporter, make = stage
    await make("left").stand_by(asyncio.Event())
    clock.then.append(beating(store, clock, "left"))
    more = make("more", count=3)
    assert not await more.stand_by(stopping_after(clock, 100))
    assert "another number of shards" in reporter.problems[f"{WHERE}: shards"]
    clock.then.clear()
    assert await more.stand_by(asyncio.Event())
    assert f"{WHERE}: shards" not in reporter.problems


async def test_many_replicas_that_start_at_once_take_each_shard_once(stage):
    _, _, make = stage
    replicas = [make(f"replica {number}", count=5) for number in range(5)]
    await asyncio.gather(*(one.stand_by(asyncio.Event()) for one in replicas))
    assert {one.shard.number for one in replicas} == {1, 2, 3, 4, 5}


class Meanwhile:
    """A store where something happens between reading and writing."""

    def __init__(self, store, *then):
        self._store, self._then, self.read = store, list(then), store.read

    async def write(self, function):
        if self._then:
            await self._then.pop(0)()
        return await self._store.write(function)


async def test_replicas_with_other_numbers_of_shards_that_start_at_once_do_not_lead_both(stage, store):
    clock, reporter, make = stage
    left = make("left")

    async def take():
        await left.stand_by(asyncio.Event())

    right = make("right", count=3, on=Meanwhile(store, take))
    clock.then.append(beating(store, clock, "left"))
    assert not await right.stand_by(stopping_after(clock, 50))
    assert (left.leads, right.leads) == (True, False)
    assert set(reporter.problems) == {f"{WHERE}: shards"}


async def test_a_leader_that_wakes_up_when_others_use_another_number_of_shards_ends(stage, store):
    _, _, make = stage
    left, right = make("left"), make("right", count=3)
    await left.stand_by(asyncio.Event())
    assert await right.stand_by(asyncio.Event())  # once that lease has expired
    with pytest.raises(LeadershipLostError):
        await store.write(left.guard)
    with pytest.raises(LeadershipLostError):
        await left.keep(asyncio.Event())


async def test_a_leader_reports_replicas_with_another_number_of_shards(stage, store):
    clock, reporter, make = stage
    right = make("right", count=3)
    await right.stand_by(asyncio.Event())
    old = partial(take_lease, name="pair/1/1", holder="process of left", group="of nobody", seen={}, alive=())
    await store.write(partial(old, facts={"replica": "left", **FACTS}, now_at=clock.wall_s()))
    clock.then.append(beating(store, clock, "left"))
    await right.keep(stopping_after(clock, 3))
    sentence = "replicas of group pair use another number of shards; end those"
    assert reporter.problems == {f"{WHERE}: shards": sentence}


async def test_of_two_replicas_of_one_name_that_start_at_once_one_is_refused(stage, store):
    clock, _, make = stage
    left, again = make("left", count=3), make("left", count=3)
    again._holder = "another process of left"

    async def take():
        await left.stand_by(asyncio.Event())

    again._store = Meanwhile(store, take)
    clock.then.append(beating(store, clock, "left", shard="1/3"))
    with pytest.raises(ConfigurationError, match="has the same name 'left'"):
        await again.stand_by(asyncio.Event())
    assert (left.shard, again.shard) == (Shard(1, 3), None)


async def test_a_name_that_another_leader_has_is_one_problem_as_long_as_that_one_leads(stage, store):
    clock, reporter, make = stage
    left, other, again = (make(name, count=3) for name in ("left", "other", "again"))
    for one in (left, other, again):
        await one.stand_by(asyncio.Event())
    again.replica = "left"
    said, problem = [], reporter.problem
    reporter.problem = lambda where, sentence: (said.append(where), problem(where, sentence))
    settled, reporter.settled = [], lambda where: (settled.append(where), reporter.problems.pop(where, None))
    clock.then += [beating(store, clock, "left", shard="1/3"), beating(store, clock, "other", shard="2/3")]
    await again.keep(stopping_after(clock, 5))
    assert set(said) == {f"{WHERE}: name"}
    assert set(settled) == {WHERE}
    clock.then.clear()
    await again.keep(stopping_after(clock, EXPIRES_S + 2))
    assert reporter.problems == {}
