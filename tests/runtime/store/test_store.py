"""The store on real SQLite files: transactions, time limits, several processes, and faults of the disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading

import pytest
import sqlalchemy as sa

from fleet.errors import UnavailableError
from runtime.store.migrations import Migration, create
from runtime.store.store import Store, installation_id
from tests.runtime.fake_clock import FakeClock

METADATA = sa.MetaData()
THINGS = sa.Table(
    "things",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
)
FIRST = Migration("canary", 1, "things", create(THINGS))


def add(name):
    def function(connection):
        connection.execute(THINGS.insert().values(name=name))

    return function


def names(connection):
    return list(connection.execute(sa.select(THINGS.c.name).order_by(THINGS.c.id)).scalars())


@pytest.fixture
async def opened(tmp_path):
    stores = []

    async def make(path="mw.db", *, migrations=(FIRST,), **options):
        errors = []
        store = Store(
            f"sqlite:///{tmp_path / path}", migrations=migrations, on_error=errors.append, **options
        )
        stores.append(store)
        store.errors = errors
        await store.open()
        return store

    make.stores = stores
    yield make
    for store in stores:
        await store.close()


async def refusal(make, *args, **kwargs):
    with pytest.raises(UnavailableError) as refused:
        await make(*args, **kwargs)
    return str(refused.value), make.stores[-1].errors


async def test_what_is_written_is_there_after_opening_again(opened):
    store = await opened()
    await store.write(add("a"))
    assert await store.read(names) == ["a"]
    await store.close()
    store = await opened()
    assert await store.read(names) == ["a"]
    assert store.errors == []


async def test_the_file_is_set_up_to_survive(opened):
    store = await opened()

    def pragmas(connection):
        ask = connection.exec_driver_sql
        return [ask(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous", "foreign_keys")]

    assert await store.read(pragmas) == ["wal", 2, 1]  # 2 is FULL


async def test_a_write_that_fails_leaves_nothing_and_its_bug_passes_through(opened):
    store = await opened()
    await store.write(add("a"))

    def half(connection):
        add("b")(connection)
        add("a")(connection)

    with pytest.raises(sa.exc.IntegrityError):
        await store.write(half)

    def broken(connection):
        add("c")(connection)
        raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        await store.write(broken)
    with pytest.raises(sa.exc.OperationalError, match="no such table"):
        await store.read(lambda connection: connection.exec_driver_sql("SELECT * FROM nowhere"))
    assert await store.read(names) == ["a"]
    assert store.errors == []


async def test_everything_runs_in_one_thread_which_is_not_the_loop_s(opened):
    store = await opened()
    found = await asyncio.gather(
        *(operation(lambda _: threading.get_ident()) for operation in (store.read, store.write) * 5)
    )
    assert len(set(found)) == 1
    assert threading.get_ident() not in found


async def test_the_installation_has_one_id_for_good(opened):
    one, other = await asyncio.gather(opened(), opened())
    first = await installation_id(one)
    assert first == await installation_id(other)
    assert len(first) == 32
    await one.close()
    assert await installation_id(await opened()) == first
    assert await installation_id(await opened("another.db")) != first


async def test_a_statement_that_takes_too_long_is_ended_and_undone(opened):
    store = await opened(limit_s=1.0)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"

    def function(connection):
        add("a")(connection)
        connection.exec_driver_sql(endless)

    with pytest.raises(UnavailableError, match="did not answer in time: the operation was rolled back"):
        await store.write(function)
    assert await store.read(names) == []
    assert store.errors == ["write"]


async def test_a_function_that_takes_too_long_is_undone(opened):
    clock = FakeClock()
    store = await opened(clock=clock)

    def slow(connection):
        add("a")(connection)
        clock.advance(11)

    with pytest.raises(UnavailableError, match="did not answer in time: nothing was written"):
        await store.write(slow)
    assert await store.read(names) == []
    assert store.errors == ["write"]


async def test_a_full_queue_is_refused_at_once(opened):
    store = await opened(queue=2)
    release = threading.Event()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(store.read(lambda _: release.wait(10)))
            await asyncio.sleep(0)
            with pytest.raises(UnavailableError, match="is too slow: 2 operations are waiting"):
                await store.read(names)
            release.set()
    finally:
        release.set()
    assert store.errors == ["read"]
    assert await store.read(names) == []


async def test_a_cancelled_caller_leaves_the_store_usable(opened):
    store = await opened()
    release, entered = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(_connection):
        loop.call_soon_threadsafe(entered.set)
        release.wait(10)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(store.write(hold))
        await entered.wait()
        task.cancel()
    release.set()
    await store.write(add("a"))
    assert await store.read(names) == ["a"]


async def test_a_file_that_another_process_holds_is_a_sentence_and_passes(opened, tmp_path):
    store = await opened(limit_s=2.0)
    with contextlib.closing(sqlite3.connect(tmp_path / "mw.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match=r"mw\.db is locked by another process"):
            await store.write(add("a"))
        assert await store.read(names) == []  # a reader never waits for a writer
        other.execute("ROLLBACK")
    await store.write(add("a"))
    assert store.errors == ["write"]


async def test_a_full_disk_is_a_sentence_and_passes(opened):
    store = await opened()

    def limit(pages):
        return lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count={pages}").scalar()

    def fill(connection):
        for number in range(2000):
            connection.execute(THINGS.insert().values(name=f"{number:090}"))

    await store.read(limit(10))
    with pytest.raises(UnavailableError, match="cannot grow, the disk is full: free space"):
        await store.write(fill)
    await store.read(limit(100_000))
    await store.write(fill)
    assert len(await store.read(names)) == 2000


async def test_faults_at_the_opening_are_sentences(opened, tmp_path):
    (tmp_path / "text.db").write_text("this is a text file, not a database" * 100)
    assert await refusal(opened, "text.db") == (
        f"the store {tmp_path}/text.db is not a database: name another file in store.url, or move this one away",
        ["open"],
    )
    nowhere = f"{tmp_path}/nowhere"
    todo = "create it, or name another file in store.url"
    assert await refusal(opened, "nowhere/mw.db") == (
        f"the store {nowhere}/mw.db cannot be opened, there is no folder {nowhere}: {todo}",
        ["open"],
    )
    (tmp_path / "folder.db").mkdir()
    assert await refusal(opened, "folder.db") == (
        f"the store {tmp_path}/folder.db is a folder: name a file in it in store.url",
        ["open"],
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "theirs.db")) as theirs:
        theirs.execute("CREATE TABLE accounts (id INTEGER)")
    assert await refusal(opened, "theirs.db") == (
        f"the store {tmp_path}/theirs.db belongs to another program; name another file in store.url",
        ["open"],
    )


@pytest.fixture
def read_only_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk")
@pytest.mark.usefixtures("read_only_disk")
async def test_a_disk_that_is_mounted_read_only_is_a_sentence(opened, tmp_path):
    sentence, errors = await refusal(opened, "disk/mw.db")
    assert sentence == (
        f"the store {tmp_path}/disk/mw.db cannot be written, its disk is mounted read-only: "
        "mount it for writing, or name another file"
    )
    assert errors == ["open"]


@contextlib.contextmanager
def as_nobody():
    """Work without root's rights where the tests run as root; otherwise they are missing already."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def for_all(tmp_path):
    """Open the way to this test's folder for every user."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


async def test_a_folder_above_it_that_may_not_be_entered(opened, for_all):
    (for_all / "shut" / "inner").mkdir(parents=True)
    (for_all / "shut").chmod(0o600)
    with as_nobody():
        sentence, errors = await refusal(opened, "shut/inner/new.db")
    (for_all / "shut").chmod(0o700)
    assert "new.db cannot be reached: give this user permission to enter every folder above it" in sentence
    assert errors == ["open"]


async def test_folders_and_files_that_may_not_be_written(opened, for_all):
    tmp_path = for_all
    (tmp_path / "closed").mkdir(mode=0o555)
    store = await opened("closed/old.db") if os.geteuid() == 0 else None
    if store is not None:
        await store.close()
        (tmp_path / "closed" / "old.db").chmod(0o444)
    with as_nobody():
        sentence, errors = await refusal(opened, "closed/new.db")
        assert "new.db cannot be opened: give this user write permission in its folder" in sentence
        assert errors == ["open"]
        if store is not None:
            sentence, errors = await refusal(opened, "closed/old.db")
            assert "old.db cannot be" in sentence
            assert "this user" in sentence
            assert errors == ["open"]


async def test_a_damaged_file_is_a_sentence(opened, tmp_path):
    store = await opened()

    def fill(connection):
        for number in range(2000):
            connection.execute(THINGS.insert().values(name=f"{number:090}"))

    await store.write(fill)
    await store.close()
    path = tmp_path / "mw.db"
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(bytes(content))

    async def use():
        await (await opened()).read(names)

    with pytest.raises(UnavailableError, match="is damaged: move it away and restore a copy"):
        await use()


async def test_a_file_that_is_taken_away_is_a_sentence_until_it_is_back(opened, tmp_path):
    store = await opened()
    await store.write(add("a"))
    (tmp_path / "mw.db").rename(tmp_path / "away.db")
    with pytest.raises(
        UnavailableError, match=r"mw\.db was moved, removed or replaced while in use; put it back"
    ):
        await store.write(add("b"))
    (tmp_path / "mw.db").touch()
    with pytest.raises(UnavailableError, match="was moved, removed or replaced"):
        await store.read(names)
    (tmp_path / "away.db").rename(tmp_path / "mw.db")
    await store.write(add("c"))
    assert await store.read(names) == ["a", "c"]
    assert store.errors == ["write", "read"]


async def test_a_closed_store_says_so_and_closes_twice(opened):
    store = await opened()
    await store.close()
    await store.close()
    with pytest.raises(UnavailableError, match=r"mw\.db is closed"):
        await store.read(names)


async def test_a_missing_driver_is_a_sentence_without_the_password(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    store = Store("postgresql+psycopg://mw:HUSH@db/mw")
    with pytest.raises(UnavailableError) as refused:
        await store.open()
    assert str(refused.value) == (
        "the store postgresql+psycopg://mw:***@db/mw needs the Python package psycopg: install "
        "requirements-postgresql.txt of the release"
    )


async def test_reading_makes_no_store_and_changes_none(tmp_path):
    path = tmp_path / "mw.db"
    reader = Store(f"sqlite:///{path}", migrations=(FIRST,))
    assert not await reader.open_to_read()
    assert not path.exists()
    older = Store(f"sqlite:///{path}")
    await older.open()
    with pytest.raises(UnavailableError, match="was created by an older version; start the service"):
        await reader.open_to_read()
    await older.close()
    newer = Store(f"sqlite:///{path}", migrations=(FIRST,))
    await newer.open()
    assert await reader.open_to_read()
    assert await reader.read(names) == []
    await newer.write(add("one"))
    assert await reader.read(names) == ["one"]
    for one in (reader, newer):
        await one.close()
    with pytest.raises(UnavailableError, match="newer version"):
        await Store(f"sqlite:///{path}").open_to_read()
