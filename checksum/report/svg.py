"""The timeline as SVG, next to the names of its rows. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from checksum.report.markup import name, text
from checksum.report.timeline import Kind
from fleet.quantity import count_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checksum.report.timeline import Axis, Row, Timeline

ROW: Final = 16  # pixels
_DAY_MS: Final = 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GUTTER: Final = 1 / 48  # share of the width before the columns, for what is left out, which has no time
_MIDDLE: Final = 0.06  # the farthest a middle label may be from the middle, as a share of the axis

_NAMES: Final = {
    Kind.EQUAL: "equal",
    Kind.EXPECTED: "expected",
    Kind.LEFT_OUT: "left-out",
    Kind.NOT_VERIFIED: "not-verified",
    Kind.DIFFERENCE: "difference",
}
# Top and height in a row: each kind has its own shape, not only a colour.
_SHAPES: Final = {
    Kind.EQUAL: (4, 8),
    Kind.EXPECTED: (3, 10),
    Kind.LEFT_OUT: (11, 3),
    Kind.NOT_VERIFIED: (2, 12),
    Kind.DIFFERENCE: (1, 14),
}


def timeline_figure(timeline: Timeline, meanings: Mapping[Kind, str]) -> str:
    """Return the figure: row names, the timeline, times, and the legend."""
    height = ROW * len(timeline.rows)
    gutter = _GUTTER * timeline.axis.all_columns if any(row.left_out for row in timeline.rows) else 0.0
    width = timeline.axis.all_columns + gutter
    names = "".join(f"<li>{_row_name(row)}</li>" for row in timeline.rows)
    shown = {kind for row in timeline.rows for kind in row.kinds} | ({Kind.LEFT_OUT} if gutter else set())
    swatches = "".join(_swatch(kind, meanings[kind]) for kind in _NAMES if kind in shown)
    return (
        '<figure class="coverage"><div class="coverage-plot">'
        f'<ol class="coverage-names" aria-hidden="true">{names}</ol>'
        f'<svg class="coverage-field" height="{height}" viewBox="0 0 {width:g} {height}"'
        f' preserveAspectRatio="none" role="img" aria-label="{text(_summary(timeline, meanings))}">'
        f"{_paths(timeline, gutter)}{_titles(timeline, meanings, width)}</svg>"
        f'<svg class="coverage-times" aria-hidden="true">{_times(timeline.axis, gutter)}</svg></div>'
        f'<ul class="legend">{swatches}</ul>{_remarks(timeline, gutter)}</figure>'
    )


def moment(at_ms: int, *, day: bool = True) -> str:
    """Return a time in UTC, or as a number if it is out of range."""
    try:
        found = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return f"{at_ms} ms after 1970"
    shape = "%d %b %Y %H:%M" if day else "%H:%M"
    return found.strftime(shape if found.second == 0 else f"{shape}:%S")


def _paths(timeline: Timeline, gutter: float) -> str:
    """Return one path for each kind; equal cells in a row are one rectangle."""
    drawn: dict[Kind, list[str]] = {kind: [] for kind in _NAMES}
    for number, row in enumerate(timeline.rows):
        for kind, first, until in _stretches(row.kinds):
            if kind in drawn:
                drawn[kind].append(_rectangle(kind, number, first + gutter, until - first))
        if row.left_out:
            drawn[Kind.LEFT_OUT].append(_rectangle(Kind.LEFT_OUT, number, 0, 0.75 * gutter))
    return "".join(
        f'<path class="cells of-{_NAMES[kind]}" d="{"".join(held)}"/>' for kind, held in drawn.items() if held
    )


def _rectangle(kind: Kind, row: int, left: float, width: float) -> str:
    top, height = _SHAPES[kind]
    return f"M{left:g} {ROW * row + top}h{width:g}v{height}h-{width:g}z"


def _stretches(kinds: Sequence[Kind]) -> Iterator[tuple[Kind, int, int]]:
    first = 0
    for at in range(1, len(kinds) + 1):
        if at == len(kinds) or kinds[at] != kinds[first]:
            yield kinds[first], first, at
            first = at


def _titles(timeline: Timeline, meanings: Mapping[Kind, str], width: float) -> str:
    """Return the tooltips of the rows."""
    return "".join(
        f'<rect class="row" x="0" y="{ROW * number}" width="{width:g}" height="{ROW}">'
        f"<title>{text(_row_text(row, timeline.axis, meanings))}</title></rect>"
        for number, row in enumerate(timeline.rows)
    )


def _row_text(row: Row, axis: Axis, meanings: Mapping[Kind, str]) -> str:
    said = []
    for kind in reversed(Kind):
        columns = [at for at, one in enumerate(row.kinds) if one is kind]
        if columns and kind > Kind.EQUAL:
            several = f" and {len(columns) - 1} more columns" if len(columns) > 1 else ""
            said.append(f"{meanings[kind]}: {_column_text(columns[0], axis)}{several}")
    if row.left_out:
        said.append(f"{meanings[Kind.LEFT_OUT]}: see below")
    return f"{_plain_name(row)}: {'; '.join(said) or meanings[Kind.EQUAL]}"


def _column_text(column: int, axis: Axis) -> str:
    inside = column - axis.earlier
    if inside < 0:
        return "earlier"
    return "later" if inside >= axis.columns else moment(axis.begin_ms + inside * axis.column_ms)


def _plain_name(row: Row) -> str:
    topic, partition = row.place
    if row.topics > 1:
        return f"{count_text(row.more + 1, 'partition')} of {row.topics} topics"
    if row.more:
        return f"{topic}: {count_text(row.more + 1, 'partition')}"
    return f"{topic}: all partitions" if partition is None else f"{topic} [{partition}]"


def _row_name(row: Row) -> str:
    topic, partition = row.place
    if row.topics > 1:
        return f"<span>{text(_plain_name(row))}</span>"
    several = f"\N{MULTIPLICATION SIGN} {row.more + 1}" if row.more else ""
    end = several or ("" if partition is None else f"[{partition}]")
    return f'<span class="topic">{name(topic)}</span> <span class="nowrap">{text(end)}</span>'


def _times(axis: Axis, gutter: float) -> str:
    """Return the times at the start, end and near the middle of the axis."""
    days = axis.columns * axis.column_ms >= _DAY_MS
    middle = axis.columns // 2
    labels = [(0, "start", moment(axis.begin_ms))]
    if abs(middle / axis.columns - 0.5) <= _MIDDLE:
        labels.append((middle, "middle", moment(axis.begin_ms + middle * axis.column_ms, day=days)))
    end_ms = axis.begin_ms + axis.columns * axis.column_ms
    labels.append((axis.columns, "end", f"{moment(end_ms, day=days)} UTC"))
    before, width = gutter + axis.earlier, gutter + axis.all_columns
    return "".join(
        f'<text x="{100 * (before + column) / width:g}%" y="1em" text-anchor="{anchor}">{text(said)}</text>'
        for column, anchor, said in labels
    )


def _swatch(kind: Kind, meaning: str) -> str:
    return (
        f'<li><svg class="swatch" width="18" height="{ROW}" aria-hidden="true">'
        f'<path class="cells of-{_NAMES[kind]}" d="{_rectangle(kind, 0, 1, 16)}"/></svg> {text(meaning)}</li>'
    )


def _remarks(timeline: Timeline, gutter: float) -> str:
    axis = timeline.axis
    said = [f"A column is {duration_text(axis.column_ms / 1000)} of record time"]
    if axis.earlier:
        said.append("the first column holds the few older records")
    if axis.later:
        said.append("the last column holds the few newer records")
    if gutter:
        said.append("a bar before the first column shows that offsets were left out, which have no timestamp")
    if timeline.summed:
        summed = count_text(timeline.summed, "partition")
        said.append(f"{summed} share rows by topic, and each row shows the worst")
    return f'<p class="faint">{text("; ".join(said))}.</p>'


def _summary(timeline: Timeline, meanings: Mapping[Kind, str]) -> str:
    """Return a text alternative of the timeline."""
    worst = [max(row.kinds, default=Kind.NOTHING) for row in timeline.rows]
    said = [
        f"{count_text(worst.count(kind), 'row')} with {meanings[kind]}"
        for kind in reversed(Kind)
        if kind in worst and kind
    ]
    return f"Partitions over time: {', '.join(said)}"
