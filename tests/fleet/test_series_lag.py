"""The series of groups and mirrors: the conventions of the catalogue that they join."""

from __future__ import annotations

import pytest

from fleet import series_lag
from fleet.series import CANARY_BROKERS_UNREACHED, CATALOGUE
from fleet.series_kinds import Group, Kind, Series
from fleet.series_lag import LAG_CATALOGUE
from tests.fleet.test_series import breaches

FLOW = ("flow", "source_cluster", "target_cluster")


@pytest.mark.parametrize("one", LAG_CATALOGUE, ids=lambda one: one.name)
def test_every_series_keeps_the_conventions(one):
    assert breaches(one) == []
    assert one.kind in {Kind.COUNTER, Kind.GAUGE}  # what can be told from an array
    match one.group:
        case Group.CLUSTER:
            assert one.label_names[0] == "kafka_cluster"
        case Group.FLOW:
            assert one.label_names[:3] == FLOW
        case _:
            assert not {"kafka_cluster", *FLOW} & set(one.label_names)


def test_each_is_bound_under_its_own_name_and_none_stands_in_both_files():
    bound = {name: value for name, value in vars(series_lag).items() if isinstance(value, Series)}
    assert tuple(bound.values()) == LAG_CATALOGUE
    assert all(name == one.name.upper() for name, one in bound.items())
    assert {one.name for one in CATALOGUE}.isdisjoint(one.name for one in LAG_CATALOGUE)


def test_a_label_means_the_same_wherever_it_stands():
    meanings = {}
    for one in (CANARY_BROKERS_UNREACHED, *LAG_CATALOGUE):
        for label in one.labels:
            assert meanings.setdefault(label.name, label) == label


def test_what_grows_with_partitions_is_opt_in():
    growing = [one for one in LAG_CATALOGUE if "partition" in one.label_names]
    assert growing == [one for one in LAG_CATALOGUE if one.opt_in]
    assert len(growing) == 4
