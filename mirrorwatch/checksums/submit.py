"""`checksum run --print-submit`: the spark-submit command for the same run, on any master."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checksum.spark.submit_line import packages_to_submit, submit_line
from mirrorwatch.checksums.session import OK, check_master, check_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPT = Path(__file__).with_name("submitted.py")


def print_submit_line(context: click.Context, master: str, *, driver_memory: str) -> int:
    """Print the command and nothing else; raises ConfigurationError if the master needs more options."""
    check_memory(driver_memory)
    if not context.params["counts_only"]:
        check_master(master, context.params["folder"])
    line = submit_line(
        ["checksum", str(context.info_name), *typed(context)],
        python=sys.executable,
        script=str(_SCRIPT),
        master=master,
        driver_memory=driver_memory,
        packages=packages_to_submit(os.environ, master),
    )
    click.echo(line)
    return OK


def typed(context: click.Context) -> Iterator[str]:
    """Yield the arguments of a command as they were typed, without those of spark-submit itself."""
    for parameter in context.command.get_params(context):
        name = str(parameter.name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in ("print_submit", "driver_memory"):
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            yield str(value)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            yield parameter.opts[0]
        else:
            for one in value if parameter.multiple else (value,):
                # As one word, because a value may look like an option.
                yield f"{parameter.opts[0]}={one}"
