"""Kafka's configuration providers: `${env:NAME}`, `${file:/path:key}`, `${directory:/path:name}` in values.

A provider is used only if `config.providers` names it. Source: ConfigTransformer, FileConfigProvider,
EnvVarConfigProvider and DirectoryConfigProvider of Kafka 4.3. Values are resolved once, not
recursively. The caller provides files and environment. A resolved value is never part of a
sentence.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.java import properties as java_properties
from fleet.java.regex import compile_java
from fleet.mm2.filters import split_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
FILE, ENV, DIRECTORY = (f"{_PACKAGE}{name}ConfigProvider" for name in ("File", "EnvVar", "Directory"))
LONGEST_FILE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Provider:
    """One entry of `config.providers` with its class and parameters."""

    name: str
    class_name: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Sources of values: the environment, and a reader of text files that raises OSError."""

    environ: Mapping[str, str] = field(repr=False)
    read_file: Callable[[str], str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolved value, and a sentence for each variable that could not be resolved.

    `left` are the variables of providers that are not configured, which Kafka takes for text.
    """

    value: str = field(repr=False)
    troubles: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def providers_of(properties: Mapping[str, str], *, trimmed: bool = True) -> dict[str, Provider]:
    """Return the providers that `config.providers` names, by name.

    Kafka reads the list in two ways. The worker and the connectors trim the names. The first read of the
    whole file (`trimmed` false) treats the space after a comma as part of the name, and finds no such
    provider.
    """
    listed = properties.get("config.providers", "")
    names = split_list(listed) if trimmed else tuple(listed.split(","))
    found = {}
    for name in names:
        prefix = f"config.providers.{name}."
        if (class_name := properties.get(f"{prefix}class")) is None:
            continue
        start = f"{prefix}param."
        parameters = {
            key.removeprefix(start): value for key, value in properties.items() if key.startswith(start)
        }
        found[name] = Provider(name, class_name, parameters)
    return found


def resolve(value: str, providers: Mapping[str, Provider], lookup: Lookup) -> Resolved:
    """Replace every variable of a known provider; others stay unresolved."""
    if "${" not in value:
        return Resolved(value)
    troubles: list[str] = []
    left: list[str] = []

    def replacement(found: re.Match[str]) -> str:
        provider = providers.get(found[1])
        if provider is None:
            left.append(_no_provider(found[0], found[1]))
            return found[0]
        try:
            answer = _look_up(provider, found[2] or "", found[3], lookup)
        except ValueError as error:
            troubles.append(f"{found[0]} cannot be resolved: {error}")
            return found[0]
        if answer is None:
            troubles.append(f"{found[0]} cannot be resolved: {_missing(provider, found[2] or '', found[3])}")
            return found[0]
        return answer

    return Resolved(_VARIABLE.sub(replacement, value), tuple(troubles), tuple(left))


def _no_provider(variable: str, name: str) -> str:
    return (
        f"{variable} stays unresolved, because config.providers names no '{name}' with its class; "
        f"set config.providers={name} and config.providers.{name}.class"
    )


def _missing(provider: Provider, path: str, key: str) -> str:
    if provider.class_name == ENV:
        return f"the environment has no variable {key} that the provider may read; set it"
    if provider.class_name == FILE:
        return f"the file {path or '(none named)'} has no key {key} that the provider may read; add it"
    return f"the directory {path or '(none named)'} has no file {key} that the provider may read; add it"


def _look_up(provider: Provider, path: str, key: str, lookup: Lookup) -> str | None:
    """Return the value, or None if the provider has none.

    Raises ValueError with a sentence if the provider itself would fail.
    """
    if provider.class_name == ENV:
        return _from_environment(provider, path, key, lookup)
    if provider.class_name not in (FILE, DIRECTORY):
        raise ValueError(
            f"the class {provider.class_name} cannot be run here (known: {FILE}, {ENV}, {DIRECTORY}); "
            "set the key under clusters: in Mirrorwatch's own configuration"
        )
    if not path or not _allowed(provider.parameters.get("allowed.paths", ""), path):
        return None
    if provider.class_name == DIRECTORY:
        if not key or "/" in key or key in (".", ".."):
            return None
        return _read(posixpath.join(path, key), lookup)
    try:
        return java_properties.as_mapping(java_properties.parse(_read(path, lookup))).get(key)
    except UnicodeError as error:
        raise ValueError(f"the file {path} cannot be parsed") from error


def _from_environment(provider: Provider, path: str, key: str, lookup: Lookup) -> str | None:
    if path:
        raise ValueError("the provider of the environment takes no path: write ${name:VARIABLE}")
    allowed = compile_java(provider.parameters.get("allowlist.pattern", ".*"))
    return lookup.environ.get(key) if allowed.fullmatch(key) else None


def _read(path: str, lookup: Lookup) -> str:
    try:
        text = lookup.read_file(path)
    except (OSError, UnicodeError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "it holds no readable text"
        )
        raise ValueError(
            f"the file {path} cannot be read ({reason}); check its path and permissions"
        ) from error
    if len(text) > LONGEST_FILE_CHARS:
        raise ValueError(f"the file {path} is longer than {LONGEST_FILE_CHARS} characters")
    return text


def _allowed(allowed_paths: str, path: str) -> bool:
    """Return whether the path is within an allowed one; without any, every path is allowed."""
    if not allowed_paths:
        return True
    normal = posixpath.normpath(path)
    roots = (posixpath.normpath(each) for each in allowed_paths.split(","))
    return any(normal == root or normal.startswith(root.rstrip("/") + "/") for root in roots)
