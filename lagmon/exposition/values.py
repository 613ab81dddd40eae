"""Values of a family of series as text, for whole arrays.

Separate from `exposition/format.py`, which does not load NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.exposition.format import MOST_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are written: not -1, values below 0, NaN or infinity."""
    told: NDArray[np.bool_] = values >= 0
    return told & (values <= MOST_SECONDS) if values.dtype.kind == "f" else told


def value_texts(values: NDArray[Any]) -> list[bytes]:
    r"""Return each of these known integers as `12\n`, the end of its line."""
    # One representation of the whole list is several times faster than one for each number.
    listed = repr(values.astype(np.int64, copy=False).tolist())[1:-1] + ","
    return listed.encode().replace(b",", b"\n").split(b" ")


def seconds_texts(values: NDArray[Any]) -> tuple[list[bytes], NDArray[np.object_]]:
    r"""Return each of these known floats, rounded to a thousandth, split before its point.

    For example `12` and `.5\n`, or `12` and `\n`.
    """
    thousandths = np.rint(values.astype(np.float64, copy=False) * 1000).astype(np.int64)
    whole, rest = np.divmod(thousandths, 1000)
    return repr(whole.tolist())[1:-1].encode().split(b", "), _FRACTIONS[rest]


_FRACTIONS = np.array(
    [(f".{n:03d}".rstrip("0").rstrip(".") + "\n").encode() for n in range(1000)], dtype=object
)
"""What stands after the whole seconds, by thousandths."""
