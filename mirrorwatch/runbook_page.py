"""Pages of runbooks: what an alert or a cause means and what to do, as the package carries it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fleet.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


def runbook_names() -> frozenset[str]:
    """Return the names of all runbooks: those of alerts, and those of causes."""
    found = files("alerts").joinpath("runbooks").iterdir()
    return frozenset(one.name.removesuffix(".md") for one in found if one.name.endswith(".md"))


def runbook(name: str) -> Mapping[str, Any]:
    """Return what the template of a runbook speaks of; the name has to be one of `runbook_names`."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 2 MiB that a service needs only when one is read

    text = files("alerts").joinpath("runbooks", f"{name}.md").read_text(encoding="utf-8")
    text = text.removeprefix(f"# {name}\n")  # the page has a heading of its own
    # Raw HTML is off; links between runbooks are written for a folder of files.
    body = MarkdownIt("commonmark", {"html": False}).render(text.replace(".md)", ")"))
    return {"name": name, "body": Markup(body), "look": Verdict.UNKNOWN}  # noqa: S704 - our own text
