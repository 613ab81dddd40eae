"""A process for the tests of the worker: it answers with its orders, and dies when it is asked to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from runtime.process import channel
from runtime.process.channel import Answer


async def main() -> None:
    line = await asyncio.to_thread(sys.stdin.buffer.readline)
    orders = json.loads(line)
    blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    async def answer(question):
        if question["question"] == "die":
            os._exit(7)
        head = {"orders": orders["of"], "pid": os.getpid(), "blocked": blocked}
        return Answer(head, [question["question"].encode()])

    server = await channel.listen(Path(orders["socket"]), answer, wrong=print)
    await asyncio.to_thread(sys.stdin.buffer.read)  # until whoever started it is gone
    if orders["of"] == "stubborn":
        await asyncio.Event().wait()
    server.close()


asyncio.run(main())
