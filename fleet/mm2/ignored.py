"""Keys of mm2.properties that MirrorMaker silently ignores, each with what to write instead.

fleet.mm2.resolution has the rule which keys reach which part; this is its inverse. A key that a plugin
may define is not reported: only keys that reach nothing, and misspelt known keys.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from fleet.mm2.names import (
    ROLE_NAMES,
    TOP_LEVEL_NAMES,
    WORKER_NAMES,
    WORKER_PREFIXES,
    client_names,
    connector_names,
)
from fleet.mm2.replication import OLDEST_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.mm2.resolution import Mm2Properties

_ROLES = ("producer.", "consumer.", "admin.")
# Prefixes of a flow's connector in addition to its own names: clients, transformations, plugins.
_FLOW_PREFIXES = (
    *_ROLES, "source.", "target.", "transforms.", "predicates.", "key.converter.", "value.converter.",
    "header.converter.", "config.providers.", "offset-syncs-", "topic.creation.", "replication.policy.",
)  # fmt: skip
_OF_PLUGINS = (
    "transforms.", "predicates.", "key.converter.", "value.converter.", "header.converter.",
    "config.providers.",
)  # fmt: skip
_TOP_PREFIXES = (*WORKER_PREFIXES, "config.providers", "listeners", "rest.", "admin.listeners", "plugin.")
_FLOW_EXTRA = frozenset({"exactly.once.support", "transaction.boundary", "offsets.storage.topic"})
_RENAMED = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
    "topics.whitelist": "topics",
    "groups.whitelist": "groups",
    "topics.include": "topics",
    "groups.include": "groups",
}


def why_ignored(key: str, value: str, mm2: Mm2Properties) -> str | None:
    """Return why the key has no effect and what to write instead; None if it has an effect."""
    if "->" in key or value.startswith(("->", ">")):
        return _of_flow(key, mm2)
    # A longer alias is tried before a shorter one that is its prefix.
    for alias in _longest_first(mm2):
        if key.startswith(f"{alias}."):
            return _of_alias(alias, key[len(alias) + 1 :], mm2)
    return _at_top(key, mm2)


def _of_flow(key: str, mm2: Mm2Properties) -> str | None:
    if "->" not in key or " " in key:
        return (
            "is ignored: a space ends the key in this file format; write it without, as A->B.enabled = true."
        )
    source, _, rest = key.partition("->")
    target = next((each for each in _longest_first(mm2) if rest.startswith(f"{each}.")), None)
    if source not in mm2.clusters or target is None:
        return _unknown_cluster(source if source not in mm2.clusters else rest.partition(".")[0], mm2)
    if source == target:
        return "is ignored: a flow leads from one cluster to another."
    return _of_flow_name(source, target, rest[len(target) + 1 :], mm2)


def _of_flow_name(source: str, target: str, name: str, mm2: Mm2Properties) -> str | None:
    flow = f"{source}->{target}"
    known = connector_names(mm2.major) | _FLOW_EXTRA
    if name in known or name.startswith(_FLOW_PREFIXES):
        return _near_in_prefix(name, known, flow + ".", mm2) or _older_only(name, flow + ".", mm2)
    if name in _RENAMED:
        return f"is ignored: write {flow}.{_RENAMED[name]}."
    if name == "isolation.level":
        return f"is ignored: write {source}.consumer.{name} or {flow}.consumer.{name}."
    if name == "bootstrap.servers":
        return f"is ignored: write {source}.{name} and {target}.{name}."
    if name in WORKER_NAMES:
        return f"is ignored: it belongs to the worker, which reads the target's keys; write {target}.{name}."
    return _near(name, known, f"{flow}.")


def _of_alias(alias: str, name: str, mm2: Mm2Properties) -> str | None:
    connectors = connector_names(mm2.major)
    known = client_names(mm2.major) | WORKER_NAMES
    flow = _example_flow(alias, mm2)
    if name == "isolation.level":
        return f"is ignored: the mirror's consumer has keys of its own; write {alias}.consumer.{name}."
    if name in _RENAMED:
        return f"is ignored: write {flow}.{_RENAMED[name]}."
    if name.startswith("replication.policy.") or (name in connectors and name not in known):
        return f"is ignored: it belongs to a flow, not to a cluster; write {flow}.{name}."
    of_worker = name in WORKER_NAMES - client_names(mm2.major) or name.startswith(WORKER_PREFIXES)
    if of_worker and not any(target == alias for _, target in mm2.pairs):
        return f"is ignored: no flow leads to {alias}, so it has no worker."
    return _near_in_prefix(name, known, f"{alias}.", mm2)


def _at_top(key: str, mm2: Mm2Properties) -> str | None:
    known = connector_names(mm2.major) | client_names(mm2.major) | TOP_LEVEL_NAMES
    if key in known or key.startswith(_TOP_PREFIXES):
        return _near_in_prefix(key, known | WORKER_NAMES, "", mm2) or _older_only(key, "", mm2)
    flow = _example_flow(None, mm2)
    target = flow.partition("->")[2]
    if key in _RENAMED:
        return f"is ignored: write {_RENAMED[key]}."
    if key in WORKER_NAMES or key.startswith(_ROLES):
        return f"is ignored here: write it with the alias of a cluster, as {target}.{key}."
    if key.startswith(("source.", "target.", "transforms.", "predicates.")):
        return f"is ignored here: only the flow's own keys reach a connector; write {flow}.{key}."
    for ending in (".bootstrap.servers", ".security.protocol"):
        if key.endswith(ending):
            return _unknown_cluster(key.removesuffix(ending), mm2)
    near = _near(key, known, "")
    return near or "is ignored: it is not a key of MirrorMaker and does not start with an alias."


def _older_only(name: str, prefix: str, mm2: Mm2Properties) -> str | None:
    """Return a sentence if only 3.x reads the key and the version is not known to be 3.x."""
    if name not in _RENAMED or mm2.major == OLDEST_KNOWN:
        return None
    return f"is read by 3.x only and ignored from 4.0 on; write {prefix}{_RENAMED[name]}."


def instead_of_clusters(mm2: Mm2Properties) -> str | None:
    """Return a key that is probably a misspelt `clusters`."""
    return next((key for key in mm2.raw if _near(key, ["clusters"], "")), None)


def _unknown_cluster(alias: str, mm2: Mm2Properties) -> str:
    return f"is ignored: clusters does not name {alias} (it names {', '.join(mm2.clusters)}); add it there."


def _longest_first(mm2: Mm2Properties) -> list[str]:
    return sorted(mm2.clusters, key=len, reverse=True)


def _near(name: str, known: Iterable[str], prefix: str) -> str | None:
    """Return a sentence if the name is a misspelt known one; any other may belong to a plugin."""
    names = sorted(known)
    close = _misspelt(name, names) or difflib.get_close_matches(name, names, n=1, cutoff=0.85)
    return f"is not a key of MirrorMaker; did you mean {prefix}{close[0]}?" if close else None


def _near_in_prefix(name: str, known: frozenset[str], prefix: str, mm2: Mm2Properties) -> str | None:
    """Return a sentence on a misspelt name among those that are read by prefix."""
    role = next((role for role in _ROLES if name.startswith(role)), "")
    if role:
        override = "override." if name.startswith(f"{role}override.") else ""
        name = name.removeprefix(role).removeprefix(override)
        prefix, known = prefix + role + override, client_names(mm2.major) | ROLE_NAMES
    if name in known or name in _RENAMED or name.startswith(_OF_PLUGINS):
        return None
    return _near(name, known, prefix)


def _misspelt(name: str, known: Iterable[str]) -> list[str]:
    """Return the known name, if there is one, but for capitals, `.`, `_` and `-`, or two letters swapped.

    A similarity measure does not find that in a short name.
    """
    turned = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1)}
    return [each for each in known if each in turned or _letters(each) == _letters(name)][:1]


def _letters(name: str) -> str:
    return re.sub(r"[._-]", "", name).lower()


def _example_flow(alias: str | None, mm2: Mm2Properties) -> str:
    """Return a flow for an example: an enabled one if there is one, of this alias if it matters."""
    pairs = [pair for pair in mm2.pairs if alias is None or alias in pair]
    enabled = [pair for pair in pairs if f"{pair[0]}->{pair[1]}.enabled" in mm2.raw]
    return "->".join((enabled or pairs or [("A", "B")])[0])
