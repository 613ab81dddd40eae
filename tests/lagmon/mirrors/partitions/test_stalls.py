"""An offset is stalled if there was more to replicate for long enough; a target, if two polls found one end."""

from __future__ import annotations

import pytest

from lagmon.mirrors.partitions.stalls import find_stalls
from tests.lagmon.mirror_flows import Mirrored, S


@pytest.fixture
def flow():
    """Give a mirror that writes offsets each second; what was behind the last one is deleted."""
    one = Mirrored({"orders": 1})
    one.poll()

    def second():
        one.write(100)
        one.commit()

    return one.go(60, each=second)


def seen(one):
    """Return whether the offset stands, and the copy, when all but 50 records are deleted."""
    one.starts = {("orders", 0): one.ends["orders", 0] - 50}
    one.poll()
    found = find_stalls(one.flow, one.snapshot().partitions)
    return bool(found.offset[0]), bool(found.target[0])


def test_a_mirror_that_replicates_nothing_is_stalled_with_its_target(flow):
    flow.go(40, each=lambda: flow.write(100, copied=False))
    assert seen(flow) == (True, True)


def test_of_a_mirror_that_replicates_on_only_the_offset_stands(flow):
    flow.go(40, each=lambda: flow.write(100))
    assert seen(flow) == (True, False)


def test_nothing_is_stalled_before_there_was_more_to_replicate(flow):
    flow.go(300)
    flow.write(100, copied=False)
    flow.go(10)
    assert seen(flow) == (False, False)
    flow.go(30)
    assert seen(flow) == (True, True)


def test_what_came_in_a_gap_between_two_polls_at_the_target_is_no_growth_since(flow):
    # Copied just after the last offset; then neither the copy nor anything else is looked at for ten minutes.
    flow.write(100)
    flow.now += 600 * S
    flow.write(100, copied=False)
    flow.poll()
    flow.go(20, each=lambda: flow.write(100, copied=False))
    assert seen(flow) == (True, True)


@pytest.mark.parametrize("away", ["offsets", "copy"])
def test_nothing_is_stalled_by_what_is_not_read(flow, away):
    read_to_ms = flow.flow.read_to_ms
    if away == "copy":
        flow.b.heads.note = lambda *_: None
    flow.go(100, each=lambda: flow.write(100, copied=False))
    flow.starts = {("orders", 0): flow.ends["orders", 0] - 50}
    flow.poll()
    if away == "offsets":
        flow.flow.read_to_ms = read_to_ms
    found = find_stalls(flow.flow, flow.snapshot().partitions)
    assert not found.offset[0]
    assert not found.target[0]


def test_where_there_is_no_target_the_offset_shows():
    one = Mirrored({"orders": 1}, target={"elsewhere": 1})
    one.poll()

    def second():
        one.write(100, copied=False)
        one.commit()

    one.go(60, each=second)
    one.go(40, each=lambda: one.write(100, copied=False))
    assert seen(one) == (True, True)
