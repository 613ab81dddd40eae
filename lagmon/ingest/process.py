"""The ingest process: orders on standard input, answers at a socket. It wires all parts together.

It ends when its standard input ends, as the service is gone then.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.verdicts.words import ended
from lagmon.cluster.state import ClusterLag
from lagmon.ingest.answers import Answers
from lagmon.ingest.faults import Faults
from lagmon.ingest.orders import Orders, read_orders
from lagmon.ingest.watching import ClusterWatch
from lagmon.logs.paired_polls import pair_polls
from lagmon.mirrors.answers.flows import MirrorAnswers
from lagmon.mirrors.metadata.ids import MirrorIds
from lagmon.mirrors.progress.sources import mirrors
from lagmon.snapshots.whole import Snapshots
from lagmon.syncs.answers import SyncAnswers
from lagmon.syncs.reader import SyncReader
from runtime.kafka.sparse_lists import list_sparingly
from runtime.process import channel, logs
from runtime.process.clock import SystemClock
from runtime.process.complaints import ComplaintBook
from runtime.process.limits import allow_many_files, use_enough_threads
from runtime.process.logs import Redactor
from runtime.process.memory import collect_now_and_then, collect_rarely
from runtime.process.supervision import State, supervise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lagmon.mirrors.progress.sources import Source
    from runtime.process.channel import Answer

LINGER_S = 8.0
LEAVE_S = 2.0  # after the signal to stop; a pending request may take ten more
NICER = 5  # than the service, which times the canary


async def serve(orders: Orders) -> None:
    """Watch every cluster and answer until standard input ends or SIGTERM comes."""
    clock = SystemClock()
    log = logs.get("ingest")
    allow_many_files()
    use_enough_threads()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    # The signal may be for the service too, which requests our state before it ends us.
    loop.add_signal_handler(signal.SIGTERM, lambda: loop.call_later(LINGER_S, stopping.set))
    watches = [
        ClusterWatch(
            alias,
            settings,
            ClusterLag(
                wanted=partial(orders.wanted, alias),
                hidden=orders.hidden,
                flows=[one.flow for one in orders.mirrors if one.flow.target == alias],
                longest_transaction_ms=orders.longest_transaction_ms,
            ),
            clock=clock,
            random=random.SystemRandom().random,
            commits_from=orders.commits,
        )
        for alias, settings in orders.clients.items()
    ]
    flows, readers = mirrors(orders, watches, clock)
    pair_polls(flows, watches, readers, on_loop=loop.call_soon_threadsafe)
    locks = [*(watch.lock for watch in watches), *(reader.turn for reader in readers)]
    askers = [
        MirrorIds(
            watch.alias,
            orders.clients[watch.alias],
            flows,
            lag=watch.lag,
            locks=locks,
            clock=clock,
            tell=partial(log.warning, kafka_cluster=watch.alias),
        )
        for watch in watches
        if any(watch.alias in one.order.clusters for one in flows)
    ]
    by_alias = {watch.alias: watch for watch in watches}
    for asker in askers:
        by_alias[asker.alias].looks.note_ids = asker.note_ids
    faults = Faults(log, clock=clock)

    def wrong_at(flow: str, error: Exception) -> None:
        faults.note(f"{flow}: no verdict from offsets", error, flow=flow)

    told = MirrorAnswers(flows, locks, clock=clock, wrong=wrong_at)
    syncs = SyncAnswers((one for one in readers if isinstance(one, SyncReader)), clock=clock)
    answers = Answers(orders, watches, clock=clock, mirrors=told, syncs=syncs)
    answers.snapshots = Snapshots(watches, told, clock=clock, log=log)
    if orders.snapshot is not None:
        answers.snapshots.load(orders.snapshot)

    async def answer(question: dict[str, Any]) -> Answer:
        return await answers.answer(question)

    book = ComplaintBook()  # an empty sentence, before each attempt, clears nothing

    def warn(name: str, state: State, **about: str) -> None:
        saying = book.say(name, state.sentence, now=clock.wall_s()) if state.sentence else None
        if saying is not None:
            log.warning(saying.sentence, **about)

    server = await channel.listen(orders.socket, answer, wrong=partial(faults.note, "a request failed"))
    async with asyncio.TaskGroup() as group:
        group.create_task(_end_with_input(stopping))
        group.create_task(collect_now_and_then(stopping, clock))
        works: list[tuple[str, Callable[[asyncio.Event], Awaitable[None]], Callable[[State], None]]] = [
            *((watch.alias, watch.run, partial(_tell, answers, watch.alias, warn)) for watch in watches),
            *((reader.name, reader.run, partial(_tell_of_offsets, reader, warn)) for reader in readers),
            *((one.alias, one.run, _leave_untold) for one in askers),
        ]
        for name, run, tell in works:
            group.create_task(
                supervise(
                    name,
                    partial(run, stopping),
                    clock=clock,
                    random=random.SystemRandom(),
                    on_state=tell,
                    stopping=stopping,
                )
            )
        await stopping.wait()
        # Threads that wait for a cluster cannot be cancelled, and the service waits for us. Nothing is lost:
        # the service has requested our state before.
        loop.call_later(LEAVE_S, os._exit, 0)
    server.close()


def _leave_untold(_state: State) -> None:
    """Do nothing: the watch of the same cluster reports it."""


def _tell_of_offsets(reader: Source, warn: Callable[..., None], state: State) -> None:
    reader.tell(ended(state.sentence))
    warn(reader.name, state, kafka_cluster=reader.cluster, topic=reader.topic)


def _tell(answers: Answers, alias: str, warn: Callable[..., None], state: State) -> None:
    answers.states[alias] = state
    warn(alias, state, kafka_cluster=alias)


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
    line = _line()
    if not line.endswith(b"\n"):
        return  # the service is gone already
    orders = read_orders(json.loads(line))
    step_back()
    collect_rarely()
    list_sparingly()
    logs.configure(
        form=orders.log_format, level=orders.log_level, stream=sys.stderr, redactor=Redactor(orders.secrets)
    )
    asyncio.run(serve(orders))


def step_back() -> None:
    """Lower our priority below the service's, if that is permitted."""
    with suppress(OSError):  # a sandbox such as that of deploy/systemd denies it
        os.nice(NICER)


def _line() -> bytes:
    """Read exactly one line: the rest belongs to the event loop."""
    found = bytearray()
    while not found.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            break
        found += piece
    return bytes(found)
