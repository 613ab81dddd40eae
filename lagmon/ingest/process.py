"""The ingest process: orders on standard input, answers at a socket. It wires all parts together.

It ends when its standard input ends, as the service is gone then.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
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
from runtime.process.child import end_with_input, leave_soon, read_line, step_back
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
            cluster_lag(orders, alias),
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
        group.create_task(end_with_input(stopping))
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
        leave_soon()  # nothing is lost: the service has requested our state before
    server.close()


def cluster_lag(orders: Orders, alias: str) -> ClusterLag:
    """Return the empty state of one cluster's groups."""
    share = orders.share(alias)
    return ClusterLag(
        wanted=partial(orders.wanted, alias, share=share),
        hidden=partial(orders.hidden, share=share),
        flows=orders.flows_to(alias),
        longest_transaction_ms=orders.longest_transaction_ms,
        share=share,
    )


def _leave_untold(_state: State) -> None:
    """Do nothing: the watch of the same cluster reports it."""


def _tell_of_offsets(reader: Source, warn: Callable[..., None], state: State) -> None:
    reader.tell(ended(state.sentence))
    warn(reader.name, state, kafka_cluster=reader.cluster, topic=reader.topic)


def _tell(answers: Answers, alias: str, warn: Callable[..., None], state: State) -> None:
    answers.states[alias] = state
    warn(alias, state, kafka_cluster=alias)


def main() -> None:
    """Read the orders and serve."""
    line = read_line()
    if line is None:
        return
    orders = read_orders(line)
    step_back()
    collect_rarely()
    list_sparingly()
    logs.configure(
        form=orders.log_format, level=orders.log_level, stream=sys.stderr, redactor=Redactor(orders.secrets)
    )
    asyncio.run(serve(orders))
