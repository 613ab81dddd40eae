"""The service as it is, with one thing added: it writes down what it measured and how long it worked.

    python -m bench.timed_service CONFIG FOLDER

`FOLDER/flows.json` has the names of the flows in their order. Two files of 64-bit integers, durations and
instants in (monotonic) ns: `latencies` has (flow by number, stage by number, duration, instant) of whatever
a flow measured; `work` has (kind by number, duration, instant), in the order of WORK.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.recording import serve, write_arrays
from canary.tracker.events import Stage, Timed
from canary.watch.watch import FlowWatch
from mirrorwatch.service.service import Service
from runtime.store.store import Store

if TYPE_CHECKING:
    from canary.tracker.events import TrackerOutput
    from canary.watch.watch import Instant

WORK = ("judging", "writing", "loop_delay")
STAGES = tuple(Stage)
TICK_S = 0.1


class Record:
    """What is kept in memory until the end."""

    def __init__(self) -> None:
        self.latencies, self.work = array("q"), array("q")

    def keep_timed(self, number: int, outputs: list[TrackerOutput]) -> None:
        """Keep every duration that a flow has measured."""
        for output in outputs:
            if isinstance(output, Timed):
                self.latencies.extend((number, STAGES.index(output.stage), output.duration_ns, output.at_ns))

    def keep_work(self, kind: str, began_ns: int) -> None:
        """Keep how long something took that ends now."""
        now_ns = time.monotonic_ns()
        self.work.extend((WORK.index(kind), now_ns - began_ns, now_ns))


def main() -> None:
    """Run until SIGTERM, then write what was kept."""
    record, folder = Record(), Path(sys.argv[2])
    numbers: dict[int, int] = {}  # of watches, by identity
    keep, judge, write = FlowWatch._keep, Service._judge, Store.write  # noqa: SLF001 - what is watched here

    def timed_keep(self: FlowWatch, outputs: list[TrackerOutput], now: Instant) -> list[TrackerOutput]:
        record.keep_timed(numbers[id(self)], outputs)
        return keep(self, outputs, now)

    def timed_judge(self: Service, prober: Any) -> None:
        began_ns = time.monotonic_ns()
        judge(self, prober)
        record.keep_work("judging", began_ns)
        if not numbers:
            numbers.update({id(held.watch): number for number, held in enumerate(prober.flows.values())})
            (folder / "flows.json").write_text(json.dumps(list(prober.flows)), encoding="utf-8")

    async def timed_write(self: Store, function: Any) -> Any:
        began_ns = time.monotonic_ns()
        try:
            return await write(self, function)
        finally:
            record.keep_work("writing", began_ns)

    FlowWatch._keep, Service._judge, Store.write = timed_keep, timed_judge, timed_write  # type: ignore[method-assign]  # noqa: SLF001

    async def look_at_loop() -> None:
        while True:
            asked_ns = time.monotonic_ns()
            await asyncio.sleep(TICK_S)
            record.keep_work("loop_delay", asked_ns + int(TICK_S * 1e9))

    serve(look_at_loop())
    write_arrays(folder, {"latencies": record.latencies, "work": record.work})


if __name__ == "__main__":
    main()
