"""The store among processes: killed in the middle of transactions, opened and written by two at once."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def start(path, writer, first, count):
    command = [sys.executable, "-m", "tests.runtime.store_writer", str(path), writer, str(first), str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def numbers_of(path, writer):
    """Return the numbers that stand in the file, after checking that the file is whole and each is a pair."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = database.execute(
            "SELECT number, count(*) FROM pairs WHERE writer = ? GROUP BY number ORDER BY number", [writer]
        ).fetchall()
    assert all(count == 2 for _number, count in rows)
    return [number for number, _count in rows]


def test_kill_9_in_the_middle_of_transactions_loses_nothing_that_was_committed(tmp_path):
    path, draw, reached, ids = tmp_path / "mw.db", random.Random(7), 0, set()
    for _ in range(8):
        with start(path, "w", reached, 1_000_000) as process:
            try:
                ids.add(process.stdout.readline())
                told = reached - 1
                for _ in range(draw.randrange(1, 40)):
                    told = int(process.stdout.readline())
            finally:
                process.kill()
            rest = [int(line) for line in process.stdout.read().split("\n")[:-1]]
            told = max([told, *rest])
        found = numbers_of(path, "w")
        assert found == list(range(len(found)))
        assert len(found) >= told + 1  # the last commit may have come before its word
        assert len(found) <= told + 2
        reached = len(found)
    assert len(ids) == 1
    assert reached > 40


def test_two_processes_open_a_new_store_and_write_at_once(tmp_path):
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        with start(path, "a", 0, 40) as one, start(path, "b", 0, 40) as other:
            try:
                first, second = (process.stdout.read().splitlines() for process in (one, other))
                assert (one.wait(timeout=60), other.wait(timeout=60)) == (0, 0)
            finally:
                one.kill()
                other.kill()
        assert first[0] == second[0]  # one installation id
        assert numbers_of(path, "a") == numbers_of(path, "b") == list(range(40))
