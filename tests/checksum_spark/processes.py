"""Processes below one, what they were started with, and whom they are connected to, as Linux tells it."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")
_LISTENS, _CONNECTED = "0A", "01"


def below(pid: int) -> list[int]:
    """Return the processes that descend from this one, and itself."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it has ended
        children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def command_line(pid: int) -> str:
    """Return the words that started a process; nothing of one that has ended."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for handle in (_PROC / str(pid) / "fd").iterdir():
            name = str(handle.readlink())
            if name.startswith("socket:["):
                found.add(name[8:-1])
    except OSError:
        pass
    return found


def _rows(pid: int, state: str) -> list[tuple[str, str]]:
    mine, found = _sockets(pid), []
    for name in ("tcp", "tcp6"):
        for row in (_PROC / "net" / name).read_text().splitlines()[1:]:
            here, there, what, *rest = row.split()[1:]
            if what == state and rest[5] in mine:
                found.append((here, there))
    return found


def is_connected(pid: int, port: int) -> bool:
    """Tell whether a process has a connection to this port."""
    return any(int(there.split(":")[1], 16) == port for _, there in _rows(pid, _CONNECTED))


def listening(pid: int) -> set[str]:
    """Return the addresses on which a process listens: `loopback`, or as the kernel writes them."""
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    return {
        "loopback" if (where := here.split(":")[0]) in loopback else where for here, _ in _rows(pid, _LISTENS)
    }
