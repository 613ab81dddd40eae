"""What commands have in common: the options about logs, the configuration that is read, the console."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mirrorwatch.cli.commands import configure_logs, take_secrets

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from mirrorwatch.configuration.configuration import Configuration

QUIET = "error"

_F = TypeVar("_F", bound="Callable[..., Any]")


def logging_options(level: str) -> Callable[[_F], _F]:
    """Return the options about logs, with the default level of a command."""
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


def read_config(context: click.Context, path: Path) -> Configuration:
    """Return the configuration in a file, and keep its secrets out of what the command says."""
    from mirrorwatch.configuration.reading import read_configuration  # noqa: PLC0415 - help needs nothing of this

    found = read_configuration(path, environ=os.environ)
    take_secrets(context, found.secrets)
    return found


def log_if_asked(context: click.Context) -> None:
    """Log in a command that tells on standard output what there is to tell, where more is asked for."""
    if context.params["log_level"] != QUIET:
        configure_logs(context)


def make_console(*, stderr: bool = False) -> Console:
    """Return the console on standard output, or on standard error."""
    from rich.console import Console  # noqa: PLC0415 - help needs nothing of this

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich's own way out is status 1, which says that something was found

    return Plain(highlight=False, soft_wrap=False, stderr=stderr)
