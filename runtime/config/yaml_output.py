"""YAML writer for documents that people read and compare: keys in order, long texts as blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEVER_FOLD = 2**31


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block, and indents lists below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - overrides
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Mapping[str, Any], *, comment: str = "") -> str:
    """Return the document as YAML, after comment lines."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    body: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NEVER_FOLD)
    return head + body
