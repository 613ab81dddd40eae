"""What a service writes down about itself while it is measured, and how that is read again.

`serve` is a service that runs with something added to it; arrays of 64-bit integers go from it to the
benchmark in files.
"""

from __future__ import annotations

import asyncio
import os
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.service.service import Service
from runtime.process import logs
from runtime.process.shutdown import Shutdown

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence


def serve(*beside: Coroutine[None, None, None]) -> Path:
    """Run the service of the configuration that the command line names first, until SIGTERM.

    `beside` runs in its event loop as long. Returns the folder that the command line names next.
    """
    config = read_configuration(Path(sys.argv[1]), environ=os.environ)
    logs.configure(form="json", level="info", stream=sys.stderr)

    async def run() -> None:
        tasks = [asyncio.get_running_loop().create_task(one) for one in beside]
        async with Shutdown() as shutdown:
            await Service(config).run(shutdown)
        for task in tasks:
            task.cancel()

    asyncio.run(run())
    return Path(sys.argv[2])


def write_arrays(folder: Path, arrays: Mapping[str, array[int]]) -> None:
    """Write each array into the file of its name."""
    for name, numbers in arrays.items():
        (folder / name).write_bytes(numbers.tobytes())


def rows(file: Path, width: int) -> list[tuple[int, ...]]:
    """Return an array that was written, as rows of so many numbers."""
    numbers = array("q", file.read_bytes())
    return list(zip(*(numbers[place::width] for place in range(width)), strict=True))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which that share of them lies; they are in order, and there is one at least."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
