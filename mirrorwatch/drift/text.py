"""The text output of `drift`: short even if thousands of topics differ in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.dialect import moment_ms_text
from fleet.quantity import count_text
from lagmon.drift.differences import Kind, Verdict, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.drift.differences import Comparison, Difference, FlowDrift, Group, Inventory
    from mirrorwatch.check.sheet import Sheet

MOST_GROUPS = 10  # of one kind
EXAMPLES = 3
KINDS = {
    Kind.TOPIC_MISSING: "topics",
    Kind.PARTITION_COUNT: "partition counts",
    Kind.CONFIG: "configuration",
    Kind.ACL: "ACLs",
    Kind.LOOP: "loops",
}
VERDICTS = {
    Verdict.DIFFERS: "differs",
    Verdict.NOT_COMPARED: "not compared",
    Verdict.SAME: "same",
}
_COLUMNS = ("kind", "verdict", "differences", "compared")


def print_flow(sheet: Sheet, found: FlowDrift) -> None:
    """Write a flow: the verdict of each kind as a table, then the differences, equal ones together."""
    flow = found.flow
    sheet.heading(f"{flow.name}: {_summary(found)}")
    sheet.say(_topics(found.inventory, flow.source))
    sheet.figures(_COLUMNS, [_row(one) for one in found.comparisons])
    for one in found.comparisons:
        _print_kind(sheet, one, (flow.source, flow.target))


def _summary(found: FlowDrift) -> str:
    target, count = found.flow.target, sum(len(one.differences) for one in found.comparisons)
    match found.verdict:
        case Verdict.DIFFERS:
            return f"{target} differs from {found.flow.source} ({count_text(count, 'difference')})"
        case Verdict.NOT_COMPARED:
            return "nothing differs, but not everything was compared"
        case Verdict.SAME:
            return f"{target} does not differ from {found.flow.source}"


def _topics(one: Inventory, source: str) -> str:
    counts = {
        "replicated": one.replicated,
        "missing": one.missing,
        "expected": one.expected,
        "excluded": one.excluded,
        "internal": one.internal,
        "replicated from the target": one.from_target,
        "unknown": one.unknown,
    }
    shown = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{count_text(one.topics, 'topic')} on {source}" + (f": {shown}." if shown else ".")


def _row(one: Comparison) -> tuple[str, ...]:
    return (KINDS[one.kind], VERDICTS[one.verdict], f"{len(one.differences):,}", f"{one.compared:,}")


def _print_kind(sheet: Sheet, one: Comparison, sides: tuple[str, str]) -> None:
    _print_groups(sheet, one.differences, sides)
    _print_groups(sheet, one.remarks, sides, mark="remark, ")
    for omission in one.omissions:
        which = f" of {_names(omission.subjects, 'topic')}" if omission.subjects else ""
        sheet.say(f"not compared: {KINDS[one.kind]}{which}: {omission.why}", hang=6)
    if one.note:
        sheet.say(f"{KINDS[one.kind]}: {one.note}", hang=6)


def _print_groups(
    sheet: Sheet, differences: Sequence[Difference], sides: tuple[str, str], *, mark: str = ""
) -> None:
    groups = grouped(differences)
    for one in groups[:MOST_GROUPS]:
        _print_group(sheet, one, sides, mark)
    if len(groups) > MOST_GROUPS:
        rest = groups[MOST_GROUPS:]
        count = count_text(sum(len(one.subjects) for one in rest), "more difference")
        sheet.say(f"and {count} of {len(rest):,} sorts; --json has all of them")


def _print_group(sheet: Sheet, one: Group, sides: tuple[str, str], mark: str) -> None:
    first = one.first
    values = ", ".join(
        f"{value} on {side}"
        for value, side in zip((_value(first.source), _value(first.target)), sides, strict=True)
    )
    nothing = first.source is None and first.target is None
    sheet.say(f"{mark}{first.what}" + ("" if nothing else f": {values}"), hang=6)
    due = "" if first.until_ms is None else f", until {moment_ms_text(first.until_ms)}"
    noun = "ACL" if first.kind is Kind.ACL else "topic"
    if first.subject:
        sheet.say(f"{_names(one.subjects, noun)}{due}", indent=4, hang=6)
    sheet.say(first.advice, indent=4, hang=6)


def _value(value: str | None) -> str:
    return "none" if value is None else value or "empty"


def _names(subjects: Sequence[str], noun: str) -> str:
    if len(subjects) == 1:
        return subjects[0]
    examples = ", ".join(subjects[:EXAMPLES])
    return f"{count_text(len(subjects), noun)}{': ' if len(subjects) <= EXAMPLES else ', such as '}{examples}"
