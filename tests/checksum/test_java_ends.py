"""Spark's Java that ends while it hands rows over is told as that, and as nothing of mirrorwatch's own."""

from __future__ import annotations

import errno
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError

from checksum.counts import side as count_side
from checksum.counts.side import SideCount
from checksum.digest import side as digest
from checksum.digest.cell_rows import Side
from checksum.digest.coverage import Stamp
from checksum.digest.files import DigestFolder
from checksum.digest.kafka_options import Cluster
from checksum.digest.side import SideDigest
from checksum.plan.pacing import Stretch
from checksum.plan.places import places_of
from fleet.errors import UnavailableError
from tests.checksum.pretend_logs import Held, Partition, plan_of
from tests.checksum.recheck.test_block_differences import content

SENTENCE = "Spark's Java process ended; check whether it was killed, or this machine ran out of memory"
# Rows come by a socket beside Py4J's own, whose end is Python's errors.
BROKEN = [
    EOFError(),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    BrokenPipeError(errno.EPIPE, "Broken pipe"),  # to Click it would be a reader of ours that has gone
    Py4JNetworkError("Error while sending"),
    Py4JNetworkError("Answer from Java side is empty"),
]


@pytest.fixture
def plan():
    log = [Held(0, content("a"))]
    return plan_of({"t": [Partition(log, log)]}, cells=4, bucket_ms=10, timestamps=True)


@pytest.fixture(params=BROKEN, ids=lambda one: f"{type(one).__name__}: {one}")
def broken(request):
    """Give a DataFrame, or what makes one, of which Java ends as soon as anything is asked."""
    return MagicMock(side_effect=request.param)


def reading(kind, plan, **more):
    return kind(
        None,
        plan,
        Side.SOURCE,
        places=places_of(plan, Side.SOURCE),
        cluster=Cluster("A", {}),
        clock=None,
        pause=None,
        **more,
    )


def test_while_a_digest_is_read_back(broken):
    spark = MagicMock()
    spark.read.schema.return_value.parquet.return_value.limit.return_value.collect = broken
    with pytest.raises(UnavailableError) as caught:
        DigestFolder(spark, "/digest", Stamp("p", 1, Side.SOURCE)).slices()
    assert str(caught.value) == f"/digest: cannot read the digest: {SENTENCE}"


def test_while_it_is_asked_whether_there_is_a_digest(broken):
    spark = MagicMock()
    spark._jvm.org.apache.hadoop.fs.Path = broken
    with pytest.raises(UnavailableError) as caught:
        DigestFolder(spark, "/digest", Stamp("p", 1, Side.SOURCE)).slices()
    assert str(caught.value) == f"/digest: cannot read the digest: {SENTENCE}"


def test_while_a_side_is_digested(broken, plan, monkeypatch):
    monkeypatch.setattr(digest, "cells", broken)
    side = reading(SideDigest, plan, folder=MagicMock(path="/digest"))
    with pytest.raises(UnavailableError) as caught:
        side._slice(0, [Stretch(0, 0, 1)])
    assert str(caught.value) == f"cluster A: digesting failed: {SENTENCE}"


def test_while_a_side_is_counted(broken, plan, monkeypatch):
    monkeypatch.setattr(count_side, "bucket_counts", broken)
    with pytest.raises(UnavailableError) as caught:
        reading(SideCount, plan)._slice([Stretch(0, 0, 1)], sizes=False)
    assert str(caught.value) == f"cluster A: counting failed: {SENTENCE}"
