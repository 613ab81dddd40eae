"""Progress in lines, few of them; in bars in a terminal, which is left in order however the reading ends."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from checksum.digest.cell_rows import Side
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.checksums.pace import StageTasks
from mirrorwatch.checksums.progress import Bars, Lines, shows_in
from runtime.process.logs import Redactor
from tests.checksum.counts.test_counting import log
from tests.checksum.pretend_logs import Partition, plan_of
from tests.mirrorwatch.checksums.test_pace import At
from tests.runtime.fake_clock import FakeClock

S = 1_000_000_000
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def plan():
    return plan_of({"orders": [Partition(log(0, 999), log(0, 999))]})


def lines(clock, plan, *events):
    """Return what is said of these events: seconds, side, offsets."""
    file = io.StringIO()
    sheet = Sheet(Console(file=file, width=100), Redactor())
    with Lines(sheet, clock).reading(plan, tuple(Side), list) as shown:
        for at_s, side, offsets in events:
            clock.now_ns = round(at_s * S)
            shown.at(side, At(offsets, records=offsets))
    return re.sub(r"\n    +", " ", file.getvalue()).splitlines()


def test_a_line_comes_at_most_every_ten_seconds_and_at_the_end(clock, plan):
    source, target = Side.SOURCE, Side.TARGET
    said = lines(
        clock,
        plan,
        (0, source, 0),
        (1, source, 100),
        *((1 + tick, source, 100 + tick) for tick in range(1, 30)),
        (30.5, source, 1000),
        (31, target, 0),
        (32, target, 500),
        (33, target, 1000),
    )
    assert [re.match(r"  (\w+): ([\d,]+) of", line).groups() for line in said] == [
        ("A", "100"),
        ("A", "110"),
        ("A", "120"),
        ("A", "1,000"),
        ("B", "1,000"),
    ]


def test_what_was_read_before_is_said_once(clock, plan):
    said = lines(clock, plan, (0, Side.TARGET, 400), (20, Side.TARGET, 1000))
    assert said[0] == "  B: 400 of 1,000 offsets already read"
    assert said[1] == "  B: 1,000 of 1,000 offsets read: 1,000 records, 30 records/s"


class Terminal:
    """A terminal of so many columns, and what a person would see of the last frame."""

    def __init__(self, columns):
        self.file = io.StringIO()
        self.console = Console(file=self.file, width=columns, force_terminal=True, color_system=None)

    @property
    def frame(self):
        text = self.file.getvalue().rsplit("\x1b[2K", 1)[-1]
        return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", text)

    @property
    def last_lines(self):
        plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self.file.getvalue())
        return [line.split() for line in re.split(r"[\r\n]+", plain) if line.strip()][-2:]


def draw(terminal, clock, plan, stages, *events, failure=None, columns=120):
    bars = Bars(terminal.console, clock)
    with bars.reading(plan, tuple(Side), lambda: stages) as shown:
        for at_s, side, progress in events:
            clock.now_ns = round(at_s * S)
            shown.at(side, progress)
        if failure is not None:
            raise failure


def test_both_sides_have_a_bar_with_their_figures(clock, plan):
    terminal = Terminal(140)
    draw(
        terminal, clock, plan, [],
        (0, Side.SOURCE, At(0, partitions=0, of_partitions=4)),
        (10, Side.SOURCE, At(500, partitions=2, of_partitions=4, records=480)),
    )  # fmt: skip
    source, target = (" ".join(line) for line in terminal.last_lines)
    assert "A (source)" in source
    assert "50 % 500 of 1,000 offsets 2/4 partitions 48 records/s 10 s left" in source
    assert "B (target)" in target
    assert target.endswith("waiting")


def test_a_slice_that_is_on_is_drawn_by_spark_s_tasks(clock, plan):
    terminal = Terminal(140)
    draw(terminal, clock, plan, [StageTasks(3, 4, 1)], (0, Side.SOURCE, At(0)), (0, Side.TARGET, At(1000)))
    source, target = (" ".join(line) for line in terminal.last_lines)
    assert "25 % 250 of 1,000 offsets" in source
    assert "100 %" in target


def test_before_the_last_slice_counts_nothing_is_called_done(clock, plan):
    terminal = Terminal(140)
    draw(
        terminal, clock, plan, [StageTasks(3, 4, 4)],
        (0, Side.SOURCE, At(0, of_partitions=5)),
        (10, Side.TARGET, At(0, of_partitions=5)),
    )  # fmt: skip
    source = " ".join(terminal.last_lines[0])
    assert "99 % 990 of 1,000 offsets 0/5 partitions" in source
    assert "100 %" not in source
    assert "0 s left" not in source


def test_a_narrow_terminal_is_not_overrun(clock, plan):
    terminal = Terminal(70)
    draw(terminal, clock, plan, [], (0, Side.SOURCE, At(0)), (10, Side.SOURCE, At(500, records=480)))
    source = " ".join(terminal.last_lines[0])
    assert "offsets" not in source
    assert "50 % 48 records/s 10 s left" in source
    plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", terminal.file.getvalue())
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 70


@pytest.mark.parametrize("failure", [None, KeyboardInterrupt(), RuntimeError("Spark is gone")])
def test_the_cursor_comes_back_however_it_ends(clock, plan, failure):
    terminal = Terminal(100)
    events = ((0, Side.SOURCE, At(0)), (1, Side.SOURCE, At(300)))
    if failure is None:
        draw(terminal, clock, plan, [], *events)
    else:
        with pytest.raises(type(failure)):
            draw(terminal, clock, plan, [], *events, failure=failure)
    said = terminal.file.getvalue()
    assert said.index(HIDE) < said.rindex(SHOW)
    assert said.rindex(HIDE) < said.rindex(SHOW)
    assert said.endswith(SHOW)


def test_what_is_said_meanwhile_stands_above_the_bars(clock, plan):
    terminal = Terminal(100)
    with Bars(terminal.console, clock).reading(plan, tuple(Side), list) as shown:
        shown.at(Side.SOURCE, At(0))
        Sheet(terminal.console, Redactor()).say("Starting Spark.", indent=0)
        shown.at(Side.SOURCE, At(1000))
    plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", terminal.file.getvalue())
    assert plain.index("Starting Spark.") < plain.rindex("A (source)")


def test_bars_are_for_terminals_that_can_draw_them(clock, monkeypatch):
    assert shows_in(Console(file=io.StringIO()), clock) is None
    assert isinstance(shows_in(Console(file=io.StringIO(), force_terminal=True), clock), Bars)
    monkeypatch.setenv("TERM", "dumb")
    assert shows_in(Console(file=io.StringIO(), force_terminal=True), clock) is None
