"""Problems of a configuration for output: each once, in order, without secrets. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.errors import Problem
from fleet.secret_keys import is_secret
from runtime.process.logs import as_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LINE = re.compile(r":(\d+)$")
# An option of a login module. Looser than the grammar, because errors quote texts that break it.
_OPTION = re.compile(r"""(?<![\w.])([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def in_order(
    problems: Iterable[Problem], secrets: Iterable[str], unresolved: Iterable[Problem] = ()
) -> list[Problem]:
    """Return each problem once, by file and line, without secrets.

    Problems of a key with an unresolved reference are left out: the missing secret is the problem.
    """
    without_value = {problem.key for problem in unresolved}
    hidden = sorted((secret for secret in secrets if secret), key=len, reverse=True)
    shown = [problem for problem in problems if problem.key not in without_value]
    clean = [replace(problem, sentence=_without(problem.sentence, hidden)) for problem in shown]
    clean += unresolved  # they quote no value

    def place(problem: Problem) -> tuple[str, int]:
        found = _LINE.search(problem.file)
        return _LINE.sub("", problem.file), int(found[1]) if found else 1 << 30

    return sorted(dict.fromkeys(clean), key=place)


def as_problem(note: str) -> Problem:
    """Return a note of the translation as a problem with file, key and sentence."""
    parts = note.split(": ", 2)
    return Problem(*parts) if len(parts) == 3 else Problem("", "", note)


def groups_warning(alias: str, problem: Problem) -> Problem:
    """Return the warning for a problem of a cluster of which only groups are read."""
    fate = f"until then the groups of {alias} are not watched"
    return replace(problem, sentence=f"{problem.sentence.rstrip('.')}; {fate}")


def unknown_cluster(alias: str, known: Iterable[str]) -> str:
    """Return the sentence for a cluster that is not configured."""
    names = ", ".join(sorted(known))
    choice = f"name one of {names}, or add it" if names else "add it"
    return f"unknown cluster '{alias}'; {choice} under clusters"


def secrets_in(properties: Mapping[str, str]) -> set[str]:
    """Return the passwords and keys among the properties of a client, and those within a login module."""
    found = {value for key, value in properties.items() if is_secret(key) and value}
    for key, value in properties.items():
        if key.endswith("sasl.jaas.config"):
            found |= _secret_options(value)
    return found


def _secret_options(module: str) -> set[str]:
    """Return the secrets of a login module, each with and without escapes."""
    written = {
        found[2] or found[3] or found[4] or "" for found in _OPTION.finditer(module) if is_secret(found[1])
    }
    return {one for each in written for one in (each, re.sub(r"\\(.)", r"\1", each)) if one}


def _without(sentence: str, secrets: Iterable[str]) -> str:
    """Hide secrets in any case: short ones only if quoted alone, longer ones as values."""
    for secret in secrets:
        alone = f"(?<=')({re.escape(secret)})(?=')"
        pattern = as_value(secret).pattern if len(secret) >= 4 else alone
        sentence = re.sub(pattern, "***", sentence, flags=re.IGNORECASE)
    return sentence
