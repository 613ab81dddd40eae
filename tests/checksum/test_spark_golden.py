"""The reference's hashes are those that a real Spark made of the same records."""

from __future__ import annotations

import json

import pytest

from checksum.digest.record_hash import Content, place_hash, record_hash, second_hash, third_hash
from checksum.digest.xxhash64 import hash_int, hash_long, signed
from tests.house.product_files import ROOT

GOLDEN = json.loads((ROOT / "tests/checksum/golden/spark_hashes.json").read_text(encoding="utf-8"))
SEED = 42


def decoded(data):
    if isinstance(data, dict):
        return bytes.fromhex(data["hex"]) * data["times"]
    return None if data is None else bytes.fromhex(data)


def content(record):
    headers = record["headers"]
    return Content(
        decoded(record["key"]),
        decoded(record["value"]),
        record["ms"],
        None if headers is None else [(name, decoded(data)) for name, data in headers],
    )


@pytest.mark.parametrize("number", range(len(GOLDEN["records"])))
def test_a_record_s_hashes_are_spark_s(number):
    record = GOLDEN["records"][number]
    held = content(record)
    found = {
        "hash": record_hash(held),
        "without_time": record_hash(held, timestamps=False),
        "without_excluded": record_hash(held, excluded=GOLDEN["excluded"]),
        "without_headers": record_hash(held._replace(headers=None)),
        "second": second_hash(record_hash(held)),
        "third": third_hash(record_hash(held)),
        "at_12345678901": place_hash(record_hash(held), 12345678901),
    }
    assert found == {name: record[name] for name in found}


def test_numbers_hash_as_spark_s():
    assert [[one, signed(hash_int(one, SEED))] for one, _ in GOLDEN["ints"]] == GOLDEN["ints"]
    assert [[one, signed(hash_long(one, SEED))] for one, _ in GOLDEN["longs"]] == GOLDEN["longs"]


def test_records_that_differ_have_hashes_that_differ():
    distinct = {json.dumps([record[name] for name in ("key", "value", "ms")] + [record["headers"] or []])
                for record in GOLDEN["records"]}  # fmt: skip
    assert len({record["hash"] for record in GOLDEN["records"]}) == len(distinct)
