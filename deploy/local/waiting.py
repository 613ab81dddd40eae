"""Wait for a condition by polling, never longer than a deadline."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool], *, deadline_s: float, what: str, every_s: float = 0.05
) -> float:
    """Poll until `condition()` is true and return the seconds that it took.

    Raises TimeoutError with a sentence that names `what` when `deadline_s` has passed.
    """
    begun = time.monotonic()
    while True:
        if condition():
            return time.monotonic() - begun
        if time.monotonic() - begun > deadline_s:
            raise TimeoutError(f"{what} did not happen within {deadline_s:g} s")
        time.sleep(every_s)
