"""All that is done to each record is compiled, in one piece from its reading to its cell.

Where Spark does not compile a part, it copies each record from one piece to the next, and the digest takes
twice the time; what Spark compiles to a method of more than 8,000 bytes, Java interprets.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from checksum.digest import header_columns
from checksum.digest import query as digest_query
from checksum.digest.cell_rows import Side
from checksum.plan.pacing import Stretch
from checksum.plan.places import places_of
from checksum.plan.shape import Run
from tests.checksum.pretend_logs import Held, Partition, plan_of
from tests.checksum_spark.test_hashes import SCHEMA

pytestmark = pytest.mark.real
LARGEST_METHOD = 8_000  # HotSpot's DontCompileHugeMethods
RECORD = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key:string,value:binary>>"
)
PER_RECORD = r"(Project|HashAggregate|BroadcastHashJoin|Filter)\b"


@pytest.fixture
def explained(spark, monkeypatch):
    """Give a function that returns the plan and the sizes of methods of a digest of two partitions."""
    frame = spark.createDataFrame([], RECORD)
    monkeypatch.setattr(
        digest_query, "records", lambda *_args, headers: frame if headers else frame.drop("headers")
    )
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # or nothing is planned before it runs

    def explain(*, headers, timestamps, runs):
        held = Partition([Held(number, None) for number in range(100)])
        plan = plan_of({"t": [held, held]}, timestamps=timestamps)
        places = [
            replace(place, headers=headers, runs=tuple(Run(3 * one, 3 * one + 2, 5) for one in range(runs)))
            for place in places_of(plan, Side.SOURCE)
        ]
        stretches = tuple(Stretch(place.number, 0, 100) for place in places)
        reading = digest_query.Reading(
            plan, Side.SOURCE, places, stretches, headers=headers, timestamps=timestamps, compacted=False
        )
        execution = digest_query.cells(spark, {}, reading)._jdf.queryExecution()
        compiled = execution.debug().codegenToSeq()
        sizes = [compiled.apply(number)._3().maxMethodCodeSize() for number in range(compiled.length())]
        return execution.executedPlan().toString(), sizes

    yield explain
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("timestamps", [True, False])
@pytest.mark.parametrize("runs", [0, 30])
def test_nothing_is_left_to_be_interpreted(explained, headers, timestamps, runs):
    plan, sizes = explained(headers=headers, timestamps=timestamps, runs=runs)
    steps = [line for line in plan.splitlines() if re.search(PER_RECORD, line.split("[")[0])]
    assert len(steps) > 5
    assert [line for line in steps if not re.match(rf"[\s:+-]*\*\(\d+\) {PER_RECORD}", line)] == []
    record = [
        re.search(r"\*\((\d+)\)", line)[1] for line in steps if "BroadcastHashJoin [xxhash64(topic" in line
    ]
    first_sum = [re.search(r"\*\((\d+)\)", line)[1] for line in steps if "partial_count" in line]
    assert record == first_sum
    assert 0 < max(sizes) < LARGEST_METHOD


def test_the_bytes_of_headers_are_counted_however_many_there_are(spark):
    few = header_columns.FEW
    kinds = [None, [], *([("ü", b"\xff" * one), ("", None), ("ab", b"")] * one for one in range(1, few + 2))]
    rows = [(number, None, None, 0, headers) for number, headers in enumerate(kinds)]
    found = spark.createDataFrame(rows, SCHEMA).select(
        "number", header_columns.size_bytes(digest_query.F.col("headers"))
    )
    expected = [
        sum(len(name.encode()) + len(value or b"") for name, value in headers or []) for headers in kinds
    ]
    assert [size for _, size in sorted(found.collect())] == expected
