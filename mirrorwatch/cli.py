"""The command line. Exit status: 0 fine, 1 a finding, 2 bad configuration, 3 incomplete, 4 unavailable."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
from rich.console import Console

from fleet.errors import ConfigurationError, MirrorwatchError
from mirrorwatch.config_reading import read_configuration
from runtime import logs
from runtime.shutdown import FORCED_EXIT_STATUS, Shutdown

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mirrorwatch.configuration import Configuration

BAD_CONFIGURATION = 2
UNAVAILABLE = 4
DEFAULT_URL = "http://127.0.0.1:9699"

_CONFIG = click.argument("config", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mirrorwatch")
def cli() -> None:
    """Watch mirrored Kafka clusters: does each flow deliver, how late, and what was lost.

    CONFIG is a YAML file, or the mm2.properties of a MirrorMaker as it is.
    """


@cli.command()
@_CONFIG
@click.option("--acls", is_flag=True, help="Print the kafka-acls commands that grant what is needed.")
@click.option("--principal", default="User:mirrorwatch", show_default=True, help="For whom, with --acls.")
@click.option("--no-connect", is_flag=True, help="Do not connect to the clusters; explain the file only.")
def check(config: Path, *, acls: bool, principal: str, no_connect: bool) -> None:
    """Explain a configuration: clusters, flows, what is mirrored and what not, cost, rights."""
    from mirrorwatch.check import check as explain  # noqa: PLC0415 - only this command needs it

    found = _read(config)
    console = Console(highlight=False, soft_wrap=False)
    _finish(explain(found, console=console, connect=not no_connect, acls=acls, principal=principal))


@cli.command()
@_CONFIG
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def run(config: Path, *, log_format: str, log_level: str) -> None:
    """Run the service until SIGTERM or Ctrl-C; a second one ends it at once."""
    from mirrorwatch.service import Service  # noqa: PLC0415 - the other commands need no service

    found = _read(config)
    redactor = logs.Redactor(found.secrets)
    form = cast("Literal['text', 'json']", log_format)
    logs.configure(form=form, level=log_level, stream=sys.stderr, redactor=redactor)

    async def serve() -> int:
        async with Shutdown() as shutdown:
            await Service(found).run(shutdown)
        return 0

    _finish(serve())


@cli.command()
@click.argument("url", default=DEFAULT_URL)
@click.option("--json", "as_json", is_flag=True, help="Print the document instead of a table.")
def status(url: str, *, as_json: bool) -> None:
    """Show the verdicts of a running service."""
    from mirrorwatch.status import status as show  # noqa: PLC0415 - only this command needs it

    _finish(show(url, as_json=as_json, console=Console(highlight=False)))


def _read(path: Path) -> Configuration:
    try:
        return read_configuration(path, environ=os.environ)
    except ConfigurationError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        count = len(error.problems)
        found = "1 problem" if count == 1 else f"{count} problems"
        click.echo(f"{path} cannot be used: {found}.", err=True)
        sys.exit(BAD_CONFIGURATION)


def _finish(work: Coroutine[object, object, int]) -> None:
    """Run a command to its end and leave with its exit status."""
    try:
        sys.exit(asyncio.run(work))
    except ConfigurationError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        sys.exit(BAD_CONFIGURATION)
    except MirrorwatchError as error:
        click.echo(str(error), err=True)
        sys.exit(UNAVAILABLE)
    except KeyboardInterrupt:
        sys.exit(FORCED_EXIT_STATUS)


def main() -> None:
    """Run the command line."""
    cli(prog_name="mirrorwatch")
