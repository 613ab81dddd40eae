"""What a client asks of a broker, counted on the wire: every byte passes, every request is noted.

    python -m bench.request_counter LISTEN_PORT BROKER_PORT FILE

At SIGTERM, FILE has a pair for each request as JSON: when it went by (monotonic s) and its API key, the
number that Kafka's protocol gives its kind. A broker behind it needs a listener that advertises LISTEN_PORT
(`deploy.local.proxy.listen_behind`). So a rate is what the broker was asked, not what its asker says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import struct
import sys
import time
from pathlib import Path

OFFSET_FETCH = 9
OF_GROUPS = {  # by API key: https://kafka.apache.org/protocol#protocol_api_keys
    OFFSET_FETCH: "offsets",
    10: "coordinators",
    15: "members",
    16: "lists",
    69: "members",  # of groups of KIP-848
}
_HEAD = struct.Struct(">ih")  # the request's size without these four bytes, and its API key
_CHUNK_BYTES = 65536


class Requests:
    """The requests in one connection's bytes, however those are cut into pieces."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._passing_bytes = 0  # of the request under way, how many are still to pass

    def take(self, piece: bytes) -> list[int]:
        """Take the next bytes; return the API keys of the requests whose heads they complete."""
        found: list[int] = []
        self._held += piece
        while True:
            gone = min(self._passing_bytes, len(self._held))
            del self._held[:gone]
            self._passing_bytes -= gone
            if self._passing_bytes or len(self._held) < _HEAD.size:
                return found
            size, key = _HEAD.unpack_from(self._held)
            found.append(key)
            self._passing_bytes = 4 + size


def busiest(times_s: list[float], width_s: float) -> int:
    """Return how many of these instants, which are in order, fall into the fullest stretch of that width."""
    most = first = 0
    for last, at_s in enumerate(times_s):
        while at_s - times_s[first] >= width_s:
            first += 1
        most = max(most, last - first + 1)
    return most


class Counter:
    """Joins clients to a broker and notes in `seen` when they asked what."""

    def __init__(self, broker_port: int) -> None:
        self._broker_port = broker_port
        self.seen: list[tuple[float, int]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join one client to the broker until either side ends."""
        try:
            there, forth = await asyncio.open_connection("127.0.0.1", self._broker_port)
        except OSError:  # it has ended
            writer.transport.abort()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, forth, Requests()))
                group.create_task(self._pass(there, writer, None))
        finally:
            for one in (writer, forth):
                one.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: Requests | None
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_CHUNK_BYTES):
                if requests is not None:
                    now_s = time.monotonic()
                    self.seen += [(now_s, key) for key in requests.take(piece)]
                writer.write(piece)
                await writer.drain()
        writer.close()  # after what is still to be sent; the other way ends with this one


async def count(listen_port: int, counter: Counter) -> None:
    """Serve until SIGTERM."""
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    server = await asyncio.start_server(counter.serve, "127.0.0.1", listen_port)
    await ending.wait()
    server.close()


def main() -> None:
    """Count until SIGTERM, then write down what was seen."""
    listen_port, broker_port, file = sys.argv[1:]
    counter = Counter(int(broker_port))
    asyncio.run(count(int(listen_port), counter))
    Path(file).write_text(json.dumps(counter.seen), encoding="utf-8")


if __name__ == "__main__":
    main()
