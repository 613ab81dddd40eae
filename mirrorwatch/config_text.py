"""The bytes of a configuration, and what kind of file they are: YAML of ours, or an mm2.properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet import java_properties
from fleet.errors import ConfigurationError, Problem
from runtime import strict_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.strict_yaml import Document

MAX_BYTES = 1_000_000
_OURS = frozenset({"mm2", "clusters", "flows", "canary", "http", "store"})
_MIRROR_KEY = re.compile(r"clusters|.+\.bootstrap\.servers|.+->.+\.enabled")


def is_properties(path: Path) -> bool:
    """Tell whether a file is read as an mm2.properties: its name decides, nothing else."""
    return path.suffix.lower() == ".properties"


def read_bytes(path: Path) -> bytes:
    """Return what the file holds; ConfigurationError where it cannot be read or is no text at all.

    It is read once and in one direction, so that it may be a pipe.
    """
    try:
        with path.open("rb") as stream:
            found = stream.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise _refusal(path, "is a directory; name a file in it") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "the name holds what no path may hold").lower()
        todo = "check its name" if isinstance(error, FileNotFoundError) else "check its name and its rights"
        raise _refusal(path, f"cannot be read ({reason}); {todo}") from error
    if b"\0" in found:
        raise _refusal(path, "is a binary file and no configuration; name a YAML file or an mm2.properties")
    return found


def yaml_document(path: Path, content: bytes) -> Document:
    """Return the YAML in a file; what is an mm2.properties under another name is told so."""
    if len(content) <= MAX_BYTES and all(
        line.strip() in (b"", b"---") or line.lstrip().startswith(b"#") for line in content.splitlines()
    ):
        todo = "write mm2 with the path of the mirror's mm2.properties, or write clusters and flows"
        raise _refusal(path, f"is empty: there is not one key in it; {todo}")
    try:
        return strict_yaml.load(content, file=str(path))
    except ConfigurationError:
        if _reads_like_mirror(content):
            sentence = (
                "is read as YAML, since its name does not end in .properties, but it looks like an"
                " mm2.properties; rename it, or name it in a YAML file as mm2: mm2.properties"
            )
            raise _refusal(path, sentence) from None
        raise


def check_properties(path: Path, content: bytes) -> None:
    """Raise ConfigurationError where a file that is read as an mm2.properties is YAML of ours."""
    if _reads_like_mirror(content):
        return
    try:
        document = strict_yaml.load(content, file=str(path))
    except ConfigurationError:
        return  # it is neither, and whoever reads properties will say what is missing
    if _OURS & set(document.data) and any(isinstance(value, dict) for value in document.data.values()):
        sentence = "is read as MirrorMaker's, since its name ends in .properties, but it is YAML"
        raise _refusal(path, f"{sentence}; rename it, for example to mirrorwatch.yaml")


def lines_of_keys(text: str) -> dict[str, int]:
    """Return the line (from 1) on which each key of an mm2.properties stands, the last of equal ones."""
    try:
        return {entry.key: entry.line for entry in java_properties.parse(text)}
    except ValueError:
        return {}


def _reads_like_mirror(content: bytes) -> bool:
    try:
        entries = java_properties.parse(content[:MAX_BYTES].decode("latin-1"))
    except ValueError:
        return False
    # In YAML a value may stand on its key's line too, in braces, and a key of several documents twice.
    said = {entry.key for entry in entries if entry.value and not entry.value.startswith("{")}
    return sum(bool(_MIRROR_KEY.fullmatch(key)) for key in said) > 1


def _refusal(path: Path, sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem(str(path), "", sentence)])
