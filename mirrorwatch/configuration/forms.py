"""Formats of files that describe a mirror. The content decides; the name decides if the content is ambiguous.

1. Kubernetes: `apiVersion` and `kind` at the top of a document, as YAML or JSON.
2. Connectors in JSON: the text starts with { or [ and contains `connector.class`.
3. A connector's properties: a line that sets `connector.class`.
4. MirrorMaker's properties: the name ends in .properties, or there are lines that only such a file has.
5. Anything else is Mirrorwatch's own YAML; under `mm2`, its name decides.
"""

from __future__ import annotations

import difflib
import re
from enum import Enum
from typing import TYPE_CHECKING

from fleet.connect.kinds import some_of
from fleet.errors import ConfigurationError, Problem
from mirrorwatch.configuration.text import reads_like_mirror, yaml_document

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runtime.config.strict_yaml import Document

ACCEPTED = (
    "Mirrorwatch's own YAML (keys such as mm2, connect, clusters, flows), MirrorMaker's mm2.properties, "
    "Strimzi's KafkaMirrorMaker2, KafkaConnector and KafkaConnect in YAML or JSON, and MirrorMaker's "
    "connectors of Kafka Connect in JSON (as posted, as put, or GET /connectors?expand=info)"
)
"""The formats of a configuration, for the error about a file in none of them."""

_KIND = re.compile(rb"^[\"']?kind[\"']?[ \t]*:", re.MULTILINE)
_API_VERSION = re.compile(rb"^[\"']?apiVersion[\"']?[ \t]*:", re.MULTILINE)
_IN_BRACES = tuple(re.compile(rb"[\"']?" + key + rb"[\"']?\s*:") for key in (b"kind", b"apiVersion"))
_CLASS = re.compile(rb"^[ \t]*connector\.class[ \t]*[=:]", re.MULTILINE)
_CLUSTERS = re.compile(rb"^[ \t]*clusters[ \t]*[=:]", re.MULTILINE)
_SPACE = b"\xef\xbb\xbf \t\r\n"


class Form(Enum):
    """The format of a file that describes a mirror; OURS is Mirrorwatch's own YAML."""

    OURS = "Mirrorwatch's YAML"
    PROPERTIES = "mm2.properties"
    CONNECTOR_PROPERTIES = "a connector's properties"
    CONNECTORS = "connectors in JSON"
    RESOURCES = "resources of Kubernetes"


def form_of(path: Path, content: bytes) -> Form:
    """Return the format of the configuration file."""
    return _by_content(path, content) or Form.OURS


def form_of_mirror(path: Path, content: bytes) -> Form:
    """Return the format of a file under `mm2`, which is never Mirrorwatch's own."""
    found = _by_content(path, content)
    if found is not None:
        return found
    if _in_braces(content) or path.suffix.lower() == ".json":
        return Form.CONNECTORS
    if path.suffix.lower() in (".yaml", ".yml") or _KIND.search(content):
        return Form.RESOURCES
    return Form.PROPERTIES


def is_json(content: bytes) -> bool:
    """Return whether the text is JSON; YAML in braces rarely has its first key in quotes."""
    return re.match(rb"[\[{]\s*[\"\[{}\]]", content.lstrip(_SPACE)) is not None


def own_document(path: Path, content: bytes, known: Iterable[str]) -> Document:
    """Return Mirrorwatch's own YAML, whose top-level keys are `known`.

    Raises ConfigurationError: with the accepted formats for a file without any such key or a similar one,
    else with the error in the YAML.
    """
    names = sorted(known)
    try:
        document = yaml_document(path, content)
    except ConfigurationError as error:
        place, _, line = error.problems[0].file.rpartition(":")
        own = re.compile(rb"^[\"']?(?:" + "|".join(names).encode() + rb")[\"']?[ \t]*:", re.MULTILINE)
        if place != str(path) or own.search(content) or not _is_text(content):
            raise
        raise _unknown(path, f"line {line}: {error.problems[0].sentence}") from error
    if any(difflib.get_close_matches(key, names, n=1, cutoff=0.8) for key in document.data):
        return document
    raise _unknown(path, f"keys: {some_of(list(document.data), 5)[:200]}" if document.data else "no keys")


def _is_text(content: bytes) -> bool:
    try:
        return bool(content.decode("utf-8").strip("\ufeff -\n"))
    except UnicodeDecodeError:
        return False


def _unknown(path: Path, why: str) -> ConfigurationError:
    sentence = f"unknown format ({why}); use one of: {ACCEPTED}"
    return ConfigurationError([Problem(str(path), "", sentence)])


def _by_content(path: Path, content: bytes) -> Form | None:
    content = content.removeprefix(b"\xef\xbb\xbf")
    if _in_braces(content):
        if all(pattern.search(content) for pattern in _IN_BRACES):
            return Form.RESOURCES
        if b"connector.class" in content:
            return Form.CONNECTORS
    elif _KIND.search(content) and _API_VERSION.search(content):
        return Form.RESOURCES
    elif _CLASS.search(content) and not _CLUSTERS.search(content):
        return Form.CONNECTOR_PROPERTIES
    if path.suffix.lower() == ".properties" or reads_like_mirror(content):
        return Form.PROPERTIES
    return None


def _in_braces(content: bytes) -> bool:
    return content.lstrip(_SPACE)[:1] in (b"{", b"[")
