"""A way to a server that can be cut in silence, as by a network that drops packets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deploy.local.ports import free_port
from deploy.local.process import Process

if TYPE_CHECKING:
    from pathlib import Path

_HELD = "delay 3600"


class Cut:
    """A proxy before the server at an address `SCHEME://HOST:PORT/...`; while it holds, no byte passes."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        start, _, path = url.rpartition("/")
        host, _, server_port = start.rpartition(":")
        port = free_port()
        self.url = f"{host}:{port}/{path}"
        self._order = folder / "order"
        command = [sys.executable, "-m", "deploy.local.proxy", str(port), server_port, str(self._order)]
        self.process = Process(f"proxy-{name}", command, folder=folder)

    def hold(self) -> None:
        """Let nothing pass."""
        self._order.write_text(_HELD, encoding="ascii")

    def let_pass(self) -> None:
        """Let new bytes pass; what is held stays held, as after a lost packet of a dead connection."""
        self._order.unlink(missing_ok=True)
