"""Rows of a mirror's page: what stands in one is of one moment."""

from __future__ import annotations

import pytest

from lagmon.mirror_rows import row_document
from tests.lagmon.mirrors import Mirrored


@pytest.fixture
def flow():
    """Give a mirror that copies 10 records a second at once, looked at just now."""
    one = Mirrored({"orders": 1})
    one.look()
    return one.go(60, each=lambda: copy(one))


def copy(one):
    one.write(10)
    one.commit()


def test_an_offset_and_its_sentence_are_of_one_moment(flow):
    found = flow.sight()
    copy(flow)
    row = row_document(flow.flow, found, flow.slot())
    assert row["next_offset"] == 600
    assert row["sentence"] == "The mirror has read all there is: it stands at offset 600."
