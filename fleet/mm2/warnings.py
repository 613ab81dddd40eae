"""Warnings that MirrorMaker does not give: ignored keys, and settings with a surprising effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet.errors import Problem
from fleet.java import properties as java_properties
from fleet.mm2.filters import split_list
from fleet.mm2.ignored import why_ignored
from fleet.mm2.replication import POLICY_CLASSES, PolicyKind

_LISTS = frozenset({"topics", "topics.exclude", "groups", "groups.exclude"})
_BYTE_ORDER_MARK = "\xef\xbb\xbf"  # as MirrorMaker reads it, in ISO-8859-1
_COMMENT = re.compile(r"\s#")
_SECRET = re.compile(r"\.(sasl|ssl)\.")
_ROUNDS = 3  # a cycle that MirrorMaker has not detected by then is endless

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleet.mm2.resolution import Mm2Properties
    from fleet.topology import Flow, Topology


def warnings_of(
    file: str, entries: tuple[java_properties.Entry, ...], mm2: Mm2Properties, topology: Topology
) -> tuple[Problem, ...]:
    """Return every warning about one file: first of single lines, then of combinations."""
    found = [
        Problem(file, later.key, f"is set in lines {earlier.line} and {later.line}; the last one applies.")
        for earlier, later in java_properties.repeated(entries)
    ]
    for key, value in mm2.raw.items():
        if key.startswith(_BYTE_ORDER_MARK):
            continue  # reported by itself
        sentence = why_ignored(key, value, mm2)
        if sentence is None:
            sentence = _doubtful(key, value, mm2)
        if sentence is not None:
            found.append(Problem(file, key, sentence))
    for flow in topology.flows:
        found += [Problem(file, key, sentence) for key, sentence in _of_flow(flow, mm2, topology)]
    return tuple(found)


def byte_order_mark(file: str, raw: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return the problem of a file that starts with a byte order mark."""
    sentence = (
        "the file starts with a byte order mark, which MirrorMaker reads as part of this key; save the"
        " file without it (as UTF-8 without BOM)."
    )
    return tuple(Problem(file, key, sentence) for key in raw if key.startswith(_BYTE_ORDER_MARK))


def ignored_flows(file: str, mm2: Mm2Properties) -> list[Problem]:
    """Return the problems of ignored flow keys, which explain why no flow is left."""
    found = ((key, why_ignored(key, value, mm2)) for key, value in mm2.raw.items() if "->" in key + value)
    return [Problem(file, key, sentence) for key, sentence in found if sentence is not None]


def _doubtful(key: str, value: str, mm2: Mm2Properties) -> str | None:
    """Return a sentence about a key that is read, but perhaps not as intended."""
    target, name = _target_and_name(key, mm2)
    stripped = value.strip()
    if name == "replication.policy.separator" and value != stripped:
        return "ends with a space, which becomes part of every topic name; remove it."
    if name == "replication.policy.class" and POLICY_CLASSES.get(stripped) is PolicyKind.LEGACY:
        return "is not a class of an Apache Kafka release; Mirrorwatch follows the original proposal."
    if key == "enabled" and stripped.lower() == "true":
        return "enables every flow that has a herder; write A->B.enabled for each flow instead."
    if target and name.startswith("producer.") and not name.startswith("producer.override."):
        return (
            "reaches only the producer of offset syncs, not the one that writes the mirrored records; "
            f"for that write {target}.{name}."
        )
    return _doubtful_text(key, name, value, mm2)


def _doubtful_text(key: str, name: str, value: str, mm2: Mm2Properties) -> str | None:
    if name in _LISTS and not all(split_list(value)):
        return "has an empty entry between two commas, which MirrorMaker 4.3 refuses; remove it."
    if len(stripped := value.strip()) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
        return "is in quotes, which MirrorMaker reads as part of the value; remove them."
    if _COMMENT.search(value) and not _SECRET.search(f".{key}"):
        return "has a # after its value, which MirrorMaker reads as part of it; move the comment up a line."
    if not value.isascii() or not key.isascii():
        return "has characters beyond ASCII, which MirrorMaker reads as ISO-8859-1; write them as \\uXXXX."
    if mm2.resolve(value).left:
        return "looks like a variable, but stays unresolved: config.providers names no provider for it."
    return None


def _target_and_name(key: str, mm2: Mm2Properties) -> tuple[str, str]:
    """Return the target of a flow's key and the rest of it; no target and the whole key for any other."""
    for source, target in mm2.pairs:
        if key.startswith(f"{source}->{target}."):
            return target, key[len(f"{source}->{target}.") :]
    return "", key


def _goes_round(flow: Flow, back: Flow) -> bool:
    """Return whether a topic of the flow's source returns there endlessly, if no filter stops it."""
    topic = "orders"
    for _ in range(_ROUNDS):
        for each in (flow, back):
            if each.sees_cycle(topic):
                return False
            topic = each.remote_topic(topic)
    return True


def _hidden_cycle(flow: Flow, back: Flow | None) -> Iterator[tuple[str, str]]:
    """Yield warnings about a pair of flows, once for the pair."""
    if back is None or flow.source > back.source or not (_goes_round(flow, back) or _goes_round(back, flow)):
        return
    kept = flow.keeps_names and back.keeps_names
    sentence = (
        f"{'keeps the names of' if kept else 'renames'} topics on {flow.name} and {back.name}, so "
        "MirrorMaker cannot see a cycle; mirror each topic in one direction only. A topic that both "
        f"replicate loops forever{'' if kept else ' under ever longer names'}."
    )
    by_alias = flow.policy.kind is PolicyKind.DEFAULT
    yield "source.cluster.alias" if by_alias else "replication.policy.class", sentence


def _of_flow(flow: Flow, mm2: Mm2Properties, topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield warnings about the settings of a flow, with the key."""
    separator, alias = flow.policy.separator, flow.named_source
    yield from _hidden_cycle(flow, topology.reverse_of(flow))
    if not flow.keeps_names and separator and separator in alias:
        taken_for = alias.partition(separator)[0] or "a cluster without a name"
        sentence = (
            f"is part of the alias {alias}, so MirrorMaker reads its topics as those of "
            f"{taken_for} and cannot see a cycle; choose another alias or another separator."
        )
        yield f"{flow.name}.replication.policy.separator", sentence
    rest = mm2.resolved.get("dedicated.mode.enable.internal.rest", "false").strip().lower()
    if flow.tasks_max > 1 and rest != "true":
        sentence = (
            f"is not true: if this MirrorMaker runs on several nodes, {flow.name} does not learn of new "
            "topics on all of them; with one node, ignore this."
        )
        yield "dedicated.mode.enable.internal.rest", sentence
    if flow.refresh_topics_interval_s is None:
        sentence = "is false: MirrorMaker replicates a new topic only after a restart."
        yield f"{flow.name}.refresh.topics.enabled", sentence
