"""Several families of series with a counter of capped ones, written from arrays.

The client library creates an object and a text for every sample at every scrape: more than half a second for
100,000. Here labels are written once, when a series is added, and a scrape joins them with the values. The
output is whole lines without `# EOF`; `joining` puts it after the client library's part.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.series.lag import SERIES_DROPPED_TOTAL
from lagmon.exposition.family import CHUNK_BYTES, Family

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.exposition.format import Form

_NOTHING = np.empty(0, dtype=np.int64)


class Exposition:
    """Families in output order, and a counter of the series that their caps left out."""

    def __init__(self, families: Sequence[Family]) -> None:
        """Take the families. Raises ValueError if two have the same name."""
        names = [family.series.full_name for family in families]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: duplicate metric; use one family for each")
        self._families = tuple(families)
        self._capped = tuple(family for family in families if family.max_series is not None)
        self._dropped = Family(SERIES_DROPPED_TOTAL)
        for row, family in enumerate(self._capped):
            self._dropped.put(row, [family.series.full_name])

    def render(self, values: Mapping[Family, NDArray[Any]], form: Form) -> Iterator[bytes]:
        """Return the text of all families in chunks of at most CHUNK_BYTES, each of whole lines.

        A family without values has only its header. The output is as of this call, although the text is made
        while it is read: series may be added and removed meanwhile. Raises ValueError if values do not reach
        a series' row.
        """
        told = [
            family.chunks(values[family], form)
            if family in values
            else Family(family.series).chunks(_NOTHING, form)
            for family in self._families
        ]
        if self._capped:
            dropped = np.array([family.left_out_total for family in self._capped], dtype=np.int64)
            told.append(self._dropped.chunks(dropped, form))
        return _joined(chain.from_iterable(told))


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    # Headers and small families share a chunk; a full chunk is passed on without a copy.
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > CHUNK_BYTES and held:
            yield b"".join(held)
            held, size = [], 0
        held.append(piece)
        size += len(piece)
    if held:
        yield b"".join(held)
