"""The permissions that the checksum needs on compared topics. Pure.

They follow from the configuration, not from the visible topics: a principal without permissions sees none,
and topics that are created later need them too. A filter entry becomes a name, a prefix (`orders.*` becomes
`orders`), or every topic if it has no certain prefix.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet.mm2.filters import split_list
from lagmon.syncs.orders import sync_orders
from mirrorwatch.check.permissions import Permission, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.verdicts.flow import Flow
    from mirrorwatch.configuration.configuration import Configuration

EVERY = "*"
_BEGINNING = re.compile(r"(?:[A-Za-z0-9_.-]|\\[._-])*")
_COMPARED = ("Read", "DescribeConfigs")


def checksum_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the least permissions of a run over `checksum.topics`, by default over all topics."""
    order = list(config.clients)
    return tuple(sorted(joined(_needed(config)), key=lambda one: order.index(one.cluster)))


def names_of(entry: str) -> tuple[str, str]:
    """Return the name or prefix that a filter entry matches, and the pattern type of its ACL."""
    beginning = _BEGINNING.match(entry)
    found = "" if beginning is None or "|" in entry else beginning[0]
    plain = found.replace("\\", "")
    if found == entry and plain:
        return plain, "literal"
    if entry[len(found) : len(found) + 1] in ("*", "?", "+", "{"):  # the letter before it may be missing
        plain = plain[:-1]
    return (plain, "prefixed") if plain else (EVERY, "literal")


def _needed(config: Configuration) -> Iterator[Permission]:
    for flow in config.topology.flows:
        for name, pattern in _compared(config, flow):
            why = f"topics of {flow.name}"
            yield Permission(flow.source, name, _COMPARED, why, pattern=pattern)
            if name != EVERY:
                yield Permission(flow.target, flow.remote_topic(name), _COMPARED, why, pattern=pattern)
            elif prefix := flow.remote_topic(""):
                yield Permission(flow.target, prefix, _COMPARED, why, pattern="prefixed")
            else:
                yield Permission(flow.target, EVERY, _COMPARED, why)
    kinds = {name: source.lag_from for name, source in config.lag_sources.items()}
    for sync in sync_orders(config.topology.flows, kinds):
        if sync.kafka_cluster in config.clients:
            yield Permission(sync.kafka_cluster, sync.topic, ("Read",), f"offset syncs of {sync.flow}")


def _compared(config: Configuration, flow: Flow) -> tuple[tuple[str, str], ...]:
    """Return names and patterns, each once; only `*` if one of the entries may match any topic."""
    texts = config.checksum.topics or [flow.topic_filter.include]
    found = dict.fromkeys(names_of(entry) for text in texts for entry in split_list(text))
    return ((EVERY, "literal"),) if (EVERY, "literal") in found else tuple(found)
