"""`${env:NAME}` and `${file:PATH}` in the values of a configuration, so that secrets stay out of the file.

An interpolated value is secret: it is a SecretText, whose repr hides it, and is listed in the document's
`secrets` for the log's redactor. `$${` is a literal `${`. Interpolated text is not interpolated again. All
problems are reported at once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runtime.config.strict_yaml import Document, KeyPath, Value

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_MAX_SECRET_BYTES = 64 * 1024


class SecretText(str):
    """Interpolated text; its repr hides it, otherwise it is a normal text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def interpolate(
    document: Document, *, environ: Mapping[str, str], directory: Path
) -> tuple[Document, list[Problem]]:
    """Return the document with its references resolved, and a problem for each that could not be.

    Relative paths are taken from `directory`, the configuration file's. A value with a problem keeps its
    text as written.
    """
    resolver = _Resolver(document, environ, directory)
    data = {key: resolver.value(value, (key,)) for key, value in document.data.items()}
    return replace(document, data=data, secrets=document.secrets | resolver.secrets), resolver.problems


class _Resolver:
    def __init__(self, document: Document, environ: Mapping[str, str], directory: Path) -> None:
        self._document = document
        self._environ = environ
        self._directory = directory
        self.secrets: set[str] = set()
        self.problems: list[Problem] = []

    def value(self, value: Value, path: KeyPath) -> Value:
        match value:
            case str():
                return self._text(value, path)
            case list():
                return [self.value(item, (*path, str(index))) for index, item in enumerate(value)]
            case _:
                return {key: self.value(item, (*path, key)) for key, item in value.items()}

    def _text(self, text: str, path: KeyPath) -> str:
        if "${" not in text:
            return text
        secret = failed = False

        def put(found: re.Match[str]) -> str:
            nonlocal secret, failed
            if found[0] == "$${":
                return "${"
            try:
                resolved = self._resolve(found[1], closed=bool(found[2]))
            except ValueError as error:
                failed = True
                self._problem(path, str(error))
                return found[0]
            secret = True
            self.secrets.add(resolved)
            return resolved

        done = _REFERENCE.sub(put, text)
        if failed:
            return text
        return SecretText(done) if secret else done

    def _resolve(self, reference: str, *, closed: bool) -> str:
        if not closed:
            raise ValueError("unclosed '${'; add '}', or write '$${' for a literal '${'")
        provider, colon, name = reference.partition(":")
        if colon and name and provider == "env":
            return self._variable(name)
        if colon and name and provider == "file":
            return self._file(name)
        # What follows the '${' may be part of a password.
        raise ValueError(
            "unknown reference after '${'; write ${env:NAME} or ${file:PATH}, or $${ for a literal ${"
        )

    def _variable(self, name: str) -> str:
        if name not in self._environ:
            raise ValueError(f"environment variable {name} is not set; set it before Mirrorwatch starts")
        if not self._environ[name]:
            raise ValueError(f"environment variable {name} is empty; set it to a value")
        return self._environ[name]

    def _file(self, name: str) -> str:
        path = self._directory / name
        try:
            with path.open("rb") as stream:
                content = stream.read(_MAX_SECRET_BYTES + 1)
        except OSError as error:
            reason = (error.strerror or "it cannot be read").lower()
            raise ValueError(f"file {path}: cannot be read ({reason}); {self._remedy(name)}") from error
        except ValueError as error:  # a NUL in the path
            raise ValueError("invalid path in ${file:PATH}; remove its NUL character") from error
        if len(content) > _MAX_SECRET_BYTES:
            raise ValueError(f"file {path}: larger than 64 KiB, the limit for a secret; check the path")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"file {path}: not UTF-8 text; save it as UTF-8") from error
        # Editors and `kubectl create secret` end a file with a line end that is not part of the secret.
        text = text.removesuffix("\n").removesuffix("\r")
        if not text:
            raise ValueError(f"file {path}: empty; write the secret into it")
        return text

    def _remedy(self, name: str) -> str:
        path, colon, _key = name.rpartition(":")
        if colon and (self._directory / path).is_file():
            return f"Kafka's form FILE:KEY is not supported, write only the value into {path}"
        return "check the path and its permissions"

    def _problem(self, path: KeyPath, sentence: str) -> None:
        line = self._document.line_of(path)
        where = f"{self._document.file}:{line}" if line else self._document.file
        self.problems.append(Problem(where, ".".join(path), sentence))
