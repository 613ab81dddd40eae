"""Version, revision and Python version.

A wheel knows its revision if the file `REVISION` was here when it was built (`git rev-parse HEAD >
runtime/REVISION`). A release writes it into the sdist too. MIRRORWATCH_REVISION overrides it, as in an image.
"""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = "unknown"
VARIABLE = "MIRRORWATCH_REVISION"
FILE = Path(__file__).with_name("REVISION")
_REVISION = re.compile(r"[\w.+/-]{1,100}", re.ASCII)


def version() -> str:
    """Return the version of Mirrorwatch."""
    return version_of("mirrorwatch")


def python_version() -> str:
    """Return the version of Python, such as 3.11.7."""
    return platform.python_version()


def revision(environ: Mapping[str, str] = os.environ, file: Path = FILE) -> str:
    """Return the revision, or `unknown`."""
    try:
        said = environ.get(VARIABLE) or file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return UNKNOWN
    return said.strip() if _REVISION.fullmatch(said.strip()) else UNKNOWN
