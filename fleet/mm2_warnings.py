"""What MirrorMaker says nothing about: keys that it ignores, settings that do other than they seem to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet import java_properties
from fleet.errors import Problem
from fleet.filters import split_list
from fleet.mm2_ignored import why_ignored
from fleet.replication import POLICY_CLASSES, PolicyKind

_LISTS = frozenset({"topics", "topics.exclude", "groups", "groups.exclude"})
_VARIABLE = re.compile(r"\$\{[^}]*:[^}]*\}")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.mm2_resolution import Mm2Properties
    from fleet.topology import Flow, Topology


def warnings_of(
    file: str, entries: tuple[java_properties.Entry, ...], mm2: Mm2Properties, topology: Topology
) -> tuple[Problem, ...]:
    """Return every warning about one file: what its lines say first, then what they amount to together."""
    found = [
        Problem(file, later.key, f"stands in lines {earlier.line} and {later.line}; the last one holds.")
        for earlier, later in java_properties.repeated(entries)
    ]
    for key, value in mm2.raw.items():
        sentence = why_ignored(key, value, mm2)
        if sentence is None:
            sentence = _doubtful(key, value, mm2)
        if sentence is not None:
            found.append(Problem(file, key, sentence))
    for flow in topology.flows:
        found += [Problem(file, key, sentence) for key, sentence in _of_flow(flow, mm2, topology)]
    return tuple(found)


def ignored_flows(file: str, mm2: Mm2Properties) -> list[Problem]:
    """Return what is wrong with the keys of flows that reach nothing: where no flow is left, they say why."""
    found = ((key, why_ignored(key, value, mm2)) for key, value in mm2.raw.items() if "->" in key + value)
    return [Problem(file, key, sentence) for key, sentence in found if sentence is not None]


def _doubtful(key: str, value: str, mm2: Mm2Properties) -> str | None:
    """Return a sentence about a key that is read, but perhaps not as it was meant."""
    target, name = _target_and_name(key, mm2)
    stripped = value.strip()
    if name == "replication.policy.separator" and value != stripped:
        return "has a blank at its end, which becomes a part of every topic name; take it away."
    if name == "replication.policy.class" and POLICY_CLASSES.get(stripped) is PolicyKind.LEGACY:
        return "names a class that is in no release of Apache Kafka; it is read here as it was proposed."
    if key == "enabled" and stripped.lower() == "true":
        return "turns on every flow that has a herder; write A->B.enabled for each flow that you want."
    if target and name.startswith("producer.") and not name.startswith("producer.override."):
        return (
            "reaches only the producer of offset syncs, not the one that writes the mirrored records; "
            f"for that write {target}.{name}."
        )
    return _doubtful_text(key, name, value, mm2)


def _doubtful_text(key: str, name: str, value: str, mm2: Mm2Properties) -> str | None:
    if name in _LISTS and not all(split_list(value)):
        return "has an empty entry between two commas, which MirrorMaker 4.3 refuses; take it away."
    if not value.isascii() or not key.isascii():
        return "has characters beyond ASCII, which MirrorMaker reads as ISO-8859-1; write them as \\uXXXX."
    if not mm2.providers and _VARIABLE.search(value):
        return "looks like a variable, but stays as it is: config.providers names no provider."
    return None


def _target_and_name(key: str, mm2: Mm2Properties) -> tuple[str, str]:
    """Return the target of a flow's key and the rest of it; no target and the whole key for any other."""
    for source, target in mm2.pairs:
        if key.startswith(f"{source}->{target}."):
            return target, key[len(f"{source}->{target}.") :]
    return "", key


def _of_flow(flow: Flow, mm2: Mm2Properties, topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield what the settings of a flow amount to, with the key to look at."""
    separator = flow.policy.separator
    back = topology.reverse_of(flow)
    if flow.may_loop and back is not None and back.may_loop and flow.source < back.source:
        sentence = (
            f"keeps the names of topics on {flow.name} and on {back.name}: a topic that both carry is copied "
            "round for ever, since the policy cannot see a cycle; mirror each topic in one direction only."
        )
        yield "replication.policy.class", sentence
    if not flow.may_loop and separator and separator in flow.source:
        taken_for = flow.source.partition(separator)[0] or "a cluster without a name"
        sentence = (
            f"stands within the alias {flow.source}, so MirrorMaker takes its topics for those of "
            f"{taken_for} and cannot see a cycle; choose another alias or another separator."
        )
        yield f"{flow.name}.replication.policy.separator", sentence
    rest = mm2.resolved.get("dedicated.mode.enable.internal.rest", "false").strip().lower()
    if flow.tasks_max > 1 and rest != "true":
        sentence = (
            f"is not true: if this MirrorMaker runs on several nodes, {flow.name} does not learn of new "
            "topics on all of them; with one node there is nothing to do."
        )
        yield "dedicated.mode.enable.internal.rest", sentence
    if flow.refresh_topics_interval_s is None:
        yield f"{flow.name}.refresh.topics.enabled", "is false: a new topic is mirrored only after a restart."
