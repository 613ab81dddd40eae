"""A TCP proxy before a broker that counts what the broker sends, and who asks for records."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
import time
from typing import Self

FETCH = 1  # https://kafka.apache.org/protocol#protocol_api_keys
_CHUNK_BYTES = 1 << 16


class ByteCounter:
    """Joins clients to a broker in a thread of its own, as a context manager.

    `sent` is when how many bytes came from the broker: (monotonic s, bytes). `fetching` are the client ids of
    requests for records.
    """

    def __init__(self, listen_port: int, broker_port: int) -> None:
        self.sent: list[tuple[float, int]] = []
        self.fetching: set[str] = set()
        self._ports = listen_port, broker_port
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="byte counter")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._join, "127.0.0.1", self._ports[0])
        await self._ending.wait()
        server.close()
        joined = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in joined:
            task.cancel()
        await asyncio.gather(*joined, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, forth = await asyncio.open_connection("127.0.0.1", self._ports[1])
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._ask(reader, forth))
                group.create_task(self._answer(there, writer))
        finally:
            for one in (writer, forth):
                one.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass requests: size, API key, version, number, client id (a short and so many bytes), the rest."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(4)
                request = await reader.readexactly(struct.unpack(">i", head)[0])
                key, _, _, length = struct.unpack_from(">hhih", request)
                if key == FETCH:
                    self.fetching.add(request[10 : 10 + length].decode())
                writer.write(head + request)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_CHUNK_BYTES):
                self.sent.append((time.monotonic(), len(piece)))
                writer.write(piece)
                await writer.drain()
        writer.close()
