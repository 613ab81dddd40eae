"""Detects other processes with this name on the store: Mirrorwatch probably runs twice. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.process.identity import pid_here

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.persistence.leases import Incarnation


def duplicate_warning(
    rows: Iterable[Incarnation], *, replica: str, incarnation: str, now_at: float, probing: bool
) -> str | None:
    """Return a warning if another process uses the name of this one, else None.

    `rows` are the processes in the store, after this one took over those that ended; `probing`: there is a
    canary.
    """
    places = [
        _place(row)
        for row in rows
        if (row.replica, row.taken_over_by) == (replica, "")
        and row.incarnation != incarnation
        and not row.gone(now_at)
    ]
    if not places:
        return None
    harm = (
        "every flow that both watch is probed twice"
        if probing
        else "each overwrites the state that the other stores"
    )
    return (
        f"{' and '.join(places)} also uses this store with the name '{replica}', so {harm};"
        " stop one of them, or give each its own store.replica"
    )


def _place(row: Incarnation) -> str:
    pid = pid_here(row.process)
    return "a process of another machine or container" if pid is None else f"process {pid}"
