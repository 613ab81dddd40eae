"""What thinning may cost: against every look, over a day and more."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.logs.head_history import AGED, HORIZON_MS, NEAR_MS, POINTS, WIDEST, age
from lagmon.logs.heads import Heads
from tests.lagmon.every_poll import EveryPoll
from tests.lagmon.logs.test_heads import T, longs, places

S = 1000
PAUSES_S = st.sampled_from([1, 10, 10, 10, 60, 600, 3600, 20_000])
STEPS = st.sampled_from([0, 0, 0, 1, 2, 50, 10**6, 10**7, -1, -30, -(10**6)])


@given(st.lists(st.tuples(PAUSES_S, STEPS), min_size=25, max_size=140))
@settings(deadline=None, max_examples=150)
def test_an_error_is_at_most_its_share_of_the_age_and_a_day_is_covered(looks):
    heads, every = Heads(), EveryPoll()
    heads.claim(1)
    at_ms, end = T, 1000
    for pause_s, step in looks:
        at_ms += pause_s * S
        end = max(0, end + step)
        heads.note(places(0), longs(end), at_ms)
        every.note(end, at_ms)
    ends = {end for end, _ in every.points}
    compare(heads, every, sorted({offset for end in ends for offset in (end - 1, end, end + 1)}), at_ms)


def compare(heads, every, offsets, now_ms):
    times, exact = heads.passed_ms(np.zeros(len(offsets), np.int32), longs(*offsets))
    assert (np.diff(times[times >= 0]) >= 0).all()
    for offset, ms, sure in zip(offsets, times.tolist(), exact.tolist(), strict=True):
        reference = every.passed(offset)
        if reference is None:
            assert (ms, sure) == (-1, False)
            continue
        true_ms, bracketed = reference
        if sure:  # where looks lay far apart, so it is told once thinning has made the two points one
            assert bracketed or offset >= every.points[0][0]
            assert abs(ms - true_ms) <= WIDEST * (now_ms - max(ms, true_ms) + NEAR_MS) + 1
        else:  # a bound: no record is told as older than it is, none of the last day has only a bound
            assert ms >= true_ms
            assert not bracketed or now_ms - ms >= HORIZON_MS


def day_of(rates, cadence_s=30, hours=26):
    """Look at a row of each pattern for so long; return heads, all ends by look and row, and their instants."""
    looks = hours * 3600 // cadence_s
    seconds = np.arange(looks) * cadence_s
    ends = np.cumsum(np.stack([rate(seconds) for rate in rates], axis=1).astype(np.int64), axis=0) + 1
    instants = T + seconds * S
    heads = Heads()
    rows = heads.claim(len(rates))
    for at_ms, row in zip(instants.tolist(), ends, strict=True):
        heads.note(rows, row, at_ms)
    return heads, ends, instants


def patterns():
    rng = np.random.default_rng(7)
    steady = [lambda s, n=n: np.full(len(s), n) for n in (1, 40, 10**6)]
    random = [lambda s, n=n: rng.poisson(n, len(s)) for n in (0.01, 0.2, 3, 500)]
    daily = [lambda s, n=n: n * (1.1 + np.sin(s / 86_400 * 2 * np.pi)) for n in (50, 5000)]
    bursts = [lambda s, n=n: np.where((s // n) % 7 == 3, 10_000, 0) for n in (120, 900, 5000)]
    growing = [lambda s: np.exp(s / 8000), lambda s: np.exp((93_600 - s) / 8000)]
    return [*steady, *random, *daily, *bursts, *growing]


def errors_by_age(heads, ends, instants, row):
    """Return the true age (ms) of what was written at each look of the last day, and the error (ms) there."""
    now_ms = instants[-1]
    newer = np.flatnonzero((np.diff(ends[:, row]) > 0) & (instants[:-1] >= now_ms - HORIZON_MS))
    offsets = ends[newer, row]  # the first record after each look that was followed by more
    true_ms = instants[newer] + (instants[newer + 1] - instants[newer]) * 0.5 / (
        ends[newer + 1, row] - offsets
    )
    times, exact = heads.passed_ms(np.full(len(offsets), row, np.int32), offsets)
    assert exact.all()
    return now_ms - true_ms, np.abs(times - true_ms)


def test_over_a_day_every_record_is_found_within_the_bound():
    rates = patterns()
    heads, ends, instants = day_of(rates)
    for row in range(len(rates)):
        ages, errors = errors_by_age(heads, ends, instants, row)
        assert (errors <= WIDEST * (ages + NEAR_MS) + 1).all()
        assert (errors <= 0.3 * (ages + NEAR_MS)).all()  # on patterns like these much less
    # A steady rate is a line, from which no thinning departs.
    assert errors_by_age(heads, ends, instants, 1)[1].max() <= 2


def idle_for_an_hour(then_looks, cadence_s=10):
    """Write for an hour, be silent for one, write again for so many looks; return heads, and the new end."""
    heads = Heads()
    heads.claim(1)
    end, at_ms = 0, T
    for look in range(720 + then_looks):
        at_ms += cadence_s * S
        end += 0 if 360 <= look < 720 else 20 + look % 7
        heads.note(places(0), longs(end), at_ms)
        if look == 359:
            plateau = end
    return heads, plateau


def test_the_ends_of_a_silence_are_kept_when_they_have_aged():
    fell_silent_ms, spoke_again_ms = T + 3600 * S, T + 7210 * S
    for then_looks in (1, 5, 30, 180, 360):
        heads, plateau = idle_for_an_hour(then_looks)
        times, exact = heads.passed_ms(places(0, 0), longs(plateau - 1, plateau))
        assert exact.all()
        assert fell_silent_ms - 10 * S <= times[0] <= fell_silent_ms
        assert spoke_again_ms - 10 * S <= times[1] <= spoke_again_ms


def test_a_silence_takes_two_points_and_no_more():
    heads = Heads()
    heads.claim(1)
    for look in range(500):
        heads.note(places(0), longs(7 if look else 3), T + look * 10 * S)
    # The one before, the first and the last instant of the silence, of which ten are the newest looks.
    assert (heads.state(places(0)).ends >= 0).sum() == 12
    assert heads.passed_ms(places(0), longs(6))[0].tolist() == [T + 8750]


def test_a_burst_is_found_where_it_was():
    heads, end, at_ms = Heads(), 10, T
    heads.claim(1)
    for look in range(1000):
        at_ms += 10 * S
        end += 1_000_000 if look == 300 else 0
        heads.note(places(0), longs(end), at_ms)
    times, exact = heads.passed_ms(places(0, 0), longs(10, 1_000_009))
    assert exact.all()
    assert times.tolist() == [T + 3000 * S, T + 3010 * S]


def test_the_newest_looks_are_all_there():
    heads, end, at_ms = Heads(), 0, T
    heads.claim(1)
    for look in range(3000):
        at_ms += 10 * S
        end += 1 + (look * look) % 97
        heads.note(places(0), longs(end), at_ms)
        if look >= 2990:
            times, exact = heads.passed_ms(places(0), longs(end - 1))
            assert exact.all()
            assert at_ms - 10 * S < times[0] <= at_ms
    assert (np.diff(heads._times[-10:, 0]) == 10 * S).all()


def test_the_first_looks_are_all_kept_until_there_is_no_more_room():
    heads = Heads()
    heads.claim(1)
    for look in range(POINTS):
        heads.note(places(0), longs(1 + look), T + look * look * S)
    assert heads.state(places(0)).ends[:, 0].tolist() == list(range(1, POINTS + 1))


def test_what_is_older_than_a_day_is_one_point_and_what_has_become_so_since():
    heads = day_of([lambda s: np.full(len(s), 40)], cadence_s=120, hours=120)[0]
    ages_ms = heads._times[-1, 0] - heads._times[:, 0]
    assert 1 <= (ages_ms >= HORIZON_MS).sum() <= 2


def blocks(seed, rows=300):
    """Return ends (as distances, the least and the greatest among them) and ages (ms) of a full block and the point that comes into it, of any shape."""
    rng = np.random.default_rng(seed)
    ages_ms = -np.sort(-np.exp(rng.uniform(0, np.log(HORIZON_MS), (AGED + 1, rows))).astype(np.int32), axis=0)
    for column in (1, 0):
        ages_ms[column] = ages_ms[column + 1] + rng.integers(0, 10**8, rows, dtype=np.int32)
    ends = np.sort(rng.integers(0, rng.choice([20, 10**3, 10**9, 2**32 - 1]), (AGED + 1, rows)), axis=0)
    return (ends - (2**31 - 1)).astype(np.int32), ages_ms


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_the_point_that_goes_leaves_no_gap_wider_than_the_bound(seed):
    ends, ages_ms = blocks(seed)
    kept, times = ends[:-1].copy(), -ages_ms[:-1]
    chosen = np.random.default_rng(seed).random(ends.shape[1]) < 0.8
    age(kept, times, ends[-1], -ages_ms[-1], now=0, where=chosen)
    for row, ages in enumerate(chosen.tolist()):
        before, after = (
            list(zip(ends[:, row], -ages_ms[:, row], strict=True)),
            list(zip(kept[:, row], times[:, row], strict=True)),
        )
        if not ages:
            assert after == before[:-1]
            continue
        gone = [n for n in range(AGED) if before[:n] + before[n + 1 :] == after]
        assert gone
        plateaus = [n for n in range(1, AGED) if before[n - 1][0] == before[n + 1][0]]
        if ages_ms[1, row] >= HORIZON_MS:
            assert gone[0] == 0
        elif plateaus:
            assert set(gone) & set(plateaus)
        else:
            newer = ages_ms[gone[-1] + 1, row]
            assert gone[-1] > 0
            assert ages_ms[gone[-1] - 1, row] - newer <= WIDEST * (newer + NEAR_MS) + 1


def test_a_point_whose_going_would_leave_too_wide_a_gap_stays_though_it_is_missed_least():
    near_s = 91 * 1.5 ** np.arange(AGED - 2, -1, -1)
    ages_s = np.array([70_000, 70_000, *(near_s - 90)])
    ages_s[1] = (ages_s[0] + ages_s[2]) / 2  # on the line between its neighbours, nearly five ages apart
    ends = np.array([0, 500, *(1000 + 1000 * (np.arange(AGED - 1) // 2))], np.int32)[:, None]
    times = (-ages_s * S).astype(np.int32)[:, None]
    kept, kept_times = ends[:-1].copy(), times[:-1].copy()
    age(kept, kept_times, ends[-1], times[-1], now=0, where=np.array([True]))
    assert kept[:3, 0].tolist() == [0, 500, 1000]
    assert kept[-1] == ends[-1]


def test_spacing_grows_with_age():
    heads = day_of([lambda s: np.full(len(s), 40)], cadence_s=30)[0]
    gaps_s = np.diff(heads._times[:, 0]) / S
    ages_s = (heads._times[-1, 0] - heads._times[1:, 0]) / S
    assert (gaps_s[-9:] == 30).all()
    assert (gaps_s <= WIDEST * (ages_s + NEAR_MS / S)).all()
    assert heads._times[-1, 0] - heads._times[0, 0] >= HORIZON_MS
