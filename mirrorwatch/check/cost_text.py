"""The canary in `check`: its topics, its cost, flows without a canary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.site import control
from canary.site.record_sizes import probe_bytes
from canary.site.topic_checks import rate_sentence
from canary.tracker.plan import CONTROL_SETTINGS, PROBES_SETTINGS, settings_text
from fleet.quantity import bytes_text, duration_text
from fleet.topology import MOST_PATHS
from mirrorwatch.check.cost import CANARY_SEGMENT_S, control_bytes_per_day, control_kept_bytes, costs
from mirrorwatch.check.hops import Hop, cluster_costs, hops, link_costs
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.check.topics import unreached
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from canary.flows import CanaryFlow
    from canary.site.topic_advice import Advice
    from mirrorwatch.check.clusters import ClusterCheck
    from mirrorwatch.check.cost import SourceCost
    from mirrorwatch.check.hops import ClusterCost, LinkCost
    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.configuration.configuration import Configuration


def print_canary(sheet: Sheet, config: Configuration, results: Mapping[str, ClusterCheck]) -> None:
    """Write what the canary will do and cost, based on the answers of the clusters."""
    sheet.heading("Canary")
    canary = config.canary
    if canary.mode is CanaryMode.OFF:
        sheet.say("Off (canary.mode): no probes and no control probes.")
        return
    if not config.canary_flows:
        sheet.say("No flows, so no probes and no control probes: Mirrorwatch writes nothing.")
        return
    found = canary_costs(config, results)
    interval_s = found[0].interval_s if found else canary.interval
    every = duration_text(interval_s)
    sheet.say(f"A probe every {every} into each partition of {canary.topic} on every source.")
    if interval_s > canary.interval:
        partitions = sum(cost.partitions for cost in found)
        sheet.say(f"{rate_sentence(canary.interval, canary.max_rate, interval_s, partitions)}.", hang=4)
    all_hops: list[Hop] = []
    for cost in found:
        further = hops(config.topology, cost.source, canary.topic)
        all_hops += _first_hops(config, cost.source) if further is None else further
        _print_source(sheet, config, cost, further)
    if found:
        _print_sums(sheet, config, found, all_hops)
    _print_control(sheet, config)
    for flow in config.canary_flows:
        if not flow.off:
            _print_unreached(sheet, flow, results)
    off = [flow.name for flow in config.canary_flows if flow.off]
    if off:
        sheet.say(f"No probes on {', '.join(off[:FIRST])}{rest(off, joined=True)}.", hang=4)


def canary_costs(config: Configuration, results: Mapping[str, ClusterCheck]) -> tuple[SourceCost, ...]:
    """Return the cost of the probes of each source, based on the answers of the clusters."""
    return costs(
        config.canary_flows, config.canary, brokers=_brokers(results), existing=_existing(config, results)
    )


def print_advice(sheet: Sheet, found: Sequence[Advice], unchecked: Sequence[str]) -> None:
    """Write what is wrong with Mirrorwatch's topics, and what could not be checked."""
    if found:
        sheet.heading(f"Topics to fix ({len(found)})")
    for one in found[:FIRST]:
        sheet.say(one.sentence, hang=4)
    if more := rest(found):
        sheet.say(more)
    if unchecked:
        sheet.heading("Not checked")
    for sentence in unchecked:
        sheet.say(sentence, hang=4)


def missing_topics(config: Configuration, results: Mapping[str, ClusterCheck]) -> list[str]:
    """Return a sentence for each topic that must exist before `run` and does not."""
    if config.canary.mode is not CanaryMode.PRECREATED:
        return []
    probed = {flow.source for flow in config.canary_flows if not flow.off}
    sentences = []
    for alias, result in results.items():
        needed = [(control.TOPIC, f"one partition and {settings_text(CONTROL_SETTINGS)}")]
        if alias in probed:
            needed.insert(0, (config.canary.topic, settings_text(PROBES_SETTINGS)))
        sentences += [
            f"{name} does not exist on {alias}, and canary.mode is precreated; create it with {how}."
            for name, how in needed
            if name in result.own and result.own[name] is None
        ]
    return sentences


def _print_source(
    sheet: Sheet, config: Configuration, cost: SourceCost, further: tuple[Hop, ...] | None
) -> None:
    topic = config.canary.topic
    sheet.say(f"On {cost.source}: {topic}, {_partitions(config, cost)}.", indent=4, hang=6)
    sheet.say(
        f"Produced: {_rate(cost.records_per_s)}, {bytes_text(cost.bytes_per_day)} a day. Kept for a day:"
        f" {bytes_text(cost.kept_bytes(longest=False))} for each replica, up to"
        f" {bytes_text(cost.kept_bytes(longest=True))} before Kafka deletes a segment (of"
        f" {duration_text(CANARY_SEGMENT_S)}, if run creates the topic).",
        indent=6,
    )
    shown = _first_hops(config, cost.source) if further is None else list(further)
    for hop in shown[:FIRST]:
        by = "" if len(hop.path) == 2 else f" by {hop.link}"
        sheet.say(
            f"{hop.way}: {hop.topic} on {hop.cluster}{by}, {_rate(cost.records_per_s)},"
            f" {bytes_text(cost.bytes_per_day)} a day between the sites.",
            indent=6,
            hang=8,
        )
    if more := rest(shown):
        sheet.say(more, indent=6)
    if further is None:
        sheet.say(
            f"More than {MOST_PATHS:,} further paths replicate these records; they are left out here. Exclude"
            f" .*[.]{topic} from the flows that do not need it.",
            indent=6,
            hang=8,
        )


def _partitions(config: Configuration, cost: SourceCost) -> str:
    number = counted(cost.partitions, "partition")
    if cost.exists:
        return f"exists with {number}"
    at_least = "at least " if cost.at_least else ""
    unknown = " (the brokers of some clusters are unknown)" if cost.at_least else ""
    if config.canary.mode is CanaryMode.PRECREATED:
        return f"to be created by you, with {at_least}{number}{unknown}"
    return f"created by run with {at_least}{number}{unknown}"


def _print_sums(
    sheet: Sheet, config: Configuration, found: tuple[SourceCost, ...], all_hops: Sequence[Hop]
) -> None:
    links = link_costs(found, all_hops)
    _print_links(sheet, links)
    _print_clusters(sheet, cluster_costs(found, all_hops))
    size = probe_bytes(config.canary.topic, max(cost.partitions for cost in found))
    sheet.say(
        f"In all: {_rate(sum(cost.records_per_s for cost in found))} produced,"
        f" {bytes_text(sum(cost.bytes_per_day for cost in found))} a day;"
        f" {_rate(sum(cost.records_per_s for cost in links))} mirrored over all hops,"
        f" {bytes_text(sum(cost.bytes_per_day for cost in links))} a day between sites.",
        hang=4,
    )
    sheet.say(
        f"A probe takes {size} B in the log: key, value, header and its record batch, uncompressed. The"
        " figures leave out replicas, requests and TLS. Mirrorwatch also reads each topic once: the target"
        " topics if it runs near the source, otherwise the probes to the source and back.",
        hang=4,
    )


def _print_links(sheet: Sheet, links: Sequence[LinkCost]) -> None:
    rows = [
        (
            f" {link.link}",
            f"{link.records_per_s:.3g}",
            f"{link.forwarded_per_s:.3g}",
            bytes_text(link.bytes_per_day),
        )
        for link in links
    ]
    sheet.say("Per link, all hops counted:")
    _print_first(sheet, (" link", "records/s", "of these, replicated on", "a day between the sites"), rows)


def _print_clusters(sheet: Sheet, clusters: Sequence[ClusterCost]) -> None:
    rows = [
        (
            f" {cluster.cluster}",
            bytes_text(cluster.bytes_per_day),
            bytes_text(cluster.kept_bytes),
            bytes_text(cluster.most_kept_bytes),
        )
        for cluster in clusters
    ]
    sheet.say("Per cluster, probes and replicated probes:")
    _print_first(sheet, (" cluster", "written a day", "kept on each replica", "at most"), rows)


def _print_first(sheet: Sheet, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print the first rows as a table, and the number of the others."""
    sheet.table(head, rows[:FIRST])
    if more := rest(rows):
        sheet.say(more)


def _print_unreached(sheet: Sheet, flow: CanaryFlow, results: Mapping[str, ClusterCheck]) -> None:
    brokers = unreached(flow, results)
    for alias, name in ((flow.source, flow.source_topic), (flow.target, flow.target_topic)):
        numbers = [str(one.broker_id) for one in brokers if one.kafka_cluster == alias]
        if numbers:
            many = "brokers" if len(numbers) > 1 else "broker"
            sheet.say(
                f"{flow.name}: not probed: {many} {', '.join(numbers)} of {alias}; no partition"
                f" of {name} has its leader there.",
                hang=4,
            )


def _print_control(sheet: Sheet, config: Configuration) -> None:
    per_day = control_bytes_per_day()
    sheet.say(
        f"Control probes: one every {duration_text(control.INTERVAL_S)} into {control.TOPIC} (1 partition) on"
        f" each of {counted(len(config.touched), 'cluster')}, written and read back there, never mirrored:"
        f" {bytes_text(per_day)} a day each way and cluster, of which up to"
        f" {bytes_text(control_kept_bytes())} are kept.",
        hang=4,
    )


def _first_hops(config: Configuration, source: str) -> list[Hop]:
    return [
        Hop(source, flow.name, flow.target, flow.target_topic, (source, flow.target))
        for flow in config.canary_flows
        if flow.source == source and not flow.off
    ]


def _brokers(results: Mapping[str, ClusterCheck]) -> dict[str, int]:
    return {
        alias: len(result.description.brokers)
        for alias, result in results.items()
        if result.description is not None
    }


def _existing(config: Configuration, results: Mapping[str, ClusterCheck]) -> dict[str, int]:
    found = {alias: result.own.get(config.canary.topic) for alias, result in results.items()}
    return {alias: topic.partitions for alias, topic in found.items() if topic is not None}


def _rate(records_per_s: float) -> str:
    number = f"{records_per_s:.3g}" if records_per_s < 1000 else f"{records_per_s:,.0f}"
    return f"{number} record/s" if number == "1" else f"{number} records/s"
