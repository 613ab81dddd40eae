"""The text output of `failover`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import count_text
from lagmon.failover.readiness import Status
from lagmon.failover.sentences import WORDS, bounds_text, group_sentence
from mirrorwatch.check.sheet import FIRST, rest

if TYPE_CHECKING:
    from fleet.verdicts.flow import Flow
    from lagmon.failover.readiness import GroupReadiness, PartitionReadiness
    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.failover.facts import FlowFailover

_COLUMNS = ("group", "status", "reads again", "skips", "at risk")
_MOST_REASONS = 20


def print_flow(sheet: Sheet, found: FlowFailover, *, with_partitions: bool) -> None:
    """Write a flow: its groups as a table, worst first, then why some are not ready."""
    flow, groups = found.flow, found.groups
    if found.problem:
        sheet.heading(f"{flow.name}: not read: {found.problem}")
        return
    ready = sum(found.is_ready(one) for one in groups)
    sheet.heading(
        f"{flow.name}: {ready} of {count_text(len(groups), 'group')} ready to fail over to {flow.target}"
    )
    if found.source_problem:
        sheet.say(
            f"Judged by the last checkpoints, because {flow.source} was not read: {found.source_problem}"
        )
    if not groups and found.source_problem:
        sheet.say(f"{flow.target} has no checkpoint of a group.")
    elif not groups:
        sheet.say(f"No consumer group of {flow.source} has committed offsets of a replicated topic.")
    else:
        sheet.figures(_COLUMNS, [_group_row(found, one) for one in groups])
    _print_remarks(sheet, found)
    if with_partitions:
        for one in groups:
            _print_partitions(sheet, one)


def _print_remarks(sheet: Sheet, found: FlowFailover) -> None:
    flow, groups = found.flow, found.groups
    reasons = [one for one in groups if not found.is_ready(one)]
    reasons += [one for one in groups if one.status is Status.NOT_APPLIED and found.is_ready(one)]
    for one in reasons[:_MOST_REASONS]:
        sheet.fact(one.group, _reason(found, one), indent=2, width=_width(one.group))
    if len(reasons) > _MOST_REASONS:
        sheet.say(f"and {count_text(len(reasons) - _MOST_REASONS, 'more group')}; --json has all of them")
    for name, topics in list(found.elsewhere.items())[:_MOST_REASONS]:
        some = f"{', '.join(topics[:FIRST])}{rest(topics, joined=True)}"
        sheet.fact(name, f"also reads what the flow does not replicate: {some}", indent=2, width=_width(name))
    for name in sorted(found.by_checkpoints)[:_MOST_REASONS]:
        sheet.fact(name, by_checkpoints_text(flow), indent=2, width=_width(name))
    if found.excluded:
        sheet.say(f"{count_text(len(found.excluded), 'group')} excluded by the mirror's groups filter.")


def by_checkpoints_text(flow: Flow) -> str:
    """Return why a group of a source that was read is judged by its checkpoints."""
    return f"has no committed offsets on {flow.source}; judged by its last checkpoints"


def _width(name: str) -> int:
    return max(14, min(len(name) + 2, 30))


def _group_row(found: FlowFailover, group: GroupReadiness) -> tuple[str, ...]:
    status = WORDS[group.status]
    if group.group in found.running_on_target:
        status = f"runs on {found.flow.target}"
    return (group.group, status, *_counts(group))


def _counts(one: GroupReadiness | PartitionReadiness) -> tuple[str, ...]:
    counts = one.read_again_records, one.skipped_records, one.at_risk_records
    return tuple(map(bounds_text, counts))


def _reason(found: FlowFailover, group: GroupReadiness) -> str:
    target = found.flow.target
    if group.group in found.running_on_target:
        return f"has members on {target} already; stop them before you fail over"
    return group_sentence(group, target)


def _print_partitions(sheet: Sheet, group: GroupReadiness) -> None:
    sheet.heading(group.group)
    rows = []
    for one in group.partitions:
        facts = one.facts
        rows.append(
            (
                f"{facts.topic}-{facts.partition}",
                WORDS[one.status],
                _offset(facts.committed),
                _offset(one.start),
                *_counts(one),
            )
        )
    sheet.figures(("partition", "status", "committed", "start", "reads again", "skips", "at risk"), rows)
    for one in group.partitions:
        if one.proof is not None:
            sheet.fact(f"{one.facts.topic}-{one.facts.partition}", one.proof.sentence, indent=2)


def _offset(offset: int | None) -> str:
    return "?" if offset is None else f"{offset}"
