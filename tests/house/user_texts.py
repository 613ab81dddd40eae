"""Texts that users see, collected from the product: string literals, help, templates, scripts and runbooks."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mirrorwatch.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGES = ("alerts", "canary", "checksum", "dashboards", "fleet", "lagmon", "mirrorwatch", "runtime")
_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_SHOWN_ATTRIBUTES = re.compile(r'(?:title|aria-label|placeholder|data-label)="([^"]*)"')
_JINJA_TEXTS = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_TAG = re.compile(r"<[^>]*>")
_JS_STRING = re.compile(r'"([^"\n]* [^"\n]*)"')


class Text(NamedTuple):
    """A text and its place: the file's path and the line."""

    path: str
    line: int
    text: str


def texts() -> Iterator[Text]:
    """Yield every text of the product that users see."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from literals(_name(path), path.read_text(encoding="utf-8"))
    yield from _help(cli, "mirrorwatch/cli")
    for path in sorted((ROOT / "mirrorwatch" / "templates").glob("*.html")):
        yield from _template(_name(path), path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "mirrorwatch" / "static").glob("*.js")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield from (Text(_name(path), number, one) for one in _JS_STRING.findall(line))
    for path in sorted((ROOT / "alerts" / "runbooks").glob("*.md")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield Text(_name(path), number, line)


def literals(path: str, source: str) -> Iterator[Text]:
    """Yield the string literals with a blank, an f-string as a whole; docstrings are not shown to users."""
    tree = ast.parse(source)
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in skipped or id(node) in inside:
            continue
        text = _literal(node)
        if text is not None and " " in text.strip():
            yield Text(path, node.lineno, text)  # type: ignore[attr-defined]


def _literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _inner(part) for part in node.values
        )
    return None


def _inner(part: ast.expr) -> str:
    """Return the literals within a replacement field, such as both sides of a condition."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    found = [
        one.value for one in ast.walk(value) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    return f"{{{' | '.join(one for one in found if ' ' in one.strip() or one.isalpha())}}}"


def _help(command: click.Command, name: str) -> Iterator[Text]:
    for text in (command.help, command.short_help, command.epilog):
        if text:
            yield Text(name, 0, text)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            yield Text(name, 0, parameter.help)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _help(each, name)


def _template(path: str, source: str) -> Iterator[Text]:
    for number, line in enumerate(source.splitlines(), 1):
        shown = [*_SHOWN_ATTRIBUTES.findall(line), _TAG.sub(" ", _JINJA.sub(" ", line))]
        for tag in _JINJA.findall(line):
            if not tag.startswith("{#"):
                shown += [one or other for one, other in _JINJA_TEXTS.findall(tag)]
        yield from (Text(path, number, _JINJA.sub(" ", one)) for one in shown if " " in one.strip())


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
