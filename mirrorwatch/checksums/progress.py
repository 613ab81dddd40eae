"""Display of reading progress: bars in a terminal, otherwise a line from time to time.

Only one side is read at a time. The terminal is restored however the reading ends.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
from rich.text import Text

from checksum.digest.cell_rows import Side
from fleet.quantity import duration_text
from mirrorwatch.checksums.pace import Pace, progress_text, share_read
from mirrorwatch.web.texts import counted, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console, RenderableType
    from rich.progress import Task, TaskID

    from checksum.plan.shape import Plan
    from checksum.run import DigestProgress
    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.checksums.pace import StageTasks
    from runtime.process.clock import Clock

    Stages = Callable[[], Sequence[StageTasks]]

LINE_EVERY_S = 10.0
_LOOK_EVERY_NS = 1_000_000_000  # interval for polling Spark's tasks
_LEAST_LEFT_S = 1.0  # shorter times are not shown
_BAR = 8, 30  # columns, minimum and maximum
_BETWEEN = 6  # columns: spinner and gaps


class Reading(Protocol):
    """Displays the reading of one plan."""

    def at(self, side: Side, progress: DigestProgress) -> None:
        """Show the progress of a side; the first call gives what was read before."""
        ...


class ProgressDisplay(Protocol):
    """Displays readings; `Lines` or `Bars`."""

    def reading(self, plan: Plan, sides: Sequence[Side], stages: Stages) -> AbstractContextManager[Reading]:
        """Open the display for these sides; `stages` returns Spark's active stages."""
        ...


class Lines:
    """Prints a line at most every ten seconds, and at the end."""

    def __init__(self, sheet: Sheet, clock: Clock) -> None:
        self._sheet = sheet
        self._clock = clock

    @contextmanager
    def reading(self, plan: Plan, sides: Sequence[Side], stages: Stages) -> Iterator[Reading]:
        """Open the display; Spark's tasks are not shown."""
        del sides, stages
        yield _SaidReading(plan, self._sheet, self._clock)


class _SaidReading:
    def __init__(self, plan: Plan, sheet: Sheet, clock: Clock) -> None:
        self._plan = plan
        self._sheet = sheet
        self._clock = clock
        self._paces: dict[Side, Pace] = {}
        self._said_ns: int | None = None

    def at(self, side: Side, progress: DigestProgress) -> None:
        """Print the progress of a side if it is time to."""
        now_ns = self._clock.monotonic_ns()
        alias = alias_of(self._plan, side)
        begun = side not in self._paces
        pace = self._paces.setdefault(side, Pace(now_ns))
        pace.at(progress, now_ns)
        if begun:
            if progress.offsets:
                done = f"{progress.offsets:,} of {counted(progress.of_offsets, 'offset')}"
                self._sheet.say(f"{alias}: {done} already read")
            return
        due = self._said_ns is None or now_ns - self._said_ns >= LINE_EVERY_S * 1e9
        if due or progress.offsets == progress.of_offsets:
            assert pace.first is not None
            text = progress_text(pace.first, progress, (now_ns - pace.begun_ns) / 1e9)
            self._sheet.say(f"{alias}: {text}")
            self._said_ns = now_ns


class Bars:
    """Draws one bar per side in a terminal."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console = console
        self._clock = clock

    @contextmanager
    def reading(self, plan: Plan, sides: Sequence[Side], stages: Stages) -> Iterator[Reading]:
        """Open the display; the terminal is restored however this ends."""
        columns = self._console.width
        bar = min(max(columns // 6, _BAR[0]), _BAR[1])
        drawn = _DrawnReading(plan, sides, stages, self._clock)
        room = columns - bar - _BETWEEN - max(len(drawn.name(side)) for side in sides)
        with Progress(
            _Turning(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=bar),
            _Figures(drawn, room),
            console=self._console,
            refresh_per_second=4,
        ) as progress:
            drawn.draw_in(progress)
            yield drawn


class _DrawnReading:
    """Two bars; rich asks for their figures on its own thread."""

    def __init__(
        self,
        plan: Plan,
        sides: Sequence[Side],
        stages: Stages,
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._sides = sides
        self._stages = stages
        self._clock = clock
        self._paces: dict[Side, Pace] = {}
        self._tasks: dict[Side, TaskID] = {}
        self._told: dict[Side, tuple[int, str]] = {}  # time and text
        self._progress: Progress | None = None

    def draw_in(self, progress: Progress) -> None:
        """Add a bar for each side, with nothing read."""
        self._progress = progress
        for side in self._sides:
            total = _span(self._plan, side)
            self._tasks[side] = progress.add_task(self.name(side), start=False, total=total, side=side)

    def name(self, side: Side) -> str:
        """Return the text before a side's bar."""
        return f"{plain(alias_of(self._plan, side))} ({side})"

    def at(self, side: Side, progress: DigestProgress) -> None:
        """Draw the progress of a side."""
        assert self._progress is not None
        now_ns = self._clock.monotonic_ns()
        if side not in self._paces:
            self._progress.start_task(self._tasks[side])
        pace = self._paces.setdefault(side, Pace(now_ns))
        pace.at(progress, now_ns)
        self._told.pop(side, None)
        self._progress.update(self._tasks[side], completed=progress.offsets, total=progress.of_offsets)

    def figures(self, side: Side, room: int) -> str:
        """Return the text after a bar in `room` columns, and move the bar by Spark's tasks."""
        pace, now_ns = self._paces.get(side), self._clock.monotonic_ns()
        if pace is None or pace.last is None:
            return "waiting"
        told = self._told.get(side)
        if told is not None and now_ns - told[0] < _LOOK_EVERY_NS:
            return told[1]
        on = pace.last.offsets < pace.last.of_offsets
        offsets = pace.look(self._stages()) if on else float(pace.last.offsets)
        if on and self._progress is not None:
            self._progress.update(self._tasks[side], completed=offsets)
        text = _figures_text(pace, offsets, now_ns, room)
        self._told[side] = (now_ns, text)
        return text


class _Turning(SpinnerColumn):
    """A spinner at the side that is being read."""

    def render(self, task: Task) -> RenderableType:
        return super().render(task) if task.started else Text(" ")


class _Figures(ProgressColumn):
    def __init__(self, drawn: _DrawnReading, room: int) -> None:
        super().__init__()
        self._drawn = drawn
        self._room = room

    def render(self, task: Task) -> Text:
        return Text(self._drawn.figures(task.fields["side"], self._room), no_wrap=True)


def _figures_text(pace: Pace, offsets: float, now_ns: int, room: int) -> str:
    """Return as many figures as fit; the most important ones are dropped last."""
    progress = pace.last
    assert progress is not None
    speed = pace.records_s()
    left_s = pace.left_s(offsets, now_ns) if progress.offsets < progress.of_offsets else None
    left = "" if left_s is None or left_s < _LEAST_LEFT_S else f"{duration_text(round(left_s))} left"
    parts = f"{progress.partitions:,}/{progress.of_partitions:,} partitions"
    said = {
        "share": share_read(offsets, progress.of_offsets),
        "offsets": f"{int(offsets):,} of {progress.of_offsets:,} offsets",
        "partitions": parts if progress.of_partitions else "",
        "speed": "" if speed is None else f"{speed:,.0f} records/s",
        "left": left,
    }
    for name in ("", "offsets", "partitions", "speed"):
        said.pop(name, None)
        text = "  ".join(filter(None, said.values()))
        if len(text) <= room:
            break
    return text


def shows_in(console: Console, clock: Clock) -> ProgressDisplay | None:
    """Return bars if the console can draw them, else None."""
    return Bars(console, clock) if console.is_terminal and not console.is_dumb_terminal else None


def alias_of(plan: Plan, side: Side) -> str:
    """Return the cluster alias of a side."""
    return plan.source if side is Side.SOURCE else plan.target


def _span(plan: Plan, side: Side) -> int:
    held = [one for topic in plan.topics for one in topic.partitions]
    return sum(one.source.span if side is Side.SOURCE else one.target.span for one in held)
