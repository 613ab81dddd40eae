"""A stretch of which Spark gave no record: is there none, or did it pass over some?"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from checksum import run
from checksum.digest.cell_rows import Side
from checksum.run import IncompleteDigestError, check_topics
from tests.checksum.pretend_clusters import Clusters
from tests.checksum.pretend_mirror import Mirrored


def looked_at(written, *, policy, side=Side.SOURCE):
    """Look at a whole partition of these keys, each followed by `-` for a tombstone; None: all is well."""
    mirrored = Mirrored()
    for one in written:
        mirrored.write(key=one[:1].encode())
        if one.endswith("-"):
            mirrored.source.records[-1].value = None
    mirrored.copy()
    mirrored.flush()
    clusters = Clusters({("t", 0): mirrored})
    for admin, name in ((clusters.a, "t"), (clusters.b, "A.t")):
        admin.settings[name] = {"cleanup.policy": policy}
    plan = clusters.plan()
    (held,) = plan.topics[0].partitions

    async def admin(alias, _stack):
        return clusters.a if alias == "A" else clusters.b

    async def reader(alias, _stack, *, committed):
        assert not committed
        return clusters.source if alias == "A" else clusters.target

    offsets = held.source if side is Side.SOURCE else held.target
    empty_ranges = [("t", 0, offsets.first, offsets.until)]
    try:
        asyncio.run(check_topics(plan, side, SimpleNamespace(admin=admin, reader=reader), empty_ranges))
    except IncompleteDigestError as error:
        return str(error)
    return None


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize(
    "written", [["a-"], ["a", "a", "a-"], ["a", "b", "a-", "b-"], ["a", "a-", "a", "a-"]]
)
def test_a_compacted_topic_whose_keys_all_end_in_a_tombstone_is_silent(written, side):
    assert looked_at(written, policy="compact", side=side) is None


@pytest.mark.parametrize(
    ("written", "at"), [(["a"], 0), (["a", "b", "a-"], 1), (["a-", "a"], 1), (["a", "b-", "c"], 0)]
)
def test_a_compacted_topic_that_holds_a_value_is_not(written, at):
    told = looked_at(written, policy="compact,delete")
    assert told == (
        f"cluster A: Spark returned no record of t-0 from 0 to {len(written) - 1}, but there is one at {at}; run again"
    )


def test_elsewhere_a_tombstone_is_a_record_as_others_are():
    assert "there is one at 0" in str(looked_at(["a-"], policy="delete"))


@pytest.mark.parametrize(("most", "told"), [(2, False), (3, True), (4, True)])
def test_so_many_records_are_looked_at_and_what_they_do_not_prove_is_not_told(monkeypatch, most, told):
    monkeypatch.setattr(run, "MOST_RECORDS", most)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 1)
    assert bool(looked_at(["a", "b", "a-"], policy="compact")) == told
