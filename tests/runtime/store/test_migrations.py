"""Numbered migrations: each once, all or none, newer stores refused, PostgreSQL not kept out."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from fleet.errors import UnavailableError
from runtime.store.migrations import INSTALLATION, MIGRATIONS, SCHEMA_VERSION, Migration, check_numbering
from runtime.store.store import Store
from tests.runtime.fake_clock import FakeClock


def step(part, number, name=None, *, sql=None, fails=False):
    def apply(connection):
        connection.exec_driver_sql(sql or f"CREATE TABLE {part}_{number} (id INTEGER)")
        if fails:
            raise LookupError("ours")

    return Migration(part, number, name or f"step {number}", apply)


@pytest.fixture
async def migrated(tmp_path):
    async def run(*migrations):
        store = Store(f"sqlite:///{tmp_path / 'mw.db'}", migrations=migrations, clock=FakeClock())
        try:
            await store.open()
            return await store.read(
                lambda connection: (
                    sorted(sa.inspect(connection).get_table_names()),
                    [tuple(row) for row in connection.execute(sa.select(SCHEMA_VERSION))],
                )
            )
        finally:
            await store.close()

    return run


OURS = ["installation", "schema_version"]
AT_MS = 1_800_000_000_000


async def test_missing_steps_are_taken_and_written_down(migrated):
    tables, rows = await migrated(step("canary", 1))
    assert tables == ["canary_1", *OURS]
    assert sorted(rows) == [("canary", 1, "step 1", AT_MS), ("runtime", 1, "installation", AT_MS)]
    tables, rows = await migrated(step("canary", 1), step("canary", 2), step("lagmon", 1))
    assert tables == ["canary_1", "canary_2", "installation", "lagmon_1", "schema_version"]
    assert len(rows) == 4


async def test_a_step_that_fails_takes_all_with_it(migrated):
    with pytest.raises(LookupError):
        await migrated(step("canary", 1), step("canary", 2, fails=True))
    tables, rows = await migrated()
    assert tables == OURS
    assert len(rows) == 1


async def test_a_newer_store_is_refused_and_left_alone(migrated):
    await migrated(step("canary", 1), step("canary", 2, "add a column"), step("drill", 1))
    for known in [
        (),
        (step("canary", 1),),
        (step("canary", 1), step("canary", 2, "something else"), step("drill", 1)),
    ]:
        with pytest.raises(UnavailableError) as refused:
            await migrated(*known)
        assert "was written by a newer version of mirrorwatch (it has taken step" in str(refused.value)
        assert "use that version, or name another store in store.url" in str(refused.value)
    tables, _ = await migrated(step("canary", 1), step("canary", 2, "add a column"), step("drill", 1))
    assert tables == ["canary_1", "canary_2", "drill_1", *OURS]


@pytest.mark.parametrize("numbers", [[2], [0], [1, 1], [1, 3], [2, 1]])
def test_numbers_have_no_gap(numbers):
    with pytest.raises(ValueError, match="must have the number"):
        check_numbering([step("canary", number) for number in numbers])
    with pytest.raises(ValueError, match="must have the number"):
        Store("sqlite:///x.db", migrations=[step("canary", number) for number in numbers])


def test_ours_are_in_order_and_of_types_that_postgresql_has():
    check_numbering(MIGRATIONS)
    for table in (SCHEMA_VERSION, INSTALLATION):
        assert str(CreateTable(table).compile(dialect=postgresql.dialect())).startswith("\nCREATE TABLE")
