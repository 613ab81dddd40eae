"""What the lag monitor knew, in the store and handed over: whole or not at all, and told in words."""

from __future__ import annotations

import asyncio
import errno
import shutil
import stat
import tempfile

import pytest
import sqlalchemy as sa

from fleet.errors import MalformedError, UnavailableError
from lagmon.snapshots import store as snapshot_store
from lagmon.snapshots.file import unpack
from lagmon.snapshots.store import PIECE_BYTES, SNAPSHOTS
from mirrorwatch.lag import keeping as lag_keeping
from mirrorwatch.lag.keeping import KEEP_S, WHERE, LagKeeping
from runtime.store.store import Store
from tests.databases import DATABASES, address_of
from tests.runtime.fake_clock import FakeClock


class Said:
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.problems, self.events = {}, []

    def problem(self, where, sentence):
        self.problems[where] = sentence

    def settled(self, where):
        self.problems.pop(where, None)

    def event(self, sentence, **_facts):
        self.events.append(sentence)


class Process:
    """What answers for the lag monitor; `parts` is what it knows, None while it is silent."""

    def __init__(self, **parts):
        self.parts = parts
        self.asked = 0

    async def ask(self, question, *, part=""):
        assert question == "snapshot"
        if self.parts is None:
            raise UnavailableError("the lag monitor does not answer")
        if not part:
            self.asked += 1
            return {"parts": [*self.parts, "cluster:none"]}, b""
        return {"part": part}, self.parts.get(part, b"")


@pytest.fixture(params=DATABASES)
async def desk(request, tmp_path):
    clock, said = FakeClock(), Said()
    store = Store(address_of(request, tmp_path), migrations=snapshot_store.MIGRATIONS, clock=clock)
    await store.open()
    made = []

    def keeping(replica="one"):
        made.append(LagKeeping(store, replica=lambda: replica, clock=clock, reporter=said))
        return made[-1]

    keeping.store, keeping.clock, keeping.said = store, clock, said
    yield keeping
    for one in made:
        one.close()
    await store.close()


async def handed(keeping):
    """Return the parts that a process finds as it starts, None without a file."""
    await keeping.hand_over()
    return unpack(keeping.path.read_bytes()) if keeping.path.exists() else None


async def test_what_is_kept_is_handed_over_whole(desk):
    parts = {"cluster:A": bytes(range(256)) * (PIECE_BYTES // 100), "flow:A->B": b"small"}
    one = desk()
    await one.take(Process(**parts).ask)
    assert await handed(one) == parts
    assert await handed(desk()) == parts  # the next start of the service


async def test_only_we_may_read_what_is_handed_over(desk):
    one = desk()
    await one.take(Process(**{"cluster:A": b"x"}).ask)
    await one.hand_over()
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.path.parent.stat().st_mode) == 0o700
    await one.hand_over()  # also where a process that died has not taken it away
    one.close()
    assert not one.path.parent.exists()


async def test_the_newest_takes_the_place_of_the_one_before_and_nothing_of_that_stays(desk):
    one = desk()
    await one.take(Process(**{"cluster:A": b"old" * PIECE_BYTES, "flow:x": b"gone"}).ask)
    await one.take(Process(**{"cluster:A": b"new"}).ask)
    assert await handed(one) == {"cluster:A": b"new"}
    assert (
        await desk.store.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(SNAPSHOTS)).scalar())
        == 1
    )


async def test_each_replica_has_its_own(desk):
    await desk("one").take(Process(**{"cluster:A": b"1"}).ask)
    await desk("two").take(Process(**{"cluster:A": b"2"}).ask)
    assert await handed(desk("one")) == {"cluster:A": b"1"}
    assert await handed(desk("two")) == {"cluster:A": b"2"}
    assert await handed(desk("three")) is None
    assert desk.said.problems == {}


async def test_what_a_replica_left_long_ago_goes(desk):
    await desk("gone").take(Process(**{"cluster:A": b"1"}).ask)
    desk.clock.advance(31 * 86_400)
    await desk("one").take(Process(**{"cluster:A": b"2"}).ask)
    assert await handed(desk("gone")) is None


async def test_a_process_that_is_silent_leaves_what_was_kept(desk):
    one, process = desk(), Process(**{"cluster:A": b"1"})
    await one.take(process.ask)
    process.parts = None
    await one.take(process.ask)
    assert await handed(one) == {"cluster:A": b"1"}
    assert desk.said.problems == {}  # the process's silence is told where its state is


@pytest.mark.parametrize(
    "harm",
    [
        sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.piece == 1),
        sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.piece == 0),
        sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.piece == 2),
        sa.update(SNAPSHOTS).where(SNAPSHOTS.c.piece == 1).values(taken_at=5.0),
        sa.update(SNAPSHOTS).where(SNAPSHOTS.c.piece == 1).values(pieces=7),
    ],
)
async def test_a_torn_one_is_refused_in_words_and_everything_begins_again(desk, harm):
    one = desk()
    await one.take(Process(**{"cluster:A": b"1", "cluster:B": b"2", "flow:A->B": b"3"}).ask)
    await desk.store.write(lambda connection: connection.execute(harm))
    assert await handed(one) is None
    assert desk.said.problems[WHERE].startswith("snapshot in the store: incomplete")
    assert desk.said.problems[WHERE].endswith("the lag monitor restarts without its earlier state")
    await one.take(Process(**{"cluster:A": b"new"}).ask)
    assert await handed(one) == {"cluster:A": b"new"}
    assert desk.said.problems == {}


async def test_more_than_there_can_be_is_neither_written_nor_read(desk, monkeypatch):
    one = desk()
    await one.take(Process(**{"cluster:A": b"12345"}).ask)
    for module in (lag_keeping, snapshot_store):
        monkeypatch.setattr(module, "MAX_BYTES", 4)
    await one.take(Process(**{"cluster:A": b"54321"}).ask)
    assert desk.said.problems == {WHERE: "the state of the lag monitor is too large to store (5 bytes)"}
    with pytest.raises(MalformedError, match="snapshot in the store: 5 bytes"):
        await desk.store.read(lambda connection: snapshot_store.kept(connection, "one"))


async def test_a_store_that_is_away_is_reported_and_keeps_no_one_from_starting(desk):
    one = desk()
    await desk.store.close()
    await one.hand_over()
    assert not one.path.exists()
    assert "is closed: the lag monitor restarts" in desk.said.problems[WHERE]
    desk.said.problems.clear()
    await one.take(Process(**{"cluster:A": b"1"}).ask)
    assert "is closed" in desk.said.problems[WHERE]


async def test_it_is_kept_every_minute_and_once_more_at_the_end(desk):
    one, process, stopping = desk(), Process(**{"cluster:A": b"1"}), asyncio.Event()

    async def ask(question, **details):
        found = await process.ask(question, **details)
        if process.asked == 3:
            stopping.set()
        return found

    await one.keep(ask, stopping)
    assert desk.clock.waits_s == [KEEP_S] * 3
    assert process.asked == 4


async def test_a_process_that_does_not_report_in_time_does_not_hold_up_the_end(desk, monkeypatch):
    monkeypatch.setattr(lag_keeping, "LAST_S", 0.01)
    one, stopping = desk(), asyncio.Event()
    stopping.set()

    async def ask(*_question, **_details):
        await asyncio.Event().wait()

    await one.keep(ask, stopping)
    assert desk.said.events == ["the lag monitor did not return its state in time at shutdown"]


async def test_a_folder_that_was_tidied_away_is_made_again(desk):
    one = desk()
    await one.take(Process(**{"cluster:A": b"x"}).ask)
    shutil.rmtree(one.path.parent)
    assert await handed(one) == {"cluster:A": b"x"}
    assert desk.said.problems == {}


async def test_where_there_is_no_room_for_it_nothing_is_handed_over_and_that_is_reported(desk, monkeypatch):
    def full(*_where, **_more):
        raise OSError(errno.ENOSPC, "No space left on device")

    one = desk()
    await one.take(Process(**{"cluster:A": b"x"}).ask)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    assert await one.hand_over() == ""
    assert "No space left on device: the lag monitor restarts" in desk.said.problems[WHERE]
    monkeypatch.undo()
    assert await one.hand_over() == str(one.path)
