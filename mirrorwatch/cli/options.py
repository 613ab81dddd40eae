"""Types of options of several commands, and options that need another one. All fail as usage errors."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import click
from click.core import ParameterSource

_CLUSTER = "{cluster}"


class FlowName(click.ParamType[str]):
    """A flow, `A->B` or `A:B`; a shell makes `A-` of the first one without quotes, and writes a file B."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; whether there is such a flow is known to the configuration alone."""
        text = str(value)
        if text.endswith("-") and "->" not in text and ":" not in text:
            self.fail(f"unknown flow '{text[:60]}'; quote it: 'A->B', or write A:B", param, ctx)
        return text


class Moment(click.ParamType[str]):
    """A moment in RFC 3339 with its zone."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; other errors in it are reported with those of other options."""
        text = str(value)
        try:
            zone = datetime.fromisoformat(text).tzinfo
        except ValueError:
            return text
        if zone is None:
            sentence = f"invalid moment '{text[:60]}': the zone is missing; write it as 2026-11-27T17:30:00Z"
            self.fail(sentence, param, ctx)
        return text


class Principal(click.ParamType[str]):
    """A principal of Kafka, `TYPE:NAME`."""

    name = "principal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        text = str(value)
        kind, _, name = text.partition(":")
        if not kind or not name:
            self.fail(f"invalid principal '{text[:100]}'; write TYPE:NAME, such as User:ann", param, ctx)
        return text


class ClusterFile(click.ParamType[str]):
    """The name of a file for each cluster: `{cluster}` means the alias."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        text = str(value)
        for unknown in re.findall(r"\{[^{}]*\}", text.replace(_CLUSTER, "")):
            self.fail(f"unknown variable '{unknown[:60]}'; write {_CLUSTER} for the alias", param, ctx)
        return text


def refuse_without(context: click.Context, needed: str, *names: str) -> None:
    """Raise UsageError for each of these options on the command line, as they need others."""
    for one in context.command.params:
        if one.name in names and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{one.opts[0]} needs {needed}.")
