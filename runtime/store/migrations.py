"""Numbered steps that create and change a store's tables, each applied once, all in one transaction.

Every package numbers its migrations from 1 under its own name (`part`); the composition root passes all of
them to the store. A released step never changes: the next one changes its result. The table `schema_version`
lists the applied steps. A store with unknown steps belongs to a newer version and is refused, because writing
to changed tables would damage them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_METADATA = sa.MetaData()

SCHEMA_VERSION = sa.Table(
    "schema_version",
    _METADATA,
    sa.Column("part", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("applied_at_ms", sa.BigInteger, nullable=False),
)

INSTALLATION = sa.Table(
    "installation",
    _METADATA,
    sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),  # always 1
    sa.Column("installation_id", sa.String(32), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: `apply` works within the migrations' transaction and must not commit."""

    part: str
    number: int
    name: str
    apply: Callable[[sa.Connection], None]


def create(*tables: sa.Table) -> Callable[[sa.Connection], None]:
    """Return a step that creates tables with their indexes."""

    def apply(connection: sa.Connection) -> None:
        for table in tables:
            table.create(connection)

    return apply


def _make_installation(connection: sa.Connection) -> None:
    """Create the id that all replicas of this installation share.

    It is made within the migration, which runs once for a store however many processes start at once.
    """
    INSTALLATION.create(connection)
    connection.execute(INSTALLATION.insert().values(row=1, installation_id=uuid.uuid4().hex))


MIGRATIONS = (Migration("runtime", 1, "installation", _make_installation),)


def check_numbering(migrations: Sequence[Migration]) -> None:
    """Raise ValueError unless each part's numbers are 1, 2, 3 and so on, in order: else it is our bug."""
    reached: dict[str, int] = {}
    for migration in migrations:
        expected = reached.get(migration.part, 0) + 1
        if migration.number != expected:
            raise ValueError(
                f"migration {migration.part} {migration.number}: must have the number {expected}"
            )
        reached[migration.part] = expected


def is_made(connection: sa.Connection) -> bool:
    """Return whether a database exists here, maybe another program's, which `migrate` refuses."""
    tables = sa.inspect(connection).get_table_names()
    return SCHEMA_VERSION.name in tables or _is_strange(connection, tables)


def migrate(
    connection: sa.Connection, migrations: Sequence[Migration], *, now_ms: int, where: str
) -> list[Migration]:
    """Apply the missing steps in the transaction of `connection`, and return them.

    The transaction has to exclude other migrating processes. Raises UnavailableError for a store that is not
    for us.
    """
    check_numbering(migrations)
    tables = _our_tables(connection, where=where)
    if SCHEMA_VERSION.name not in tables:
        SCHEMA_VERSION.create(connection)
    missing = _missing(connection, migrations, where=where)
    for migration in missing:
        migration.apply(connection)
        connection.execute(
            SCHEMA_VERSION.insert().values(
                part=migration.part, number=migration.number, name=migration.name, applied_at_ms=now_ms
            )
        )
    return missing


def check_complete(connection: sa.Connection, migrations: Sequence[Migration], *, where: str) -> None:
    """Raise UnavailableError unless the store has exactly these migrations."""
    _our_tables(connection, where=where)
    if _missing(connection, migrations, where=where):
        raise UnavailableError(
            f"{where}: was created by an older version; start the service of this version once to update it"
        )


def _our_tables(connection: sa.Connection, *, where: str) -> list[str]:
    """Return the names of all tables; raises UnavailableError where they are another program's."""
    tables = sa.inspect(connection).get_table_names()
    if _is_strange(connection, tables):
        raise UnavailableError(f"{where} belongs to another program; name another file in store.url")
    return tables


def _missing(connection: sa.Connection, migrations: Sequence[Migration], *, where: str) -> list[Migration]:
    """Return the steps that are not taken; raises UnavailableError where others were."""
    taken = {(row.part, row.number): row.name for row in connection.execute(sa.select(SCHEMA_VERSION))}
    known = {(migration.part, migration.number): migration.name for migration in migrations}
    strange = sorted(key for key, name in taken.items() if known.get(key) != name)
    if strange:
        part, number = strange[0]
        raise UnavailableError(
            f"{where} was written by a newer version of mirrorwatch "
            f"(it has taken step {number} '{taken[strange[0]]}' of {part}): "
            "use that version, or name another store in store.url"
        )
    return [migration for migration in migrations if (migration.part, migration.number) not in taken]


def _is_strange(connection: sa.Connection, tables: Sequence[str]) -> bool:
    """Tell whether these tables are another program's; a PostgreSQL database may be shared with some."""
    return bool(tables) and connection.dialect.name == "sqlite" and SCHEMA_VERSION.name not in tables
