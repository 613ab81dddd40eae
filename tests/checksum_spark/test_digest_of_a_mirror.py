"""The digest of real logs that a real MirrorMaker copied is the reference's, and alike on both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import Producer

from checksum.digest.cell_rows import Side
from checksum.digest.coverage import Stamp
from checksum.digest.files import DigestFolder
from checksum.digest.kafka_options import Cluster, client_options, reading_options
from checksum.digest.side import SideDigest
from checksum.plan.document import plan_id
from checksum.plan.places import places_of
from checksum.plan.shape import (
    READ_UNCOMMITTED,
    Anchored,
    OffsetRange,
    OutdatedPlanError,
    PartitionPlan,
    Plan,
    Run,
    TopicPlan,
)
from deploy.local.topics import create_topic
from fleet.errors import ConfigurationError, UnavailableError
from runtime.process.clock import SystemClock
from tests.checksum.pretend_logs import Partition, digest
from tests.checksum_spark.logs import read_log
from tests.eventually import eventually

pytestmark = pytest.mark.real
DEADLINE_S = 60
BUCKET_MS, CELLS = 200, 4
STRANGERS = 3  # records on the target before the mirror's first: copies stand at another offset


class Copied:
    """A topic with its copy, both read in full."""

    def __init__(self, pair, topic, partitions, *, headers=True, timestamps=True):
        self.topic, self.headers, self.timestamps = topic, headers, timestamps
        self.partitions = [
            Partition(
                read_log(pair.a.client_properties(), topic, number),
                read_log(pair.b.client_properties(), f"A.{topic}", number)[STRANGERS:],
            )
            for number in range(partitions)
        ]

    @property
    def plan(self):
        planned = (partition_plan(number, one) for number, one in enumerate(self.partitions))
        return TopicPlan(
            self.topic, f"A.{self.topic}", None, None, self.headers, self.timestamps, False, tuple(planned), 0
        )


def partition_plan(number, partition):
    """Return the plan of a partition whose records are copied in order, one for one."""
    pairs = [
        (here.offset, there.offset) for here, there in zip(partition.source, partition.target, strict=True)
    ]
    runs = []
    for up, down in pairs:
        if runs and runs[-1].until == up and runs[-1].delta == down - up:
            runs[-1] = Run(runs[-1].first, up + 1, down - up)
        else:
            runs.append(Run(up, up + 1, down - up))
    return PartitionPlan(
        number,
        OffsetRange(0, pairs[-1][0] + 1),
        OffsetRange(STRANGERS, pairs[-1][1] + 1),
        tuple(runs),
        tuple(pairs[7::13]),
        Anchored.OFFSET_SYNCS,
    )


def plan_of(*topics, excluded=()):
    return Plan(
        "A->B", "A", "B", 1, CELLS, BUCKET_MS, READ_UNCOMMITTED, READ_UNCOMMITTED, tuple(excluded),
        tuple(topics), (),
    )  # fmt: skip


@pytest.fixture(scope="module")
def copied(kafka_pair, request):
    """Write two topics that hold all that a record can be, and have them copied once for this module."""
    mirror = request.getfixturevalue("_mirrors")
    mirror.stop()  # one that runs already would create the copies itself
    here, there = kafka_pair.a.client_properties(), kafka_pair.b.client_properties()
    producer = Producer({**here, "transactional.id": "digest"})
    producer.init_transactions()
    for topic in ("mixed", "plain", "stamped"):
        kept = {"retention.ms": "-1"}  # the records' times are of long ago
        stamp = {"message.timestamp.type": "LogAppendTime"} if topic == "stamped" else {}
        create_topic(here, topic, partitions=3, config=kept)
        create_topic(there, f"A.{topic}", partitions=3, config=kept | stamp)
        stranger = Producer(there)
        for number in range(3 * STRANGERS):
            stranger.produce(f"A.{topic}", b"stranger", partition=number % 3)
        stranger.flush(DEADLINE_S)
        for batch in range(3):  # each transaction ends with a marker, which takes an offset and is not copied
            producer.begin_transaction()
            for number in range(40):
                key = None if number % 5 == 0 else f"k{number % 7}".encode()
                value = None if number % 11 == 0 else bytes(number * 7)
                headers = [("trace", str(number).encode()), ("ü", None), ("ü", b"")] if number % 3 else None
                producer.produce(
                    topic, value, key, partition=number % 3, timestamp=1_700_000_000_000 + 97 * (batch * 40 + number),
                    headers=headers if topic == "mixed" else None,
                )  # fmt: skip
            producer.commit_transaction()
    mirror()
    eventually(lambda: all(_arrived(there, topic) for topic in ("mixed", "plain", "stamped")), DEADLINE_S)
    yield {
        "mixed": Copied(kafka_pair, "mixed", 3),
        "plain": Copied(kafka_pair, "plain", 3, headers=False),
        "stamped": Copied(kafka_pair, "stamped", 3, headers=False, timestamps=False),
    }
    mirror.stop()


def _arrived(there, topic):
    return sum(len(read_log(there, f"A.{topic}", number)) for number in range(3)) == 3 * STRANGERS + 120


class Digests:
    """Digests either side of a plan with Spark, into a folder of the test's own."""

    def __init__(self, spark, pair, folder):
        self._spark, self._pair, self._folder = spark, pair, folder

    def folder(self, plan, side):
        return DigestFolder(self._spark, str(self._folder / side), Stamp(plan_id(plan), plan.version, side))

    def side(self, plan, side):
        broker = self._pair.a if side is Side.SOURCE else self._pair.b
        options = client_options(broker.java_properties(), cluster=broker.alias, file="test")
        options |= reading_options(
            client_id="audit", digest=f"{plan_id(plan)[:12]}-{side}", isolation=READ_UNCOMMITTED
        )
        return SideDigest(
            self._spark, plan, side,
            places=places_of(plan, side), cluster=Cluster(broker.alias, options),
            folder=self.folder(plan, side), clock=SystemClock(), pause=lambda _seconds: None,
        )  # fmt: skip

    def rows(self, plan, side, **how):
        for _ in self.side(plan, side).run(**how):
            pass
        return {row.key: row for row in self.folder(plan, side).cells(places_of(plan, side))}


@pytest.fixture
def digests(spark, kafka_pair, tmp_path):
    return Digests(spark, kafka_pair, tmp_path)


@pytest.mark.parametrize("excluded", [(), ("trace", "other")])
def test_a_digest_is_the_reference_s_and_alike_on_both_sides(digests, copied, excluded):
    plan = plan_of(*(copied[name].plan for name in ("mixed", "plain", "stamped")), excluded=excluded)
    logs = {name: copied[name].partitions for name in copied}
    source, target = (digests.rows(plan, side) for side in Side)
    assert source == digest(logs, plan, Side.SOURCE)
    assert target == digest(logs, plan, Side.TARGET)
    assert {key: (row.content, row.order) for key, row in source.items()} == {
        key: (row.content, row.order) for key, row in target.items()
    }
    assert sum(row.records for row in source.values()) == 3 * 120
    assert all(any(row.order) for row in source.values())


@pytest.mark.long
def test_a_digest_in_slices_goes_on_where_it_was_and_is_the_same(digests, copied):
    plan = plan_of(copied["mixed"].plan, copied["plain"].plan)
    begun = digests.side(plan, Side.SOURCE).run(slice_offsets=60)
    seen = [next(begun), next(begun)]
    begun.close()
    assert [one.slices for one in seen] == [0, 1]
    went_on = list(digests.side(plan, Side.SOURCE).run(slice_offsets=60))
    assert went_on[0].offsets == seen[1].offsets == 60
    assert went_on[-1].offsets == went_on[-1].of_offsets
    assert went_on[-1].slices == len(went_on) > 3
    found = {row.key: row for row in digests.folder(plan, Side.SOURCE).cells(places_of(plan, Side.SOURCE))}
    assert found == digest({name: copied[name].partitions for name in copied}, plan, Side.SOURCE)
    assert next(digests.side(plan, Side.SOURCE).run()).offsets == went_on[-1].of_offsets


def test_headers_that_the_plan_does_not_know_of_end_the_digest(digests, copied):
    plan = plan_of(replace(copied["mixed"].plan, headers=False))
    with pytest.raises(OutdatedPlanError, match="of the newest records of mixed have headers"):
        list(digests.side(plan, Side.SOURCE).run())


def test_a_partition_that_is_gone_is_told(digests, copied):
    plan = plan_of(replace(copied["plain"].plan, topic="nowhere", headers=True))
    with pytest.raises(UnavailableError, match=r"cluster A: .* no longer exists; plan again"):
        list(digests.side(plan, Side.SOURCE).run())


def test_a_folder_of_another_plan_is_refused(digests, copied):
    digests.rows(plan_of(copied["plain"].plan), Side.SOURCE)
    other = plan_of(copied["mixed"].plan)
    with pytest.raises(
        ConfigurationError, match=r"digest of plan .* name the folder of this plan, or an empty one"
    ):
        list(digests.side(other, Side.SOURCE).run())


def test_a_half_written_digest_is_refused(digests, copied, tmp_path):
    plan = plan_of(copied["plain"].plan)
    begun = digests.side(plan, Side.SOURCE).run(slice_offsets=60)
    next(begun), next(begun)
    begun.close()
    with pytest.raises(ConfigurationError, match=r"incomplete digest: \d+ offsets in 3 ranges are missing"):
        digests.folder(plan, Side.SOURCE).cells(places_of(plan, Side.SOURCE))
    for _ in digests.side(plan, Side.SOURCE).run():
        pass
    next((tmp_path / "source" / "cells").glob("slice=0/*.parquet")).unlink()
    with pytest.raises(ConfigurationError, match="slice 0 has 0 cells with 0 records"):
        digests.folder(plan, Side.SOURCE).cells(places_of(plan, Side.SOURCE))
