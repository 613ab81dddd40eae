"""`mirrorwatch report`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mirrorwatch.cli.commands import ExplainingCommand
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config

if TYPE_CHECKING:
    from alerts.reports import Report

FORMATS = ("html", "md", "json")
_LEAST_S, _MOST_S = 60.0, 400 * 86400.0


class Period(click.ParamType[float]):
    """A duration from a minute to 400 days, such as 28d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        from fleet.quantity import duration_s  # noqa: PLC0415 - see the module's docstring

        try:
            seconds = duration_s(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not _LEAST_S <= seconds <= _MOST_S:
            self.fail(f"'{value}' is out of range; write a duration from 1m to 400d", param, ctx)
        return seconds


class _Formats(click.ParamType[tuple[str, ...]]):
    """Formats separated by commas."""

    name = "formats"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return each format once, in their order."""
        found = tuple(dict.fromkeys(one.strip() for one in str(value).split(",")))
        unknown = [one for one in found if one not in FORMATS]
        if unknown:
            self.fail(f"unknown format '{unknown[0][:40]}'; write some of {','.join(FORMATS)}", param, ctx)
        return found


class _Address(click.ParamType[str]):
    """An address of another tool, as in the section `links`."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address without a final slash."""
        from alerts.config import address_of  # noqa: PLC0415 - see the module's docstring

        try:
            return address_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=ExplainingCommand, short_help="Report what each flow delivered, against its objectives.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--period",
    "period_s",
    type=Period(),
    metavar="DURATION",
    help="The time up to now that is reported, such as 7d. By default the period of the objectives.",
)
@click.option(
    "--format",
    "formats",
    type=_Formats(),
    metavar="FORMATS",
    help="Some of html,md,json. By default md, and all of them with --out.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write files into DIR, named by day and period; without it, one format is printed.",
)
@click.option(
    "--prometheus",
    type=_Address(),
    metavar="URL",
    help="Compare with this Prometheus. By default with links.prometheus, if CONFIG has it.",
)
@logging_options(QUIET)
@click.pass_context
def report(
    context: click.Context,
    /,
    config: Path,
    *,
    period_s: float | None,
    formats: tuple[str, ...] | None,
    out: Path | None,
    prometheus: str | None,
    **_log: str,
) -> int:
    """Report what each flow delivered over a period, against its objectives.

    Reads the store of CONFIG and does not change it; the service may run meanwhile. DIR must be empty or
    written by an earlier report. Files that report did not write are never overwritten.

    Exit status: 0 every objective is met or excluded; 1 one is missed; 3 a part of the period was not
    observed; 4 the store is unavailable.
    """
    chosen = formats or (FORMATS if out is not None else ("md",))
    if out is None and len(chosen) > 1:
        raise click.UsageError("Only one format can be printed; write files with --out DIR.")
    found = read_config(context, config)
    import time  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.history.reporting import (  # noqa: PLC0415 - see the module's docstring
        make_report,
        reconciled,
        texts_of,
    )
    from runtime.process.loop import run_to_end  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    address = prometheus or found.links.prometheus

    async def make() -> Report:
        made = await make_report(found, period_s=period_s, now_at=time.time())
        return made if address is None else await reconciled(made, address)

    made = run_to_end(make())
    texts = texts_of(made, chosen)
    if out is None:
        click.echo(texts[chosen[0]], nl=False)
    else:
        from alerts.reports import file_name  # noqa: PLC0415 - see the module's docstring
        from runtime.files.owned_folder import write_owned  # noqa: PLC0415 - see the module's docstring

        files = {file_name(made, form): text for form, text in texts.items()}
        write_owned(out, files, by="report", keep=True)
        for name in files:
            click.echo(out / name)
        click.echo(made.first_line)
    if any(one.met is False for one in made.objectives):
        return 1
    return 0 if all(one.covered for one in made.objectives) else 3
