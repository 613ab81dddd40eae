"""The page of a checksum's run, drawn with the house's own style sheet."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from checksum.report.page import render
from mirrorwatch.checksums.desk import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mirrorwatch.checksums.desk import Desk

_SHEETS = ("page.css", "report.css")


def page_of(document: Mapping[str, Any]) -> str:
    """Return the page of one run's document, or of one that holds several `runs`."""
    static = files("mirrorwatch").joinpath("static")
    sheet = "\n".join(static.joinpath(name).read_text(encoding="utf-8") for name in _SHEETS)
    return render(document, sheet=sheet)


def write_page(desk: Desk, path: Path, document: Mapping[str, Any]) -> int:
    """Write the page, and return the exit status that follows."""
    return write_text(desk, path, page_of(document))
