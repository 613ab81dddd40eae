"""Leases in the store: of several processes, one holds a name at a time.

A lease does not depend on clocks: its holder raises `beat` at intervals, and others time by their own clocks
how long the beat has stayed the same. Each step compares and sets in one transaction, and writers wait for
each other, so of two processes only one succeeds. A write that only the holder may do is fenced: its
transaction checks the holder (Kleppmann, How to do distributed locking, 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_METADATA = sa.MetaData()

LEASES = sa.Table(
    "leases",
    _METADATA,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("released", sa.Boolean, nullable=False),
    sa.Column("facts", sa.JSON, nullable=False),  # what the holder says of itself, as text by name
    sa.Column("renewed_at", sa.Float, nullable=False),  # epoch seconds by the holder's clock
)

MIGRATIONS = (Migration("leases", 1, "leases", create(LEASES)),)


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease; `released`: its holder has ended in order."""

    name: str
    holder: str
    beat: int
    released: bool
    facts: Mapping[str, str]
    renewed_at: float


def read_leases(connection: sa.Connection, group: str) -> dict[str, Lease]:
    """Return the leases `GROUP/NUMBER/COUNT` of a group by their names."""
    wanted = sa.select(LEASES).where(LEASES.c.name.startswith(f"{group}/", autoescape=True))
    found = (Lease(**row) for row in connection.execute(wanted).mappings())
    return {one.name: one for one in found if one.name.rsplit("/", 2)[0] == group}


def take_lease(
    connection: sa.Connection,
    name: str,
    holder: str,
    *,
    group: str,
    seen: Mapping[str, Lease],
    alive: Collection[str],
    facts: Mapping[str, str],
    now_at: float,
) -> bool:
    """Take a lease if all of its group are as they were `seen`; return whether they were.

    Those `alive`, of the same COUNT, may have been renewed. Leases of another COUNT are deleted, so that
    their holders cannot renew them.
    """
    found = read_leases(connection, group)
    for one in found.values():
        before = seen.get(one.name)
        renewed = before is not None and one.name in alive and one.holder == before.holder
        if one != before and not renewed:
            return False
    before, count = found.get(name), name.rsplit("/", 1)[-1]
    gone = [one for one in found if one == name or one.rsplit("/", 1)[-1] != count]
    connection.execute(sa.delete(LEASES).where(LEASES.c.name.in_(gone)))
    connection.execute(
        sa.insert(LEASES).values(
            name=name,
            holder=holder,
            beat=0 if before is None else before.beat + 1,
            released=False,
            facts=dict(facts),
            renewed_at=now_at,
        )
    )
    return True


def renew_lease(
    connection: sa.Connection,
    name: str,
    holder: str,
    *,
    facts: Mapping[str, str],
    now_at: float,
    released: bool = False,
) -> bool:
    """Raise the beat of an own lease, or release it; return whether it is still one's own."""
    changed = connection.execute(
        sa.update(LEASES)
        .where(LEASES.c.name == name, LEASES.c.holder == holder)
        .values(beat=LEASES.c.beat + 1, facts=dict(facts), renewed_at=now_at, released=released)
    )
    return changed.rowcount == 1


def renew_in_group(
    connection: sa.Connection,
    name: str,
    holder: str,
    *,
    group: str,
    facts: Mapping[str, str],
    now_at: float,
    released: bool = False,
) -> dict[str, Lease] | None:
    """Renew an own lease, and return all leases of its group; None if another process has it."""
    if not renew_lease(connection, name, holder, facts=facts, now_at=now_at, released=released):
        return None
    return read_leases(connection, group)


def fence(name: str, holder: str, refusal: Callable[[], Exception]) -> Callable[[sa.Connection], None]:
    """Return what raises `refusal` in a transaction unless a process holds a lease.

    No process takes the lease before the transaction ends.
    """
    held = sa.select(LEASES.c.holder).where(LEASES.c.name == name).with_for_update(read=True)

    def guard(connection: sa.Connection) -> None:
        if connection.execute(held).scalar_one_or_none() != holder:
            raise refusal()

    return guard
