"""Values of a family of series as the text formats have them, for whole arrays at once.

Apart from `exposition/format.py`, so that what writes no array loads no NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.exposition.format import MOST_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return of each value whether it is told: -1, all below 0, NaN and what is no time are not."""
    told: NDArray[np.bool_] = values >= 0
    return told & (values <= MOST_SECONDS) if values.dtype.kind == "f" else told


def value_texts(values: NDArray[Any]) -> list[bytes]:
    r"""Return each of these known integers as `12\n`: what stands after a space at the end of its line."""
    # One representation of the whole list is several times faster than a text for each.
    listed = repr(values.astype(np.int64, copy=False).tolist())[1:-1] + ","
    return listed.encode().replace(b",", b"\n").split(b" ")


def seconds_texts(values: NDArray[Any]) -> tuple[list[bytes], NDArray[np.object_]]:
    r"""Return each of these known floats, rounded to a thousandth, as what stands before and after its point.

    Like `12` and `.5\n`, or `12` and `\n` where it is whole.
    """
    thousandths = np.rint(values.astype(np.float64, copy=False) * 1000).astype(np.int64)
    whole, rest = np.divmod(thousandths, 1000)
    return repr(whole.tolist())[1:-1].encode().split(b", "), _FRACTIONS[rest]


_FRACTIONS = np.array(
    [(f".{n:03d}".rstrip("0").rstrip(".") + "\n").encode() for n in range(1000)], dtype=object
)
"""What stands after the whole seconds, by thousandths."""
