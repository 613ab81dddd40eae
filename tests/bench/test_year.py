"""The benchmark of a year, over minutes: what it counts by itself is what the tracker says."""

from bench.year import DAY_S, Year


def test_a_day_with_a_mirror_that_stands_agrees_to_the_probe():
    year = Year(second=DAY_S // 2 - 300)  # so that the mirror's daily standstill lies in the middle
    year.play(1500)
    assert year.check() == []
    assert min(year.truth[name] for name in ("good", "late", "overdue", "lost", "duplicated")) > 0


def test_a_count_that_is_wrong_is_told():
    year = Year()
    year.play(300)
    year.truth["good"] += 1
    year.sums["expected"] += 700
    assert [sentence.split(":")[0] for sentence in year.check()] == ["good", "expected"]
