"""The commands `mirrorwatch checksum plan|run|digest|compare`. What they need is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mirrorwatch.cli_commands import ExplainingCommand, NearestGroup
from mirrorwatch.cli_surroundings import QUIET, log_if_asked, logging_options, make_console, read_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from mirrorwatch.checksum_desk import Desk

_F = TypeVar("_F", bound="Callable[..., Any]")
_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_JSON = click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was found to this file as well.",
)
_MASTER = click.option(
    "--master", default="local[*]", show_default=True, help="Where Spark runs, as spark-submit takes it."
)
_PLAN = click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    required=True,
    help="The file that `checksum plan --out` wrote.",
)


def _chosen(command: _F) -> _F:
    """Add the options that say what is compared."""
    for option in (
        click.option("--all", "everything", is_flag=True, help="Every topic that is mirrored."),
        click.option(
            "--topic",
            "topics",
            multiple=True,
            metavar="PATTERN",
            help="A topic's name, or a Java regular expression for whole names; instead of checksum.topics.",
        ),
        click.option(
            "--flow",
            "flows",
            multiple=True,
            metavar="A:B",
            help="A flow, source first; without it every flow of CONFIG.",
        ),
    ):
        command = option(command)
    return command


@click.group(cls=NearestGroup, short_help="Prove that the target holds what the source holds.")
def checksum() -> None:
    """Compare whole topics on both clusters, with Spark, and name every record that differs.

    What is compared stands in CONFIG (checksum.topics), or is named by --topic or --all. `run` does it all.
    To read each side beside its own cluster, `plan` writes a plan, `digest` reads one side by it, and
    `compare` joins both digests.

    Exit status: 0 no difference; 1 a difference; 2 bad configuration or usage; 3 less was verified than asked
    for; 4 a cluster, Java or Spark is not available, try again; 130 interrupted.
    """


@checksum.command("plan", cls=ExplainingCommand, short_help="Say what would be read and compared.")
@_CONFIG
@_chosen
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the plan to this file, for both sites.",
)
@_JSON
@logging_options(QUIET)
@click.pass_context
def plan(
    context: click.Context,
    /,
    config: Path,
    *,
    flows: tuple[str, ...],
    topics: tuple[str, ...],
    everything: bool,
    out: Path | None,
    json_file: Path | None,
    **_log: str,
) -> int:
    """Say which offsets would be compared, what is read on each side, and what is left out and why."""
    from mirrorwatch.checksum_plan import make_plans  # noqa: PLC0415 - see the module's docstring

    desk = _desk(context, config)
    chosen = desk.chosen(flows, topics, everything=everything)
    return make_plans(desk, chosen, out=out, json_file=json_file)


@checksum.command("run", cls=ExplainingCommand, short_help="Compare both sides in one go.")
@_CONFIG
@_chosen
@_MASTER
@click.option(
    "--folder",
    help="Where digests are kept, on any file system that Spark knows; without it they are not. Needed where"
    " Spark runs on other machines.",
)
@_JSON
@logging_options(QUIET)
@click.pass_context
def run(
    context: click.Context,
    /,
    config: Path,
    *,
    flows: tuple[str, ...],
    topics: tuple[str, ...],
    everything: bool,
    master: str,
    folder: str | None,
    json_file: Path | None,
    **_log: str,
) -> int:
    """Read both sides, compare them, look twice at what differs, and say what became of every record."""
    from mirrorwatch.checksum_run import run_all  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksum_spark import spark_for  # noqa: PLC0415 - see the module's docstring

    desk = _desk(context, config)
    chosen = desk.chosen(flows, topics, everything=everything)
    with spark_for(desk, master=master, folder=folder) as spark:
        return run_all(desk, chosen, spark=spark, json_file=json_file)


@checksum.command("digest", cls=ExplainingCommand, short_help="Read one side by a plan.")
@_CONFIG
@_PLAN
@click.option("--side", type=click.Choice(["source", "target"]), required=True, help="Which side to read.")
@click.option(
    "--out", "folder", required=True, help="The digest's folder, on any file system that Spark knows."
)
@_MASTER
@logging_options(QUIET)
@click.pass_context
def digest(
    context: click.Context,
    /,
    config: Path,
    *,
    plan_file: Path,
    side: str,
    folder: str,
    master: str,
    **_log: str,
) -> int:
    """Read one side by a plan and write its digest; an interrupted one goes on where it was."""
    from mirrorwatch.checksum_sites import digest_side  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksum_spark import spark_for  # noqa: PLC0415 - see the module's docstring

    desk = _desk(context, config)
    with spark_for(desk, master=master, folder=folder) as spark:
        return digest_side(desk, plan_file, side, folder, spark=spark)


@checksum.command("compare", cls=ExplainingCommand, short_help="Join the digests of both sides.")
@_CONFIG
@_PLAN
@click.option("--source", required=True, help="The folder of the source's digest.")
@click.option("--target", required=True, help="The folder of the target's digest.")
@_MASTER
@_JSON
@logging_options(QUIET)
@click.pass_context
def compare(
    context: click.Context,
    /,
    config: Path,
    *,
    plan_file: Path,
    source: str,
    target: str,
    master: str,
    json_file: Path | None,
    **_log: str,
) -> int:
    """Compare two digests of one plan; what differs is looked at once more on both clusters."""
    from mirrorwatch.checksum_sites import compare_digests  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksum_spark import spark_for  # noqa: PLC0415 - see the module's docstring

    desk = _desk(context, config)
    with spark_for(desk, master=master, folder=source) as spark:
        return compare_digests(desk, plan_file, source, target, spark=spark, json_file=json_file)


def _desk(context: click.Context, path: Path) -> Desk:
    from mirrorwatch.checksum_desk import make_desk  # noqa: PLC0415 - see the module's docstring

    found = read_config(context, path)
    log_if_asked(context)
    return make_desk(found, make_console())
