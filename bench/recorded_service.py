"""The service as it is, with one thing added: it writes down when its taps saw which record.

python -m bench.recorded_service CONFIG FILE
"""

from __future__ import annotations

import asyncio
import os
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from canary.intake import Intake
from mirrorwatch.config_reading import read_configuration
from mirrorwatch.service import Service
from runtime import logs
from runtime.shutdown import Shutdown

if TYPE_CHECKING:
    from runtime.kafka.tap import TappedRecord


def main() -> None:
    """Run until SIGTERM, then write (partition, offset, monotonic ns) of each record read on B."""
    seen = array("q")
    take = Intake._take_record  # noqa: SLF001 - the one place through which every record goes

    def take_and_note(self: Intake, record: TappedRecord) -> None:
        if record.tap.startswith("B-") and record.topic.startswith("A."):
            seen.extend((record.partition, record.offset, record.at_ns))
        take(self, record)

    Intake._take_record = take_and_note  # type: ignore[method-assign]  # noqa: SLF001
    config = read_configuration(Path(sys.argv[1]), environ=os.environ)
    logs.configure(form="text", level="warning", stream=sys.stderr)

    async def serve() -> None:
        async with Shutdown() as shutdown:
            await Service(config).run(shutdown)

    asyncio.run(serve())
    Path(sys.argv[2]).write_bytes(seen.tobytes())


if __name__ == "__main__":
    main()
