"""The canary of each flow: its topics, or the reason why it has none."""

from __future__ import annotations

import json
import re
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from canary.config import CanaryConfig, CanaryMode
from canary.flows import CanaryFlow
from fleet.mm2.filters import lacks_comma, split_list
from fleet.mm2.replication import HEARTBEATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.errors import Problem
    from fleet.topology import Topology
    from fleet.verdicts.flow import Decision, Flow
    from mirrorwatch.configuration.sections import FlowSection

_BETWEEN = re.compile(r"[\s;]+")  # written in place of a comma
DEFAULT_REFRESH_S = 600.0  # for a mirror without refresh, which finds new topics at a restart


def canary_flows(
    topology: Topology,
    canary: CanaryConfig,
    sections: Mapping[str, FlowSection],
    *,
    added_headers: frozenset[str] = frozenset(),
    where: Callable[[tuple[str, ...], str], Problem],
) -> tuple[tuple[CanaryFlow, ...], list[Problem], list[Problem]]:
    """Return every flow with its canary, the problems, and the warnings."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    found = []
    for flow in topology.flows:
        own = sections[flow.name].canary.threshold if flow.name in sections else None
        threshold_s = own if own is not None else canary.threshold
        if own is not None and own > canary.horizon:
            sentence = (
                f"{own:g} s is longer than canary.horizon ({canary.horizon:g} s), so no probe could be late;"
                " lower the threshold, or raise canary.horizon"
            )
            problems.append(where(("flows", flow.name, "canary", "threshold"), sentence))
        off = "canary.mode is off."
        if canary.mode is not CanaryMode.OFF:
            decision = flow.decide(canary.topic)
            off = "" if decision.replicated else decision.sentence
            internal = _internal_sentence(decision)
            if internal:
                problems.append(where(("canary", "topic"), internal))
            elif off:
                fix = fix_of(flow, canary.topic)
                sentence = f"no canary: {off.rstrip('.')}" + (f"; {fix}" if fix else "")
                warnings.append(where(("flows", flow.name), sentence))
        found.append(
            CanaryFlow(
                name=flow.name,
                source=flow.source,
                target=flow.target,
                source_topic=canary.topic,
                target_topic=flow.remote_topic(canary.topic),
                threshold_s=threshold_s,
                warmup_s=flow.refresh_topics_interval_s or DEFAULT_REFRESH_S,
                tasks_max=flow.tasks_max,
                exactly_once=flow.exactly_once,
                off=off,
                heartbeats_topic=_heartbeats_topic(flow),
                tasks_topic=_tasks_topic(flow, sections.get(flow.name)),
                added_headers=added_headers,
            )
        )
    if canary.mode is not CanaryMode.OFF:
        problems += [
            where(("flows", f"{path[0]}->{path[1]}"), _loop_sentence(path, canary.topic))
            for path in _loops(topology, canary.topic)
        ]
    return tuple(found), list(dict.fromkeys(problems)), warnings


def _heartbeats_topic(flow: Flow) -> str:
    """Return the name that the heartbeats of the flow's source have on its target, if they are replicated.

    The name of the target's own heartbeats does not count, because they prove nothing about the flow.
    """
    remote = flow.remote_topic(HEARTBEATS)
    return remote if flow.decide(HEARTBEATS).replicated and remote != HEARTBEATS else ""


def _tasks_topic(flow: Flow, section: FlowSection | None) -> str:
    """Return the topic on the target in which a dedicated mirror stores the configuration of its tasks.

    Empty in Connect mode, which a configured offsets topic implies: the topic is unknown then, or its keys
    have a connector's own name.
    """
    if flow.on_connect or (section is not None and section.offsets is not None):
        return ""
    return flow.config_storage_topic or f"mm2-configs.{flow.source}.internal"


def topics_line(flow: Flow, topic: str) -> str:
    """Return the line with which the flow has the topic; empty if no line helps.

    No line helps if the flow excludes the topic, or if its name prevents replication. The line is for
    Mirrorwatch's configuration if that has the flow's topics, else for the mirror's. A line for a connector
    or a resource is both YAML and JSON.
    """
    if flow.decide(topic).rule != "filtered" or _is_excluded(flow, topic):
        return ""
    parts = [
        part
        for entry in split_list(flow.topic_filter.include)
        for part in (_BETWEEN.split(entry) if lacks_comma(entry) else (entry,))
    ]
    listed = ", ".join([*(part for part in parts if part and part != topic), topic])
    if flow.own_topics:
        return f"flows.{flow.name}.topics: {json.dumps(listed, ensure_ascii=False)}"
    if flow.topics_key:
        return f'"{flow.topics_key.rpartition(".")[2]}": {json.dumps(listed, ensure_ascii=False)}'
    written = listed.replace("\\", "\\\\")  # as a properties file has it
    return f"{flow.name}.topics = {written}"


def fix_of(flow: Flow, topic: str) -> str:
    """Return the remedy if a flow does not replicate the topic; empty if unknown."""
    line = topics_line(flow, topic)
    if line and flow.own_topics:
        return f"if the mirror replicates it, set in Mirrorwatch's configuration: {line}"
    if line and flow.topics_key:
        return f"set {flow.topics_key} in the mirror's configuration: {line}"
    if line:
        return f"add this line to the mirror's configuration: {line}"
    if flow.decide(topic).rule == "filtered":
        return f"remove the entry that matches it from {flow.exclude_key or f'{flow.name}.topics.exclude'}"
    return ""


def _is_excluded(flow: Flow, topic: str) -> bool:
    return flow.topic_filter.why(topic).startswith("topics.exclude")


def _internal_sentence(decision: Decision) -> str:
    """Return a sentence if MirrorMaker treats the name as internal, in one of its versions at least."""
    if decision.rule == "internal":
        why = decision.sentence.removesuffix(".")
        return f"{why}; choose another name, for example mirrorwatch-canary"
    for version, reading in decision.readings:
        if reading.rule == "internal":
            why = reading.sentence.removesuffix(".")
            return (
                f"{why}; set mirror_version if this mirror is not {version}, or choose another name, for"
                " example mirrorwatch-canary"
            )
    return ""


def _loops(topology: Topology, topic: str) -> tuple[tuple[str, ...], ...]:
    """Return the loops in which this topic would return to its first cluster under its own name.

    Each is a path that ends with its first cluster. It is returned once, from the source of its first flow in
    the configuration. If several loops share flows, the shortest through each cluster are returned.
    """
    # Policies only add to a name, so a topic that returns with the same name was renamed by no flow.
    # Topology.reach would follow renamed topics too, on very many paths if clusters mirror each other.
    onward: dict[str, list[str]] = {}
    for flow in topology.flows:
        if flow.decide(topic).remote_topic == topic:
            onward.setdefault(flow.source, []).append(flow.target)
    found: dict[frozenset[tuple[str, str]], tuple[str, ...]] = {}
    for source in onward:
        shortest: dict[str, tuple[str, ...]] = {source: (source,)}
        waiting = deque(shortest)
        while waiting:
            here = waiting.popleft()
            for target in onward.get(here, ()):
                path = (*shortest[here], target)
                if target == source:
                    found.setdefault(frozenset(pairwise(path)), path)
                elif target not in shortest:
                    shortest[target] = path
                    waiting.append(target)
    return tuple(found.values())


def _loop_sentence(path: tuple[str, ...], topic: str) -> str:
    return (
        f"{topic} would be replicated in a loop ({' -> '.join(path)}), because these flows keep its name;"
        " exclude it from one of them, or set canary.mode: off"
    )
