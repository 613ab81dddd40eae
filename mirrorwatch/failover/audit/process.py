"""The audit's process: orders on standard input, answers at a socket. It ends with its standard input."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from functools import partial

from lagmon.ingest.faults import Faults
from mirrorwatch.failover.audit.answers import AuditAnswers
from mirrorwatch.failover.audit.orders import AuditOrders, read_orders
from mirrorwatch.failover.audit.rounds import Rounds
from runtime.process import channel, logs
from runtime.process.child import end_with_input, leave_soon, read_line, step_back
from runtime.process.clock import SystemClock
from runtime.process.limits import allow_many_files
from runtime.process.logs import Redactor
from runtime.process.memory import collect_now_and_then, collect_rarely
from runtime.process.supervision import State, supervise


async def serve(orders: AuditOrders) -> None:
    """Audit and answer until standard input ends or SIGTERM comes."""
    clock, log = SystemClock(), logs.get("failover")
    allow_many_files()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    rounds = Rounds(orders, clock=clock)
    answers = AuditAnswers(rounds.audits, max_series=orders.max_series, clock=clock)
    faults = Faults(log, clock=clock)

    def tell(state: State) -> None:
        if state.sentence:
            log.warning(state.sentence)

    server = await channel.listen(
        orders.socket, answers.answer, wrong=partial(faults.note, "a request failed")
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(end_with_input(stopping))
        group.create_task(collect_now_and_then(stopping, clock))
        group.create_task(
            supervise(
                "failover audit",
                partial(rounds.run, stopping),
                clock=clock,
                random=random.SystemRandom(),
                on_state=tell,
                stopping=stopping,
            )
        )
        await stopping.wait()
        leave_soon()
    server.close()


def main() -> None:
    """Read the orders and serve."""
    line = read_line()
    if line is None:
        return
    orders = read_orders(line)
    step_back()
    collect_rarely()
    logs.configure(
        form=orders.log_format, level=orders.log_level, stream=sys.stderr, redactor=Redactor(orders.secrets)
    )
    asyncio.run(serve(orders))
