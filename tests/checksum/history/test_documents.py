"""A run's document in the store: whole, or without its long tables where it is too large, never half."""

from __future__ import annotations

import zlib

import pytest

from checksum.history import documents as history_documents
from checksum.history.documents import packed, unpacked
from fleet.errors import MalformedError
from tests.checksum.pretend_runs import document

ROWS = [{"topic": f"t{number}", "verified": 1} for number in range(200)]
LONG = document(
    partitions={"count": 200, "shown": ROWS},
    counts={"count": 200, "bucket_ms": 7, "shown": ROWS},
    findings={"count": 1, "shown": [{"verdict": "lost"}]},
)


def test_a_document_comes_back_as_it_was():
    assert unpacked(packed(LONG)) == LONG


def test_one_that_is_too_large_is_kept_without_its_long_tables(monkeypatch):
    monkeypatch.setattr(history_documents, "MOST_BYTES", 5000)
    found = unpacked(packed(LONG))
    assert (found["partitions"], found["counts"]) == (
        {"count": 200, "shown": []},
        {"count": 200, "bucket_ms": 7, "shown": []},
    )
    assert {**found, "partitions": None, "counts": None} == {**LONG, "partitions": None, "counts": None}
    monkeypatch.setattr(history_documents, "MOST_BYTES", 50)
    with pytest.raises(
        MalformedError, match=r"A run's document of [\d,]+ bytes is larger than the store allows"
    ):
        packed(LONG)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zlib",
        packed(LONG)[:-9],
        zlib.compress(b"{"),
        zlib.compress(b"[1]"),
        zlib.compress(b" " * 6000),
    ],
)
def test_what_is_no_document_is_told(content, monkeypatch):
    monkeypatch.setattr(history_documents, "MOST_BYTES", 5000)
    with pytest.raises(MalformedError, match="The document of a checksum run in the store"):
        unpacked(content)


@pytest.mark.parametrize("nest", [lambda inside: [inside], lambda inside: {"a": inside}])
def test_one_that_is_nested_deeper_than_it_could_be_read_again_is_refused(nest):
    inside = 1
    for _ in range(history_documents.MOST_DEPTH - 1):
        inside = nest(inside)
    assert unpacked(packed({"x": inside})) == {"x": inside}
    for _ in range(5000):
        inside = nest(inside)
        if _ in (0, 900, 4999):
            with pytest.raises(MalformedError, match="nested at most 100 levels deep"):
                packed({"x": inside})
