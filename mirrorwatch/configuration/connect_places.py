"""Connectors without secret values, and the keys of a cluster's properties in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.connect.connectors import Connector

_ROLES = ("cluster", "admin", "consumer", "producer")
_HARMLESS = ("connector.class", "source.cluster.alias", "target.cluster.alias", "enabled")


def harmless(connector: Connector) -> Connector:
    """Return the connector with all names of its properties, but the values of a few."""
    config = {key: value if key in _HARMLESS else "" for key, value in connector.config.items()}
    return replace(connector, config=config)


def place_of(connectors: Iterable[Connector], alias: str, name: str) -> str | None:
    """Return the key of a client property of a cluster; None if no connector has it."""
    for connector in connectors:
        for side, own in (("source", connector.source), ("target", connector.target)):
            for key in (f"{side}.{role}.{name}" for role in _ROLES):
                if own == alias and key in connector.config:
                    return connector.key(key)
    return None
