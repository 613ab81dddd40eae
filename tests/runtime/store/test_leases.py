"""Leases in both kinds of database: one holder at a time, and nobody else writes."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
import sqlalchemy as sa

from fleet.errors import UnavailableError
from runtime.store.leases import LEASES, MIGRATIONS, fence, read_leases, renew_lease, take_lease
from runtime.store.store import Store
from tests.databases import DATABASES, address_of

NAME = "pair/1/1"


@pytest.fixture(params=DATABASES)
async def stores(request, tmp_path):
    """Give two connections to one empty store."""
    address = address_of(request, tmp_path)
    found = [Store(address, migrations=MIGRATIONS) for _ in range(2)]
    for one in found:
        await one.open()
    yield found
    for one in found:
        await one.close()


def taking(holder, *seen, name=NAME, alive=()):
    return partial(
        take_lease,
        name=name,
        holder=holder,
        group="pair",
        seen={one.name: one for one in seen},
        alive=alive,
        facts={"replica": holder},
        now_at=1.0,
    )


def renewing(holder, name=NAME, **more):
    return partial(renew_lease, name=name, holder=holder, facts={"replica": holder}, now_at=2.0, **more)


def add(connection, name):
    values = {"holder": "x", "beat": 0, "released": False, "facts": {}, "renewed_at": 0.0}
    connection.execute(sa.insert(LEASES).values(name=name, **values))


async def seen(store):
    return (await store.read(partial(read_leases, group="pair"))).get(NAME)


async def test_a_free_lease_is_taken_once(stores):
    assert await seen(stores[0]) is None
    taken = await asyncio.gather(stores[0].write(taking("left")), stores[1].write(taking("right")))
    assert sorted(taken) == [False, True]
    lease = await seen(stores[0])
    assert lease.holder == ("left" if taken[0] else "right")
    assert (lease.beat, lease.released, lease.facts, lease.renewed_at) == (
        0,
        False,
        {"replica": lease.holder},
        1.0,
    )


async def test_it_is_taken_only_as_it_was_seen(stores):
    await stores[0].write(taking("left"))
    before = await seen(stores[1])
    assert await stores[0].write(renewing("left"))
    assert not await stores[1].write(taking("right", before))
    now = await seen(stores[1])
    assert (now.beat, now.renewed_at) == (1, 2.0)
    assert await stores[1].write(taking("right", now))
    assert not await stores[0].write(renewing("left"))
    assert not await stores[0].write(taking("left", now))
    assert (await seen(stores[0])).holder == "right"


async def test_it_is_taken_only_if_nothing_else_of_the_group_has_changed(stores):
    await stores[0].write(taking("left", name="pair/1/3"))
    first = await stores[0].read(partial(read_leases, group="pair"))
    assert not await stores[1].write(taking("right", name="pair/2/3"))  # which saw none
    await stores[0].write(renewing("left", name="pair/1/3"))
    assert not await stores[1].write(taking("right", *first.values(), name="pair/2/3"))
    assert await stores[1].write(taking("right", *first.values(), name="pair/2/3", alive={"pair/1/3"}))
    now = await stores[0].read(partial(read_leases, group="pair"))
    assert {name: one.holder for name, one in now.items()} == {"pair/1/3": "left", "pair/2/3": "right"}
    await stores[0].write(taking("other", now["pair/1/3"], now["pair/2/3"], name="pair/1/3"))
    late = taking("spare", *now.values(), name="pair/3/3", alive=set(now))
    assert not await stores[1].write(late)  # another process has one of those that live


async def test_who_held_a_lease_of_another_number_of_shards_holds_nothing_more(stores):
    await stores[0].write(taking("left", name="pair/1/2"))
    stores[0].guard = fence("pair/1/2", "left", lambda: UnavailableError("another one leads"))
    before = await stores[1].read(partial(read_leases, group="pair"))
    await stores[1].write(partial(add, name="pair/of/1/2"))
    assert await stores[1].write(taking("right", *before.values()))
    assert set(await stores[1].read(partial(read_leases, group="pair"))) == {NAME}
    with pytest.raises(UnavailableError, match="another one leads"):
        await stores[0].write(renewing("left", name="pair/1/2"))
    stores[0].guard = None
    assert not await stores[0].write(renewing("left", name="pair/1/2"))
    assert set(await stores[1].read(partial(read_leases, group="pair/of"))) == {"pair/of/1/2"}


async def test_a_released_lease_says_so_until_it_is_taken(stores):
    await stores[0].write(taking("left"))
    assert await stores[0].write(renewing("left", released=True))
    lease = await seen(stores[1])
    assert lease.released
    assert await stores[1].write(taking("right", lease))
    assert not (await seen(stores[1])).released


async def test_who_does_not_hold_it_writes_nothing(stores):
    await stores[0].write(taking("left"))

    stores[0].guard = fence(NAME, "left", lambda: UnavailableError("another one leads"))

    await stores[0].write(partial(add, name="note"))
    await stores[1].write(taking("right", await seen(stores[1])))
    with pytest.raises(UnavailableError, match="another one leads"):
        await stores[0].write(renewing("left"))
    stores[1].guard = fence(NAME, "right", lambda: UnavailableError("another one leads"))
    assert await stores[1].write(renewing("right"))


async def test_a_group_has_only_its_own_leases(stores):
    for name in ("pair/1/2", "pair/2/2", "pair/of/1/1", "pair_/1/1", "pai%/1/1"):
        await stores[0].write(partial(add, name=name))
    found = await stores[1].read(partial(read_leases, group="pair"))
    assert sorted(found) == ["pair/1/2", "pair/2/2"]
    assert list(await stores[1].read(partial(read_leases, group="pai%"))) == ["pai%/1/1"]
