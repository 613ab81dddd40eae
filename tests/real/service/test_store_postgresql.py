"""The store in a real PostgreSQL: writers one after another, one state for readers, limits, faults in words."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time

import pytest
import sqlalchemy as sa

from deploy.local.postgresql import PASSWORD, PostgreSql
from fleet.errors import UnavailableError
from runtime.store.address import resolve_address
from runtime.store.migrations import Migration, create
from runtime.store.store import Store, installation_id
from tests.databases import behind_a_proxy, new_database
from tests.eventually import eventually

pytestmark = pytest.mark.real

METADATA = sa.MetaData()
COUNTS = sa.Table(
    "counts", METADATA, sa.Column("id", sa.Integer, primary_key=True), sa.Column("count", sa.BigInteger)
)
FIRST = Migration("canary", 1, "counts", create(COUNTS))
DEADLINE_S = 20


@pytest.fixture
async def opened(tmp_path):
    stores = []

    async def make(url, **options):
        store = Store(resolve_address(url, tmp_path), migrations=(FIRST,), **options)
        stores.append(store)
        await store.open()
        return store

    yield make
    for store in stores:
        await store.close()


@pytest.fixture
def own_server():
    with PostgreSql() as server:
        yield server


def begin(connection):
    connection.execute(COUNTS.insert().values(id=1, count=0))


def one_more(connection):
    """Read and write as nobody may who is not alone."""
    count = connection.execute(sa.select(COUNTS.c.count)).scalar_one()
    time.sleep(0.005)
    connection.execute(sa.update(COUNTS).values(count=count + 1))


def count(connection):
    return connection.execute(sa.select(COUNTS.c.count)).scalar_one()


async def test_two_that_open_an_empty_database_at_once_share_it(postgresql, opened):
    url = new_database(postgresql)
    one, other = await asyncio.gather(opened(url), opened(url))
    assert await installation_id(one) == await installation_id(other)


async def test_writers_of_several_connections_exclude_each_other(postgresql, opened):
    url = new_database(postgresql)
    stores = [await opened(url) for _ in range(3)]
    await stores[0].write(begin)
    await asyncio.gather(*(store.write(one_more) for store in stores for _ in range(20)))
    assert await stores[0].read(count) == 60


async def test_a_reader_sees_one_state_and_writes_nothing(postgresql, opened):
    url = new_database(postgresql)
    reader, writer = await opened(url), await opened(url)
    await writer.write(begin)
    looked, written = threading.Event(), threading.Event()

    def look_twice(connection):
        first = count(connection)
        looked.set()
        assert written.wait(DEADLINE_S)
        return first, count(connection)

    reading = asyncio.create_task(reader.read(look_twice))
    assert await asyncio.to_thread(looked.wait, DEADLINE_S)
    await writer.write(one_more)
    written.set()
    assert await reading == (0, 0)
    assert await reader.read(count) == 1
    with pytest.raises(UnavailableError, match="accepts no writes"):
        await reader.read(one_more)


async def test_what_fails_is_undone_and_large_numbers_fit(postgresql, opened):
    store = await opened(new_database(postgresql))
    await store.write(begin)

    def fails(connection):
        connection.execute(sa.update(COUNTS).values(count=5))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(fails)
    assert await store.read(count) == 0
    await store.write(lambda connection: connection.execute(sa.update(COUNTS).values(count=1 << 62)))
    assert await store.read(count) == 1 << 62


async def test_what_takes_too_long_is_undone_and_the_next_one_goes_on(postgresql, opened):
    store = await opened(new_database(postgresql), limit_s=1.0)
    await store.write(begin)

    def slow(connection):
        connection.execute(sa.update(COUNTS).values(count=5))
        connection.execute(sa.text("select pg_sleep(30)"))

    with pytest.raises(UnavailableError, match="did not answer in time: the operation was rolled back"):
        await store.write(slow)
    assert await store.read(count) == 0


async def test_a_writer_that_waits_for_another_one_too_long_gives_up(postgresql, opened):
    url = new_database(postgresql)
    patient, other = await opened(url), await opened(url, limit_s=1.0)
    held, ended = threading.Event(), threading.Event()

    def hold(_connection):
        held.set()
        ended.wait(DEADLINE_S)

    holding = asyncio.create_task(patient.write(hold))
    assert await asyncio.to_thread(held.wait, DEADLINE_S)
    with pytest.raises(UnavailableError, match="did not answer in time"):
        await other.write(begin)
    ended.set()
    await holding
    await other.write(begin)


async def test_one_that_stands_still_in_a_transaction_keeps_no_other_out(postgresql, opened):
    url = new_database(postgresql)
    patient, still = await opened(url), await opened(url, limit_s=1.0)
    held, ended = threading.Event(), threading.Event()

    def hold(connection):
        begin(connection)
        held.set()
        ended.wait(DEADLINE_S)

    holding = asyncio.create_task(still.write(hold))
    assert await asyncio.to_thread(held.wait, DEADLINE_S)
    await patient.write(begin)
    ended.set()
    with pytest.raises(UnavailableError, match=r"did not answer|received nothing"):
        await holding
    await still.write(one_more)
    assert await patient.read(count) == 1


async def test_the_limit_is_of_all_statements_together(postgresql, opened):
    store = await opened(new_database(postgresql), limit_s=1.0)
    await store.write(begin)
    said = []

    def slow(connection):
        for number in range(20):
            connection.execute(sa.update(COUNTS).values(count=number))
            connection.execute(sa.text("select pg_sleep(0.2)"))
            said.append(number)

    with pytest.raises(UnavailableError, match="did not answer in time"):
        await store.write(slow)
    assert await store.read(count) == 0
    assert len(said) < 8


async def test_writers_exclude_each_other_whatever_level_is_the_default(postgresql, opened):
    url = new_database(postgresql)
    name = url.rpartition("/")[2]
    postgresql.say(f"alter database {name} set default_transaction_isolation = 'repeatable read'")
    stores = [await opened(url) for _ in range(3)]
    await stores[0].write(begin)
    await asyncio.gather(*(store.write(one_more) for store in stores for _ in range(5)))
    assert await stores[0].read(count) == 15


async def test_a_connection_that_the_server_ended_meanwhile_is_opened_anew(postgresql, opened):
    store = await opened(new_database(postgresql))
    await store.write(begin)
    postgresql.say(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        " and pid <> pg_backend_pid()",
        database=store._url.database,
    )
    await store.write(one_more)
    assert await store.read(count) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"password": "HUSH"}, "refuses the user or the password: see both in store.url"),
        ({"user": "nobody"}, "refuses the user or the password"),
        ({"database": "absent"}, "does not exist on the server"),
        ({"database": "postgres?sslmod=x"}, r"rejects an option after '\?' in store.url"),
        ({"database": "postgres?sslpassword=HUSH&options=-cwork_mem%3Dx"}, "failed: |cannot be reached: "),
    ],
)
async def test_what_is_wrong_with_an_address_is_a_sentence(postgresql, opened, change, sentence):
    with pytest.raises(UnavailableError, match=sentence) as refused:
        await opened(postgresql.url(**change))
    said = str(refused.value)
    assert "HUSH" not in said
    assert PASSWORD not in said
    assert said.startswith("the store postgresql+psycopg://")


async def test_a_user_without_rights_is_told_which(postgresql, opened):
    url = new_database(postgresql)
    name = url.rpartition("/")[2]
    postgresql.say(f"create role poor_{name} login password 'poor'")
    with pytest.raises(UnavailableError, match="denies this to the user: make it the owner of the database"):
        await opened(postgresql.url(name, user=f"poor_{name}", password="poor"))
    postgresql.say(f"alter database {name} owner to poor_{name}")
    await opened(postgresql.url(name, user=f"poor_{name}", password="poor"))


async def test_a_server_that_is_killed_is_a_sentence_until_it_is_back(own_server, opened):
    store = await opened(own_server.url())
    await store.write(begin)
    own_server.kill()
    for _ in range(2):
        with pytest.raises(
            UnavailableError, match=r"cannot be reached|is stopping or starting|ended by an administrator"
        ):
            await store.write(one_more)
    own_server.start()
    await store.write(one_more)
    assert await store.read(count) == 1


async def test_a_server_that_stands_still_is_given_up(own_server, opened):
    store = await opened(own_server.url(), limit_s=1.0)
    await store.write(begin)
    own_server.freeze()
    with pytest.raises(UnavailableError, match="did not answer within 1 s"):
        await store.read(count)
    own_server.thaw()
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            assert await store.read(count) == 0
            break
        except UnavailableError:
            assert time.monotonic() < until


async def test_while_a_server_stands_still_a_store_can_be_closed(own_server, tmp_path):
    store = Store(resolve_address(own_server.url(), tmp_path), migrations=(FIRST,), limit_s=1.0)
    await store.open()
    (thread,) = store._thread._threads
    own_server.freeze()
    reading = asyncio.create_task(store.read(count))
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    with pytest.raises(UnavailableError):
        await reading
    await closing
    await asyncio.to_thread(thread.join, DEADLINE_S)
    assert not thread.is_alive()


async def test_a_network_that_loses_everything_in_silence_is_left_behind(postgresql, opened, tmp_path):
    with behind_a_proxy(new_database(postgresql), tmp_path) as proxy:
        eventually(lambda: accepts(proxy.url), 20, what="the proxy")
        store = await opened(proxy.url, limit_s=3)
        await store.write(begin)
        proxy.hold()
        with pytest.raises(
            UnavailableError, match="did not answer within 3 s; whether this write was finished"
        ):
            await write_until_it_fails(store)
        proxy.let_pass()
        async with asyncio.timeout(DEADLINE_S):
            while True:
                with contextlib.suppress(UnavailableError):
                    before = await store.read(count)
                    await store.write(one_more)
                    break
        assert await store.read(count) == before + 1


async def write_until_it_fails(store):
    async with asyncio.timeout(DEADLINE_S):
        while True:  # the proxy notices its order after a moment
            await store.write(one_more)


def accepts(url):
    port = int(url.rpartition(":")[2].partition("/")[0])
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
