"""Output of `mirrorwatch status`: flows worst first with reasons, clusters, problems, groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fleet.verdicts.words import sentences
from mirrorwatch.cli.status_answer import Note
from mirrorwatch.web.pages.groups import STATUS_VERDICTS, headline
from mirrorwatch.web.texts import (
    NOTHING,
    age_text,
    bounded_age_text,
    bounds_text,
    counted,
    latency_text,
    moment_text,
    number_text,
)

if TYPE_CHECKING:
    from mirrorwatch.cli.status_answer import (
        AlsoAnswer,
        Answer,
        EventAnswer,
        FlowAnswer,
        GroupAnswer,
        GroupsAnswer,
    )

_STYLES = {
    "losing": "bold red",
    "altered": "bold magenta",
    "stalled": "bold yellow",
    "repeating": "bold blue",
    "late": "yellow",
    "unknown": "dim",
    "healthy": "green",
}
_UNBOUNDED = 240
_LONGEST_NAME = 60  # characters of a group or topic
_MOST_EVENTS = 10
_MOST_TOPICS = 3  # of similar groups
_NUMBERS = re.compile(r"\d[\d,.:\-]*(?: (?:ms|s|min|h|d|UTC)\b)?(?: (?=\d))?")  # and durations and instants
_NARROW = 100  # columns of a terminal; below that a table of nine columns breaks every cell


def show(answer: Answer, console: Console) -> None:
    """Print the answer as a table, or as a short paragraph for each flow on a narrow terminal.

    A file or a pipe has no width: it gets the table, and every sentence on one line.
    """
    console = _wide_enough(console)
    if not answer.flows:
        _say(console, Text("No flows configured."))
    elif console.width >= _NARROW:
        console.print(_table(answer))
        for flow in answer.flows:
            _say_reasons(flow, console)
    else:
        for flow in answer.flows:
            _print_folded(flow, answer.now_at, console)
    mirrors = tuple(Note(flow.flow, said) for flow in answer.flows if (said := _untold(flow)))
    _print_notes("Mirrors by offsets", mirrors, console)
    checksums = tuple(Note(flow.flow, flow.checksum) for flow in answer.flows if flow.checksum)
    _print_notes("Checksums", checksums, console)
    _print_notes("Events of the last 24 hours", _events(answer), console)
    _print_notes("Clusters that are not up", answer.clusters, console)
    _print_notes("Problems", answer.problems, console)


def _say_reasons(flow: FlowAnswer, console: Console) -> None:
    """Print the reasons of a flow: present conditions first, then past ones."""
    if flow.past:
        if flow.also is not None:
            _say_why(flow.flow, " is ", flow.also, console)
        _say_why(flow.flow, " was ", flow, console)
        return
    if flow.sentence and flow.verdict != "healthy":
        _say_why(flow.flow, " is ", flow, console)
    if flow.also is not None:
        _say_why(flow.flow, " is also ", flow.also, console)


def _events(answer: Answer) -> tuple[Note, ...]:
    """Return the newest events of all flows."""
    found = [(event.at or 0.0, flow.flow, event) for flow in answer.flows for event in flow.events]
    newest = sorted(found, key=lambda one: -one[0])[:_MOST_EVENTS]
    return tuple(Note(f"{flow}{_at(event, answer.now_at)}", event.sentence) for _, flow, event in newest)


def _at(event: EventAnswer, now_at: float | None) -> str:
    if event.at is None:
        return ""
    return f", {moment_text(event.at, event.at if now_at is None else now_at)}"


def show_groups(groups: GroupsAnswer, console: Console) -> None:
    """Print the number of groups by status, and the worst that are not OK."""
    console = _wide_enough(console)
    _say(console, Text(""))
    if groups.count or not groups.notes:
        counts, carried = dict(groups.by_status), dict(groups.carried)
        partial = bool(groups.notes)
        said = headline(counts, groups.count, carried, searched=groups.searched, partial=partial)
        _say(console, Text(said, style="bold"))
    bad = [group for group in groups.worst if group.status != "OK"]
    if bad and console.width >= _NARROW:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        table.add_column("group", overflow="fold")
        table.add_column("cluster", overflow="fold")
        table.add_column("status", no_wrap=True)
        table.add_column("lag", justify="right", no_wrap=True)
        table.add_column("behind", justify="right", no_wrap=True)
        for group in bad:
            lag = number_text(group.lag_records, group.lag_records_kind)
            behind = bounded_age_text(group.lag_s, group.lag_s_kind)
            table.add_row(_name(group), Text(group.kafka_cluster), _status(group), lag, behind)
        console.print(table)
    if bad and groups.count > len(groups.worst):
        every = f"; all: {groups.page}" if groups.page else "."
        _say(console, Text(f"Shown: the {len(bad)} worst of {groups.count:,} groups{every}"))
    for group, alike in _told_once(bad):
        where = Text.assemble(_name(group), f" on {group.kafka_cluster} is ", _status(group))
        _say(console, Text.assemble(where, f": {_place(group)}{group.sentence}{_so_are(alike)}"))
    for note in (*groups.notes, *groups.away):
        _say(console, Text.assemble((note.where, "bold"), f": {note.sentence}"))


def _told_once(groups: list[GroupAnswer]) -> list[tuple[GroupAnswer, list[GroupAnswer]]]:
    """Return groups whose sentences differ in more than numbers, each with the similar ones."""
    alike: dict[tuple[str, str], list[GroupAnswer]] = {}
    for group in groups:
        alike.setdefault((group.status, _NUMBERS.sub("#", group.sentence)), []).append(group)
    return [(some[0], some[1:]) for some in alike.values()]


def _place(group: GroupAnswer) -> str:
    """Return the partition of a group's sentence, as the page shows it."""
    if not group.topic or group.partition is None:
        return ""
    return f"{_shortened(group.topic)} {group.partition}: "


def _so_are(alike: list[GroupAnswer]) -> str:
    """Return the number of similar groups, and some of their topics."""
    if not alike:
        return ""
    topics = list(dict.fromkeys(_shortened(group.topic) for group in alike if group.topic))
    named = ", ".join(topics[:_MOST_TOPICS])
    others = len(topics) - _MOST_TOPICS
    if others > 0:
        named += f" and {counted(others, 'more topic')}"
    where = f", on {named}" if named else ""
    return f" ({counted(len(alike), 'more group')} like this{where}.)"


def _untold(flow: FlowAnswer) -> str:
    """Return the sentences of the offsets that the verdict does not repeat."""
    above = flow.sentence if flow.verdict != "healthy" else ""
    told = {*sentences(above), *(sentences(flow.also.sentence) if flow.also is not None else ())}
    return " ".join(one for one in sentences(flow.lag) if one not in told)


def _name(group: GroupAnswer) -> Text:
    return Text(_shortened(group.group), style="bold")


def _shortened(name: str) -> str:
    return f"{name[: _LONGEST_NAME - 1]}…" if len(name) > _LONGEST_NAME else name


def _status(group: GroupAnswer) -> Text:
    verdict = STATUS_VERDICTS.get(group.status)
    return Text(group.status, style="bold" if verdict is None else _STYLES[verdict])


def _wide_enough(console: Console) -> Console:
    return console if console.is_terminal else Console(file=console.file, width=_UNBOUNDED, color_system=None)


def _table(answer: Answer) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("flow", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("since", overflow="fold")
    table.add_column("cause", overflow="fold")
    for heading in ("p50", "p99", "recovery point", "canary lost", "lost, 15 min"):
        table.add_column(heading, justify="right")
    for flow in answer.flows:
        table.add_row(
            Text(flow.flow),
            _current(flow),
            _since(flow, answer.now_at),
            Text(flow.cause or NOTHING),
            *(Text(text) for text in _numbers(flow)),
        )
    return table


def _print_folded(flow: FlowAnswer, now_at: float | None, console: Console) -> None:
    """Print one flow in a few lines, for a narrow terminal."""
    _say(console, Text.assemble((flow.flow, "bold"), "  ", _current(flow), "  since ", _since(flow, now_at)))
    if flow.past and flow.also is not None:
        console.print(Padding(Text(f"{flow.also.sentence}{_code(flow.also.cause)}"), (0, 0, 0, 2)))
    if flow.verdict != "healthy" and flow.sentence:
        text = Text(f"{flow.sentence}{_code(flow.cause)}")
        if flow.past:
            text = Text.assemble("recently ", _verdict(flow), ": ", text)
        console.print(Padding(text, (0, 0, 0, 2)))
    if flow.also is not None and not flow.past:
        text = Text.assemble("also ", _verdict(flow.also), f": {flow.also.sentence}{_code(flow.also.cause)}")
        console.print(Padding(text, (0, 0, 0, 2)))
    p50, p99, recovery_point, canary_lost, lost = _numbers(flow)
    lost_text = f"lost {lost} in 15 min, canary lost {canary_lost}"
    numbers = f"p50 {p50}, p99 {p99}, recovery point {recovery_point}, {lost_text}"
    console.print(Padding(Text(numbers), (0, 0, 0, 2)))


def _numbers(flow: FlowAnswer) -> tuple[str, ...]:
    return (
        latency_text(flow.p50_s),
        latency_text(flow.p99_s),
        bounded_age_text(flow.recovery_point.age_s, flow.recovery_point.kind),
        number_text(flow.canary_lost),
        bounds_text(flow.lost),
    )


def _say_why(flow: str, joint: str, told: FlowAnswer | AlsoAnswer, console: Console) -> None:
    _say(console, Text.assemble((flow, "bold"), joint, _verdict(told), f": {told.sentence}"))


def _code(cause: str) -> str:
    return f" ({cause})" if cause else ""


def _current(flow: FlowAnswer) -> Text:
    """Return the present state, and the past one."""
    now = Text(flow.now, style=_STYLES.get(flow.now, "bold"))
    return Text.assemble(now, " (recently ", _verdict(flow), ")") if flow.past else now


def _verdict(flow: FlowAnswer | AlsoAnswer) -> Text:
    return Text(flow.verdict, style=_STYLES.get(flow.verdict, "bold"))


def _since(flow: FlowAnswer, now_at: float | None) -> Text:
    since_at = flow.since_at
    if flow.past:
        since_at = None if flow.also is None else flow.also.since_at
    if since_at is None:
        return Text(NOTHING)
    now_at = since_at if now_at is None else now_at
    return Text(f"{moment_text(since_at, now_at)} ({age_text(now_at - since_at)})")


def _print_notes(heading: str, notes: tuple[Note, ...], console: Console) -> None:
    if not notes:
        return
    _say(console, Text(f"\n{heading} ({len(notes)})", style="bold"))
    for note in notes:
        _say(console, Text.assemble((note.where, "bold"), f": {note.sentence}" if note.sentence else ""))


def _say(console: Console, text: Text) -> None:
    """Print a line; a terminal folds it at words, a file or pipe does not."""
    console.print(text, soft_wrap=not console.is_terminal)
