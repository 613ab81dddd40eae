"""The lists of the page: findings, unverified records, counts by partition. Pure.

Each list is limited, and says how many entries are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from checksum.compare.findings import severity
from checksum.report.markup import NOTHING, faint, name, number, section, share_text, table, text
from fleet.quantity import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_FINDINGS: Final = 1000
MOST_OTHERS: Final = 200  # lines of other lists
MOST_PARTITIONS: Final = 500
MOST_OPEN: Final = 24  # entries that are shown without a click

_OF_RECORDS: Final = ("Verdict", "Where", "Source offsets", "Target offsets", "Time", "What")


def findings(run: Mapping[str, Any], index: int) -> str:
    """Return the findings."""
    found = run["findings"]
    if not found["count"]:
        return ""
    heading = f"{'Counts that differ' if run['counts_only'] else 'Findings'} ({found['count']:,})"
    # Documents of older releases have another order.
    ordered = sorted(found["shown"], key=lambda one: severity(one["verdict"]))
    rows = [_finding(one) for one in ordered[:MOST_FINDINGS]]
    inside = table(_OF_RECORDS, rows, numbers=_OF_RECORDS[2:4])
    return section(f"findings-{index}", heading, _grouped(found, len(rows)) + inside)


def _grouped(found: Mapping[str, Any], listed: int) -> str:
    """Return the counts by verdict and partition, if not all findings are listed."""
    if found["count"] <= listed:
        return ""
    said = f"The first {listed:,} of {found['count']:,} are listed below"
    away = found["count"] - len(found["shown"])
    if away:
        said += f"; {away:,} are not in the document"
    return faint(f"{said}. By partition:") + _by_partition(found)


def _by_partition(found: Mapping[str, Any]) -> str:
    """Return the record counts by verdict and partition, the worst verdict first."""
    groups = summed(found["shown"], by=("verdict", "topic", "partition")).most_common()
    groups.sort(key=lambda group: severity(group[0][0]))
    rows = [
        (text(verdict), f'{name(topic)} <span class="nowrap">[{text(partition)}]</span>', number(records))
        for (verdict, topic, partition), records in groups[:MOST_OTHERS]
    ]
    more = len(groups) - len(rows)
    return table(("Verdict", "Where", "Records"), rows, numbers=("Records",)) + (
        faint(f"and {more:,} more partitions") if more > 0 else ""
    )


def _finding(one: Mapping[str, Any]) -> Sequence[str]:
    cause = one["cause"]
    cause_text = f' <code class="cause">{text(cause)}</code>' if cause and cause != "unexplained" else ""
    return (
        f'<span class="status">{text(one["verdict"])}</span>',
        _place(one),
        _offsets(one["source_offsets"]),
        _offsets(one["target_offsets"]),
        f'<span class="nowrap">{text(one["at"] or NOTHING)}</span>',
        f"{text(one['sentence'])}{cause_text}",
    )


def expected(run: Mapping[str, Any], index: int) -> str:
    """Return the records that at-least-once allows: listed, and summed if there are many."""
    found = run["expected"]
    if not found["count"]:
        return ""
    said = "Duplicates and records of aborted transactions: at-least-once allows them if MirrorMaker crashes."
    inside = _listed(_OF_RECORDS, [_finding(one) for one in found["shown"]], numbers=_OF_RECORDS[2:4])
    if found["count"] > MOST_OPEN:
        inside = f"{_by_partition(found)}<details><summary>Record by record</summary>{inside}</details>"
    inside = faint(said) + inside + _away(found, "item")
    return section(
        f"expected-{index}", f"Expected under at-least-once, not a finding ({found['count']:,})", inside
    )


def unresolved(run: Mapping[str, Any], index: int) -> str:
    """Return the differences that were too large to read again."""
    found = run["not_read_again"]
    if not found["count"]:
        return ""
    rows = [
        (
            _place(one),
            _offsets(one["source_offsets"]),
            _offsets(one["target_offsets"]),
            text(one["sentence"]),
        )
        for one in found["shown"]
    ]
    columns = ("Where", "Source offsets", "Target offsets", "What")
    inside = _listed(columns, rows, numbers=columns[1:3]) + _away(found, "difference")
    return section(f"open-{index}", f"Unresolved differences ({found['count']:,})", inside)


def not_verified(run: Mapping[str, Any], index: int) -> str:
    """Return what could not be verified, and why."""
    rows = [
        (_place(one), _offsets(gone["offsets"]), text(gone["why"]))
        for one in run["partitions"]["shown"]
        for gone in one["unverified"]
    ]
    rows += [
        (_place(one), "", text(one["not_compared"]))
        for one in run["partitions"]["shown"]
        if one["not_compared"]
    ]
    unsettled = run["unsettled"]
    rows += [(_place(one), "", text(one["sentence"])) for one in unsettled["shown"]]
    away = unsettled["count"] - len(unsettled["shown"])
    if not rows and not away:
        return ""
    inside = _listed(("Where", "Source offsets", "What"), rows, numbers=("Source offsets",))
    inside += _away(unsettled, "record") + _away(run["partitions"], "partition")
    return section(f"unverified-{index}", f"Not verified ({len(rows) + away:,})", inside)


def left_out(run: Mapping[str, Any], index: int) -> str:
    """Return what the plan left out, and what is not due yet."""
    parts = []
    entries = run["left_out"]["shown"]
    away = _away(run["left_out"], "item")
    last = any(one["later"] for one in entries)  # what is not due yet is last, and cut first
    for later, heading, mark in ((False, "Left out", "left"), (True, "Not due yet", "later")):
        some = [one for one in entries if one["later"] is later]
        cut = away if later is last else ""
        if not some and not cut:
            continue
        groups = summed(some, by=("topic", "why")).most_common()
        partitions: dict[tuple[Any, Any], list[str]] = {}
        for one in some:
            held = partitions.setdefault((one["topic"], one["why"]), [])
            if one["partition"] is not None:
                held.append(str(one["partition"]))
        rows = [
            (_named(topic, partitions[topic, why]), number(records), text(why))
            for (topic, why), records in groups
        ]
        inside = _listed(("Where", "Records", "What"), rows, numbers=("Records",))
        parts.append(section(f"{mark}-{index}", heading, inside + cut))
    return "".join(parts)


def partitions(run: Mapping[str, Any], index: int) -> str:
    """Return the counts of all partitions, those with problems first."""
    found = run["partitions"]["shown"]
    if not run["partitions"]["count"]:
        return ""
    ordered = sorted(found, key=lambda one: (_is_clean(one), one["topic"], one["partition"] or 0))
    rows = [
        (
            _place(one),
            number(one["source_records"]),
            number(one["target_records"]),
            _verified(one),
            text(_verdicts(one)),
        )
        for one in ordered[:MOST_PARTITIONS]
    ]
    columns = ("Where", "Source", "Target", "Verified", "What")
    rest = ordered[MOST_PARTITIONS:]
    inside = table(columns, rows, numbers=columns[1:4]) if rows else ""
    if rest:
        held = sum(one["source_records"] for one in rest)
        well = sum(_is_clean(one) for one in rest)
        inside += faint(f"and {len(rest):,} more partitions of {held:,} records, {well:,} of them match")
    inside += _away(run["partitions"], "partition")
    opened = " open" if len(rows) <= MOST_OPEN else ""
    inside = f"<details{opened}><summary>Counts by partition</summary>{inside}</details>"
    return section(f"partitions-{index}", f"All partitions ({run['partitions']['count']:,})", inside)


def _is_clean(one: Mapping[str, Any]) -> bool:
    """Return whether a partition has no problem."""
    others = any(value for verdict, value in one["records"].items() if verdict != "match")
    return not (others or one["unverified"] or one["not_compared"] or one["differing"])


def _verified(one: Mapping[str, Any]) -> str:
    if one["verified"] is None:
        return ""
    offsets = one["offsets"]
    return text(share_text(one["verified"] / offsets if offsets else 1.0))


def _verdicts(one: Mapping[str, Any]) -> str:
    records = sorted(one["records"].items(), key=lambda each: severity(each[0]))
    counts = [f"{value:,} {verdict}" for verdict, value in records if value]
    if one["differing"]:
        counts.append(f"counts differ in {count_text(one['differing'], 'bucket')}")
    return ", ".join(counts)


def _listed(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    if not rows:
        return ""
    more = len(rows) - MOST_OTHERS
    return table(columns, rows[:MOST_OTHERS], numbers=numbers) + (
        faint(f"and {more:,} more") if more > 0 else ""
    )


def _away(found: Mapping[str, Any], noun: str) -> str:
    """Return how many entries of a list the document lacks; "" if it has all."""
    away = found["count"] - len(found["shown"])
    if away <= 0:
        return ""
    return faint(f"{count_text(away, f'more {noun}')} {'is' if away == 1 else 'are'} not in the document.")


def _place(one: Mapping[str, Any]) -> str:
    return _named(one["topic"], [] if one["partition"] is None else [str(one["partition"])])


def _named(topic: object, partitions: Sequence[str]) -> str:
    first = ", ".join(partitions[:8]) + (f" and {len(partitions) - 8} more" if len(partitions) > 8 else "")
    return f'<span class="topic">{name(topic)}</span>' + (f" [{text(first)}]" if first else "")


def _offsets(held: tuple[int, int] | None) -> str:
    if held is None:
        return NOTHING
    first, until = held
    return f"{first:,}" if until == first + 1 else f"{first:,} to {until - 1:,}"


def summed(entries: Iterable[Mapping[str, Any]], *, by: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """Return the sum of records in each group of entries."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one in entries:
        found[tuple(one[key] for key in by)] += one["records"]
    return found
