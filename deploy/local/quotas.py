"""Quotas of clients, as an operator sets them with kafka-configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.local.java import CONFIGURE, run_tool

if TYPE_CHECKING:
    from collections.abc import Mapping


def limit_clients(bootstrap: str, client_id: str | None, settings: Mapping[str, int | None]) -> None:
    """Limit the clients of this id, or each client where it is None; None for a value removes the limit.

    Values are bytes a second. Raises StackError with what the tool said.
    """
    change: list[str] = []
    if given := [f"{key}={value}" for key, value in settings.items() if value is not None]:
        change += ["--add-config", ",".join(given)]
    if taken := [key for key, value in settings.items() if value is None]:
        change += ["--delete-config", ",".join(taken)]
    name = ["--entity-default"] if client_id is None else ["--entity-name", client_id]
    run_tool(
        CONFIGURE, "--bootstrap-server", bootstrap, "--alter", *change, "--entity-type", "clients", *name
    )
