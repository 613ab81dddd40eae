"""Runs of offset syncs, as a mirror writes them, for tests and for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from lagmon.syncs.pairs import SyncPair

NOW = 1_790_000_000_000
S = 1000
HOUR = 3_600_000
DAY = 24 * HOUR


def pairs(*rows, at_ms=NOW, every_ms=S):
    """Give pairs of (upstream, downstream), one after the other, the last at `at_ms`."""
    first_ms = at_ms - (len(rows) - 1) * every_ms
    return [SyncPair(0, number, *row, first_ms + number * every_ms) for number, row in enumerate(rows)]


def steady(count, *, every_ms, step=100, ahead=7, until_ms=NOW):
    """Give pairs of a mirror to which nothing happens."""
    return pairs(
        *((step * one, step * one + ahead) for one in range(count)), at_ms=until_ms, every_ms=every_ms
    )


# What one sync does after the one before: how far the source's offset goes, how far the copy's, how long
# after. Most go on alike; gaps, copies made twice, steps back and a target made anew come in between.
STEPS = st.one_of(
    st.tuples(st.just(100), st.just(100)),
    st.tuples(st.integers(1, 300), st.integers(1, 300)),
    st.tuples(st.integers(-400, 400), st.integers(-400, 400)),
    st.just((0, 0)),
)
PAUSES = st.one_of(st.integers(0, 20 * S), st.integers(0, HOUR), st.integers(0, 5 * DAY))


@st.composite
def runs(draw, *, least=0, most=120):
    """Give a mirror's pairs in order, the last of them up to a day old."""
    steps = draw(st.lists(st.tuples(STEPS, PAUSES), min_size=least, max_size=most))
    up, down, at_ms, found = 10_000, 20_000, 0, []
    for number, ((further, copied), pause_ms) in enumerate(steps):
        up, down, at_ms = max(0, up + further), max(0, down + copied), at_ms + pause_ms
        found.append((number, up, down, at_ms))
    shift_ms = NOW - draw(st.integers(0, DAY)) - at_ms
    return [SyncPair(0, number, up, down, at_ms + shift_ms) for number, up, down, at_ms in found]
