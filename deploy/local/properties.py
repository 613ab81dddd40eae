"""Write a Java properties file, escaped as java.util.Properties reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """Write `settings` to `path` in their order; the file may hold secrets, so only its owner reads it."""
    text = "".join(f"{_escaped(key, is_key=True)}={_escaped(value)}\n" for key, value in settings.items())
    path.touch(mode=0o600)
    path.write_text(text, encoding="ascii")


def _escaped(text: str, *, is_key: bool = False) -> str:
    out = []
    for number, character in enumerate(text):
        if character == "\\":
            out.append("\\\\")
        elif character == "\n":
            out.append("\\n")
        elif character == " " and (is_key or number == 0):
            out.append("\\ ")
        elif character in "=:#!" and is_key:
            out.append("\\" + character)
        elif not " " <= character <= "~":
            units = character.encode("utf-16-be")
            out.extend(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
        else:
            out.append(character)
    return "".join(out)
