"""The output of `checksum plan`: what is read on each side, and what is left out and why. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.plan.building import bytes_to_read
from checksum.plan.shape import READ_COMMITTED
from fleet.quantity import bytes_text, count_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.plan.building import PlanRules
    from checksum.plan.shape import LeftOut, Plan, TopicPlan

_NAMED = 8  # partitions in a line
_LISTED = 20  # lines of topics, and of what is left out; the largest
_LEAVES_OUT = ", without aborted transactions"
_UNKNOWN = "an unknown number of bytes"
_MEMORY = "they must fit into memory"


def plan_lines(
    plan: Plan,
    *,
    plan_id: str,
    rules: PlanRules | None = None,
    max_rate: float | None = None,
    nothing_new: Sequence[str] = (),
) -> list[str]:
    """Return the lines that describe what this plan reads; `rules` are the settings.

    `max_rate` is in bytes per second for each side, for the least reading time. `nothing_new` are requested
    topics without new records.
    """
    partitions = [one for topic in plan.topics for one in topic.partitions]
    source = sum(one.source.span for one in partitions)
    target = sum(one.target.span for one in partitions)
    source_bytes, target_bytes = bytes_to_read(plan)
    what = f"{count_text(len(partitions), 'partition')} of {count_text(len(plan.topics), 'topic')}"
    lines = [f"{plan.flow}: {what} to compare (plan {plan_id[:12]})"]
    for alias, records, size, isolation in (
        (plan.source, source, source_bytes, plan.isolation_source),
        (plan.target, target, target_bytes, plan.isolation_target),
    ):
        read = f"at most {count_text(records, 'record')}, about {_bytes(size, records)}"
        lines.append(f"  {alias}: {read}{_LEAVES_OUT if isolation == READ_COMMITTED else ''}")
    most = max(source_bytes, target_bytes)
    if max_rate and most:
        least = duration_text(most / max_rate)
        lines.append(f"  at max_rate {bytes_text(max_rate)}/s each side takes at least {least}")
    if rules is not None and (plan.cells, plan.bucket_ms) != (rules.cells, rules.bucket_ms):
        settings = _resolution(rules.cells, rules.bucket_ms)
        lines.append(f"  digests have {_resolution(plan.cells, plan.bucket_ms)}, not {settings}: {_MEMORY}")
    lines += _topics_lines(plan)
    due = [one for one in plan.left_out if not one.later]
    later = [one for one in plan.left_out if one.later]
    if due:
        lines.append(f"left out: {count_text(sum(one.records for one in due), 'record')}")
        lines += _left_out_lines(due)
    if later:
        lines.append(f"not due yet: {count_text(sum(one.records for one in later), 'record')}")
        lines += _left_out_lines(later)
    waiting = {one.topic for one in later}
    lines += _nothing_new_lines([name for name in nothing_new if name not in waiting])
    if not partitions:
        lines.append("nothing to compare")
    return lines


def _topics_lines(plan: Plan) -> list[str]:
    """Return a line for each of the largest topics, and one for all others."""
    sizes = {topic.topic: sum(one.source.span for one in topic.partitions) for topic in plan.topics}
    listed = set(sorted(sizes, key=lambda name: sizes[name], reverse=True)[:_LISTED])
    lines = [_topic_line(plan, topic) for topic in plan.topics if topic.topic in listed]
    rest = [size for name, size in sizes.items() if name not in listed]
    if rest:
        lines.append(
            f"  and {count_text(len(rest), 'more topic')}: {count_text(sum(rest), 'record')} at most"
        )
    return lines


def _topic_line(plan: Plan, topic: TopicPlan) -> str:
    remarks = []
    if topic.compacted:
        remarks.append("compacted: the last record of each key")
    if not topic.timestamps:
        remarks.append(f"timestamps not compared: {plan.target} sets its own")
    if not topic.headers:
        remarks.append("no headers found")
    ordered = sum(run.until - run.first for one in topic.partitions for run in one.runs)
    spans = sum(one.source.span for one in topic.partitions)
    if not topic.compacted:
        remarks.append(f"order checked for {_share(ordered, spans)}")
    head = (
        f"  {topic.topic} -> {topic.target_topic}: {count_text(len(topic.partitions), 'partition')},"
        f" {count_text(spans, 'record')} at most"
    )
    return f"{head} ({'; '.join(remarks)})" if remarks else head


def _left_out_lines(left_out: Iterable[LeftOut]) -> list[str]:
    """Return a line for each topic and reason, with its partitions; only the largest."""
    groups: dict[tuple[str, str], list[LeftOut]] = {}
    for one in left_out:
        groups.setdefault((one.topic, one.why), []).append(one)
    sizes = {group: sum(one.records for one in several) for group, several in groups.items()}
    listed = set(sorted(sizes, key=lambda group: sizes[group], reverse=True)[:_LISTED])
    lines = []
    for (topic, why), several in groups.items():
        if (topic, why) not in listed:
            continue
        numbers = [str(one.partition) for one in several if one.partition is not None]
        where = f"{topic}"
        if numbers:
            more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
            where += f" [{', '.join(numbers[:_NAMED])}{more}]"
        lines.append(f"  {where}: {count_text(sizes[topic, why], 'record')}: {why}")
    rest = [size for group, size in sizes.items() if group not in listed]
    if rest:
        lines.append(
            f"  and {len(rest):,} more: {count_text(sum(rest), 'record')};"
            " `checksum plan --json FILE` lists more"
        )
    return lines


def _nothing_new_lines(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    topics = f"{count_text(len(names), 'topic')}, empty or compared before"
    return [f"no new records in {topics}: {', '.join(names[:_NAMED])}{more}"]


def _resolution(cells: int, bucket_ms: int) -> str:
    return f"{count_text(cells, 'cell')} per bucket of {duration_text(bucket_ms / 1000)}"


def _bytes(count: int, records: int) -> str:
    return bytes_text(count) if count or not records else _UNKNOWN


def _share(part: int, whole: int) -> str:
    if part >= whole:
        return "all"
    # Never 100 % of an incomplete part, and never 0 % of an existing one.
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %" if part else "none"
