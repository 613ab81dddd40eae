"""The store: what has to outlive the process, in SQLite or another database that SQLAlchemy speaks.

One connection for each process, used by one thread: the event loop never waits for a disk, and two
operations of a process never meet. Transactions are short; a function given to `write` or `read` gets the
connection inside a transaction, and its return is committed. A write that failed or ran out of time left
nothing behind, with one exception that its sentence names: the disk did not answer the commit itself.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from fleet.errors import UnavailableError
from runtime.process.clock import SystemClock
from runtime.store.engine import Deadline, Lifeline, make_engine
from runtime.store.errors import is_lasting, unavailable
from runtime.store.migrations import (
    INSTALLATION,
    MIGRATIONS,
    Migration,
    check_complete,
    check_numbering,
    is_made,
    migrate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.process.clock import Clock

T = TypeVar("T")
LIMIT_S = 10.0


class Store:
    """Read and write within short transactions; every failure is an UnavailableError and counted.

    `migrations` are those of all packages beside this one's. `on_error` is called in the event loop with the
    operation that failed: open, read or write. An operation may take `limit_s` seconds from the call on,
    the wait for others included; `queue` operations may wait. Opening may take `migration_limit_s`, because a
    migration that is always undone halfway would never let the store open.
    """

    def __init__(
        self,
        url: sa.URL | str,
        *,
        migrations: Sequence[Migration] = (),
        on_error: Callable[[str], None] = lambda _operation: None,
        clock: Clock | None = None,
        limit_s: float = LIMIT_S,
        migration_limit_s: float = 600.0,
        queue: int = 1000,
    ) -> None:
        self._url = sa.make_url(url)
        self._migrations = (*MIGRATIONS, *migrations)
        check_numbering(self._migrations)
        self._on_error = on_error
        self._clock = clock or SystemClock()
        self._limit_s = limit_s
        self._migration_limit_s = migration_limit_s
        self._queue = queue
        self._waiting = 0
        self._deadline = Deadline(self._clock.monotonic_ns)
        self._lifeline = Lifeline()
        self._engine: sa.Engine | None = None
        self._connection: sa.Connection | None = None
        self._file: tuple[int, int] | None = None
        self.guard: Callable[[sa.Connection], None] | None = None
        """Called at the start of each write, in its transaction; if it raises, nothing is written."""
        self._thread: ThreadPoolExecutor | None = None

    @property
    def where(self) -> str:
        """Return the store's name for messages: SQLite's path, or the address without its password."""
        if self._url.get_backend_name() == "sqlite":
            return str(self._url.database)
        # Its options may hold secrets too.
        return self._url.set(query={}).render_as_string(hide_password=True)

    async def open(self) -> None:
        """Open the database, create it if missing, and apply missing migrations."""
        await self._open(self._migrate)

    async def open_if_made(self) -> bool:
        """Open an existing store; False without one, and nothing is written."""
        return await self._open_made(self._migrate)

    async def open_to_read(self) -> bool:
        """Open a store without writing; False where nobody has made one.

        Raises UnavailableError where it lacks migrations: the service of this version takes them.
        """
        return await self._open_made(self._check_migrations, writing=False)

    async def _open_made(self, then: Callable[[sa.Connection], None], *, writing: bool = True) -> bool:
        """Open and do this if somebody has made the store; else close it and return False."""
        file = Path(self._url.database or "") if self._url.get_backend_name() == "sqlite" else None
        if file is not None and not file.exists():  # SQLite makes what it opens
            return False

        def go_on_if_made(connection: sa.Connection) -> bool:
            made = is_made(connection)
            if made:
                then(connection)
            return made

        made = await self._open(go_on_if_made, writing=writing)
        if not made:
            await self.close()
        return made

    async def _open(self, function: Callable[[sa.Connection], T], *, writing: bool = True) -> T:
        assert self._thread is None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        try:
            return await self._submit("open", function, writing=writing)
        except BaseException:
            await self.close()
            raise

    async def write(self, function: Callable[[sa.Connection], T]) -> T:
        """Run `function` in a transaction that excludes other writers; commit, then return its result."""
        return await self._submit("write", function, writing=True)

    async def read(self, function: Callable[[sa.Connection], T]) -> T:
        """Run `function` in a transaction that sees one state of the store."""
        return await self._submit("read", function, writing=False)

    async def close(self) -> None:
        """Let running operations finish, for one operation's time limit, and close; idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        closing = asyncio.get_running_loop().run_in_executor(thread, self._disconnect)
        thread.shutdown(wait=False)
        _, waiting = await asyncio.wait([closing], timeout=self._limit_s)
        if waiting:
            self._lifeline.cut()

    async def _submit(self, operation: str, function: Callable[[sa.Connection], T], *, writing: bool) -> T:
        limit_s = self._migration_limit_s if operation == "open" else self._limit_s
        try:
            return await self._run(function, writing=writing, limit_s=limit_s)
        except UnavailableError:
            self._on_error(operation)
            raise

    async def _run(self, function: Callable[[sa.Connection], T], *, writing: bool, limit_s: float) -> T:
        if self._thread is None:
            raise UnavailableError(f"the store {self.where} is closed")
        if self._waiting >= self._queue:
            raise UnavailableError(
                f"the store {self.where} is too slow: {self._waiting} operations are waiting"
            )
        until_ns = self._clock.monotonic_ns() + int(limit_s * 1e9)
        self._waiting += 1
        running = self._thread.submit(self._transact, function, writing, until_ns)
        work = asyncio.wrap_future(running)
        work.add_done_callback(self._finished)
        # The thread gives up by itself at the deadline; the second more is for a disk that hangs.
        done, _ = await asyncio.wait([work], timeout=limit_s + 1.0)
        if not done:
            # Cancelling takes it off the queue if it has not begun; asyncio's own future could be cancelled
            # while the thread is at it.
            begun = not running.cancel()
            if begun:
                self._lifeline.cut()
            rest = "; whether this write was finished is not known" if begun and writing else ""
            raise UnavailableError(f"the store {self.where} did not answer within {limit_s:g} s{rest}")
        return work.result()

    def _finished(self, work: asyncio.Future[T]) -> None:
        self._waiting -= 1
        if not work.cancelled():
            work.exception()  # asked for here, as nobody else does after a time-out

    # Everything below runs in the store's own thread.

    def _transact(self, function: Callable[[sa.Connection], T], writing: bool, until_ns: int) -> T:
        self._deadline.set(until_ns)
        try:
            self._check_time()
            self._check_file()
            connection, transaction = self._begun(writing=writing)
            with transaction:
                if writing and self.guard is not None:
                    self.guard(connection)
                result = function(connection)
                self._check_time()
                # From here on the commit is finished whatever the clock says: undone or kept, but known.
                self._deadline.set(None)
        except exc.SQLAlchemyError as error:
            told = unavailable(error, where=self.where)
            if told is None:
                raise
            if is_lasting(error):
                self._disconnect()
            raise told from error
        else:
            return result
        finally:
            self._deadline.set(None)

    def _begun(self, *, writing: bool) -> tuple[sa.Connection, sa.RootTransaction]:
        """Begin; where the server has ended a connection that nobody used, with a new one."""
        fresh = self._connection is None
        try:
            return self._begin(writing=writing)
        except exc.DBAPIError as error:
            if fresh or not error.connection_invalidated:
                raise
        self._disconnect()
        return self._begin(writing=writing)

    def _begin(self, *, writing: bool) -> tuple[sa.Connection, sa.RootTransaction]:
        connection = self._connected().execution_options(mirrorwatch_writing=writing)
        return connection, connection.begin()

    def _check_time(self) -> None:
        if self._deadline.passed():
            raise UnavailableError(f"the store {self.where} did not answer in time: nothing was written")

    def _check_file(self) -> None:
        """Refuse a file that was removed or replaced under us: what is written into it is found nowhere."""
        if self._connection is not None and self._file != _identity(self._url):
            raise UnavailableError(
                f"the store {self.where} was moved, removed or replaced while in use; put it back, "
                "or restart mirrorwatch, which then opens the file there or creates one"
            )

    def _connected(self) -> sa.Connection:
        if self._connection is None:
            if self._engine is None:
                self._engine = self._make_engine()
            self._connection = self._engine.connect()
            self._file = _identity(self._url)
        return self._connection

    def _make_engine(self) -> sa.Engine:
        try:
            # Others' transactions are short: whoever waits longer than half the limit waits for a fault.
            return make_engine(
                self._url, busy_s=self._limit_s / 2, deadline=self._deadline, lifeline=self._lifeline
            )
        except ModuleNotFoundError as error:
            raise UnavailableError(
                f"the store {self.where} needs the Python package {error.name}: install "
                "requirements-postgresql.txt of the release"
            ) from error

    def _migrate(self, connection: sa.Connection) -> None:
        now_ms = int(self._clock.wall_s() * 1000)
        migrate(connection, self._migrations, now_ms=now_ms, where=f"the store {self.where}")

    def _check_migrations(self, connection: sa.Connection) -> None:
        check_complete(connection, self._migrations, where=f"the store {self.where}")

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        engine, self._engine = self._engine, None
        try:
            if connection is not None:
                connection.close()
            if engine is not None:
                engine.dispose()
        except exc.SQLAlchemyError:
            # A connection that is given up anyway: nothing of it is used again.
            return


def _identity(url: sa.URL) -> tuple[int, int] | None:
    """Return what tells SQLite's file from any other at its path; None where there is none."""
    if url.get_backend_name() != "sqlite":
        return None
    try:
        found = Path(url.database or "").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


async def installation_id(store: Store) -> str:
    """Return the random id, 32 hexadecimal digits, that every replica on this store shares."""

    def find(connection: sa.Connection) -> str:
        return str(connection.execute(sa.select(INSTALLATION.c.installation_id)).scalar_one())

    return await store.read(find)
