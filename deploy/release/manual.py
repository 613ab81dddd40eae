"""Man pages and shell completion, from the command line itself."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from click.shell_completion import get_completion_class
from click_man.core import write_man_pages

from mirrorwatch.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

_NAME, _VARIABLE = "mirrorwatch", "_MIRRORWATCH_COMPLETE"
# Where each shell finds completion below /usr/local or /usr. Zsh of Debian reads another folder below /usr.
COMPLETION = {
    "bash": "share/bash-completion/completions/mirrorwatch",
    "zsh": "share/zsh/site-functions/_mirrorwatch",
    "fish": "share/fish/vendor_completions.d/mirrorwatch.fish",
}


def write_manual(prefix: Path, *, version: str, date: str) -> None:
    """Write a man page of each command, and completion for each shell, below a prefix such as /usr/local."""
    pages = prefix / "share" / "man" / "man1"
    pages.mkdir(parents=True)
    # The page of a group has neither its epilog, which lists exit statuses, nor all of its first line.
    top = copy.copy(cli)
    top.short_help = (cli.help or "").splitlines()[0]
    top.help = f"{cli.help}\n\n{cli.epilog}"
    write_man_pages(_NAME, top, version=version, date=date, target_dir=str(pages))
    for shell, place in COMPLETION.items():
        complete = get_completion_class(shell)
        assert complete is not None
        path = prefix / place
        path.parent.mkdir(parents=True)
        path.write_text(complete(cli, {}, _NAME, _VARIABLE).source(), encoding="utf-8")
