"""Shared parts of commands: log options, the configuration, the console."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mirrorwatch.cli.commands import conclude_refusals_with, configure_logs, take_secrets

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from mirrorwatch.configuration.configuration import Configuration

QUIET = "error"

_F = TypeVar("_F", bound="Callable[..., Any]")


def logging_options(level: str) -> Callable[[_F], _F]:
    """Return the log options, with the default level of a command."""
    levels = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default=level,
        show_default=True,
        help="The lowest level that is logged.",
    )
    formats = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="The format of the log, on standard error.",
    )
    return lambda command: formats(levels(command))


def read_config(context: click.Context, path: Path, *, serving: bool = False) -> Configuration:
    """Read a configuration and keep its secrets out of the output; later refusals do not blame it.

    `serving`: the command serves pages, or checks whether they can be served.
    """
    from mirrorwatch.configuration.reading import read_configuration  # noqa: PLC0415 - help needs nothing of this

    found = read_configuration(path, environ=os.environ, serving=serving)
    take_secrets(context, found.secrets)
    conclude_refusals_with(context, "Nothing was done")
    return found


def log_if_asked(context: click.Context) -> None:
    """Turn on logging in a command with output of its own, if a level is set."""
    if context.params["log_level"] != QUIET:
        configure_logs(context)


def make_console(*, stderr: bool = False) -> Console:
    """Return the console on standard output, or on standard error."""
    from rich.console import Console  # noqa: PLC0415 - help needs nothing of this

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with status 1, which means a finding

    return Plain(highlight=False, soft_wrap=False, stderr=stderr)
