"""What is told of a cluster that the lag monitor alone reads: nothing better than what it says right now."""

from __future__ import annotations

import pytest

from mirrorwatch.lag.collected import Standing
from mirrorwatch.lag.lone_clusters import UNTOLD, lone_numbers, lone_view
from runtime.kafka.properties.client_settings import ClientSettings

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
    assert lone_numbers("A", {}, standing, ClientSettings({})).up is is_up
