"""Tables of figures: no figure and no heading is ever broken, however narrow the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mirrorwatch.check.sheet import Sheet
from runtime.process.logs import Redactor

COLUMNS = ["topic", "partitions", "source", "duplicated", "verified"]
FIGURES = ["12", "7,100", "1,000,000", "> 99.99 %"]
BESIDE = "  partitions  source  duplicated  verified"
ROW = "  12          7,100   1,000,000   > 99.99 %"


def lines(width, *names):
    file = io.StringIO()
    sheet = Sheet(Console(file=file, width=width, color_system=None), Redactor())
    sheet.figures(COLUMNS, [[name, *FIGURES] for name in names])
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_a_short_name_takes_no_more_than_it_needs(width):
    assert lines(width, "t") == [f"topic{BESIDE}", f"t    {ROW}"]


@pytest.mark.parametrize(("width", "room"), [(40, 12), (60, 15), (80, 35), (120, 75), (200, 155)])
def test_a_long_name_is_folded_into_the_room_that_figures_leave(width, room):
    head, first, *others = lines(width, "x" * 200)
    assert head == f"{'topic':<{room}}{BESIDE}"
    assert first == f"{'x' * room}{ROW}"
    assert "".join(others) == "x" * (200 - room)
    assert {len(line) for line in others[:-1]} <= {room}


def test_headings_are_bold_where_a_terminal_can_show_it():
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="standard")
    Sheet(console, Redactor()).figures(COLUMNS, [["t", *FIGURES]])
    head, row = file.getvalue().splitlines()
    assert head.startswith("\x1b[1mtopic")
    assert "\x1b" not in row
