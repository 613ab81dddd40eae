"""Open a database so that every finished write survives kill -9 and a power cut, with one writer at a time.

SQLite: write-ahead log, so that readers in other processes never wait for a writer; synchronous FULL, so that
a commit is on the disk when it returns. NORMAL would survive kill -9 too, but could lose the newest commits
in a power cut, with losses that were already reported. FULL costs one fsync a commit; many changes share one.
Transactions start IMMEDIATE for writing: two writers wait for each other at the start instead of failing
later.

PostgreSQL makes commits durable by itself. An advisory lock makes its writers wait for each other, and ends
with the transaction; readers see one state. The server limits the time of a statement, and the idle time in a
transaction. It limits neither between two statements of a pipeline, as psycopg sends them for many rows: if
the network is cut there, the server would keep the lock for hours. So a writer that waits ends the session of
one that has sent nothing for ABANDONED_S. TCP detects a dead server; for a server that hangs, this module
cuts the connection.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from collections.abc import Callable

# Checked every so many steps of SQLite's machine: often enough for 100 ms, too seldom to be felt.
_STEPS_BETWEEN_LOOKS = 10_000
_WRITERS = 7_290_461_355_321  # the advisory lock of all writers: any number, the same in every version
_LOOK_S = 0.05  # how often a writer that waits asks for the lock
ABANDONED_S = 5.0  # a writer sends its next statement long before
# The lock's number is in two halves. Sessions of the same user may be ended without further permissions.
_END_ABANDONED = f"""
    SELECT pg_terminate_backend(held.pid) FROM pg_locks held JOIN pg_stat_activity session USING (pid)
    WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND held.classid = {_WRITERS >> 32} AND held.objid = {_WRITERS & 0xFFFFFFFF}
    AND session.wait_event_type = 'Client'
    AND session.state_change < clock_timestamp() - interval '{ABANDONED_S:g} seconds'
"""  # noqa: S608 - only our own numbers


class Deadline:
    """Deadline of the running operation, read by its thread."""

    def __init__(self, monotonic_ns: Callable[[], int]) -> None:
        self._monotonic_ns = monotonic_ns
        self._at_ns: int | None = None

    def set(self, at_ns: int | None) -> None:
        """Begin (or with None, end) an operation."""
        self._at_ns = at_ns

    def passed(self) -> bool:
        """Return whether the deadline has passed."""
        return self._at_ns is not None and self._monotonic_ns() > self._at_ns

    @property
    def left_ms(self) -> int:
        """Return how long the operation may still take, at least 1; 0 where it may take for ever."""
        if self._at_ns is None:
            return 0
        return max(1, (self._at_ns - self._monotonic_ns()) // 1_000_000)


class Lifeline:
    """The connection to a server, which another thread can cut."""

    def __init__(self) -> None:
        self._raw: Any = None

    def hold(self, raw: Any) -> None:
        """Take note of a connection that was just made; `raw` is the driver's."""
        self._raw = raw

    def cut(self) -> None:
        """Close the connection under the waiting thread; does nothing without a server."""
        raw = self._raw
        # It may be closed at any moment by its own thread: then there is nothing to cut.
        with suppress(Exception):
            if raw is not None and not raw.closed:
                with socket.socket(fileno=os.dup(raw.fileno())) as copy:
                    copy.shutdown(socket.SHUT_RDWR)


def make_engine(url: sa.URL, *, busy_s: float, deadline: Deadline, lifeline: Lifeline) -> sa.Engine:
    """Return an engine for `url` that opens a connection only when asked to; does no I/O itself."""
    if url.get_backend_name() != "sqlite":
        return _postgresql(url, busy_s=busy_s, deadline=deadline, lifeline=lifeline)
    engine = sa.create_engine(
        url,
        poolclass=NullPool,
        connect_args={"timeout": busy_s, "check_same_thread": False, "isolation_level": None},
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(raw: Any, _record: object) -> None:
        raw.set_progress_handler(deadline.passed, _STEPS_BETWEEN_LOOKS)
        _use_write_ahead_log(raw, deadline, busy_s=busy_s)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            raw.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("mirrorwatch_writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _postgresql(url: sa.URL, *, busy_s: float, deadline: Deadline, lifeline: Lifeline) -> sa.Engine:
    patience = {
        "connect_timeout": max(2, int(busy_s)),
        "tcp_user_timeout": int(busy_s * 1000),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    said = {name: value for name, value in patience.items() if name not in url.query}
    # Without prepared statements, which a pooler in between may give to another connection.
    engine = sa.create_engine(url, poolclass=NullPool, connect_args={**said, "prepare_threshold": None})

    @sa.event.listens_for(engine, "connect")
    def hold(raw: Any, _record: object) -> None:
        lifeline.hold(raw)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("mirrorwatch_writing", False)
        # Before anything else in the transaction. What stands as a default there may be another level.
        level = "READ COMMITTED" if writing else "REPEATABLE READ READ ONLY"
        left_ms = deadline.left_ms
        connection.exec_driver_sql(
            f"SET TRANSACTION ISOLATION LEVEL {level};"
            f" SET LOCAL statement_timeout = {left_ms};"
            f" SET LOCAL idle_in_transaction_session_timeout = {left_ms}"
        )
        if writing:
            _lock_writers(connection)

    @sa.event.listens_for(engine, "before_cursor_execute")
    def check(*_of_statement: object) -> None:
        # The server knows the limit of each statement only.
        if deadline.passed():
            raise sa.exc.TimeoutError("the operation took too long")

    return engine


def _lock_writers(connection: sa.Connection) -> None:
    """Wait for the lock of all writers; each statement checks the deadline first."""
    pause = threading.Event()  # never set
    while not connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({_WRITERS})").scalar():
        connection.exec_driver_sql(_END_ABANDONED)
        pause.wait(_LOOK_S)


def _use_write_ahead_log(raw: Any, deadline: Deadline, *, busy_s: float) -> None:
    """Switch a new file to the write-ahead log.

    SQLite does not wait here as it does elsewhere when another process opens the same new file: it answers
    'locked' at once, so this asks again for a while.
    """
    import sqlite3  # noqa: PLC0415 - only where the dialect is SQLite

    pause, left = threading.Event(), int(busy_s / 0.02)
    while True:
        try:
            raw.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not busy or left == 0 or deadline.passed():
                raise
            left -= 1
            pause.wait(0.02)
        else:
            return
