"""Files in a folder that a command owns; a folder that cannot be written is a mistake of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem, UnavailableError
from runtime.files.owned_folder import write_owned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str], *, by: str, keep: bool = False) -> list[str]:
    """Write as `write_owned` does; raises ConfigurationError that names the folder if the disk refuses."""
    try:
        return write_owned(folder, files, by=by, keep=keep)
    except UnavailableError as error:
        cause = error.__cause__
        reason = (cause.strerror or "").lower() if isinstance(cause, OSError) else str(cause)
        sentence = f"cannot be written ({reason}); choose another folder"
        raise ConfigurationError([Problem(str(folder), "", sentence)]) from error
