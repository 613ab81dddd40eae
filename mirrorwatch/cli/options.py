"""Types of options of several commands, and options that need another one. All fail as usage errors."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable

_CLUSTER = "{cluster}"


class CheckedText(click.ParamType[str]):
    """A text that is refused with a sentence; without one, it is taken as it is."""

    def __init__(self, name: str, fault: Callable[[str], str | None]) -> None:
        self.name = name
        self._fault = fault

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; fails with what is wrong with it."""
        text = str(value)
        if fault := self._fault(text):
            self.fail(fault, param, ctx)
        return text


def _flow_fault(text: str) -> str | None:
    """Return what is wrong where a shell took the end of `A->B` for a file to write."""
    if text.endswith("-") and "->" not in text and ":" not in text:
        return f"unknown flow '{text[:60]}'; quote it: 'A->B', or write A:B"
    return None


def _moment_fault(text: str) -> str | None:
    """Return whether a moment in RFC 3339 lacks its zone; other errors are reported with other options."""
    try:
        zone = datetime.fromisoformat(text).tzinfo
    except ValueError:
        return None
    if zone is None:
        return f"invalid moment '{text[:60]}': the zone is missing; write it as 2026-11-27T17:30:00Z"
    return None


def _principal_fault(text: str) -> str | None:
    kind, _, name = text.partition(":")
    return None if kind and name else f"invalid principal '{text[:100]}'; write TYPE:NAME, such as User:ann"


def _file_fault(text: str) -> str | None:
    """Return which variable other than `{cluster}`, the alias, the name of a file has."""
    unknown = re.search(r"\{[^{}]*\}", text.replace(_CLUSTER, ""))
    return (
        None if unknown is None else f"unknown variable '{unknown[0][:60]}'; write {_CLUSTER} for the alias"
    )


FLOW_NAME = CheckedText("flow", _flow_fault)
MOMENT = CheckedText("moment", _moment_fault)
PRINCIPAL = CheckedText("principal", _principal_fault)
CLUSTER_FILE = CheckedText("file", _file_fault)


def refuse_without(context: click.Context, needed: str, *names: str) -> None:
    """Raise UsageError for each of these options on the command line, as they need others."""
    for one in context.command.params:
        if one.name in names and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{one.opts[0]} needs {needed}.")
