from hypothesis import given
from hypothesis import strategies as st

from runtime.process.allowance import Allowance

SECOND = 1_000_000_000


def test_so_many_times_and_then_not_before_the_first_is_long_enough_ago():
    allowance = Allowance(2, per_s=60)
    assert [allowance.take(at * SECOND) for at in (0, 10)] == [0, 0]
    assert allowance.take(20 * SECOND) == 40
    assert allowance.take(60 * SECOND) == 0
    assert allowance.take(61 * SECOND) == 9


@given(st.lists(st.integers(0, 30 * SECOND), max_size=60))
def test_never_more_in_any_stretch(pauses):
    allowance, now, taken = Allowance(3, per_s=60), 0, []
    for pause in pauses:
        now += pause
        if not allowance.take(now):
            taken.append(now)
    assert all(later - earlier >= 60 * SECOND for earlier, later in zip(taken, taken[3:], strict=False))
