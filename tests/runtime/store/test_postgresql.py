"""What PostgreSQL says, in our sentences."""

import asyncio
import time

import psycopg
import pytest

from runtime.store.address import resolve_address, secrets_of
from runtime.store.engine import _WRITERS, ABANDONED_S
from runtime.store.migrations import Migration
from runtime.store.postgresql import sentence_of
from runtime.store.store import Store
from tests.databases import new_database


class Said(Exception):  # noqa: N818 - as a driver's error is
    def __init__(self, text, sqlstate=None):
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("text", "state", "begins"),
    [
        ("", "28P01", "refuses the user"),
        ("", "28000", "refuses the user"),
        ("", "3D000", "does not exist on the server"),
        ("", "42501", "denies this to the user"),
        ("", "53100", "cannot grow"),
        ("", "53300", "accepts no more connections"),
        ("", "25006", "accepts no writes"),
        ("", "25P03", "received nothing for too long"),
        ("", "57014", "did not answer in time"),
        ("", "57P01", "had the connection ended by"),
        ("", "57P03", "is stopping or starting"),
        ("", "57P05", "ended the connection, which was idle"),
        ("", "08006", "cannot be reached"),
        ("", "XX001", "is damaged"),
        ("", "42601", None),  # a statement of ours that is none
        ("", "23505", None),
        ('FATAL:  password authentication failed for user "mw"', None, "refuses the user"),
        ('FATAL:  role "mw" does not exist', None, "refuses the user"),
        ('FATAL:  role "mw" is not permitted to log in', None, "refuses the user"),
        (
            'FATAL:  no pg_hba.conf entry for host "10.0.0.1", no encryption',
            None,
            "rejects connections from here",
        ),
        ('FATAL:  database "mw" does not exist', None, "does not exist on the server"),
        ("FATAL:  sorry, too many clients already", None, "accepts no more connections"),
        ('FATAL:  too many connections for role "mw"', None, "accepts no more connections"),
        ("FATAL:  the database system is starting up", None, "is stopping or starting"),
        ("FATAL:  the database system is not yet accepting connections", None, "is stopping or starting"),
        ('invalid connection option "sslmod"', None, "rejects an option after"),
        ("the query has 1 placeholder but 0 parameters were passed", None, None),
    ],
)
def test_what_it_says_is_a_sentence_or_a_bug_of_ours(text, state, begins):
    found = sentence_of(Said(text, state))
    assert found is None if begins is None else found.startswith(begins)


def test_no_secret_of_an_address_is_in_its_name(tmp_path):
    text = "postgresql://mw:s%40crt@db/mw?sslpassword=tls-secret&sslmode=require"
    url = resolve_address(text, tmp_path)
    assert secrets_of(url) == {"s@crt", "tls-secret"}
    assert Store(url).where == "postgresql+psycopg://mw:***@db/mw"
    assert secrets_of(resolve_address("sqlite:///a.db", tmp_path)) == set()


@pytest.mark.real
@pytest.mark.parametrize("pipelined", [True, False])
async def test_a_writer_that_vanished_without_a_word_holds_up_no_other_for_long(postgresql, pipelined):
    url = new_database(postgresql)
    table = Migration(
        "t", 1, "a table", lambda connection: connection.exec_driver_sql("create table t (n int)")
    )
    store = Store(url, migrations=(table,))
    await store.open()
    try:
        with psycopg.connect(url.replace("+psycopg", "")) as vanished:
            # As after a cut of the network: the server knows of no end, and no statement is awaited from it.
            if pipelined:
                vanished.pgconn.enter_pipeline_mode()
                for text in ("begin", f"select pg_advisory_xact_lock({_WRITERS})"):
                    vanished.pgconn.send_query_params(text.encode(), None)
                vanished.pgconn.send_flush_request()
                vanished.pgconn.flush()
            else:
                vanished.execute(f"select pg_advisory_xact_lock({_WRITERS})")
            holds = "select count(*) from pg_locks where locktype = 'advisory' and granted"
            while not await store.read(lambda one: one.exec_driver_sql(holds).scalar()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            began = time.monotonic()
            await store.write(lambda connection: connection.exec_driver_sql("insert into t values (1)"))
            assert ABANDONED_S - 1 < time.monotonic() - began < ABANDONED_S + 3
            vanished.close()
    finally:
        await store.close()
