"""A process that begins on a store as the service does, says what it took over, and stays until it is told to go.

    python -m tests.canary.bookkeeper_process PATH REPLICA

Writes one line of JSON, and ends at the end of its standard input without giving its lease back.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.canary.desk import Desk


async def main(path: str, replica: str) -> None:
    async with Desk(f"sqlite:///{path}", replica=replica, clock=None) as desk:
        await desk.bookkeeper.begin(["A->B"])
        inherited = await desk.bookkeeper.load()
        left = sorted(inherited["A->B"].left) if "A->B" in inherited else []
        print(json.dumps({"incarnation": desk.bookkeeper.incarnation, "left": left}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
