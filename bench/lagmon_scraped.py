"""The service as it is, with one thing added: it writes down how long its event loop worked at a stretch.

    python -m bench.lagmon_scraped CONFIG FOLDER

`FOLDER/stretches` has 64-bit integers, three of each callback that the loop ran: when it began (monotonic
ns), how long it took, and what of that was processor time of the loop's thread (both in ns).
"""

from __future__ import annotations

import asyncio
import time
from array import array
from typing import Any

from bench.recording import serve, write_arrays

WIDTH = 3


def main() -> None:
    """Run until SIGTERM, then write what was kept."""
    stretches = array("q")
    run = asyncio.Handle._run  # noqa: SLF001 - what is watched here

    def timed(self: Any) -> None:
        began_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        run(self)
        stretches.extend((began_ns, time.monotonic_ns() - began_ns, time.thread_time_ns() - cpu_ns))

    setattr(asyncio.Handle, "_run", timed)  # noqa: B010 - mypy knows a method when it is assigned to
    write_arrays(serve(), {"stretches": stretches})


if __name__ == "__main__":
    main()
