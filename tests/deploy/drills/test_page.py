"""The page of the drills: what stands around its tables is what the program writes."""

from __future__ import annotations

from pathlib import Path

from deploy.drills.page import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "drills.md"
_OF_THE_RUN = ("Listed, and not run for this page", "Made by `make drills`")


def prose(text):
    return [line for line in text.splitlines() if not line.startswith(("|", *_OF_THE_RUN))]


def test_the_words_around_the_tables_are_those_that_the_drills_write():
    written = prose(page({}))
    kept = prose(PAGE.read_text(encoding="utf-8"))
    assert "## Without a canary, by offsets alone" in written
    until = kept.index("## By the checksum")
    assert [line for line in kept[:until] if line] == [line for line in written if line]
