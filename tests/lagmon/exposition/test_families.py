"""The whole output: legal in both formats, in chunks, and what the caps left out."""

from __future__ import annotations

import numpy as np
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from fleet.series import lag as series_lag
from fleet.series.lag import (
    GROUP_LAG_SECONDS,
    GROUP_PARTITION_LAG_RECORDS,
    GROUP_STATUS,
    LAG_CATALOGUE,
    OVERTAKEN_RECORDS_TOTAL,
    SERIES_DROPPED_TOTAL,
)
from lagmon.exposition.families import Exposition
from lagmon.exposition.family import CHUNK_BYTES, Family
from lagmon.exposition.format import Form
from lagmon.exposition.joining import joined

ODD = ["", 'a"b', "a\\b", "a\nb", "größe 🦆", "a{}=, \t\r\x00\x1b\x7f\x85\u2028", "g" * 32_768, "a\udc80"]


def rendered(exposition, values, form=Form.PLAIN):
    return b"".join(joined(b"", exposition.render(values, form), form)).decode()


def parsed(text, form):
    """Return the families that the client library's own parser reads, by the name of their series."""
    read = plain_families if form is Form.PLAIN else openmetrics_families
    return {one.name + ("_total" if one.type == "counter" else ""): one for one in read(text)}


def every_series():
    """Return a family of each series of the catalogue, with one series, and its value."""
    families = [Family(one) for one in LAG_CATALOGUE if one is not SERIES_DROPPED_TOTAL]
    for family in families:
        family.put(0, [label.values[0] if label.values else "x" for label in family.series.labels])
    return {family: np.array([7]) for family in families}


@pytest.mark.parametrize("form", list(Form))
def test_every_series_is_told_as_the_catalogue_has_it(form):
    values = every_series()
    families = parsed(rendered(Exposition(list(values)), values, form), form)
    assert set(families) == {one.full_name for one in LAG_CATALOGUE} - {SERIES_DROPPED_TOTAL.full_name}
    for one in (family.series for family in values):
        family = families[one.full_name]
        (sample,) = family.samples
        assert (family.type, family.documentation) == (one.kind.value, one.help)
        assert (sample.name, sample.value) == (one.full_name, 7)
        assert tuple(sample.labels) == one.label_names
    if form is Form.OPENMETRICS:
        units = {name: family.unit for name, family in families.items() if family.unit}
        assert units[GROUP_LAG_SECONDS.full_name] == "seconds"
        assert units[OVERTAKEN_RECORDS_TOTAL.full_name] == "records"
        assert GROUP_STATUS.full_name not in units


@pytest.mark.parametrize("form", list(Form))
def test_odd_names_are_read_back_as_they_are_where_they_can_be(form):
    family = Family(GROUP_PARTITION_LAG_RECORDS)
    for row, name in enumerate(ODD):
        family.put(row, ["A", name, name, "0"])
    values = {family: np.arange(len(ODD))}
    text = rendered(Exposition([family]), values, form)
    (one,) = parsed(text, form).values()
    assert [sample.value for sample in one.samples] == list(range(len(ODD)))
    groups = [sample.labels["group"] for sample in one.samples]
    assert groups[:6] == ODD[:6]
    assert groups == [sample.labels["topic"] for sample in one.samples]
    assert len(groups[6].encode()) == 256
    assert groups[7].startswith("a\\udc80~")


def test_what_the_caps_left_out_is_counted_by_family_from_the_start():
    capped = Family(GROUP_PARTITION_LAG_RECORDS, max_series=2)
    free = Family(GROUP_STATUS)
    exposition = Exposition([capped, free])
    name = f'{SERIES_DROPPED_TOTAL.full_name}{{family="{GROUP_PARTITION_LAG_RECORDS.full_name}"}}'
    assert rendered(exposition, {}).endswith(f"\n{name} 0\n")
    for row in range(5):
        capped.put(row, ["A", "g", "t", str(row)])
        free.put(row, ["A", f"g{row}"])
    values = {capped: np.ones(5, dtype=np.int64), free: np.ones(5, dtype=np.int8)}
    told = rendered(exposition, values)
    assert told.endswith(f"\n{name} 3\n")
    assert told.count(SERIES_DROPPED_TOTAL.full_name + "{") == 1
    assert told.count(GROUP_PARTITION_LAG_RECORDS.full_name + "{") == 2
    assert told.count(GROUP_STATUS.full_name + "{") == 5


def test_without_caps_nothing_is_told_of_them():
    assert SERIES_DROPPED_TOTAL.full_name not in rendered(Exposition([Family(GROUP_STATUS)]), {})


def test_a_family_without_values_is_its_header():
    family = Family(GROUP_STATUS)
    family.put(0, ["A", "g"])
    assert [line[:1] for line in rendered(Exposition([family]), {}).splitlines()] == ["#", "#"]


def test_a_metric_stands_once():
    sentence = "mirrorwatch_group_status: duplicate metric; use one family for each"
    with pytest.raises(ValueError, match=sentence):
        Exposition([Family(GROUP_STATUS), Family(GROUP_LAG_SECONDS), Family(GROUP_STATUS)])


def test_families_stand_in_the_order_that_was_given():
    order = [GROUP_STATUS, OVERTAKEN_RECORDS_TOTAL, GROUP_LAG_SECONDS]
    text = rendered(Exposition([Family(one) for one in order]), {})
    assert [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")] == [
        one.full_name for one in order
    ]


def test_chunks_are_bounded_and_small_families_share_one():
    large = Family(GROUP_PARTITION_LAG_RECORDS)
    for row in range(3000):
        large.put(row, ["A", f"g{row // 10}", "t" * 249, str(row)])
    small = [Family(one) for one in (GROUP_STATUS, GROUP_LAG_SECONDS, OVERTAKEN_RECORDS_TOTAL)]
    values = {large: np.arange(3000)}
    chunks = list(Exposition([small[0], large, *small[1:]]).render(values, Form.PLAIN))
    assert all(len(chunk) <= CHUNK_BYTES and chunk.endswith(b"\n") for chunk in chunks)
    assert len(chunks) <= sum(map(len, chunks)) / CHUNK_BYTES * 1.3 + 2
    assert sum(chunk.count(b"\nmirrorwatch_group_partition") for chunk in chunks) >= 3000 - len(chunks)
    assert [chunk.count(b"# TYPE") for chunk in chunks if b"# TYPE" in chunk] == [2, 2]


def test_nothing_is_told_by_a_name_that_is_not_the_catalogues():
    assert {one.name.upper() for one in LAG_CATALOGUE} <= set(vars(series_lag))


def test_what_is_told_is_what_stood_when_it_was_asked_for():
    lags, groups = Family(GROUP_PARTITION_LAG_RECORDS, max_series=1), Family(GROUP_STATUS)
    exposition = Exposition([groups, lags])
    groups.put(0, ["A", "g"])
    lags.put(0, ["A", "g", "t", "0"])
    values = {groups: np.array([1]), lags: np.array([7])}
    expected = rendered(exposition, values)
    late = exposition.render(values, Form.PLAIN)
    groups.drop(0)
    lags.put(5, ["A", "g", "t", "5"])  # a row that the values don't reach, and one that the cap leaves out
    assert b"".join(joined(b"", late, Form.PLAIN)).decode() == expected
