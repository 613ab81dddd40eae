"""Which flows have a canary, by what topic, and why the others have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.config import CanaryConfig, CanaryMode
from canary.flows import CanaryFlow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.errors import Problem
    from fleet.flow import Decision, Flow
    from fleet.topology import Topology
    from mirrorwatch.config import FlowSection

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
    told: set[str] = set()  # flows of a round that was told already
    for flow in topology.flows:
        own = said[flow.name].canary.threshold if flow.name in said else None
        threshold_s = own if own is not None else canary.threshold
        if own is not None and own > canary.horizon:
            sentence = (
                f"the threshold ({own:g} s) is longer than canary.horizon ({canary.horizon:g} s): a probe"
                " would be given up before it could be late; make the horizon at least as long"
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
                line = line_to_add(flow, canary.topic)
                warnings.append(where(("flows", flow.name), f"no canary: {off}{line}"))
            elif _goes_round(topology, flow, canary.topic) and flow.name not in told:
                told |= {flow.name, f"{flow.target}->{flow.source}"}
                problems.append(where(("flows", flow.name), _round_sentence(flow, canary.topic)))
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
            )
        )
    return tuple(found), list(dict.fromkeys(problems)), warnings


def line_to_add(flow: Flow, topic: str) -> str:
    """Return half a sentence with the exact line that would have the canary's topic mirrored."""
    if flow.decide(topic).rule != "filtered":
        return ""
    if flow.topic_filter.why(topic).startswith("topics.exclude"):
        return f" Take it out of {flow.name}.topics.exclude to have it probed."
    return f" Add it to have the flow probed: {flow.name}.topics = {flow.topic_filter.include}, {topic}"


def _internal_sentence(decision: Decision) -> str:
    """Return a sentence where MirrorMaker takes the name for internal, in one of its readings at least."""
    if decision.rule == "internal":
        return f"{decision.sentence} Choose another name, for example mirrorwatch-canary."
    for version, reading in decision.readings:
        if reading.rule == "internal":
            return (
                f"{reading.sentence} Whether this mirror is {version} is not known: set mirror_version, or"
                " choose another name, for example mirrorwatch-canary."
            )
    return ""


def _goes_round(topology: Topology, flow: Flow, topic: str) -> bool:
    """Tell whether a probe would come back to where it began, under its own name."""
    back = topology.reverse_of(flow)
    if back is None or not flow.may_loop or not back.may_loop:
        return False
    there = flow.decide(topic)
    return there.remote_topic == topic and back.decide(topic).remote_topic == topic


def _round_sentence(flow: Flow, topic: str) -> str:
    return (
        f"{topic} would go round for ever: {flow.name} and {flow.target}->{flow.source} both keep the topic's"
        " name. Exclude it from one of the two, or set canary.mode: off"
    )
