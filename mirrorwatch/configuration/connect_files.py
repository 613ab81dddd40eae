"""A mirror on Kafka Connect from a file: connectors in JSON or properties, or Strimzi's resources."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fleet.connect.connectors import Connector, Overrides, Worker
from fleet.connect.json import written
from fleet.connect.kinds import some_of
from fleet.connect.several import Described, read_described
from fleet.errors import ConfigurationError, MalformedError, Problem
from fleet.java import properties as java_properties
from fleet.mm2.properties import Mm2
from fleet.strimzi.connectors import CONNECTOR_KIND
from fleet.strimzi.files import KINDS, described, idle_workers, placed
from fleet.strimzi.kubernetes import Resource, resources_in, title_of
from fleet.strimzi.mirror import KIND
from mirrorwatch.configuration.connect_places import harmless, place_of
from mirrorwatch.configuration.forms import Form, is_json
from mirrorwatch.configuration.problems import secrets_in
from mirrorwatch.configuration.text import MAX_FOREIGN_BYTES
from runtime.config import strict_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fleet.strimzi.files import Placed

_TOP_KIND = re.compile(r"^[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?([\w.-]+)", re.MULTILINE)
_BRACE = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*\{")
_NAMES = {
    key: re.compile(
        r"^metadata:(?:[ \t]*\{[^}\n]*?|[^\n]*\n(?:[ \t]+[^\n]*\n)*?[ \t]+)\b"
        + key
        + r":[ \t]*[\"']?([\w./-]+)",
        re.MULTILINE,
    )
    for key in ("namespace", "name")
}
_READ = (("spec",), ("apiVersion",))
# Fields of Strimzi's API that are strings: an alias NO or on is text, although YAML 1.1 has booleans.
_TEXTS = frozenset(
    {
        *("alias", "sourceCluster", "targetCluster", "connectCluster", "bootstrapServers", "groupId"),
        *("name", "namespace", "strimzi.io/cluster", "class", "type", "username", "secretName"),
        *("offsetStorageTopic", "configStorageTopic", "statusStorageTopic"),
        *("topicsPattern", "topicsExcludePattern", "topicsBlacklistPattern"),
        *("groupsPattern", "groupsExcludePattern", "groupsBlacklistPattern"),
    }
)


class ConnectorsFile:
    """Connectors in one file. `secrets` collects those in the properties of the mirror's connectors."""

    def __init__(self, path: Path, form: Form) -> None:
        self.path = path
        self.secrets: set[str] = set()
        self.connectors: tuple[Connector, ...] = ()
        self._form = form
        self._lines: dict[str, int] = {}
        self._warnings: list[Problem] = []

    def read(self, content: bytes, *, overrides: Overrides) -> Mm2:
        """Return clusters and flows of the file; raises ConfigurationError with every problem."""
        try:
            mirrors = self._described(content)
            connectors = [each for mirror in mirrors for each in mirror.connectors if each.kind is not None]
            for connector in connectors:
                self.secrets |= secrets_in(connector.config)
            self.connectors = tuple(map(harmless, connectors))
            found = read_described(mirrors, file=str(self.path), said=overrides)
        except ConfigurationError as error:
            raise ConfigurationError([self.placed(problem) for problem in error.problems]) from error
        warnings = (*found.warnings, *self._warnings)
        return Mm2(found.topology, tuple(self.placed(warning) for warning in warnings))

    def placed(self, problem: Problem) -> Problem:
        """Return the problem with the line of its key, or of the nearest key above it."""
        if problem.file != str(self.path) or not problem.key:
            return problem
        # The keys of a connector contain dots: a path is found as text.
        steps = problem.key.split(".")
        for length in range(len(steps), 0, -1):
            line = self._lines.get(".".join(steps[:length]))
            if line is not None:
                return Problem(f"{problem.file}:{line}", problem.key, problem.sentence)
        return problem

    def locate(self, alias: str, name: str) -> tuple[str, str] | None:
        """Return the place and the key of a client property of a cluster; None if it is not set."""
        key = place_of(self.connectors, alias, name)
        return None if key is None else (self.placed(Problem(str(self.path), key, "")).file, key)

    def _described(self, content: bytes) -> Sequence[Described]:
        match self._form:
            case Form.CONNECTOR_PROPERTIES:
                return [Described("", self._connectors(self._properties(content)), Worker())]
            case Form.RESOURCES:
                return self._mirrors(content)
        return [Described("", self._connectors(self._json(content)), Worker())]

    def _connectors(self, data: Any) -> tuple[Connector, ...]:
        try:
            return written(data)
        except MalformedError as error:
            raise self._refusal(f"{error}.") from error

    # --- resources of Kubernetes

    def _mirrors(self, content: bytes) -> Sequence[Described]:
        skipped: list[str] = []
        if is_json(content):
            resources = list(resources_in(_as_text(self._json(content))))
            documents: dict[int, Mapping[tuple[str, ...], int]] = {}
        else:
            resources, documents = self._documents(content, skipped)
        skipped += [each.title for each in resources if each.kind not in KINDS]
        skipped = list(dict.fromkeys(skipped))
        found = placed(resources)
        self._note_lines(found, documents)
        mirrors = described(found, file=str(self.path))
        if not mirrors:
            only = f", only {some_of(skipped)}" if skipped else ""
            raise self._refusal(f"no {KIND} or {CONNECTOR_KIND} of Strimzi{only}; name a file with one")
        if skipped:
            self._warnings.append(Problem(str(self.path), "", f"{some_of(skipped)}: skipped, not a mirror"))
        sentence = "is 0; nothing is replicated until you scale it up"
        self._warnings += [
            Problem(str(self.path), f"{each.prefix}spec.replicas", sentence) for each in idle_workers(found)
        ]
        return mirrors

    def _documents(
        self, content: bytes, skipped: list[str]
    ) -> tuple[list[Resource], dict[int, Mapping[tuple[str, ...], int]]]:
        """Return the resources of every document that may describe a mirror, and lines by document."""
        resources: list[Resource] = []
        lines: dict[int, Mapping[tuple[str, ...], int]] = {}
        for number, part in enumerate(strict_yaml.split(content, file=str(self.path))):
            kind = _TOP_KIND.search(part.text)
            if kind is None and not _BRACE.match(part.text):
                skipped.append(f"the document in line {part.above + 1} (no kind)")
                continue
            if kind is not None and kind[1] not in KINDS and not kind[1].endswith("List"):
                named = [pattern.search(part.text) for pattern in _NAMES.values()]
                skipped.append(title_of(kind[1], *(found[1] if found else "" for found in named)))
                continue
            document = strict_yaml.load(
                part.text, file=str(self.path), for_kubernetes=True, texts=_TEXTS, above=part.above
            )
            lines[number] = document.lines
            resources += resources_in(document.data, document=number)
        return resources, lines

    def _note_lines(
        self, found: Sequence[Placed], documents: Mapping[int, Mapping[tuple[str, ...], int]]
    ) -> None:
        """Keep the line of each key that is read, by the name of the key in messages."""
        by_place = {(each.resource.document, each.resource.path): each.prefix for each in found}
        depths = {len(each.resource.path) for each in found}
        for document, lines in documents.items():
            for path, line in lines.items():
                for depth in depths:
                    if path[depth : depth + 1] in _READ and (document, path[:depth]) in by_place:
                        prefix = by_place[document, path[:depth]]
                        self._lines[prefix + ".".join(path[depth:])] = line

    # --- JSON and properties

    def _json(self, content: bytes) -> Any:
        if len(content) > MAX_FOREIGN_BYTES:
            raise self._refusal("larger than 20 MB, the limit for connectors; check the path")
        try:
            return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            where = f"{self.path}:{error.lineno}"
            sentence = f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
            raise ConfigurationError([Problem(where, "", sentence)]) from error
        except RecursionError as error:
            raise self._refusal("nested too deeply for a connector; check the path") from error
        except ValueError as error:
            text = "not UTF-8 text; save the file as UTF-8"
            raise self._refusal(text if isinstance(error, UnicodeError) else str(error)) from error

    def _properties(self, content: bytes) -> dict[str, str]:
        """Return a connector's properties as connect-standalone reads them, in UTF-8."""
        try:
            entries = java_properties.parse(content.decode("utf-8"))
        except ValueError as error:
            text = "not UTF-8 text; save the file as UTF-8"
            raise self._refusal(text if isinstance(error, UnicodeError) else f"{error}.") from error
        name = next((entry.value for entry in entries if entry.key == "name"), "")
        self._lines = {f"{name}.{entry.key}": entry.line for entry in entries}
        return {entry.key: entry.value for entry in entries}

    def _refusal(self, sentence: str) -> ConfigurationError:
        return ConfigurationError([Problem(str(self.path), "", sentence)])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key '{key[:200]}'; keep one")
        found[key] = value
    return found


def _as_text(value: Any) -> Any:
    """Return JSON with every scalar as text and without nulls, as the strict YAML reader does."""
    match value:
        case dict():
            return {key: _as_text(each) for key, each in value.items() if each is not None}
        case list():
            return [_as_text(each) for each in value]
        case str():
            return value
        case _:
            return json.dumps(value)
