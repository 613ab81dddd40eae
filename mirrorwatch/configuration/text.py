"""The bytes of a configuration, as Mirrorwatch's own YAML or as an mm2.properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem
from fleet.java import properties as java_properties
from runtime.config import strict_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.config.strict_yaml import Document

MAX_BYTES = 1_000_000
MAX_FOREIGN_BYTES = strict_yaml.MAX_RESOURCES_BYTES
"""The limit for the output of other programs: resources of Kubernetes, the connectors of a worker."""
_OURS = frozenset({"mm2", "clusters", "flows", "canary", "http", "store"})
_ADDRESS = re.compile(r"https?:/")  # a path has no second slash
_MIRROR_KEY = re.compile(r"clusters|.+\.bootstrap\.servers|.+->.+\.enabled")


def read_bytes(path: Path) -> bytes:
    """Return the content of the file; raises ConfigurationError if it cannot be read or is not text.

    It is read once and sequentially, so it may be a pipe.
    """
    try:
        with path.open("rb") as stream:
            found = stream.read(MAX_FOREIGN_BYTES + 1)
    except IsADirectoryError:
        raise _refusal(path, "is a directory; name a file in it") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "invalid path").lower()
        todo = (
            "check the path" if isinstance(error, FileNotFoundError) else "check the path and its permissions"
        )
        if _ADDRESS.match(str(path)):
            todo = "write the address as connect.url in a YAML file"
        raise _refusal(path, f"cannot be read ({reason}); {todo}") from error
    if found.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refusal(path, "UTF-16 text, as PowerShell writes it; save the file as UTF-8")
    if b"\0" in found:
        raise _refusal(path, "binary file; name a YAML file or an mm2.properties")
    return found


def yaml_document(path: Path, content: bytes) -> Document:
    """Return Mirrorwatch's own YAML in a file; raises ConfigurationError with the line of an error."""
    if len(content) <= MAX_BYTES and all(
        line.strip() in (b"", b"---") or line.lstrip().startswith(b"#") for line in content.splitlines()
    ):
        todo = "set mm2 to the path of the mirror's mm2.properties, or write clusters and flows"
        raise _refusal(path, f"file is empty; {todo}")
    return strict_yaml.load(content, file=str(path))


def check_properties(path: Path, content: bytes) -> None:
    """Raise ConfigurationError if a file that is read as an mm2.properties is Mirrorwatch's YAML."""
    if reads_like_mirror(content):
        return
    try:
        document = strict_yaml.load(content, file=str(path))
    except ConfigurationError:
        return  # it is neither: the reader of properties reports the problem
    if _OURS & set(document.data) and any(isinstance(value, dict) for value in document.data.values()):
        sentence = "YAML in a file whose name ends in .properties; rename it, for example to mirrorwatch.yaml"
        raise _refusal(path, sentence)


def lines_of_keys(text: str) -> dict[str, int]:
    """Return the line (from 1) of each key of an mm2.properties, the last one of duplicates."""
    try:
        return {entry.key: entry.line for entry in java_properties.parse(text)}
    except ValueError:
        return {}


def reads_like_mirror(content: bytes) -> bool:
    """Return whether a text has keys that only an mm2.properties has."""
    try:
        entries = java_properties.parse(content[:MAX_BYTES].decode("latin-1"))
    except ValueError:
        return False
    # In YAML a value in braces may be on its key's line, and several documents may repeat a key.
    keys = {entry.key for entry in entries if entry.value and not entry.value.startswith("{")}
    return sum(bool(_MIRROR_KEY.fullmatch(key)) for key in keys) > 1


def _refusal(path: Path, sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem(str(path), "", sentence)])
