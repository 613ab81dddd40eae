"""Memory of a process that holds much for long: freed memory is given back, garbage seldom looked for."""

from __future__ import annotations

import ctypes
import gc

COLLECT_AFTER = 50_000  # objects; of the records that a client hands over at once none is left by then
_GENERATIONS = (20, 20)  # collections of the younger ones to one of the next


def give_back() -> None:
    """Have glibc give back all that it holds free; where there is another library, do nothing.

    What thousands of small blocks leave behind lies in holes that it keeps by itself.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def collect_rarely() -> None:
    """Have Python look for cycles of garbage seldom, and never among what there is by now.

    The Kafka client makes an object that takes part in that for each record. By default Python looks after
    700 of these: where thousands come at once, it looks again and again, for some percent of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *_GENERATIONS)
