"""The command `migrate plan`: checks before a new mirror starts, and the steps to it. Blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import count_text
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.cli.surroundings import make_console
from mirrorwatch.migration.checks import PlanFacts, Status, checks_of
from mirrorwatch.migration.opening import opened
from mirrorwatch.migration.seeds import record_lines, rest_document, seeds_of, unlisted_places
from mirrorwatch.migration.steps import RECORDS_FILE, REST_FILE, Steps
from runtime.config.documents import make_folder, write_text
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.migration.checks import Check
    from mirrorwatch.migration.mirror import MirrorState
    from mirrorwatch.migration.positions import MirrorPositions
    from mirrorwatch.trace.clusters import Clusters


def plan_migration(config: Configuration, *, path: Path, flow: str | None, out: Path | None) -> int:
    """Print the checks and the next steps, write the offsets into `out`; return the exit status."""
    with opened(config, path, flow) as (file, mirror, clusters):
        order = mirror.topics.order
        facts = _facts(file, mirror, clusters)
    checks = checks_of(facts)
    sheet = Sheet(make_console(), Redactor(config.secrets))
    sheet.heading(f"{order.name}: {_summary(checks)}")
    sheet.table(
        ("check", "status", "found"),
        [(one.subject, one.status, one.sentence) for one in checks],
        whole="check",
    )
    without = _is_stale(checks) or facts.has_continued
    seeds = [] if without else seeds_of(file, order.flow, facts.held or {})
    if out is not None and seeds:
        make_folder(out)
        write_text(out / REST_FILE, rest_document(seeds))
        if order.flow.connector:  # its name is in the key of each record
            write_text(out / RECORDS_FILE, record_lines(seeds))
    sheet.heading("Steps")
    steps = Steps(config, mirror, len(seeds), path, out, stale=_is_stale(checks), started=facts.has_continued)
    for number, (sentence, *commands) in enumerate(steps.left(), start=1):
        sheet.say(f"{number}. {sentence}", hang=5)
        for command in commands:
            sheet.verbatim(command, indent=5)
    return _status(checks)


def _facts(file: MirrorPositions, mirror: MirrorState, clusters: Clusters) -> PlanFacts:
    flow = mirror.topics.order.flow
    source, target = clusters[flow.source], clusters[flow.target]
    here = [place for place in file.places if place[1] < source.topics.get(place[0], 0)]
    there = [
        (one.target_topic, each.partition)
        for one in file.topics
        for each in one.partitions
        if each.partition < target.topics.get(one.target_topic, 0)
    ]
    starts, ends = source.logs(here)
    added = unlisted_places(file, flow, source.topics)
    added_starts, added_ends = source.logs(added)
    members = None
    if file.worker_group and file.worker_cluster and file.worker_cluster in clusters:
        members = clusters[file.worker_cluster].reader.members(file.worker_group)
    return PlanFacts(
        file=file,
        flow=flow,
        source_topics=source.topics,
        source_ids=source.reader.topic_ids([one.topic for one in file.topics if one.topic in source.topics]),
        starts=starts,
        ends=ends,
        target_ids=target.reader.topic_ids(
            [one.target_topic for one in file.topics if one.target_topic in target.topics]
        ),
        target_ends=target.logs(there)[1],
        old_members=members,
        held=mirror.committed,
        runs=mirror.runs,
        evidence=mirror.evidence,
        held_problem=mirror.problem,
        added={place: added_ends[place] - added_starts[place] for place in added},
    )


def _is_stale(checks: list[Check]) -> bool:
    """Return whether the positions must be exported again, or others be chosen, before anything else."""
    return any(one.blocks for one in checks)


def _summary(checks: list[Check]) -> str:
    count = {status: sum(one.status is status for one in checks) for status in Status}
    if count[Status.WRONG]:
        return f"{count_text(count[Status.WRONG], 'check')} failed"
    if count[Status.OPEN]:
        return "not ready yet"
    if count[Status.UNKNOWN]:
        return "ready, as far as it is visible"
    return "ready to start the new mirror"


def _status(checks: list[Check]) -> int:
    found = {one.status for one in checks}
    if found & {Status.WRONG, Status.OPEN}:
        return 1
    return 3 if Status.UNKNOWN in found else 0
