"""The page of a checksum run."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from checksum.report.page import render
from mirrorwatch.checksums.session import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mirrorwatch.checksums.session import Session

_SHEETS = ("page.css", "report.css")


def page_of(document: Mapping[str, Any]) -> str:
    """Return the page of one run's document, or of a document with several `runs`."""
    static = files("mirrorwatch").joinpath("static")
    sheet = "\n".join(static.joinpath(name).read_text(encoding="utf-8") for name in _SHEETS)
    return render(document, sheet=sheet)


def write_page(session: Session, path: Path, document: Mapping[str, Any]) -> int:
    """Write the page, and return the exit status."""
    return write_text(session, path, page_of(document))
