"""Replace rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def replace_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the rows with the same primary keys; keys must be unique."""
    if not rows:
        return
    keys = [column.name for column in table.primary_key]
    here = [table.c[name] == sa.bindparam(f"key_{name}") for name in keys]
    connection.execute(
        sa.delete(table).where(*here), [{f"key_{name}": row[name] for name in keys} for row in rows]
    )
    connection.execute(sa.insert(table), [dict(row) for row in rows])
