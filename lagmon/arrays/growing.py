"""Arrays that grow. Pure."""

from __future__ import annotations

import numpy as np


def more_rows(holder: object, name: str, rows: int, filling: int) -> None:
    """Resize an array of a holder to this many rows; new rows get the filling value.

    In place if the C library finds room, so that a large array is not copied. If a view of the array exists,
    it is copied and the view keeps the old one.
    """
    before, shape = len(getattr(holder, name)), (rows, *getattr(holder, name).shape[1:])
    try:
        getattr(holder, name).resize(shape)  # without a name of its own, which would count as a view
    except ValueError:
        array = getattr(holder, name)
        new = np.empty(shape, array.dtype)
        new[:before] = array
        setattr(holder, name, new)
    getattr(holder, name)[before:] = filling
