"""The offsets of a new mirror, as Kafka Connect and its topic take them."""

from __future__ import annotations

import json

from fleet.connect.json import answered_offsets
from fleet.mm2.filters import TopicFilter
from fleet.verdicts.flow import Flow
from fleet.wire.connect import decode_source_offset
from fleet.wire.records import SourceOffset, SourceOffsetKey, Tombstone
from mirrorwatch.migration.seeds import record_lines, rest_document, seeds_of
from tests.mirrorwatch.migration.positions import position, positions

NEW = Flow("A", "B", mirror_version="4.3", connector="mm", source_alias="east", on_connect=True)
FILE = positions(position(0, 99), position(1, None, sync=None), position(2, 7, sync=(7, 7)))


def test_each_partition_with_an_offset_gets_it_under_the_names_of_the_new_mirror():
    seeds = seeds_of(FILE, NEW, {})
    assert seeds == [
        SourceOffset(SourceOffsetKey("mm", "east", "orders", 0), 99),
        SourceOffset(SourceOffsetKey("mm", "east", "orders", 2), 7),
    ]


def test_only_what_differs_is_set_and_what_the_old_mirror_has_not_is_removed():
    held = {("orders", 0): 99, ("orders", 1): 5, ("orders", 2): 8, ("other", 0): 3}
    assert seeds_of(FILE, NEW, held) == [
        SourceOffset(SourceOffsetKey("mm", "east", "orders", 2), 7),
        Tombstone(SourceOffsetKey("mm", "east", "orders", 1)),
        Tombstone(SourceOffsetKey("mm", "east", "other", 0)),
    ]


def test_a_topic_that_the_new_mirror_does_not_replicate_gets_none():
    flow = Flow("A", "B", mirror_version="4.3", topic_filter=TopicFilter("payments"))
    assert seeds_of(FILE, flow, {}) == []


def test_the_document_is_that_of_the_rest_api():
    seeds = seeds_of(FILE, NEW, {("orders", 0): 99, ("orders", 1): 5})
    document = json.loads(rest_document(seeds))
    assert document == {
        "offsets": [
            {
                "partition": {"cluster": "east", "partition": 2, "topic": "orders"},
                "offset": {"offset": 7},
            },
            {"partition": {"cluster": "east", "partition": 1, "topic": "orders"}, "offset": None},
        ]
    }
    assert answered_offsets({"offsets": document["offsets"][:1]}, "mm") == seeds[:1]


def test_lines_are_the_records_that_connect_writes():
    seeds = seeds_of(FILE, NEW, {("orders", 1): 5})
    lines = record_lines(seeds).splitlines()
    assert lines[0] == '["mm",{"cluster":"east","partition":0,"topic":"orders"}]\t{"offset":99}'
    assert lines[-1].endswith("\tnull")
    for line, seed in zip(lines, seeds, strict=True):
        key, value = line.split("\t")
        assert decode_source_offset(key.encode(), None if value == "null" else value.encode()) == seed
