"""A mirror on Kafka Connect from a file: its connectors in JSON, or the resource that Strimzi runs it by."""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import TYPE_CHECKING, Any

from fleet.connect_config import Connector, Said, Worker, read_connectors
from fleet.connect_config_json import written
from fleet.errors import ConfigurationError, MalformedError, Problem
from fleet.strimzi import KIND, is_mirror, read_resource
from mirrorwatch.config_connect_places import harmless, place_of
from mirrorwatch.config_problems import secrets_in
from mirrorwatch.config_text import MAX_BYTES
from runtime import strict_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fleet.mm2 import ByHand, Mm2
    from runtime.strict_yaml import Document

_KIND = re.compile(rb"^kind[ \t]*:[ \t]*[\"']?" + KIND.encode() + rb"[\"']?[ \t]*(#.*)?\r?$", re.MULTILINE)


class MirrorForm(Enum):
    """In which form a file describes a mirror."""

    PROPERTIES = "mm2.properties"
    CONNECTORS = "JSON"
    RESOURCE = "YAML"


def form_of(path: Path, content: bytes) -> MirrorForm:
    """Return the form, by what the file holds; a name that ends in .properties goes before that."""
    if path.suffix.lower() == ".properties":
        return MirrorForm.PROPERTIES
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return MirrorForm.CONNECTORS
    if path.suffix.lower() == ".json":
        return MirrorForm.CONNECTORS
    if path.suffix.lower() in (".yaml", ".yml") or _KIND.search(content):
        return MirrorForm.RESOURCE
    return MirrorForm.PROPERTIES


def refuse_mirror(document: Document) -> None:
    """Raise ConfigurationError for a file that tells of a mirror where one of ours is expected."""
    config = document.data.get("config", document.data)
    if is_mirror(document.data):
        what = f"is a {KIND} of Strimzi"
    elif isinstance(config, dict) and "connector.class" in config:
        what = "is a connector of Kafka Connect"
    else:
        return
    name = document.file.rpartition("/")[2]
    sentence = f"{what}, and no configuration by itself; name it in a YAML file, as mm2: {name}"
    raise ConfigurationError([Problem(document.file, "", sentence)])


class ConnectorsFile:
    """Connectors in one file. `secrets` grows by what those of a mirror hold in their properties."""

    def __init__(self, path: Path, form: MirrorForm) -> None:
        self.path = path
        self.secrets: set[str] = set()
        self.connectors: tuple[Connector, ...] = ()
        self._form = form
        self._lines: Mapping[tuple[str, ...], int] = {}

    def read(
        self,
        content: bytes,
        *,
        mirror_version: str | None,
        clusters: Mapping[str, Mapping[str, str]],
        by_hand: Mapping[str, ByHand],
    ) -> Mm2:
        """Return what the file comes to; ConfigurationError with every problem, and its line where known."""
        try:
            connectors, worker = self._described(content)
            mirror = [each for each in connectors if each.kind is not None]
            for connector in mirror:
                self.secrets |= secrets_in(connector.config)
            self.connectors = tuple(map(harmless, mirror))
            said = Said(mirror_version, clusters, by_hand)
            found = read_connectors(connectors, worker, file=str(self.path), said=said)
        except ConfigurationError as error:
            raise ConfigurationError([self.placed(problem) for problem in error.problems]) from error
        return type(found)(found.topology, tuple(self.placed(warning) for warning in found.warnings))

    def placed(self, problem: Problem) -> Problem:
        """Return the problem with the line of its key, or of what is nearest above it."""
        steps = tuple(problem.key.split("."))
        if problem.file != str(self.path) or not problem.key:
            return problem
        # The keys of a connector have dots in them: a path is found as the text that it is.
        by_text = {".".join(path): line for path, line in self._lines.items()}
        for length in range(len(steps), 0, -1):
            line = by_text.get(".".join(steps[:length]))
            if line is not None:
                return Problem(f"{problem.file}:{line}", problem.key, problem.sentence)
        return problem

    def locate(self, alias: str, name: str) -> tuple[str, str] | None:
        """Return file and key as written of a client property of a cluster; None where it is not here."""
        key = place_of(self.connectors, alias, name)
        return None if key is None else (self.placed(Problem(str(self.path), key, "")).file, key)

    def _described(self, content: bytes) -> tuple[tuple[Connector, ...], Worker]:
        if self._form is MirrorForm.RESOURCE:
            document = strict_yaml.load(content, file=str(self.path), for_kubernetes=True)
            self._lines = document.lines
            return self._resource(document.data)
        data = self._json(content)
        if is_mirror(data):  # as kubectl get -o json gives it
            return self._resource(data)
        try:
            return written(data), Worker()
        except MalformedError as error:
            raise self._refusal(f"{error}.") from error

    def _resource(self, data: Any) -> tuple[tuple[Connector, ...], Worker]:
        if is_mirror(data):
            return read_resource(data, file=str(self.path))
        kind = data.get("kind") if isinstance(data, dict) else None
        what = f"is a {kind[:60]}" if isinstance(kind, str) and kind else "has no kind"
        what += " without a spec" if kind == KIND else ""
        raise self._refusal(
            f"{what}, and of YAML only a {KIND} of Strimzi says what a mirror does; name that one, "
            "an mm2.properties, or a connector's JSON."
        )

    def _json(self, content: bytes) -> Any:
        if len(content) > MAX_BYTES:
            raise self._refusal("is larger than 1 MB, which no connector needs: is it the right file?")
        try:
            data = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
            return _as_text(data) if is_mirror(data) else data
        except json.JSONDecodeError as error:
            where = f"{self.path}:{error.lineno}"
            sentence = f"is no JSON: {error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
            raise ConfigurationError([Problem(where, "", sentence)]) from error
        except RecursionError as error:
            raise self._refusal("is nested too deeply for a connector.") from error
        except ValueError as error:
            text = "is not UTF-8 text: save the file as UTF-8"
            raise self._refusal(text if isinstance(error, UnicodeError) else str(error)) from error

    def _refusal(self, sentence: str) -> ConfigurationError:
        return ConfigurationError([Problem(str(self.path), "", sentence)])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"has the key '{key[:200]}' twice in one place: keep one")
        found[key] = value
    return found


def _as_text(value: Any) -> Any:
    """Return JSON with every scalar as the text that strict YAML without nulls would have."""
    match value:
        case dict():
            return {key: _as_text(each) for key, each in value.items() if each is not None}
        case list():
            return [_as_text(each) for each in value]
        case str():
            return value
        case _:
            return json.dumps(value)
