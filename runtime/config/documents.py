"""JSON files that a command writes and a later one reads again, after a user may have changed them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from fleet.errors import ConfigurationError, Problem
from runtime.config.problems import problems_of
from runtime.files.whole_files import written_whole

if TYPE_CHECKING:
    from pathlib import Path

_M = TypeVar("_M", bound=BaseModel)


def write_document(path: Path, content: BaseModel) -> None:
    """Write a model as a JSON file; raises ConfigurationError if that fails, or if something is there."""
    if path.exists():
        raise _refused(path, "exists already; choose another name, or remove it")
    write_text(path, json.dumps(content.model_dump(mode="json"), indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write or replace a file, whole or not at all; raises ConfigurationError if that fails."""
    try:
        with written_whole(path) as out:
            out.write(text)
    except OSError as error:
        raise _refused(path, f"cannot be written ({_reason(error)}); choose another folder") from error


def make_folder(path: Path) -> None:
    """Create a folder, if it does not exist; raises ConfigurationError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(path, f"cannot be created ({_reason(error)}); choose another folder") from error


def read_document(path: Path, model: type[_M], *, command: str, most_bytes: int) -> _M:
    """Read a file that `command` has written; raises ConfigurationError with every problem."""
    try:
        if path.stat().st_size > most_bytes:
            limit = most_bytes // 10**6
            raise _refused(path, f"larger than {limit} MB; it is not a file of `{command}`")
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise _refused(path, f"cannot be read ({_reason(error)}); check its name") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"not JSON; it is not a file of `{command}`") from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        found = problems_of(error, file=str(path), prefix="", line_of=lambda _: None, model=model)
        raise ConfigurationError(found) from error


def _refused(path: Path, sentence: str) -> ConfigurationError:
    return ConfigurationError([Problem(str(path), "", sentence)])


def _reason(error: OSError) -> str:
    return (error.strerror or "").lower()
