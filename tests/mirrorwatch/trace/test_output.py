"""The text and the JSON document of `trace`: no payload in either."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from io import StringIO

from rich.console import Console

from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.trace.choosing import Wanted, choose_record
from mirrorwatch.trace.document import trace_document
from mirrorwatch.trace.following import follow
from mirrorwatch.trace.text import print_trace
from runtime.process.logs import Redactor
from tests.mirrorwatch.trace.logs import FIRST_MS, FakeClusters
from tests.mirrorwatch.trace.test_trace import FLOW, NOW_MS, Stage


def found_in(stage, *, flows=(FLOW,)):
    clusters = FakeClusters(stage.a, stage.b)
    chosen = choose_record(Wanted(topic="orders", partition=0, offset=44), clusters["A"])
    return follow(chosen, [order_of(one) for one in flows], clusters, lambda *_: {}, now_ms=NOW_MS)


def printed(found, *, show_key=False):
    file = StringIO()
    print_trace(Sheet(Console(file=file, width=100, color_system=None), Redactor()), found, show_key=show_key)
    return file.getvalue()


def changed():
    stage = Stage()
    stage.mirror(change=lambda offset, one: one._replace(value=b"secret") if offset == 44 else one)
    stage.a.records.clear()  # without offset syncs
    return found_in(stage)


def hashed(*parts):
    """Return the short hash of names and values by its definition: each with its length before it."""
    text = b"".join(len(one).to_bytes(4, "big") + one for one in parts)
    return hashlib.sha256(text).hexdigest()[:12]


def test_text():
    here = hashed(b"key", b"key 2", b"value", b"value 44")
    there = hashed(b"key", b"key 2", b"value", b"secret")
    assert printed(changed()) == (
        "orders-0 offset 44 on A\n"
        f"  record      key 5 B, value 8 B, 0 headers, hash {here}\n"
        "  timestamp   2026-09-21T14:14:04.000Z (CreateTime)\n"
        "\n"
        "A->B: changed\n"
        "  Changed by A->B: value differs at offset 44 of A.orders-0 on B (the records around it are around\n"
        "  this offset).\n"
        f"  on target   key 5 B, value 6 B, 0 headers, hash {there}\n"
        "  timestamp   2026-09-21T14:14:04.000Z (CreateTime)\n"
    )


def test_the_arrival_is_exact_or_a_bound():
    stage = Stage()
    stage.mirror(change=lambda _offset, one: one._replace(stamped=True, timestamp_ms=one.timestamp_ms + 250))
    found = found_in(stage)
    assert (
        "arrived     at 2026-09-21T14:14:04.250Z, by the target's broker; 0.25 s after the record's timestamp"
    ) in printed(found).replace("\n              ", " ")
    (flow,) = trace_document(found, show_key=False)["flows"]
    assert flow["arrival"] == {"at": "2026-09-21T14:14:04.250Z", "kind": "exact", "delay_ms": 250}
    stage = Stage()
    stage.mirror()
    for number, one in enumerate(stage.here.records.values()):
        stage.here.records[number] = one._replace(timestamp_ms=one.timestamp_ms - FIRST_MS - 44_000)
    stage.there.records = dict(stage.here.records)
    found = found_in(stage)
    assert "or before, by an offset sync; at most 1 s after the record's timestamp" in printed(found).replace(
        "\n              ", " "
    )


def test_a_payload_is_shown_nowhere_and_the_key_on_request():
    found = changed()
    for text in (printed(found), json.dumps(trace_document(found, show_key=False))):
        for payload in ("value 44", "secret", "key 2"):
            assert payload not in text
    assert "key         key 2\n" in printed(found, show_key=True)
    document = trace_document(found, show_key=True)
    assert document["record"]["key"] == "key 2"
    assert "secret" not in json.dumps(document)


def test_the_document():
    document = trace_document(changed(), show_key=False)
    (flow,) = document["flows"]
    assert (document["cluster"], document["topic"], document["partition"], document["offset"]) == (
        "A",
        "orders",
        0,
        44,
    )
    assert document["exit_status"] == 1
    assert (flow["status"], flow["target_offsets"], flow["differs"]) == ("changed", [44], ["value"])
    assert document["record"]["value_bytes"] == 8
    assert flow["target_record"]["value_bytes"] == 6
    assert document["record"]["hash"] != flow["target_record"]["hash"]


def test_keys_that_are_not_text_are_escaped():
    stage = Stage()
    stage.here.records[44] = stage.here.records[44]._replace(key=b"\xff\x1b[31m" + b"x" * 300)
    text = printed(found_in(stage), show_key=True)
    assert "\\xff" in text
    assert "\x1b" not in text
    assert "and 106 more bytes" in text.replace("\n              ", " ")


def test_a_cluster_from_which_no_flow_starts():
    found = replace(changed(), hops=())
    assert "No flow starts at A." in printed(found)
    assert found.exit_status == 3
    assert Flow("A", "B").name == "A->B"
