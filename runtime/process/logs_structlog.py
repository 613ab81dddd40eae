"""Load structlog without rich, which it imports if present, only to draw tracebacks.

Every process logs, but only commands that draw on a terminal need rich. It would cost each of the others 4
MiB and 50 ms at the start.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Have an import of this module fail within, unless it is loaded already."""
    if name in sys.modules:
        yield
        return
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    modules[name] = None  # what Python takes as "there is none"
    try:
        yield
    finally:
        del modules[name]


with _without("rich"):
    import structlog

__all__ = ["structlog"]
