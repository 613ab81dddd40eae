"""Arrays with a row for each of what is held, which grow. Pure."""

from __future__ import annotations

import numpy as np


def more_rows(holder: object, name: str, rows: int, filling: int) -> None:
    """Give an array of a holder so many rows, the further ones filled.

    Where it lies, if the C library finds room there: a large one is not copied then. Not while anybody looks
    at some of it, who keeps what it was.
    """
    before, shape = len(getattr(holder, name)), (rows, *getattr(holder, name).shape[1:])
    try:
        getattr(holder, name).resize(shape)  # under no name of its own, or that were one who looks at it
    except ValueError:
        array = getattr(holder, name)
        new = np.empty(shape, array.dtype)
        new[:before] = array
        setattr(holder, name, new)
    getattr(holder, name)[before:] = filling
