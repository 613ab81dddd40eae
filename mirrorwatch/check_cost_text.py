"""What `check` writes about the canary: its topics, what it costs, and which flows have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary import control, probing
from canary.config import CanaryMode
from canary.plan import settings_text
from fleet.quantity import bytes_text, duration_text
from mirrorwatch.check_cost import (
    CANARY_SEGMENT_S,
    control_bytes_per_day,
    control_kept_bytes,
    costs,
    probe_bytes,
)
from mirrorwatch.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.flows import CanaryFlow
    from fleet.topology import Topology
    from mirrorwatch.check_clusters import ClusterLook
    from mirrorwatch.check_cost import SourceCost
    from mirrorwatch.check_sheet import Sheet
    from mirrorwatch.configuration import Configuration


def print_canary(sheet: Sheet, config: Configuration, looks: Mapping[str, ClusterLook]) -> None:
    """Write what the canary will do and cost, in the light of what the clusters said."""
    sheet.heading("Canary")
    canary = config.canary
    if canary.mode is CanaryMode.OFF:
        sheet.say("canary.mode is off: there are no probes and no control probes.")
        return
    every = duration_text(canary.interval)
    sheet.say(f"A probe every {every} into each partition of {canary.topic} on every source.")
    found = costs(config.canary_flows, canary, brokers=_brokers(looks), existing=_existing(config, looks))
    for cost in found:
        _print_source(sheet, config, cost)
    if found:
        _print_sums(sheet, config, found)
    _print_control(sheet, config)
    for flow in config.canary_flows:
        if flow.off:
            _print_off(sheet, config.topology, flow)


def missing_topics(config: Configuration, looks: Mapping[str, ClusterLook]) -> list[str]:
    """Return a sentence for each topic that has to be there before `run`, and is not."""
    if config.canary.mode is not CanaryMode.PRECREATED:
        return []
    probed = {flow.source for flow in config.canary_flows if not flow.off}
    sentences = []
    for alias, look in looks.items():
        needed = [(control.TOPIC, f"one partition and {settings_text(control.TOPIC_CONFIG)}")]
        if alias in probed:
            needed.insert(0, (config.canary.topic, settings_text(probing.TOPIC_CONFIG)))
        sentences += [
            f"{name} does not exist on {alias}, and mode: precreated forbids making it: create it with {how}."
            for name, how in needed
            if name in look.own and look.own[name] is None
        ]
    return sentences


def _print_source(sheet: Sheet, config: Configuration, cost: SourceCost) -> None:
    topic, flows = config.canary.topic, _probed(config, cost.source)
    sheet.say(f"On {cost.source}: {topic}, {_partitions(config, cost)}.", indent=4, hang=6)
    if cost.exists and cost.partitions < cost.planned:
        sheet.say(
            f"{counted(cost.planned, 'partition')} would put a probe in every task of the mirror and on every"
            " broker, as far as that goes.",
            indent=6,
        )
    sheet.say(
        f"Produced: {_rate(cost.records_per_s)}, {bytes_text(cost.bytes_per_day)} a day. Kept for a day:"
        f" {bytes_text(cost.kept_bytes(longest=False))} for each replica, up to"
        f" {bytes_text(cost.kept_bytes(longest=True))} until Kafka deletes a segment (of"
        f" {duration_text(CANARY_SEGMENT_S)}, where the topic is made by run).",
        indent=6,
    )
    for flow in flows:
        sheet.say(
            f"{flow.name}: {flow.target_topic} on {flow.target}, {_rate(cost.records_per_s)},"
            f" {bytes_text(cost.bytes_per_day)} a day between the sites.",
            indent=6,
            hang=8,
        )


def _partitions(config: Configuration, cost: SourceCost) -> str:
    number = counted(cost.partitions, "partition")
    if cost.exists:
        return f"which is there with {number}"
    at_least = "at least " if cost.at_least else ""
    unknown = " (not every cluster has told its brokers)" if cost.at_least else ""
    if config.canary.mode is CanaryMode.PRECREATED:
        return f"to be created by hand; {at_least}{number} would do{unknown}"
    return f"made by run with {at_least}{number}{unknown}"


def _print_sums(sheet: Sheet, config: Configuration, found: tuple[SourceCost, ...]) -> None:
    by_source = {cost.source: cost for cost in found}
    carried = [by_source[flow.source] for flow in config.canary_flows if not flow.off]
    size = probe_bytes(config.canary.topic, max(cost.partitions for cost in found))
    sheet.say(
        f"In all: {_rate(sum(cost.records_per_s for cost in found))} produced,"
        f" {bytes_text(sum(cost.bytes_per_day for cost in found))} a day;"
        f" {_rate(sum(cost.records_per_s for cost in carried))} mirrored,"
        f" {bytes_text(sum(cost.bytes_per_day for cost in carried))} a day between sites.",
        hang=4,
    )
    sheet.say(
        f"A probe takes {size} B in the log: key, value, header and its record batch, uncompressed. The"
        " figures leave out replicas, requests and TLS. Mirrorwatch itself reads each topic once more: the"
        " copies from the target if it runs near the source, or else the probes to the source and back.",
        hang=4,
    )


def _print_control(sheet: Sheet, config: Configuration) -> None:
    per_day = control_bytes_per_day()
    sheet.say(
        f"Control probes: one every {duration_text(control.INTERVAL_S)} into {control.TOPIC} (1 partition) on"
        f" each of {counted(len(config.clients), 'cluster')}, written and read back there, never mirrored:"
        f" {bytes_text(per_day)} a day each way and cluster, of which up to"
        f" {bytes_text(control_kept_bytes())} are kept.",
        hang=4,
    )


def _print_off(sheet: Sheet, topology: Topology, flow: CanaryFlow) -> None:
    sheet.say(f"{flow.name} has no canary: {flow.off}", hang=4)
    rule = topology.flow(flow.name)
    if rule.decide(flow.source_topic).rule != "filtered":
        return
    topics = rule.topic_filter
    if topics.why(flow.source_topic).startswith("topics.exclude"):
        sheet.say(
            f"To have it probed, take what matches {flow.source_topic} out of {flow.name}.topics.exclude in"
            " MirrorMaker's configuration.",
            indent=4,
        )
        return
    listed = ", ".join(part for part in (topics.include.strip(), flow.source_topic) if part)
    sheet.say("To have it probed, let MirrorMaker have this line:", indent=4)
    sheet.verbatim(f"{flow.name}.topics = {listed}", indent=6)


def _probed(config: Configuration, source: str) -> list[CanaryFlow]:
    return [flow for flow in config.canary_flows if flow.source == source and not flow.off]


def _brokers(looks: Mapping[str, ClusterLook]) -> dict[str, int]:
    return {
        alias: len(look.description.brokers) for alias, look in looks.items() if look.description is not None
    }


def _existing(config: Configuration, looks: Mapping[str, ClusterLook]) -> dict[str, int]:
    found = {alias: look.own.get(config.canary.topic) for alias, look in looks.items()}
    return {alias: topic.partitions for alias, topic in found.items() if topic is not None}


def _rate(records_per_s: float) -> str:
    number = f"{records_per_s:.3g}" if records_per_s < 1000 else f"{records_per_s:,.0f}"
    return f"{number} record/s" if number == "1" else f"{number} records/s"
