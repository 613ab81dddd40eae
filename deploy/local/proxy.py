"""A TCP proxy in front of a broker that cuts, refuses or delays connections while a file says so.

    python -m deploy.local.proxy LISTEN_PORT BROKER_PORT ORDER_FILE

The order file holds `reset` (every connection is reset, new ones too), `delay SECONDS` (each byte takes that
long, both ways) or nothing; without the file all passes. A broker behind it needs a listener of its own that
advertises the proxy's port, or clients would go past it: `listen_behind` adds one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from deploy.local.broker import Broker

LOOK_S = 0.05
_CHUNK = 65536
_LISTENER = "PROXIED"


def listen_behind(broker: Broker, proxy_port: int) -> int:
    """Add a listener that advertises the proxy's port to a broker before its start; return its own port."""
    port = free_port()
    file = broker.folder / "server.properties"
    lines = []
    for line in file.read_text(encoding="ascii").splitlines():
        key, _, value = line.partition("=")
        number = {"listeners": port, "advertised.listeners": proxy_port}.get(key)
        if number is not None:
            value = f"{_LISTENER}://127.0.0.1:{number},{value}"
        elif key == "listener.security.protocol.map":
            value = f"{value},{_LISTENER}:PLAINTEXT"
        lines.append(f"{key}={value}")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return port


@dataclass(slots=True)
class Proxy:
    """Passes bytes both ways; obeys the order file."""

    broker_port: int
    order_file: Path
    delay_s: float = 0.0
    reset: bool = False
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def watch(self) -> None:
        """Poll the order, and reset what is open when it says so."""
        while True:
            text = self.order_file.read_text(encoding="ascii") if self.order_file.exists() else ""
            words = text.split()
            self.reset = words[:1] == ["reset"]
            self.delay_s = float(words[1]) if words[:1] == ["delay"] else 0.0
            if self.reset:
                for writer in list(self._open):
                    _reset(writer)
            await asyncio.sleep(LOOK_S)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join one client to the broker until either side ends."""
        if self.reset:
            _reset(writer)
            return
        try:
            there, here = await asyncio.open_connection("127.0.0.1", self.broker_port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, here}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, here))
                group.create_task(self._pass(there, writer))
        finally:
            for one in (writer, here):
                self._open.discard(one)
                one.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        clock = asyncio.get_running_loop().time

        async def write() -> None:
            while True:
                due, chunk = await waiting.get()
                if due > clock():
                    await asyncio.sleep(due - clock())
                if not chunk:
                    return
                writer.write(chunk)
                await writer.drain()

        with contextlib.suppress(OSError):
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(_quietly(write()))
                chunk = b"?"
                while chunk and not writing.done():
                    try:
                        chunk = await reader.read(_CHUNK)
                    except OSError:
                        chunk = b""
                    waiting.put_nowait((clock() + self.delay_s, chunk))
        writer.transport.abort()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection by RST: a socket that lingers for no time is not closed gracefully."""
    held = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _quietly(writing: Coroutine[object, object, None]) -> None:
    """Write until the connection goes away, which is no error of the proxy's."""
    with contextlib.suppress(OSError):
        await writing


async def run(listen_port: int, proxy: Proxy) -> None:
    """Serve until cancelled."""
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", listen_port)
    async with server, asyncio.TaskGroup() as group:
        group.create_task(proxy.watch())
        group.create_task(server.serve_forever())


def main() -> None:
    """Run the proxy until it is ended by a signal."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local.proxy", description=main.__doc__)
    parser.add_argument("listen_port", type=int)
    parser.add_argument("broker_port", type=int)
    parser.add_argument("order_file", type=Path)
    chosen = parser.parse_args()
    asyncio.run(run(chosen.listen_port, Proxy(chosen.broker_port, chosen.order_file)))


if __name__ == "__main__":
    main()
