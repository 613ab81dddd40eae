"""A family of series that is written at once and as a whole, by whoever has all of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.series_kinds import Unit
from lagmon.exposition_family import Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.series_kinds import Series
    from lagmon.exposition_format import Form

_WHOLE = (Unit.RECORDS, Unit.TRUTH)


def written(one: Series, samples: Iterable[tuple[Sequence[str], float]], form: Form) -> bytes:
    """Return the header and a line for each sample, its labels in the catalogue's order.

    Values that are no whole numbers by their unit are rounded to thousandths; those below 0 are left out.
    """
    family = Family(one)
    values = []
    for row, (labels, value) in enumerate(samples):
        family.put(row, labels)
        values.append(value)
    array = np.array(values, dtype=np.int64 if one.unit in _WHOLE else np.float64)
    return b"".join(family.chunks(array, form))
