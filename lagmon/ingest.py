"""The ingest process: its orders on standard input, its answers at a socket. The one place that wires it.

It ends when its standard input does: whoever started it is gone then.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from lagmon.answers import Answers
from lagmon.cluster import ClusterLag
from lagmon.orders import Orders, read_orders
from lagmon.watching import ClusterWatch
from runtime import channel, logs
from runtime.clock import SystemClock
from runtime.limits import allow_many_files, use_enough_threads
from runtime.logs import Redactor
from runtime.supervision import State, supervise

if TYPE_CHECKING:
    from runtime.channel import Answer
    from runtime.logs import Logger

NICER = 5  # than the service, whose taps time the canary


async def serve(orders: Orders) -> None:
    """Watch every cluster and answer until standard input ends or SIGTERM comes."""
    clock = SystemClock()
    log = logs.get("ingest")
    allow_many_files()
    use_enough_threads()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the service tells when to stop
    watches = [
        ClusterWatch(
            alias,
            settings,
            ClusterLag(wanted=partial(orders.wanted, alias)),
            clock=clock,
            random=random.SystemRandom().random,
        )
        for alias, settings in orders.clients.items()
    ]
    answers = Answers(orders, watches, clock=clock)

    async def answer(question: dict[str, Any]) -> Answer:
        return await answers.answer(question)

    def wrong(error: Exception) -> None:
        log.error("a question could not be answered", error=f"{type(error).__name__}: {error}")

    server = await channel.listen(orders.socket, answer, wrong=wrong)
    async with asyncio.TaskGroup() as group:
        group.create_task(_end_with_input(stopping))
        for watch in watches:
            tell = partial(_tell, answers, log, watch.alias)
            group.create_task(
                supervise(
                    watch.alias,
                    partial(watch.run, stopping),
                    clock=clock,
                    random=random.SystemRandom(),
                    on_state=tell,
                    stopping=stopping,
                )
            )
        await stopping.wait()
    server.close()


def _tell(answers: Answers, log: Logger, alias: str, state: State) -> None:
    answers.states[alias] = state
    if state.sentence:
        log.warning(state.sentence, kafka_cluster=alias)


async def _end_with_input(stopping: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while not stopping.is_set():
        read = asyncio.create_task(reader.read(1024))
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait((read, stop), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not read.done():
            read.cancel()
            return
        if not read.result():
            stopping.set()


def main() -> None:
    """Read the orders, one line of JSON, and serve."""
    orders = read_orders(json.loads(_line()))
    os.nice(NICER)
    logs.configure(
        form=orders.log_format, level=orders.log_level, stream=sys.stderr, redactor=Redactor(orders.secrets)
    )
    asyncio.run(serve(orders))


def _line() -> bytes:
    """Read one line and not a byte more: the rest belongs to the event loop."""
    found = bytearray()
    while not found.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            break
        found += piece
    return bytes(found)
