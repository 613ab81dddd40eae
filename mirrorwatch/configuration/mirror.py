"""The mirror's own file: its clusters and flows, the lines of its keys, its secrets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from fleet.connect.connectors import Overrides
from fleet.errors import ConfigurationError, Problem
from fleet.java import properties as java_properties
from fleet.mm2.config_providers import Lookup
from fleet.mm2.names import WORKER_NAMES
from fleet.mm2.properties import FlowOverrides, Mm2, read_mm2
from fleet.mm2.resolution import Mm2Properties
from fleet.secret_keys import is_secret
from mirrorwatch.configuration.connect_files import ConnectorsFile
from mirrorwatch.configuration.forms import Form, form_of_mirror
from mirrorwatch.configuration.problems import secrets_in
from mirrorwatch.configuration.text import MAX_BYTES, check_properties, lines_of_keys, read_bytes
from runtime.kafka.properties.fate import Fate
from runtime.kafka.properties.java_clients import JAVA_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fleet.connect.connectors import Connector

_REST = "dedicated.mode.enable.internal.rest"
_ROLES = ("", "admin.", "consumer.", "producer.")


class Mirror(Protocol):
    """A file or an address that describes a mirror. `name` is its name in messages.

    `secrets` are texts that none of its problems may quote, such as the values of variables. `passwords` must
    never be shown anywhere.
    """

    name: str
    path: Path | None  # None: it is no file
    secrets: set[str]
    connectors: tuple[Connector, ...]

    @property
    def passwords(self) -> set[str]:
        """Return the passwords and keys of the mirror itself, after `read`."""
        ...

    def read(
        self,
        *,
        mirror_version: str | None,
        clusters: Mapping[str, Mapping[str, str]],
        flow_overrides: Mapping[str, FlowOverrides],
    ) -> Mm2:
        """Return clusters, flows and warnings; ConfigurationError with every problem."""
        ...

    def locate(self, alias: str, name: str) -> tuple[str, str] | None:
        """Return the place and the key of a client property of a cluster; None if it is not set."""
        ...


def where_to_write(path: Path) -> str:
    """Return where to write Mirrorwatch's own keys if the mirror's file is the configuration."""
    return f"in a YAML file with 'mm2: {path.name}'"


class MirrorFile:
    """One mm2.properties, or another file that describes a mirror. `secrets` collects its secrets.

    `content` is the content of the file if it is the configuration itself and was read before.
    """

    def __init__(self, path: Path, environ: Mapping[str, str], content: bytes | None = None) -> None:
        self.path: Path | None = path
        self.name = str(path)
        self.connectors: tuple[Connector, ...] = ()
        self._path = path
        self._content = content
        self._described: ConnectorsFile | None = None
        self.secrets: set[str] = set()
        self.passwords: set[str] = set()
        self._environ = _Remembering(environ, self.secrets)
        self._lines: dict[str, int] = {}

    def read(
        self,
        *,
        mirror_version: str | None,
        clusters: Mapping[str, Mapping[str, str]],
        flow_overrides: Mapping[str, FlowOverrides],
    ) -> Mm2:
        """Return clusters and flows of the file; raises ConfigurationError with the line of each problem."""
        content = read_bytes(self._path) if self._content is None else self._content
        form = form_of_mirror(self._path, content)
        if form is not Form.PROPERTIES:
            self._described = ConnectorsFile(self._path, form)
            self._described.secrets = self.secrets
            overrides = Overrides(mirror_version, clusters, flow_overrides)
            if self._content is not None:
                overrides = replace(overrides, where=where_to_write(self._path))
            try:
                return self._described.read(content, overrides=overrides)
            finally:
                self.connectors = self._described.connectors
                self.passwords = self.secrets
        check_properties(self._path, content)
        text = content.decode("latin-1")
        self._lines = lines_of_keys(text)
        try:
            found = read_mm2(
                text,
                file=self.name,
                mirror_version=mirror_version,
                environ=self._environ,
                read_file=self._read_file,
                clusters=clusters,
                flow_overrides=flow_overrides,
            )
        except ConfigurationError as error:
            raise ConfigurationError([self.placed(problem) for problem in error.problems]) from error
        self.passwords = self._passwords_in(text)
        return Mm2(found.topology, tuple(self.placed(warning) for warning in found.warnings))

    def placed(self, problem: Problem) -> Problem:
        """Return the problem with the line of its key, if this file has the key."""
        line = self._lines.get(problem.key)
        if line is None or problem.file != self.name:
            return problem
        return replace(problem, file=f"{problem.file}:{line}")

    def locate(self, alias: str, name: str) -> tuple[str, str] | None:
        """Return the place and the key of a client property of a cluster; None if it is not set."""
        if self._described is not None:
            return self._described.locate(alias, name)
        for key in (*(f"{alias}.{role}{name}" for role in _ROLES), name):
            if key in self._lines:
                return f"{self.name}:{self._lines[key]}", key
        return None

    def _passwords_in(self, text: str) -> set[str]:
        """Return the values of secret keys as MirrorMaker resolves them; the text must be valid."""
        raw = java_properties.as_mapping(java_properties.parse(text))
        mm2 = Mm2Properties(raw, None, Lookup(self._environ, self._read_file))
        return secrets_in(mm2.resolve_all({key: value for key, value in raw.items() if is_secret(key)}))

    def _read_file(self, name: str) -> str:
        """Return the text of a file that a provider names, relative to this file; raises OSError."""
        try:
            with (self._path.parent / name).open("rb") as stream:
                text = stream.read(MAX_BYTES + 1).decode("utf-8")
        except ValueError as error:
            raise OSError(0, "it is not UTF-8 text") from error
        self.secrets.add(text.strip())
        with suppress(ValueError):  # in a plain file the whole text is the value
            self.secrets.update(entry.value for entry in java_properties.parse(text))
        return text


class _Remembering(Mapping[str, str]):
    """An environment that keeps the values that were read."""

    def __init__(self, environ: Mapping[str, str], kept: set[str]) -> None:
        self._environ = environ
        self._kept = kept

    def __getitem__(self, name: str) -> str:
        value = self._environ[name]
        self._kept.add(value)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def is_remark(warning: Problem, aliases: frozenset[str]) -> bool:
    """Return whether a warning about the mirror's file does not change what is watched.

    Such are settings that do not reach the mirror's own clients and workers, and settings for mirrors of
    several nodes. Addresses, security and the choice of topics are never remarks.
    """
    if "->" in warning.key:
        return False
    alias, dot, rest = warning.key.partition(".")
    name = rest if dot and alias in aliases else warning.key
    name = next((name.removeprefix(role) for role in _ROLES[1:] if name.startswith(role)), name)
    if name == _REST:
        return True
    if name.startswith(("bootstrap.", "security.", "sasl.", "ssl.")):
        return False
    return name in WORKER_NAMES or name in JAVA_KEYS


def for_own_clients(client: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return a cluster's properties without those that only the mirror uses."""
    return {
        key: value
        for key, value in client.items()
        if key in own or key not in JAVA_KEYS or JAVA_KEYS[key].fate is not Fate.IGNORED
    }
