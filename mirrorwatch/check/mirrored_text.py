"""The topics of each flow in `check`, in short even for 5,000 topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from mirrorwatch.check.mirrored import sort_out
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow
    from mirrorwatch.check.clusters import ClusterCheck
    from mirrorwatch.check.mirrored import Mirrored, Undue
    from mirrorwatch.check.sheet import Sheet


def print_mirrored(sheet: Sheet, topology: Topology, results: Mapping[str, ClusterCheck]) -> None:
    """Write for each flow what is mirrored, what is not, and why."""
    if not topology.flows:
        return
    topics = {alias: result.topics for alias, result in results.items() if result.topics is not None}
    sheet.heading("Topics")
    for flow in topology.flows:
        if flow.source in topics:
            _print_flow(sheet, sort_out(flow, topology, topics))
        else:
            sheet.say(f"{flow.name}: {flow.source} did not list its topics, so they are not checked.")


def _print_flow(sheet: Sheet, found: Mirrored) -> None:
    flow = found.flow
    if found.topics == 0:
        sheet.say(f"{flow.name}: no topic is visible on {flow.source}. {_uptake(flow)}", hang=4)
        return
    count = len(found.replicated)
    sheet.say(
        f"{flow.name}: {counted(found.topics, 'topic')} on {flow.source},"
        f" {'none' if count == 0 else f'{count:,}'} mirrored to {flow.target}",
        hang=4,
    )
    for topic, remote in found.replicated[:FIRST]:
        sheet.say(
            f"{topic} as {remote}" if topic != remote else f"{topic}, under its own name", indent=4, hang=6
        )
    if more := rest(found.replicated):
        sheet.say(more, indent=4)
    if found.replicated:
        _print_absent(sheet, found)
    for why, names in found.filtered:
        sheet.say(f"Not mirrored because {why} ({len(names):,}):", indent=4)
        sheet.names(names, indent=6)
    if found.own:
        sheet.say(f"Internal, never mirrored: {found.own:,} of Kafka, MirrorMaker or Mirrorwatch.", indent=4)
    if found.from_target:
        sheet.say(f"Replicated from {flow.target}, never mirrored back: {found.from_target:,}.", indent=4)
    _print_sentences(sheet, "Never mirrored, whatever the filter", found.traps)
    _print_sentences(sheet, "Depends on MirrorMaker's version (set mirror_version)", found.unsure)


def _print_absent(sheet: Sheet, found: Mirrored) -> None:
    flow = found.flow
    if found.absent is None:
        sheet.say(f"Not known which are on {flow.target}: it did not list its topics.", indent=4)
    elif found.absent:
        sheet.say(f"Not on {flow.target} yet ({len(found.absent):,}): {_uptake(flow)}", indent=4)
        sheet.names([remote for _, remote in found.absent], indent=6)


def _print_sentences(sheet: Sheet, title: str, topics: Sequence[Undue]) -> None:
    if not topics:
        return
    sheet.say(f"{title} ({len(topics):,}):", indent=4)
    for one in topics[:FIRST]:
        sheet.say(one.sentence, indent=6, hang=8)
    if more := rest(topics):
        sheet.say(more, indent=6)


def _uptake(flow: Flow) -> str:
    if flow.refresh_topics_interval_s is None:
        return "MirrorMaker detects new topics only when it is restarted (refresh.topics.enabled is false)."
    every = duration_text(flow.refresh_topics_interval_s)
    return f"MirrorMaker detects new topics every {every} (refresh.topics.interval.seconds)."
