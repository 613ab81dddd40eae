"""Groups of all shards in one list, counted once, with every reason why some are not known."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.web.pages.groups import headline, list_names, notes, worst_verdict
from mirrorwatch.web.replicas.merged_groups import merged_counts, merged_groups, with_reasons
from tests.mirrorwatch.monitored import COMMITS, Monitored

READING = {"phase": "reading", "sentence": "Reading.", "total_records": 20, "read_records": 5}
DOWN = {"phase": "down", "sentence": "No answer.", "total_records": 10, "read_records": 10}
AWAY = {"A": {"since_ms": 5, "sentence": "A has not answered."}}


def answers_of(groups):
    """Return the answers of a lag monitor about these groups: cluster, name and kinds of partitions."""
    monitored = Monitored("A", "B")
    for alias in "AB":
        monitored.topic(alias, "orders")
    for (alias, name), kinds in groups.items():
        monitored.group(alias, name, "orders", *kinds)
    return monitored._answers


def listed(answers, **details):
    return json.loads(b"".join(answers.groups(details).pieces))


def counted(answers):
    return json.loads(b"".join(answers.counts({}).pieces))


def document(**more):
    return {**listed(answers_of({})), **more}


GROUPS = st.dictionaries(
    st.tuples(st.sampled_from("AB"), st.sampled_from("abcdefgh")),
    st.lists(st.sampled_from(sorted(COMMITS)), min_size=1, max_size=3),
    max_size=8,
)


@given(
    groups=GROUPS,
    first=st.integers(0, 9),
    most=st.integers(1, 9),
    shards=st.lists(st.integers(0, 2), min_size=16, max_size=16),
)
def test_a_page_is_that_of_one_lag_monitor(groups, first, most, shards):
    parts = [
        {name: kinds for (name, kinds), shard in zip(groups.items(), shards, strict=False) if shard == number}
        for number in range(3)
    ]
    alone, shared = answers_of(groups), [answers_of(part) for part in parts]
    found = merged_groups(
        [listed(one, first=0, most=first + most) for one in shared], [], first=first, most=most
    )
    assert found == {**listed(alone, first=first, most=most), "missing_shards": []}
    counts = merged_counts([counted(one) for one in shared], [])
    assert counts == {**counted(alone), "missing_shards": []}


def test_reasons_of_all_shards_are_joined():
    found = merged_groups(
        [
            document(not_ready={"A": READING}, away={}, other_groups={"A": {"connect": 1}, "B": {}}),
            document(
                not_ready={"A": DOWN}, away=AWAY, other_groups={"A": {"connect": 2, "share": 1}, "B": {}}
            ),
        ],
        [],
        first=0,
        most=10,
    )
    assert found["not_ready"] == {"A": {**DOWN, "total_records": 30, "read_records": 15}}
    assert found["away"] == AWAY
    assert found["other_groups"] == {"A": {"connect": 3, "share": 1}, "B": {}}


def test_a_missing_shard_is_a_reason_at_every_cluster():
    found = merged_groups([document(not_ready={"A": READING})], ["Gone."], first=0, most=10)
    reasons = with_reasons(found)["not_ready"]
    assert reasons["A"] == {**READING, "sentence": "Reading. Gone."}
    assert reasons["B"] == {"phase": "down", "sentence": "Gone.", "total_records": 0, "read_records": 0}
    assert with_reasons({**found, "missing_shards": []})["not_ready"] == {"A": READING}


@pytest.mark.parametrize(
    ("counts", "said", "verdict"),
    [
        ({"OK": 4000}, "4,000 groups OK, others are not known", "unknown"),
        ({"OK": 1}, "1 group OK, others are not known", "unknown"),
        ({"STOP": 1, "OK": 3}, "4 groups: 1 STOP", "stalled"),
        ({}, "Groups not known yet", "unknown"),
    ],
)
def test_no_headline_looks_complete(counts, said, verdict):
    assert headline(counts, sum(counts.values()), partial=True) == said
    assert worst_verdict(counts, partial=True) == verdict


def test_the_page_notes_what_is_missing():
    found = merged_groups([document()], ["Groups of shard 2 of 2 are not shown: why."], first=0, most=10)
    assert notes(found)[0] == "Groups of shard 2 of 2 are not shown: why."
    names = list_names(found, search="x", kafka_cluster="")
    assert (names["headline"], names["verdict"]) == ("Groups not known yet", "unknown")
