"""`mirrorwatch checksum`: plan, run, digest and compare. Imports what they need when they run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from checksum.spark.settings import DRIVER_MEMORY
from mirrorwatch.cli.commands import ExplainingCommand, NearestGroup, conclude_refusals_with
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from mirrorwatch.checksums.session import Session

_F = TypeVar("_F", bound="Callable[..., Any]")
_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_JSON = click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the result to this file.",
)
_PAGE = click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the result to this file, as a self-contained web page.",
)
_TELL = click.option(
    "--post",
    metavar="URL",
    help="Post the result to the service at URL, with the token in MIRRORWATCH_TOKEN.",
)
_MASTER = click.option(
    "--master", default="local[*]", show_default=True, help="Spark master, as for spark-submit."
)
_MEMORY = click.option(
    "--driver-memory",
    metavar="SIZE",
    default=DRIVER_MEMORY,
    show_default=True,
    help="Memory of the Spark driver on this machine, such as 512m or 4g.",
)
_PLAN = click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    required=True,
    help="The plan file that `checksum plan --out` wrote.",
)


def _chosen(command: _F) -> _F:
    """Add the options that select topics and flows."""
    for option in (
        click.option("--all", "everything", is_flag=True, help="All mirrored topics."),
        click.option(
            "--topic",
            "topics",
            multiple=True,
            metavar="PATTERN",
            help="Topic name or Java regular expression for whole names; overrides checksum.topics.",
        ),
        click.option(
            "--flow",
            "flows",
            type=FLOW_NAME,
            multiple=True,
            metavar="A:B",
            help="A flow, source first. By default all flows of CONFIG.",
        ),
    ):
        command = option(command)
    return command


@click.group(cls=NearestGroup, short_help="Compare both clusters record by record.")
def checksum() -> None:
    """Compare whole topics on both clusters with Spark, and list every record that differs.

    Compares the topics of checksum.topics in CONFIG, or those of --topic or --all. `run` does everything. To
    read each side next to its own cluster, `plan` writes a plan, `digest` reads one side of it, and `compare`
    joins both digests.

    Exit status: 0 no difference; 1 a difference; 2 bad configuration or usage; 3 not everything was verified;
    4 a cluster, Java or Spark is unavailable, try again; 130 interrupted.
    """


@checksum.command("plan", cls=ExplainingCommand, short_help="Show what would be read and compared.")
@_CONFIG
@_chosen
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the plan to this file, for `digest` and `compare`.",
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
    """Show the offsets to compare, the size of each side, and what is left out and why."""
    from mirrorwatch.checksums.plan import make_plans  # noqa: PLC0415 - see the module's docstring

    session = _session(context, config)
    chosen = session.chosen(flows, topics, everything=everything)
    return make_plans(session, chosen, out=out, json_file=json_file)


@checksum.command("run", cls=ExplainingCommand, short_help="Compare both sides in one command.")
@_CONFIG
@_chosen
@_MASTER
@_MEMORY
@click.option(
    "--folder",
    help="Folder for digests, on any file system that Spark knows. By default a temporary folder next to the"
    " store. Required if Spark runs on other machines.",
)
@click.option(
    "--counts-only",
    is_flag=True,
    help="Compare only the number of records in each time interval, not their contents.",
)
@_JSON
@_PAGE
@_TELL
@click.option("--print-submit", is_flag=True, help="Print the spark-submit command for this run, and exit.")
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
    driver_memory: str,
    folder: str | None,
    counts_only: bool,
    json_file: Path | None,
    page: Path | None,
    post: str | None,
    print_submit: bool,
    **_log: str,
) -> int:
    """Read both sides, compare them, read differences again, and report every record that differs."""
    if print_submit:
        read_config(context, config)  # the printed command would be refused otherwise
        from mirrorwatch.checksums.submit import print_submit_line  # noqa: PLC0415 - see the module's docstring

        return print_submit_line(context, master, driver_memory=driver_memory)
    from mirrorwatch.checksums.counts import count_all  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.run import run_all  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.spark import spark_for  # noqa: PLC0415 - see the module's docstring

    session = _session(context, config, json_file=json_file, page=page, post=post)
    chosen = session.chosen(flows, topics, everything=everything)
    with spark_for(
        session, master=master, driver_memory=driver_memory, folder=folder, keeps=not counts_only
    ) as spark:
        work = count_all if counts_only else run_all
        return work(session, chosen, spark=spark, json_file=json_file)


@checksum.command("digest", cls=ExplainingCommand, short_help="Read one side of a plan.")
@_CONFIG
@_PLAN
@click.option("--side", type=click.Choice(["source", "target"]), required=True, help="Which side to read.")
@click.option(
    "--out", "folder", required=True, help="Folder for the digest, on any file system that Spark knows."
)
@_MASTER
@_MEMORY
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
    driver_memory: str,
    **_log: str,
) -> int:
    """Read one side of a plan and write its digest. An interrupted digest continues where it ended."""
    from mirrorwatch.checksums.sites import digest_side  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.spark import spark_for  # noqa: PLC0415 - see the module's docstring

    session = _session(context, config)
    with spark_for(
        session, master=master, driver_memory=driver_memory, folder=folder, option="--out"
    ) as spark:
        return digest_side(session, plan_file, side, folder, spark=spark)


@checksum.command("compare", cls=ExplainingCommand, short_help="Compare the digests of both sides.")
@_CONFIG
@_PLAN
@click.option("--source", required=True, help="Folder of the digest of the source.")
@click.option("--target", required=True, help="Folder of the digest of the target.")
@_MASTER
@_MEMORY
@_JSON
@_PAGE
@_TELL
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
    driver_memory: str,
    json_file: Path | None,
    page: Path | None,
    post: str | None,
    **_log: str,
) -> int:
    """Compare two digests of one plan and store the result. Differences are read again on both clusters."""
    from mirrorwatch.checksums.session import check_master  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.sites import compare_digests  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.spark import spark_for  # noqa: PLC0415 - see the module's docstring

    session = _session(context, config, json_file=json_file, page=page, post=post)
    check_master(master, target, "--target")
    with spark_for(
        session, master=master, driver_memory=driver_memory, folder=source, option="--source"
    ) as spark:
        return compare_digests(session, plan_file, source, target, spark=spark, json_file=json_file)


def _session(
    context: click.Context,
    path: Path,
    *,
    json_file: Path | None = None,
    page: Path | None = None,
    post: str | None = None,
) -> Session:
    from mirrorwatch.checksums.progress import shows_in  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.results.outlets import outlets, service_at  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.checksums.session import make_session  # noqa: PLC0415 - see the module's docstring

    found = read_config(context, path)
    conclude_refusals_with(context, "No checksum made")
    log_if_asked(context)
    console = make_console()
    session = make_session(found, console)
    # Log lines on the same terminal would break progress bars.
    quiet = context.params["log_level"] == QUIET
    return replace(
        session,
        shows=shows_in(console, session.clock) if quiet else None,
        outlets=outlets(page, json_file=json_file),
        service=service_at(post, os.environ),
    )
