"""The page of a run: what it says, that it holds no foreign markup, and that it stays small."""

from __future__ import annotations

import copy
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.report.markup import share_text, text
from checksum.report.page import render
from checksum.report.parsed_runs import runs_of
from checksum.report.timeline import Kind, timeline_of
from tests.checksum.reported import (
    at,
    bucket,
    document,
    finding,
    left_out,
    part,
    some,
    with_everything,
)
from tests.mirrorwatch.markup import Markup

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=y>&amp;\u202eevil\x1b[2J"


def page(found, sheet="body{}"):
    return Markup(render(found, sheet=sheet))


def kinds(found):
    """Return what the timeline shows of each row: the place, and each kind in the order of columns."""
    (run,) = runs_of(found)
    timeline = timeline_of(run)
    return {row.place: "".join(str(int(kind)) for kind in row.kinds) for row in timeline.rows}


@pytest.mark.parametrize(
    ("changes", "look", "said"),
    [
        ({}, "v-healthy", "✓ OK: A → B, no difference in 1,200,000 records"),
        ({"status": 3, "coverage": 0.5}, "v-unknown", "? Incomplete: A → B, no difference"),
        (
            {"status": 1, "records": {"match": 7, "lost": 1, "altered": 2}},
            "v-losing",
            "✕ FAILED: A → B, 1 lost, 2 altered in 1,200,000 records",
        ),
        (
            {"status": 1, "not_read_again": some([], 1)},
            "v-losing",
            "FAILED: A → B, unresolved differences in 1,200,000 records",
        ),
        (
            {"status": 0, "counts_only": True, "coverage": None, "records": None},
            "v-healthy",
            "OK: A → B, only counts were compared",
        ),
        (
            {"status": 0, "partitions": some([], 0), "source_records": 0, "records": {}},
            "v-unknown",
            "\N{MIDDLE DOT} No new records: A → B, nothing compared",
        ),
        (
            {"status": 0, "partitions": some([], 0), "counts_only": True, "coverage": None, "records": None},
            "v-unknown",
            "No new records: A → B, nothing counted",
        ),
        (
            {"status": 1, "counts_only": True, "findings": some([], 2)},
            "v-losing",
            "FAILED: A → B, counts differ in 2 buckets; only counts were compared",
        ),
    ],
)
def test_the_headline_tells_the_status_in_a_sentence(changes, look, said):
    found = page(document() | changes)
    assert said in found.text
    (headline,) = [one for name, one in found.elements if "headline" in one.get("class", "")]
    assert look in headline["class"]


def test_it_says_who_ran_it_when_and_by_which_plan():
    found = page(document())
    assert f"From {at(24)} to {at(24, 90_000)}, by night, process 7." in found.text
    assert "Plan ab12ab12ab12, run 77aa77aa77aa." in found.text
    by_hand = {key: value for key, value in document().items() if key not in {"run", "begun_at", "who"}}
    assert f"Planned at {at(24)}." in page(by_hand).text


def test_everything_that_was_found_stands_there():
    said = page(with_everything()).text
    for sentence in (
        "Findings (1)",
        "lost orders [3] 50,000",
        "orders [3]: record at offset 50000 on A is not on B filtered",
        "Expected under at-least-once, not a finding (1)",
        "duplicated clicks [1] 50,000",
        "Not verified (1)",
        "audit [3] 0 to 2,999 retention deleted records during the comparison",
        "Left out Where Records What gone 5,000 B has no such topic",
        "orders [2] 1,200 retention deleted them before they were compared",
        "Not due yet Where Records What clicks [0] 12",
        "All partitions (12)",
        "audit [3] 100,000 100,000 97 % 100,000 match",
    ):
        assert sentence in said, sentence
    assert "99.75 %" in said
    assert "Not due yet 12" in said


def test_a_run_in_which_all_is_well_has_no_empty_lists():
    said = page(document()).text
    assert not re.search(r"Findings|Expected|Not verified|Left out|Unresolved differences|Not due yet", said)


def test_the_picture_shows_a_difference_where_and_when_it_is():
    found = kinds(with_everything())
    difference, not_verified, expected = (
        str(int(kind)) for kind in (Kind.DIFFERENCE, Kind.NOT_VERIFIED, Kind.EXPECTED)
    )
    assert found["orders", 3] == "1" * 12 + difference + "1" * 11
    assert found["audit", 3] == not_verified * 6 + "1" * 18
    assert found["clicks", 1] == "1" * 18 + expected + "1" * 5
    assert set(found["gone", None]) == {str(int(Kind.LEFT_OUT))}
    assert set(found["orders", 0]) == {"1"}


def test_counts_that_differ_without_a_word_are_a_difference():
    found = document(topics=("orders",), partitions=1, buckets=3)
    found["counts"]["shown"][1]["target_records"] += 1
    assert kinds(found) == {("orders", 0): "151"}
    # A pass over counts says by itself which of them differ: retention may be why they do.
    counted = found | {"counts_only": True}
    assert kinds(counted) == {("orders", 0): "111"}
    assert kinds(counted | {"findings": some([finding("orders", 0, 1)])}) == {("orders", 0): "151"}


def test_what_was_not_verified_is_no_difference_by_its_counts():
    # Retention takes of one side first, and what differs then is no record that lacks.
    found = document(topics=("orders",), partitions=2, buckets=3, status=3, coverage=0.9)
    for one in found["counts"]["shown"][1:5:3]:
        one |= {"source_records": one["target_records"] - 40, "unverified": True}
    assert kinds(found) == {("orders", 0): "141", ("orders", 1): "141"}
    assert kinds(found | {"findings": some([finding("orders", 0, 1)])})["orders", 0] == "151"
    # A block that was not read differs for sure, and what was not looked at may be as it should be.
    sure, other = (
        {"topic": "orders", "partition": number, "certain": not number, "sentence": "too large"}
        for number in range(2)
    )
    found["not_read_again"] = some([sure, other])
    assert kinds(found | {"status": 1}) == {("orders", 0): "151", ("orders", 1): "141"}
    # No part of the page says otherwise than its headline: what it holds may be second copies.
    assert kinds(found) == {("orders", 0): "141", ("orders", 1): "141"}


def test_a_finding_without_a_bucket_of_its_own_is_drawn_at_its_time():
    found = document(topics=("orders",), partitions=1, buckets=3)
    misrouted = finding("orders", 9, 1, verdict="misrouted")
    assert kinds(found | {"findings": some([misrouted])}) == {("orders", 0): "111", ("orders", 9): "050"}


def test_records_that_nobody_could_look_up_are_not_verified():
    found = document(topics=("orders",), partitions=1, buckets=3)
    found["counts"]["shown"][1]["target_records"] += 1
    may_be = "orders [0]: record at offset 7 on B is a duplicate or was never on A"
    copy = finding("orders", 0, 1, verdict="unverifiable", source_offsets=None, sentence=may_be)
    found["unsettled"] = some([copy, finding("orders", 1, 2, verdict="unverifiable")], count=5)
    assert kinds(found) == {("orders", 0): "141", ("orders", 1): "004"}
    said = page(found).text
    assert "Not verified (5)" in said
    assert may_be in said
    assert "3 more records are not in the document" in said
    # A difference goes before; and a document of an older release has no such list.
    assert kinds(found | {"findings": some([finding("orders", 0, 1)])})["orders", 0] == "151"
    del found["unsettled"]
    assert kinds(found) == {("orders", 0): "151"}


def test_every_list_tells_what_the_document_lacks_of_it():
    found = document(topics=("orders",), partitions=1, buckets=3)
    left = {"topic": "orders", "partition": 1, "records": 1, "why": "no such partition", "later": False}
    block = {"topic": "orders", "partition": 0, "certain": True, "sentence": "too large"}
    shown = found["partitions"]["shown"]
    found["not_read_again"] = some([block] * 300, count=20_000)
    found["partitions"] = some(shown, count=len(shown) + 1)
    found["expected"] = some([finding("orders", 0, 1, verdict="duplicated")], count=30)
    found["left_out"] = some([left, left | {"later": True}], count=5000)
    said = page(found).text
    assert "Unresolved differences (20,000)" in said
    assert "and 100 more" in said
    assert "19,700 more differences are not in the document." in said
    assert "1 more partition is not in the document." in said
    assert "29 more items are not in the document." in said
    # What is not due yet is cut first.
    assert said.count("4,998 more items are not in the document.") == 1
    assert said.index("Not due yet") < said.index("4,998 more items")
    found["left_out"] = some([left], count=5000)
    assert "Not due yet" not in page(found).text
    found["left_out"], found["partitions"] = some([], count=5000), some([], count=20_000)
    said = page(found).text
    assert "Left out" in said
    assert "5,000 more items are not in the document." in said
    assert "All partitions (20,000)" in said
    assert "20,000 more partitions are not in the document." in said


def test_where_nobody_tells_the_time_a_whole_partition_is_not_verified():
    found = document(topics=("orders",), partitions=1, buckets=3)
    found["partitions"] = some([part("orders", 0, unverified=[{"offsets": [0, 5], "why": "gone"}])])
    assert kinds(found) == {("orders", 0): "111"}
    del found["counts"]["tells_unverified"]
    assert kinds(found) == {("orders", 0): "444"}
    assert kinds(found | {"partitions": some([part("orders", 0, verified=0)])}) == {("orders", 0): "444"}


@pytest.mark.parametrize("counts", [None, {}, some([]), some([{**bucket("t", 0, 0), "bucket_at": "x"}])])
def test_without_counts_by_time_there_is_no_picture_but_a_page(counts):
    assert "No picture: the compared records have no timestamps." in page(document(counts=counts)).text


def test_several_flows_have_a_part_each_and_one_that_failed_its_reason():
    runs = [
        document(),
        {"flow": "A->C", "status": 4, "failure": "cluster C at c:1: nothing listens there"},
    ]
    found = page({"version": 1, "status": 4, "runs": runs})
    assert "OK: A → B" in found.text
    assert "Not available: A → C, nothing compared cluster C at c:1: nothing listens there" in found.text
    ids = [one["id"] for _, one in found.elements if "id" in one]
    assert len(ids) == len(set(ids))


def poisoned(value):
    """Return a document with every text replaced."""
    if isinstance(value, dict):
        keep = {"verdict", "at", "bucket_at"}
        return {key: held if key in keep else poisoned(held) for key, held in value.items()}
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    return HOSTILE if isinstance(value, str) else value


def test_no_text_becomes_markup():
    found = poisoned(with_everything())
    found["records"] = {HOSTILE: 3}
    found["findings"]["shown"][0]["verdict"] = HOSTILE
    drawn = page(found)
    assert {name for name, _ in drawn.elements} <= {
        "html", "head", "meta", "title", "style", "body", "div", "header", "main", "section", "footer", "p",
        "span", "h1", "h2", "bdi", "dl", "dt", "dd", "figure", "ol", "ul", "li", "svg", "path", "rect",
        "text", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary",
    }  # fmt: skip
    assert not any(key.startswith("on") for _, one in drawn.elements for key in one)
    rendered = render(found, sheet="")
    assert "\u202e" not in rendered
    assert "\x1b" not in rendered


@given(st.text(max_size=50))
def test_a_text_is_inert_whatever_it_is(value):
    shown = text(value)
    assert not re.search(r"[<>\"'\x00-\x1f\x7f]", shown)
    assert shown.isprintable()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """Return where in a document there is something."""
    found = [path]
    for key, held in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        found += places(held, (*path, key))
    return found


SMALL = with_everything() | {"counts": {"count": 2, "bucket_ms": 1, "shown": [bucket("orders", 1, 2)]}}


@given(st.data(), anything)
def test_whatever_was_posted_is_a_page(data, foreign):
    found = copy.deepcopy(SMALL)
    path = data.draw(st.sampled_from(places(SMALL)[1:]))
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = foreign
    Markup(render(found, sheet=""))


@given(anything)
def test_a_document_of_nothing_known_is_a_page(foreign):
    Markup(render({"runs": [foreign, foreign]} if not isinstance(foreign, dict) else foreign, sheet=""))


def test_it_needs_nothing_from_anywhere():
    rendered = render(with_everything(), sheet="a { color: red }")
    drawn = Markup(rendered)
    assert not drawn.all("script") + drawn.all("link") + drawn.all("img") + drawn.all("a")
    assert not any({"src", "href", "style"} & set(one) for _, one in drawn.elements)
    (policy,) = [one for one in drawn.all("meta") if one.get("http-equiv")]
    assert policy["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "<style>a { color: red }</style>" in rendered


def test_a_sheet_cannot_end_its_own_element():
    assert "</style><script>" not in render(document(), sheet="</style><script>")


def test_a_huge_run_stays_a_small_page():
    topics = [f"topic-{number:03d}" for number in range(500)]
    found = document(topics=topics, partitions=100, buckets=1)
    found["findings"] = some(
        [finding(topics[number % 7], number % 100, offset=number) for number in range(10_000)], 25_000
    )
    found["left_out"] = some([left_out(topic, 3, 10, f"why {topic}") for topic in topics])
    begun = time.perf_counter()
    rendered = render(found, sheet="")
    took_s = time.perf_counter() - begun
    assert len(rendered) < 1_500_000
    assert took_s < 20  # about 2 s on a machine with nothing else to do
    said = Markup(rendered).text
    assert "The first 1,000 of 25,000 are listed below; 15,000 are not in the document. By partition:" in said
    assert re.search(r"and 49,500 more partitions of 4,950,000,000 records, [\d,]+ of them match", said)
    assert "and 300 more" in said
    assert re.search(r"[\d,]+ partitions share rows by topic, and each row shows the worst", said)


@pytest.mark.parametrize(
    ("share", "said"), [(1, "100 %"), (0.999999, "> 99.99 %"), (0.9993, "99.93 %"), (0.5, "50 %"), (0, "0 %")]
)
def test_a_share_is_whole_only_where_nothing_is_missing(share, said):
    assert share_text(share) == said
