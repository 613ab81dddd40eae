from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.web.pages.group_picture import HEIGHT, WIDTH, offsets_picture

NOW_MS = 1_780_000_000_000
S = 1000

_NUMBER = r"-?\d+\.?\d*"


def row(commits, ends):
    return {
        "commits": [{"committed_at_ms": at_ms, "offset": offset} for at_ms, offset in commits],
        "ends": [{"read_at_ms": at_ms, "offset": offset} for at_ms, offset in ends],
    }


def points(path):
    """Return the points of a path as they are drawn, steps and lines alike."""
    found, x, y = [], 0.0, 0.0
    for command, numbers in re.findall(rf"([MLHVh])((?:{_NUMBER} ?)+)", path):
        values = [float(one) for one in numbers.split()]
        match command:
            case "M" | "L":
                x, y = values
            case "H":
                x = values[0]
            case "V":
                y = values[0]
            case "h":
                continue
        found.append((x, y))
    return found


def ago(seconds):
    return NOW_MS - seconds * S


GROWING = [(ago(100 - 10 * number), 1000 + 100 * number) for number in range(11)]


def test_a_group_that_moves_rises_with_the_log():
    picture = offsets_picture(row([(at, end - 20) for at, end in GROWING], GROWING), now_ms=NOW_MS)
    committed, log = points(picture.committed), points(picture.log_end)
    assert committed[0][1] > committed[-1][1] + HEIGHT / 2  # y goes down
    assert log[0][1] > log[-1][1] + HEIGHT / 2
    assert picture.split_y is None
    assert picture.times == ("2 min ago", "1 min ago", "now")
    assert picture.summary == (
        "Over the last 2 min: log end offset went from 1,000 to 2,000; "
        "committed offset went from 980 to 1,980."
    )


def test_a_group_that_stands_is_level_while_the_log_rises():
    commits = [(at, 1000) for at, _ in GROWING[:4]]
    picture = offsets_picture(row(commits, GROWING), now_ms=NOW_MS)
    assert len({y for _, y in points(picture.committed)}) == 1
    (x, y), (last_x, last_y) = points(picture.idle)
    assert (last_x, y) == (WIDTH, last_y)
    assert x == pytest.approx(WIDTH * 50 / 120, abs=0.1)
    assert "committed offset stayed at 1,000" in picture.summary


def test_a_group_that_goes_back_falls():
    commits = [(ago(60), 1900), (ago(30), 1100)]
    picture = offsets_picture(row(commits, GROWING), now_ms=NOW_MS)
    steps = points(picture.committed)
    # It holds until the next commit, and then drops straight down.
    assert steps[1][1] == steps[0][1]
    assert steps[2][0] == steps[1][0]
    assert steps[2][1] > steps[1][1]


def test_lines_far_apart_have_half_of_the_picture_each_to_one_scale():
    commits = [(at, end - 5_000_000 - (end - 1000) // 2) for at, end in GROWING]
    picture = offsets_picture(row(commits, GROWING), now_ms=NOW_MS)
    assert picture.split_y == HEIGHT / 2
    log, committed = points(picture.log_end), points(picture.committed)
    assert max(y for _, y in log) < HEIGHT / 2 < min(y for _, y in committed)
    rise = [line[0][1] - line[-1][1] for line in (log, committed)]
    assert rise[1] == pytest.approx(rise[0] / 2, abs=0.2)


def test_an_offset_past_the_end_is_drawn_above_it():
    picture = offsets_picture(row([(ago(50), 10**15), (ago(40), 10**15)], GROWING), now_ms=NOW_MS)
    assert min(y for _, y in points(picture.log_end)) > HEIGHT / 2 > points(picture.committed)[0][1]
    assert [tick.text for tick in picture.ticks if tick.of == "committed"] == ["1e+15"]


def test_a_group_that_stopped_days_ago_still_stands():
    commits = [(ago(400_000), 900), (ago(300_000), 1000)]
    picture = offsets_picture(row(commits, GROWING), now_ms=NOW_MS)
    assert picture.times[0] == "1 d ago"
    assert points(picture.idle) == [
        (0.0, points(picture.idle)[0][1]),
        (WIDTH, points(picture.idle)[0][1]),
    ]
    assert picture.committed == ""


def test_the_line_of_looks_is_cut_where_it_passes_the_left_edge():
    ends = [(ago(240), 0), (ago(0), 2400)]
    picture = offsets_picture(row([(ago(100), 1400)], ends), now_ms=NOW_MS)
    assert points(picture.log_end)[0][0] == 0.0
    assert "went from 1,200 to 2,400" in picture.summary


def test_times_that_cannot_be_are_left_out():
    commits = [(9 * 10**14, 5), (-4, 6), (0, 7), (NOW_MS + 30 * S, 8)]
    picture = offsets_picture(row(commits, []), now_ms=NOW_MS)
    # A broker's clock may be a little ahead: that commit is of now.
    assert points(picture.commits) == [(float(WIDTH), HEIGHT / 2)]
    assert offsets_picture(row(commits[:3], []), now_ms=NOW_MS) is None
    assert offsets_picture(row([], []), now_ms=NOW_MS) is None


TIMES = st.integers(-(2**63), 2**63 - 1) | st.integers(NOW_MS - 90_000 * S, NOW_MS + 120 * S)
OFFSETS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3000)
SERIES = st.lists(st.tuples(TIMES, OFFSETS), max_size=12)


@given(SERIES, SERIES)
def test_nothing_is_ever_drawn_outside(commits, ends):
    picture = offsets_picture(row(commits, ends), now_ms=NOW_MS)
    if picture is None:
        return
    for path in (picture.log_end, picture.polls, picture.committed, picture.commits, picture.idle):
        assert not re.search("nan|inf", path)
        drawn = points(path)
        assert all(-0.1 <= x <= WIDTH + 0.1 and 0 <= y <= HEIGHT for x, y in drawn)
        assert [x for x, _ in drawn] == sorted(x for x, _ in drawn)
    heights = [tick.y for tick in picture.ticks]
    assert all(after - before >= 15 for before, after in pairwise(heights))
