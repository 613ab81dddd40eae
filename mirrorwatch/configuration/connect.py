"""A mirror on Kafka Connect, read from its REST API: its connectors as clusters and flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.connect.connectors import Overrides, Worker, read_connectors, version_of_worker
from fleet.connect.json import expanded
from fleet.errors import ConfigurationError, MalformedError, Problem, RefusedError, UnavailableError
from mirrorwatch.configuration.connect_places import harmless, place_of
from mirrorwatch.configuration.connect_rest import answer_of, no_connect
from mirrorwatch.configuration.problems import secrets_in
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fleet.connect.connectors import Connector
    from fleet.mm2.properties import FlowOverrides, Mm2
    from mirrorwatch.configuration.sections import ConnectSection

_BOTH = {"expand": ["info", "status"]}


class ConnectAddress:
    """The connectors at one address. `secrets` collects those of the mirror, which Connect shows in clear."""

    path: Path | None = None  # there is no file

    def __init__(self, section: ConnectSection, problem: Callable[[tuple[str, ...], str], Problem]) -> None:
        self.name = section.url
        self.secrets: set[str] = set()
        self.connectors: tuple[Connector, ...] = ()
        self._section = section
        self._problem = problem

    def read(
        self,
        *,
        mirror_version: str | None,
        clusters: Mapping[str, Mapping[str, str]],
        flow_overrides: Mapping[str, FlowOverrides],
    ) -> Mm2:
        """Return clusters and flows of the connectors.

        Raises ConfigurationError, UnavailableError without an answer, and RefusedError if Connect refuses the
        user.
        """
        version, found = run_to_end(self._ask())
        for connector in found:
            if connector.kind is not None:
                self.secrets |= secrets_in(connector.config)
        found = self._chosen(found)
        self.connectors = tuple(harmless(each) for each in found if each.kind is not None)
        overrides = Overrides(mirror_version, clusters, flow_overrides)
        try:
            return read_connectors(found, Worker(version=version), file=self.name, said=overrides)
        except ConfigurationError as error:
            raise ConfigurationError([self._at_url(problem) for problem in error.problems]) from error

    @property
    def passwords(self) -> set[str]:
        """Return texts that must never be shown: all secrets of the connectors."""
        return self.secrets

    def locate(self, alias: str, name: str) -> tuple[str, str] | None:
        """Return the place and the key of a client property of a cluster; None if it is not set."""
        key = place_of(self.connectors, alias, name)
        return None if key is None else (self.name, key)

    async def _ask(self) -> tuple[str | None, tuple[Connector, ...]]:
        """Return the version of the worker, and every connector with its state."""
        root = await self._get("/")
        if not isinstance(root, dict) or not isinstance(root.get("version"), str):
            raise self._no_connect(no_connect(self._section, "the answer has no version"))
        listed = await self._get("/connectors", _BOTH)
        try:
            found = expanded(listed)
        except MalformedError as error:
            raise self._no_connect(no_connect(self._section, str(error))) from error
        return version_of_worker(root["version"]), found

    async def _get(self, path: str, parameters: Mapping[str, list[str]] | None = None) -> Any:
        try:
            return await answer_of(self._section, path, parameters)
        except MalformedError as error:
            raise self._no_connect(error) from error
        except (UnavailableError, RefusedError) as error:
            raise type(error)(self._placed(str(error))) from error

    def _chosen(self, found: tuple[Connector, ...]) -> tuple[Connector, ...]:
        """Return the configured connectors, by default all; raises ConfigurationError for unknown ones."""
        if self._section.connectors is None:
            return found
        there = {each.name: each for each in found}
        problems = []
        for number, name in enumerate(self._section.connectors):
            key = ("connect", "connectors", str(number))
            if name not in there:
                known = ", ".join(each.name for each in found if each.kind is not None) or "none"
                sentence = (
                    f"unknown connector '{name[:200]}'; MirrorMaker's connectors at {self.name}: {known}"
                )
                problems.append(self._problem(key, sentence))
            elif there[name].kind is None:
                sentence = f"'{name[:200]}' is not a connector of MirrorMaker; remove it from the list"
                problems.append(self._problem(key, sentence))
        if problems:
            raise ConfigurationError(problems)
        return tuple(there[name] for name in dict.fromkeys(self._section.connectors))

    def _placed(self, sentence: str) -> str:
        return str(self._problem(("connect", "url"), sentence))

    def _no_connect(self, error: MalformedError) -> ConfigurationError:
        return ConfigurationError([self._problem(("connect", "url"), str(error))])

    def _at_url(self, problem: Problem) -> Problem:
        """Return a problem of the whole address as one of its key in Mirrorwatch's file."""
        if problem.key or problem.file != self.name:
            return problem
        return self._problem(("connect", "url"), f"{self.name}: {problem.sentence}")
