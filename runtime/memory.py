"""Give memory back to the system that was freed and not given back, where the C library can be told to."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Have glibc give back all that it holds free; where there is another library, do nothing.

    What thousands of small blocks leave behind lies in holes that it keeps by itself.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
