"""Answers about groups: in any order, late ones left out, missing ones refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fleet.errors import RefusedError, UnavailableError
from mirrorwatch.failover.cluster import ClusterReader
from runtime.kafka.group_offsets import Failed, GroupsListed, OffsetsTold, RightTold
from runtime.kafka.properties.client_settings import ClientSettings


class Ticking:
    now_ns = 0

    def monotonic_ns(self):
        self.now_ns += 1_000_000_000
        return self.now_ns


@pytest.fixture
def reader():
    made = ClusterReader("B", ClientSettings({"bootstrap.servers": "b:1"}), Ticking())
    made.answers = []
    made._groups = SimpleNamespace(
        list_groups=lambda: None,
        ask=lambda _groups: None,
        ask_right=lambda: None,
        take=lambda **_wait: [made.answers.pop(0)] if made.answers else [],
    )
    return made


def test_answers_come_in_any_order_and_late_ones_are_left_out(reader):
    reader.answers = [
        GroupsListed({}),
        OffsetsTold("b", [("t", 0, 5)]),
        OffsetsTold("a", []),
        OffsetsTold("a", []),
        GroupsListed({"a": "empty"}),
    ]
    assert reader.committed(["a", "b"]) == {"a": {}, "b": {("t", 0): 5}}
    assert reader.groups() == {"a": "empty"}


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (Failed("offsets", "a", "not allowed", refused=True), RefusedError, "not allowed"),
        (Failed("offsets", "a", "too late", refused=False), UnavailableError, "too late"),
        (OffsetsTold("a", [], 2), UnavailableError, "cluster B: 2 committed offsets of a not returned"),
        (None, UnavailableError, "cluster B: no answer about groups within 10 s; try again"),
    ],
)
def test_what_is_missing_is_no_answer(reader, answer, kind, sentence):
    reader.answers = [] if answer is None else [answer]
    with pytest.raises(kind, match=sentence):
        reader.committed(["a"])


def test_a_negative_offset_is_none(reader):
    reader.answers = [OffsetsTold("a", [("t", 0, -1), ("t", 1, 5)])]
    assert reader.committed(["a"]) == {"a": {("t", 1): 5}}


def test_an_empty_list_is_that_of_a_cluster_or_of_a_missing_permission(reader):
    reader.answers = [GroupsListed({}), RightTold(granted=True)]
    assert reader.groups() == {}
    reader.answers = [GroupsListed({}), RightTold(granted=False)]
    with pytest.raises(RefusedError, match="cluster B: no permission to describe any group; grant the"):
        reader.groups()


def test_a_list_without_the_groups_of_a_broker_is_none(reader):
    reader.answers = [GroupsListed({"a": "empty"}, "broker 2 does not answer")]
    with pytest.raises(UnavailableError, match="broker 2"):
        reader.groups()
