"""Flat or not: the slope of samples that are made up."""

from __future__ import annotations

import random

import pytest

from bench.soak.slopes import FLAT, GROWS, TOO_SHORT, Life, Sample, flatness, theil_sen


def life(minutes, rss_mib, files=lambda _: 50):
    """Return a life with a sample each 10 s; `rss_mib` and `files` are functions of the minutes since its start."""
    samples = [
        Sample(at=1000.0 + s, rss_mib=rss_mib(s / 60), files=files(s / 60), threads=9, cpu_s=0.1 * s)
        for s in range(0, int(minutes * 60) + 1, 10)
    ]
    return Life("left 7", "service", tuple(samples))


def judged(one, is_quiet=lambda _: True):
    return flatness(one, is_quiet=is_quiet)


def test_a_line_has_its_slope():
    assert theil_sen([(x, 3 * x + 1) for x in range(20)]) == 3.0


def test_no_points_have_no_slope():
    assert theil_sen([]) == theil_sen([(1.0, 2.0)]) == theil_sen([(1.0, 2.0), (1.0, 9.0)]) == 0.0


def test_a_quarter_of_outliers_does_not_move_the_slope():
    dice = random.Random(1)
    points = [(x, 2.0 * x + (500.0 if dice.random() < 0.25 else 0.0)) for x in range(200)]
    assert theil_sen(points) == pytest.approx(2.0, abs=0.2)


def test_many_points_are_thinned():
    assert theil_sen([(x, 0.5 * x) for x in range(5000)]) == pytest.approx(0.5)


def test_what_fills_caches_at_first_is_flat():
    found = judged(life(70, lambda minute: 100 + min(minute, 20.0)))
    assert (found.verdict, found.rss_mib_per_hour, found.files_per_hour) == (FLAT, 0.0, 0.0)
    assert found.judged_minutes == pytest.approx(70 - 70 / 3, abs=0.2)
    assert (found.rss_first_mib, found.rss_most_mib, found.cpu_share) == (120.0, 120.0, 0.1)


@pytest.mark.parametrize(("mib_per_hour", "verdict"), [(4.0, FLAT), (-30.0, FLAT), (6.0, GROWS)])
def test_memory_may_grow_by_five_mib_an_hour(mib_per_hour, verdict):
    assert judged(life(60, lambda minute: 100 + mib_per_hour * minute / 60)).verdict == verdict


def test_descriptors_may_not_grow():
    assert judged(life(60, lambda _: 100.0, lambda minute: 50 + int(minute / 20))).verdict == GROWS
    assert judged(life(60, lambda _: 100.0, lambda minute: 50 + int(minute) % 2)).verdict == FLAT


def test_what_happens_in_windows_of_faults_does_not_count():
    def rss_mib(minute):
        return 100.0 + (minute if int(minute) % 2 else 0.0)

    assert judged(life(60, rss_mib), lambda at: int((at - 1000.0) / 60) % 2 == 0).verdict == FLAT


def test_a_short_life_is_shown_and_not_judged():
    found = judged(life(9, lambda minute: 100 + minute))
    assert found.verdict == TOO_SHORT
    assert found.rss_mib_per_hour == 60.0
    assert found.judged_minutes == pytest.approx(6.0, abs=0.2)


def test_a_life_of_two_samples_has_figures():
    assert judged(life(0.17, lambda _: 100.0)).verdict == TOO_SHORT
