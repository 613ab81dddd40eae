"""Which flows have a canary, by what topic, and why the others have none."""

from __future__ import annotations

import json
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from canary.config import CanaryConfig, CanaryMode
from canary.flows import CanaryFlow
from fleet.mm2.replication import HEARTBEATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.errors import Problem
    from fleet.topology import Topology
    from fleet.verdicts.flow import Decision, Flow
    from mirrorwatch.configuration.sections import FlowSection

DEFAULT_REFRESH_S = 600.0  # of a mirror whose refreshing is switched off: a restart takes up new topics


def canary_flows(
    topology: Topology,
    canary: CanaryConfig,
    said: Mapping[str, FlowSection],
    *,
    where: Callable[[tuple[str, ...], str], Problem],
) -> tuple[tuple[CanaryFlow, ...], list[Problem], list[Problem]]:
    """Return every flow with its canary, then problems, then warnings."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    found = []
    for flow in topology.flows:
        own = said[flow.name].canary.threshold if flow.name in said else None
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
                tasks_topic=_tasks_topic(flow, said.get(flow.name)),
            )
        )
    if canary.mode is not CanaryMode.OFF:
        problems += [
            where(("flows", f"{path[0]}->{path[1]}"), _round_sentence(path, canary.topic))
            for path in _rounds(topology, canary.topic)
        ]
    return tuple(found), list(dict.fromkeys(problems)), warnings


def _heartbeats_topic(flow: Flow) -> str:
    """Return the name that the heartbeats of the flow's source have on its target, if they are replicated.

    If that is the name of the target's own heartbeats, they prove nothing about the flow.
    """
    remote = flow.remote_topic(HEARTBEATS)
    return remote if flow.decide(HEARTBEATS).replicated and remote != HEARTBEATS else ""


def _tasks_topic(flow: Flow, said: FlowSection | None) -> str:
    """Return the topic on the target in which a dedicated mirror keeps what its tasks are to do.

    In Connect mode, which the name of an offsets topic tells too, the name of that topic is not known, or
    what stands in it stands under a connector's own name.
    """
    if flow.on_connect or (said is not None and said.offsets is not None):
        return ""
    return flow.config_storage_topic or f"mm2-configs.{flow.source}.internal"


def topics_line(flow: Flow, topic: str) -> str:
    """Return the line of the mirror's file that has the topic replicated, empty where no line does.

    No line does where the flow excludes the topic, or where its name and not a filter keeps it back. A line
    for a connector or a resource is both YAML and JSON.
    """
    if flow.decide(topic).rule != "filtered" or _is_excluded(flow, topic):
        return ""
    listed = ", ".join(part for part in (flow.topic_filter.include.strip(), topic) if part)
    if flow.topics_key:
        return f'"{flow.topics_key.rpartition(".")[2]}": {json.dumps(listed, ensure_ascii=False)}'
    written = listed.replace("\\", "\\\\")  # as a properties file has it
    return f"{flow.name}.topics = {written}"


def fix_of(flow: Flow, topic: str) -> str:
    """Return what an operator does to have the topic replicated, empty where that is not known."""
    line = topics_line(flow, topic)
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
    """Return a sentence where MirrorMaker takes the name for internal, in one of its readings at least."""
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


def _rounds(topology: Topology, topic: str) -> tuple[tuple[str, ...], ...]:
    """Return the rounds in which this topic would come back to where it began, under its own name.

    Each is a path that ends with the cluster it begins with, and is told once, from the source of its first
    flow in the configuration. Where several rounds share flows, the shortest through each cluster are told.
    """
    # Policies only ever add to a name: what comes back under the same one was renamed by no flow on its way.
    # Topology.reach would follow the renamed too, on very many ways where clusters mirror one another.
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


def _round_sentence(path: tuple[str, ...], topic: str) -> str:
    return (
        f"{topic} would be replicated in a loop ({' -> '.join(path)}), because these flows keep its name;"
        " exclude it from one of them, or set canary.mode: off"
    )
