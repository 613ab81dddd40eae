"""Events of a flow on its pages, in the API and in the log, whatever its verdict is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorwatch.lag.flow_answers import FlowAnswers
from mirrorwatch.service.event_log import EventLog
from mirrorwatch.service.view import EventView
from mirrorwatch.web.documents import flow_document
from mirrorwatch.web.linking import WITHIN
from mirrorwatch.web.pages.mirrors import mirror_names
from mirrorwatch.web.pages.page import Page
from tests.mirrorwatch import views
from tests.mirrorwatch.answered import Answered
from tests.mirrorwatch.markup import Markup

SENTENCE = "MirrorMaker copied 50 records of orders-0 to B again."


def event(at=views.NOW_AT - 60.0, **told):
    known = {
        "kind": "went_back", "last_at": at, "topic": "orders", "partitions": 1, "records": 50,
        "records_most": 50, "sentence": SENTENCE, "worst": ({"partition": 0, "records": 50, "records_most": 50},),
    }  # fmt: skip
    return EventView(at=at, **(known | told))


def copied_again():
    """Give a flow whose mirror went back by 50 records and copied them again."""
    flow = Answered()
    flow.poll()
    for _ in range(6):
        flow.write(20)
        flow.copy_all()
        flow.flow.note_ids("A", {"orders": "one"}, flow.now)
        end, copy = flow.ends["orders", 0], flow.target_ends["A.orders", 0]
        flow.flow.syncs.note("orders", 0, upstream=end - 1, downstream=copy - 1, live=True)
        flow.go(10)
    end, copy = flow.ends["orders", 0], flow.target_ends["A.orders", 0]
    flow.flow.syncs.note("orders", 0, upstream=end - 50, downstream=copy, live=True)
    flow.target_ends["A.orders", 0] += 50
    for _ in range(5):
        flow.snapshot()
        flow.copy_all()
        flow.now += 10_000
        flow.flow.note_ids("A", {"orders": "one"}, flow.now)
        end, copy = flow.ends["orders", 0], flow.target_ends["A.orders", 0]
        flow.flow.syncs.note("orders", 0, upstream=end - 1, downstream=copy - 1, live=True)
        flow.poll()
    return flow


def test_what_the_lag_monitor_lists_reaches_the_service():
    flow = copied_again()
    book = FlowAnswers(["A->B"])
    assert book.events("A->B") == ()
    book.take(flow.documents(), incarnation=1, now_at=flow.now_at, now_ns=0)
    (one,) = book.events("A->B")
    assert (one.kind, one.topic, one.partitions, one.records, one.records_most) == (
        "went_back",
        "orders",
        1,
        50,
        50,
    )
    assert one.sentence.startswith(SENTENCE)
    assert one.worst[0]["partition"] == 0
    book.fall_silent("The lag monitor does not answer.")
    assert book.events("A->B") == (one,)  # it happened, whoever is silent now
    assert book.events("B->A") == ()


def test_it_is_in_the_document_of_the_flow():
    flow = replace(views.flow(), events=(event(),))
    (told,) = flow_document(flow, WITHIN)["events"]
    assert told == {
        "kind": "went_back",
        "at": told["last_at"],
        "last_at": told["at"],
        "topic": "orders",
        "partition_count": 1,
        "records": 50,
        "records_most": 50,
        "records_kind": "exact",
        "sentence": SENTENCE,
        "worst": [{"partition": 0, "records": 50, "records_most": 50, "records_kind": "exact"}],
    }
    assert flow_document(views.flow(), WITHIN)["events"] == []


@pytest.mark.parametrize("count", [0, 2, 5])
def test_it_is_on_the_page_of_the_service(count):
    events = tuple(event(sentence=f"It went back, number {number}.") for number in range(count))
    flow = replace(views.flow(), events=events)
    text = Markup(Page().page(views.service(flow))).text
    assert [f"number {number}." in text for number in range(count)] == [True] * count
    assert ("Events" in text) is bool(count)
    assert ("2 older" in text) is (count == 5)


def test_it_is_among_what_was_found_on_the_page_of_offsets():
    document = copied_again().document() | {"rows": [], "count": 0, "offset": 0, "now_ms": 0}
    assert any(sentence.startswith(SENTENCE) for _, sentence in mirror_names(document)["found"])


def test_each_is_logged_once_and_once_more_when_its_number_is_settled():
    log = EventLog(begun_at=1000.0)
    open_, settled = event(at=2000.0, records_most=None), event(at=2000.0)
    other = event(at=3000.0)
    assert log.due("A->B", [open_]) == [open_]
    assert log.due("A->B", [open_]) == []
    assert log.due("A->B", [other, settled]) == [settled, other]
    assert log.due("A->B", [other, settled]) == []
    assert log.due("A->B", [open_]) == []
    assert log.due("C->B", [settled]) == [settled]


def test_what_an_earlier_process_has_logged_is_not_logged_again():
    log = EventLog(begun_at=1000.0)
    assert log.due("A->B", [event(at=900.0)]) == []
    lasting = event(at=900.0, last_at=1001.0)
    assert log.due("A->B", [lasting]) == [lasting]
