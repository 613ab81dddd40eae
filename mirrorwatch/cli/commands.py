"""How commands are found, and how they fail: with a sentence and an exit status."""

from __future__ import annotations

import difflib
import errno
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime.process.logs import Redactor

BAD_CONFIGURATION = 2
UNAVAILABLE = 4
FAULT = 70  # a bug of Mirrorwatch (EX_SOFTWARE in sysexits.h)
_SECRETS = "mirrorwatch.secrets"
_REFUSAL = "mirrorwatch.refusal"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PACKAGES = ("mirrorwatch", "fleet", "runtime", "canary", "lagmon", "checksum", "alerts", "dashboards")


class NearestGroup(click.Group):
    """A group that suggests the nearest command for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; raises UsageError with a suggestion."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(self._unknown(ctx, name))
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, name: str) -> str:
        if Path(name).suffix in {".yaml", ".yml", ".properties"}:
            return f"'{name[:200]}': not a command; write 'mirrorwatch run {name[:200]}'"
        known = self.list_commands(ctx)
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        if near:
            return f"unknown command '{name[:60]}'; did you mean '{near[0]}'?"
        return f"unknown command '{name[:60]}'; the commands are {', '.join(known)}"


class ExplainingCommand(click.Command):
    """A command whose function returns its exit status, and whose errors become sentences."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status, whatever happens."""
        from fleet.errors import MirrorwatchError  # noqa: PLC0415 - help needs nothing of this

        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except MirrorwatchError as error:
            return _told(error, ctx)
        except Exception as error:  # anything else is a bug
            leaves = list(_leaves(error))
            if all(isinstance(leaf, MirrorwatchError) for leaf in leaves):
                return _told(cast("MirrorwatchError", leaves[0]), ctx)
            if any(isinstance(leaf, BrokenPipeError) for leaf in leaves):
                raise BrokenPipeError from error
            full = next((leaf for leaf in leaves if getattr(leaf, "errno", None) in _FULL), None)
            if full is not None:
                click.echo(
                    f"standard output: cannot be written; {os.strerror(errno.ENOSPC).lower()}", err=True
                )
                return UNAVAILABLE
            return _fault(error, next(leaf for leaf in leaves if not isinstance(leaf, MirrorwatchError)), ctx)


def take_secrets(ctx: click.Context, secrets: frozenset[str]) -> None:
    """Remember secrets that the logs of this command must not show."""
    ctx.meta[_SECRETS] = secrets


def conclude_refusals_with(ctx: click.Context, words: str) -> None:
    """End later refusals with `words`, such as the default after the configuration was read."""
    ctx.meta[_REFUSAL] = words


def configure_logs(ctx: click.Context) -> Redactor:
    """Log as the options say; return the redaction, which takes further secrets."""
    from runtime.process import logs  # noqa: PLC0415 - help needs nothing of this

    form = cast("Literal['text', 'json']", ctx.params.get("log_format", "text"))
    level = ctx.params.get("log_level", "error")
    redactor = logs.Redactor(ctx.meta.get(_SECRETS, ()))
    logs.configure(form=form, level=level, stream=sys.stderr, redactor=redactor)
    return redactor


def _told(error: Exception, ctx: click.Context) -> int:
    from fleet.errors import ConfigurationError  # noqa: PLC0415 - help needs nothing of this
    from mirrorwatch.web.texts import plain  # noqa: PLC0415 - help needs nothing of this
    from runtime.process.logs import Redactor  # noqa: PLC0415 - help needs nothing of this

    redactor = Redactor(ctx.meta.get(_SECRETS, ()))
    if not isinstance(error, ConfigurationError):
        click.echo(plain(redactor.text(str(error))), err=True)
        return UNAVAILABLE
    for problem in error.problems:  # names in it, for example of a connector, may contain anything
        click.echo(plain(redactor.text(str(problem))), err=True)
    count = len(error.problems)
    found = "1 problem" if count == 1 else f"{count} problems"
    refusal = ctx.meta.get(_REFUSAL, f"{ctx.params.get('config', 'The configuration')} cannot be used")
    click.echo(f"{refusal}: {found}.", err=True)
    return BAD_CONFIGURATION


def _fault(error: BaseException, leaf: BaseException, ctx: click.Context) -> int:
    """Log a bug; with a traceback only at debug level or in JSON."""
    from runtime.process import logs  # noqa: PLC0415 - help needs nothing of this

    configure_logs(ctx)
    detailed = ctx.params.get("log_format") == "json" or ctx.params.get("log_level") == "debug"
    todo = (
        "report it with this line"
        if detailed
        else "run it with --log-level debug for a traceback, and report it"
    )
    logs.get("mirrorwatch").error(
        f"This is a bug in Mirrorwatch, not in its configuration: {type(leaf).__name__}{_place(leaf)};"
        f" please {todo}",
        exc_info=error if detailed else None,
    )
    return FAULT


def _place(error: BaseException) -> str:
    """Return the place in Mirrorwatch's code where an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).parent.name in _PACKAGES]
    if not ours:
        return ""
    path = Path(ours[-1].filename)
    return f" at {path.parent.name}/{path.name}, line {ours[-1].lineno}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
