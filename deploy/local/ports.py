"""Free TCP ports on the loopback address that stay ours until this process ends.

A port from the kernel's range of outgoing connections would be a trap: while a broker is down, a client
that connects to its port can be given that very port as its own end and then talk to itself, and the broker
cannot come back. So ports are taken from below that range. Between two stacks on one machine, a socket in
the kernel's abstract namespace holds each port: it leaves no file and vanishes with its process.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST = 15000
_held: dict[int, int] = {}  # by port, the open file of its socket: kept for the life of the process


def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that nothing uses and no other stack on this machine has taken.

    Raises OSError when a hundred tries found none.
    """
    for _ in range(100):
        port = random.randrange(_LOWEST, _highest())  # noqa: S311  (not a secret: it spreads stacks apart)
        if port not in _held and _hold(port) and _is_free(port):
            return port
    raise OSError("found no free TCP port on 127.0.0.1; stop what listens there and try again")


def _highest() -> int:
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    return max(int(text.split()[0]), _LOWEST + 1000)


def _hold(port: int) -> bool:
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0mirrorwatch-port-{port}")
    except OSError:
        holder.close()
        return False
    _held[port] = holder.detach()
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
