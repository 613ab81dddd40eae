"""A process that writes to a store as fast as it can: each transaction adds two rows with one number.

Says every number on its standard output after the commit, so that whoever kills it knows what has to be there.
"""

from __future__ import annotations

import asyncio
import sys

import sqlalchemy as sa

from runtime.store.migrations import Migration, create
from runtime.store.store import Store, installation_id

PAIRS = sa.Table(
    "pairs",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("writer", sa.String(20), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("filling", sa.String(4000), nullable=False),
)
MIGRATION = Migration("pairs", 1, "pairs", create(PAIRS))


async def write(path: str, writer: str, first: int, count: int) -> None:
    store = Store(f"sqlite:///{path}", migrations=[MIGRATION], limit_s=30)
    await store.open()
    print("id", await installation_id(store), flush=True)
    for number in range(first, first + count):

        def pair(connection: sa.Connection, number: int = number) -> None:
            for _ in range(2):
                connection.execute(PAIRS.insert().values(writer=writer, number=number, filling="x" * 3000))

        await store.write(pair)
        print(number, flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
