from __future__ import annotations

import itertools
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.service.view import LatencySlice
from mirrorwatch.web.pages.charts import HEIGHT, WIDTH, latency_chart, newest_measured
from mirrorwatch.web.pages.picture import picture_of
from tests.mirrorwatch import views

_NOW_AT = views.NOW_AT


def _at(age_s, p50=None, p99=None):
    return LatencySlice(at=_NOW_AT - age_s, p50_s=p50, p99_s=p99, max_s=p99)


def _chart(*slices, threshold_s=5.0):
    return latency_chart({"end_to_end": slices}, threshold_s=threshold_s, now_at=_NOW_AT)


def test_nothing_measured_is_no_chart():
    assert _chart(_at(60), _at(30)) is None
    assert latency_chart({}, threshold_s=5.0, now_at=_NOW_AT) is None


def test_what_is_older_than_fifteen_minutes_is_left_out():
    assert _chart(_at(901, 1.0, 2.0)) is None


def test_a_gap_is_not_joined():
    chart = _chart(_at(120, 1, 2), _at(90, 1, 2), _at(60), _at(30, 1, 2), _at(0, 1, 2))
    (line,) = chart.lines
    assert line.path.count("M") == 2
    assert line.path.count("L") == 2
    assert chart.band.count("Z") == 2


def test_a_slice_alone_is_a_dot():
    (line,) = _chart(_at(120), _at(90, 1, 2), _at(60)).lines
    assert line.path == ""
    assert line.dots == "M540.0 100.0h0.01"


@pytest.mark.parametrize(
    ("interval_s", "age_s", "drawn"), [(1.0, 31.0, True), (60.0, 60.0, False), (60.0, 66.0, True)]
)
def test_between_two_canary_records_nothing_is_overdue(interval_s, age_s, drawn):
    chart = latency_chart(
        {"end_to_end": [_at(90, 1, 2)]},
        threshold_s=5.0,
        interval_s=interval_s,
        now_at=_NOW_AT,
        last_arrival_at=_NOW_AT - age_s,
    )
    assert bool(chart.waiting) is drawn


@pytest.mark.parametrize(
    ("p50", "p99", "threshold_s", "scale", "labels"),
    [
        (0.036, 0.08, 5.0, "log", ["5 s", "1 s", "100 ms"]),
        (1.0, 2.0, 5.0, "linear", ["5 s", "4 s", "2 s", "0"]),
        (0.3, 0.4, 0.5, "linear", ["500 ms", "400 ms", "200 ms", "0"]),
        (0.0005, 55.0, 5.0, "log", ["5 s", "1 s", "100 ms", "10 ms", "1 ms"]),
    ],
)
def test_the_scale_follows_what_was_measured(p50, p99, threshold_s, scale, labels):
    chart = _chart(_at(60, p50, p99), _at(30, p50, p99), threshold_s=threshold_s)
    assert chart.scale == scale
    shown = [tick.text for tick in chart.ticks]
    assert [label for label in labels if label in shown] == labels
    assert sum(tick.at_threshold for tick in chart.ticks) == 1


def test_the_chart_is_reported_in_words():
    chart = _chart(_at(60, 1, 2), _at(30), _at(0, 0.5, 1))
    assert chart.summary == (
        "End-to-end latency of the last 15 minutes: 99th percentile 1.00 s now, 2.00 s at most; "
        "threshold 5.00 s. No measurements in 1 of 3 intervals."
    )


def test_newest_measured_skips_empty_slices():
    wanted = _at(60, 1, 2)
    assert newest_measured((_at(90, 3, 4), wanted, _at(30))) is wanted
    assert newest_measured(()) is None


_LATENCY = st.one_of(st.none(), st.floats(min_value=0, max_value=1e6), st.sampled_from([math.nan, math.inf]))


@given(
    st.lists(st.tuples(st.floats(min_value=-60, max_value=1000), _LATENCY, _LATENCY), max_size=40),
    st.floats(min_value=1e-6, max_value=1e5),
)
@settings(max_examples=200, deadline=None)
def test_every_point_lies_in_the_plot_and_labels_keep_apart(measured, threshold_s):
    slices = tuple(LatencySlice(_NOW_AT - age, p50, p99, None) for age, p50, p99 in measured)
    chart = _chart(*slices, threshold_s=threshold_s)
    if chart is None:
        return
    drawn = chart.band + "".join(line.path + line.dots for line in chart.lines)
    for x, y in re.findall(r"[ML](\S+) ([-0-9.]+)", drawn):
        assert -0.1 <= float(x) <= WIDTH + 0.1
        assert -0.1 <= float(y) <= HEIGHT + 0.1
    assert 0 <= chart.threshold_y <= HEIGHT
    heights = [tick.y for tick in chart.ticks]
    assert all(lower - upper >= 14.9 for upper, lower in itertools.pairwise(heights))


# The picture of flows


def _picture(*links):
    return picture_of(views.service(*(views.flow(*link) for link in links)))


def _node(picture, alias):
    return next(node for node in picture.nodes if node.alias == alias)


def _near_box(point, box, gap=14.0):
    return box.holds(point, margin=gap)


def _assert_sound(picture, flows):
    """Every flow is drawn from its source's edge to its target's; no box covers another; all is in the frame."""
    assert len(picture.arrows) == flows
    for one, other in itertools.combinations(picture.nodes, 2):
        assert not one.box.touches(other.box), (one.alias, other.alias)
    for node in picture.nodes:
        assert node.box.left >= 0
        assert node.box.right <= picture.width
        assert node.box.top >= 0
        assert node.box.bottom <= picture.height
    for arrow in picture.arrows:
        assert _near_box(arrow.curve[0], _node(picture, arrow.source).box)
        assert _near_box(arrow.head[0], _node(picture, arrow.target).box)
        assert arrow.label.left >= 0
        assert arrow.label.right <= picture.width


def test_no_cluster_no_picture():
    assert picture_of(views.service()) is None


def test_one_flow_goes_to_the_right():
    picture = _picture(("A", "B"))
    assert _node(picture, "A").box.right < _node(picture, "B").box.left
    (arrow,) = picture.arrows
    assert arrow.worded
    assert arrow.head[0][0] > arrow.curve[0][0]
    _assert_sound(picture, 1)


def test_both_directions_bow_apart():
    picture = _picture(("A", "B"), ("B", "A"))
    _assert_sound(picture, 2)
    there, back = sorted(picture.arrows, key=lambda arrow: arrow.flow)
    assert there.label.bottom < back.label.top


def test_a_chain_is_a_row_from_left_to_right():
    picture = _picture(("A", "B"), ("B", "C"), ("C", "D"))
    boxes = [_node(picture, alias).box for alias in "ABCD"]
    assert len({box.y for box in boxes}) == 1
    assert all(one.right < other.left for one, other in itertools.pairwise(boxes))


def test_a_flow_past_a_cluster_goes_round_it():
    picture = _picture(("A", "B"), ("B", "C"), ("A", "C"))
    _assert_sound(picture, 3)
    past = next(arrow for arrow in picture.arrows if arrow.flow == "A->C")
    between = _node(picture, "B").box
    (x0, y0), (x1, y1), (x2, y2) = past.curve
    for step in range(41):
        t = step / 40
        point = tuple(
            (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in ((x0, x1, x2), (y0, y1, y2))
        )
        assert not between.holds(point)


def test_a_hub_stands_between_its_sources_and_targets():
    picture = _picture(*((f"s{n}", "hub") for n in range(3)), *(("hub", f"t{n}") for n in range(4)))
    _assert_sound(picture, 7)
    hub = _node(picture, "hub").box
    assert all(_node(picture, f"s{n}").box.right < hub.left for n in range(3))
    assert all(_node(picture, f"t{n}").box.left > hub.right for n in range(4))


def test_a_wide_fan_uses_both_sides_of_its_hub():
    picture = _picture(*(("hub", f"t{n}") for n in range(11)))
    _assert_sound(picture, 11)
    hub = _node(picture, "hub").box
    assert {_node(picture, f"t{n}").box.x < hub.x for n in range(11)} == {True, False}
    assert all(arrow.worded for arrow in picture.arrows)


def test_a_circle_of_clusters_is_a_ring():
    picture = _picture(("A", "B"), ("B", "C"), ("C", "D"), ("D", "A"))
    _assert_sound(picture, 4)
    assert len({node.box.y for node in picture.nodes}) == 3


def test_groups_without_a_link_stand_below_each_other():
    picture = _picture(("A", "B"), ("C", "D"))
    assert _node(picture, "A").box.bottom < _node(picture, "C").box.top


def test_twenty_clusters_and_fifty_flows_have_room():
    links = [(f"c{n % 20}", f"c{(n * 7 + 1 + n // 20) % 20}") for n in range(60)]
    links = [link for link in dict.fromkeys(links) if link[0] != link[1]][:50]
    picture = _picture(*links)
    _assert_sound(picture, 50)
    assert picture.width < 1400


def test_a_cluster_that_is_down_shows_so():
    picture = picture_of(views.service(views.flow(), down={"B": "no answer"}))
    assert _node(picture, "B").state == "down"


def test_the_worst_is_drawn_on_top():
    picture = picture_of(views.service(views.flow(), views.flow("B", "A", Verdict.LOSING)))
    assert picture.arrows[-1].verdict is Verdict.LOSING


def test_a_long_name_is_shortened_in_the_picture_only():
    picture = _picture(("x" * 200, "B"))
    node = _node(picture, "x" * 200)
    assert node.name == "x" * 17 + "…"
    assert node.box.width < 240


@given(
    st.lists(
        st.tuples(st.integers(0, 19), st.integers(0, 19)).filter(lambda link: link[0] != link[1]),
        min_size=1,
        max_size=50,
        unique=True,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_fleet_has_a_sound_picture(links):
    picture = _picture(*((f"c{source}", f"c{target}") for source, target in links))
    _assert_sound(picture, len(links))
