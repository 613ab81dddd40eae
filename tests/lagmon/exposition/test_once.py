"""What is written at once, without arrays, is what a family writes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.series.checksum import (
    CHECKSUM_CATALOGUE,
    CHECKSUM_COVERAGE_RATIO,
    CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS,
    CHECKSUM_RECORDS,
)
from fleet.series.kinds import Group, Kind, Series, Unit
from lagmon.exposition.family import Family
from lagmon.exposition.format import MOST_SECONDS, Form, header
from lagmon.exposition.once import written

WHOLE = (Unit.RECORDS, Unit.TRUTH)
LARGEST = 2**63 - 1
BARE = Series(name="bare", kind=Kind.GAUGE, unit=Unit.SECONDS, group=Group.SERVICE, help="Of no label.")
NO_TOPIC = CHECKSUM_RECORDS.labels[:2]
UP = Series(name="up", kind=Kind.GAUGE, unit=Unit.TRUTH, group=Group.SERVICE, help="Up.", labels=NO_TOPIC)

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from('\\"\n~%\udc80ü🦆'), max_size=12)
LABELS = TEXTS | st.builds(lambda piece: piece * 60, TEXTS)
FLOATS = st.floats() | st.floats(0, 1e11) | st.floats(0, 1) | st.integers(-5, 10**17).map(lambda n: n / 2000)
INTEGERS = st.integers(-LARGEST - 1, LARGEST) | st.integers(-2, 20)


def by_a_family(one, samples, form):
    """Return the same from arrays."""
    family = Family(one)
    for row, (labels, _) in enumerate(samples):
        family.put(row, labels)
    values = np.array([value for _, value in samples], dtype=np.int64 if one.unit in WHOLE else np.float64)
    return b"".join(family.chunks(values, form))


@given(st.data(), st.sampled_from([*CHECKSUM_CATALOGUE, BARE, UP]), st.sampled_from(Form))
def test_both_ways_write_the_same_bytes(data, one, form):
    labels = st.tuples(*(LABELS for _ in one.labels))
    values = INTEGERS if one.unit in WHOLE else FLOATS
    samples = data.draw(st.lists(st.tuples(labels, values), max_size=6))
    assert written(one, samples, form) == by_a_family(one, samples, form)


@pytest.mark.parametrize("value", [0.0005, 0.0015, 0.0025, 1.0005, 2.4999999, 0.9999, 59.9996, MOST_SECONDS])
def test_halves_are_rounded_alike(value):
    samples = [(("A->B", "A", "B", "t"), value)]
    for form in Form:
        text = written(CHECKSUM_COVERAGE_RATIO, samples, form)
        assert text == by_a_family(CHECKSUM_COVERAGE_RATIO, samples, form)


def test_without_samples_there_is_the_header():
    assert written(BARE, [], Form.PLAIN) == header(BARE, Form.PLAIN) + b"\n"


def test_another_number_of_labels_is_refused():
    for labels in (("A->B",), ("A->B", "A", "B", "t", "u")):
        with pytest.raises(TypeError):
            written(CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS, [(labels, 1.0)], Form.PLAIN)
