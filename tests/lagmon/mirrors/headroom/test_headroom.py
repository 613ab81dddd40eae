"""How far retention is from overtaking a mirror: records, seconds, and which estimate they are from."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.groups.rules.words import How
from lagmon.logs.time_lag import LagKind
from lagmon.mirrors.headroom.estimate import Headroom, replication_headroom

NOW = 1_800_000_000_000
S = 1000
# The log start went on by 600 at the first and third of these steps: 10 a second from one to the other.
STEPPING = [(NOW - 180 * S, 0), (NOW - 120 * S, 600), (NOW - 60 * S, 600), (NOW, 1800)]
STANDING = [(NOW - 180 * S, 0), (NOW, 0)]
STOOD_FIRST = [(NOW - 180 * S, 0), (NOW - 120 * S, 0), (NOW - 60 * S, 600), (NOW, 1800)]
ONCE = [(NOW - 180 * S, 0), (NOW, 600)]


def headroom(start=1800, next_offset=2400, now_ms=NOW, **known):
    return replication_headroom(start=start, next_offset=next_offset, now_ms=now_ms, **known)


def test_a_mirror_that_was_overtaken_lost_so_many_records():
    assert headroom(start=1000, next_offset=900, retention_ms=10**9, produced_ms=NOW) == Headroom(
        -100, 0.0, How.OVERTAKEN
    )


def test_at_the_log_start_nothing_is_lost_yet():
    assert headroom(start=900, next_offset=900).records == 0
    assert headroom(start=900, next_offset=900).how is How.NOT_KNOWN


@pytest.mark.parametrize(
    ("known", "seconds", "how"),
    [
        ({}, None, How.NOT_KNOWN),
        ({"retention_ms": 3600 * S}, None, How.NOT_KNOWN),  # no age
        ({"produced_ms": NOW}, None, How.NOT_KNOWN),  # no retention
        ({"retention_ms": -1, "produced_ms": NOW}, None, How.NOT_KNOWN),  # retention.bytes may act
        ({"retention_ms": 3600 * S, "produced_ms": -1}, None, How.NOT_KNOWN),
        ({"retention_ms": 3600 * S, "produced_ms": NOW - 600 * S}, 3000.0, How.BY_RETENTION),
        ({"retention_ms": 3600 * S, "produced_ms": NOW - 7200 * S}, 0.0, How.BY_RETENTION),
        ({"retention_ms": 3600 * S, "produced_ms": NOW + 60 * S}, 3600.0, How.BY_RETENTION),  # clocks differ
        ({"retention_ms": 0, "produced_ms": NOW}, 0.0, How.BY_RETENTION),
        ({"log_starts": STEPPING, "mirror_per_s": 0.0}, 60.0, How.BY_SPEED),
        ({"log_starts": STOOD_FIRST, "mirror_per_s": 0.0}, 30.0, How.BY_SPEED),
        ({"log_starts": STEPPING, "mirror_per_s": 4.0}, 100.0, How.BY_SPEED),
        ({"log_starts": STEPPING, "mirror_per_s": 10.0}, None, How.NOT_IN_SIGHT),
        ({"log_starts": STEPPING, "mirror_per_s": 50.0}, None, How.NOT_IN_SIGHT),
        ({"log_starts": STEPPING}, None, How.NOT_KNOWN),
        ({"log_starts": STANDING, "mirror_per_s": 0.0}, None, How.NOT_IN_SIGHT),
        ({"log_starts": ONCE, "mirror_per_s": 0.0}, None, How.NOT_KNOWN),  # one step has no speed
        ({"log_starts": STANDING[:1], "mirror_per_s": 0.0}, None, How.NOT_KNOWN),
    ],
)
def test_each_estimate(known, seconds, how):
    assert headroom(**known) == Headroom(600, seconds, how)


@pytest.mark.parametrize(
    ("age_s", "seconds", "how"), [(3550, 50.0, How.BY_RETENTION), (10, 60.0, How.BY_SPEED)]
)
def test_the_sooner_of_the_two_is_reported(age_s, seconds, how):
    found = headroom(
        retention_ms=3600 * S, produced_ms=NOW - age_s * S, log_starts=STEPPING, mirror_per_s=0.0
    )
    assert found == Headroom(600, seconds, how)


@pytest.mark.parametrize(
    ("produced", "age_s", "seconds", "how"),
    [
        (LagKind.EXACT, 60, 3540.0, How.BY_RETENTION),
        (LagKind.ESTIMATE, 3000, 600.0, How.BY_RECORD_TIME),
        (LagKind.AT_LEAST, 60, 3540.0, How.AT_MOST),  # seen a minute ago: it may be of long before
        (LagKind.AT_LEAST, 3600, 0.0, How.BY_RETENTION),  # so old it is at least: no more is left, nor less
        (LagKind.ESTIMATE, 7200, 0.0, How.BY_RETENTION),
    ],
)
def test_an_age_that_is_only_a_bound_gives_a_bound(produced, age_s, seconds, how):
    found = headroom(retention_ms=3600 * S, produced_ms=NOW - age_s * S, produced=produced)
    assert found == Headroom(600, seconds, how)


def test_an_age_from_polls_is_that_of_the_record_only_where_the_broker_stamps_it():
    known = {"retention_ms": 3600 * S, "produced_ms": NOW - 60 * S}
    assert not headroom(**known).by_polls
    assert headroom(**known, append_time=False).by_polls
    for produced in (LagKind.ESTIMATE, LagKind.AT_LEAST):  # not exact anyway
        assert not headroom(**known, produced=produced, append_time=False).by_polls
    assert not headroom(start=601, next_offset=600, append_time=False).by_polls  # overtaken: exact


def test_a_speed_that_is_sooner_than_a_bound_is_reported():
    known = {"retention_ms": 3600 * S, "produced": LagKind.AT_LEAST, "mirror_per_s": 0.0}
    sooner = headroom(produced_ms=NOW, log_starts=STEPPING, **known)
    assert (sooner.seconds, sooner.how) == (60.0, How.BY_SPEED)
    later = headroom(produced_ms=NOW - 3550 * S, log_starts=STEPPING, **known)
    assert (later.seconds, later.how) == (50.0, How.AT_MOST)


def test_a_mirror_that_keeps_pace_is_still_bounded_by_retention():
    found = headroom(retention_ms=3600 * S, produced_ms=NOW, log_starts=STEPPING, mirror_per_s=10.0)
    assert (found.seconds, found.how) == (3600.0, How.BY_RETENTION)


def test_what_is_further_than_thirty_years_is_not_in_sight():
    assert headroom(retention_ms=2**63 - 1, produced_ms=NOW).how is How.NOT_IN_SIGHT
    assert headroom(log_starts=STEPPING, mirror_per_s=10 - 1e-9).how is How.NOT_IN_SIGHT


def test_a_log_start_that_fell_or_a_clock_that_did_has_no_speed():
    fell = [(NOW - 180 * S, 0), (NOW - 120 * S, 500), (NOW - 60 * S, 100), (NOW, 200)]
    assert headroom(log_starts=fell, mirror_per_s=0.0).how is How.NOT_KNOWN
    fell_and_rose = [*fell[:-1], (NOW, 500)]
    assert headroom(log_starts=fell_and_rose, mirror_per_s=1.0).how is How.NOT_KNOWN
    only_fell = [(NOW - 180 * S, 500), (NOW, 100)]
    assert headroom(log_starts=only_fell, mirror_per_s=0.0).how is How.NOT_KNOWN
    back = [(NOW - 60 * S, 0), (NOW, 500), (NOW - 60 * S, 900)]
    assert headroom(log_starts=back, mirror_per_s=0.0).how is How.NOT_KNOWN
    again = [(NOW - 60 * S, 0), (NOW, 500), (NOW - 60 * S, 0), (NOW, 500)]
    assert headroom(log_starts=again, mirror_per_s=0.0).how is How.NOT_KNOWN


offsets = st.integers(0, 2**63 - 1)
times = st.integers(-(2**63), 2**63 - 1)


known_things = st.fixed_dictionaries(
    {
        "start": offsets,
        "next_offset": offsets,
        "now_ms": times,
        "log_starts": st.lists(st.tuples(times, offsets), max_size=6),
        "mirror_per_s": st.none() | st.floats(0, 1e12) | st.just(5e-324),
        "retention_ms": st.none() | times,
        "produced_ms": st.none() | times,
        "produced": st.sampled_from(LagKind),
    }
)


@given(known_things)
def test_seconds_are_a_number_that_is_not_negative_or_absent(known):
    found = replication_headroom(**known)
    assert found.records == known["next_offset"] - known["start"]
    assert (found.seconds is None) == (found.how in {How.NOT_IN_SIGHT, How.NOT_KNOWN})
    assert found.seconds is None or (math.isfinite(found.seconds) and found.seconds >= 0)
    assert (found.how is How.OVERTAKEN) == (found.records < 0)
