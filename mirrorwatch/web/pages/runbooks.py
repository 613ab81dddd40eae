"""Runbooks as HTML: what an alert or a cause means and what to do."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fleet.verdicts.vocabulary import Verdict
from fleet.verdicts.words import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

_TO_DO = "## Mitigation\n"
_MEANING = "## Meaning\n"


def runbook_names() -> frozenset[str]:
    """Return the names of all runbooks: of alerts and of causes."""
    found = files("alerts").joinpath("runbooks").iterdir()
    return frozenset(one.name.removesuffix(".md") for one in found if one.name.endswith(".md"))


def runbook(name: str) -> Mapping[str, Any]:
    """Return the contents of a runbook's page; the name must be one of `runbook_names`."""
    return {"name": name, "body": _html(_text(name)), "verdict": Verdict.UNKNOWN}


def runbook_list() -> Mapping[str, Any]:
    """Return the contents of a page with all runbooks, each with the first sentence of its meaning."""
    alerts = sorted(name for name in runbook_names() if name[0].isupper())
    text = "\n".join(
        [
            "## Alerts",
            *map(_entry, alerts),
            "",
            "## Causes",
            *map(_entry, sorted(runbook_names().difference(alerts))),
        ]
    )
    return {"name": "Runbooks", "body": _html(text), "verdict": Verdict.UNKNOWN}


def _entry(name: str) -> str:
    meaning = " ".join(_text(name).partition(_MEANING)[2].partition("\n\n")[0].split())
    return f"- [{name}](/runbooks/{name}): {sentences(meaning)[0]}"


class Mitigations:
    """Section "Mitigation" of runbooks; each is read once, when it is first needed."""

    def __init__(self) -> None:
        self._known = runbook_names()
        self._read: dict[str, Markup | None] = {}

    def of(self, name: str | None) -> Markup | None:
        """Return the section "Mitigation" of a runbook; None if there is no runbook."""
        if name is None or name not in self._known:
            return None
        if name not in self._read:
            _, _, rest = _text(name).partition(_TO_DO)
            text = rest.partition("\n## ")[0]
            # Links between runbooks are relative to their folder.
            self._read[name] = _html(text.replace("](", "](/runbooks/")) if text.strip() else None
        return self._read[name]


def _text(name: str) -> str:
    text = files("alerts").joinpath("runbooks", f"{name}.md").read_text(encoding="utf-8")
    return text.removeprefix(f"# {name}\n")  # the page has its own heading


def _html(text: str) -> Markup:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 2 MiB that a service needs only when one is read

    # No raw HTML; links between runbooks are written for a folder of files.
    return Markup(MarkdownIt("commonmark", {"html": False}).render(text.replace(".md)", ")")))  # noqa: S704 - our own text
