"""What is told of a cluster that the lag monitor alone reads: nothing better than what it says right now."""

from __future__ import annotations

import pytest

from fleet.series.catalogue import KAFKA_CLUSTER_UP
from mirrorwatch.lag.collected import Standing
from mirrorwatch.lag.lone_clusters import UNTOLD, lone_samples, lone_view

NOW_AT = 1000.0


@pytest.mark.parametrize(
    ("standing", "state", "is_up"),
    [
        (None, ("connecting", NOW_AT, UNTOLD), False),
        (Standing("up", 900.0, ""), ("up", 900.0, ""), True),
        (Standing("down", 950.0, "nothing listens"), ("down", 950.0, "nothing listens"), False),
        (Standing("refused", 950.0, "not authorised"), ("refused", 950.0, "not authorised"), False),
    ],
)
def test_its_state_on_the_page_and_as_a_number(standing, state, is_up):
    view = lone_view("A", {"bootstrap.servers": "a:1"}, standing, NOW_AT)
    assert (view.state, view.since_at, view.sentence) == state
    assert view.bootstrap == "a:1"
    samples = {one: value for one, labels, value in lone_samples("A", standing, None)}
    assert samples[KAFKA_CLUSTER_UP] == is_up
