"""Split names into batches by weight. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def portions(
    counts: Iterable[tuple[str, int]], *, most: int, most_names: int | None = None
) -> Iterator[list[str]]:
    """Yield batches of names in order, each of at most `most` in total, or of one heavier name."""
    portion: list[str] = []
    total = 0
    for name, count in counts:
        if portion and (len(portion) == most_names or total + count > most):
            yield portion
            portion, total = [], 0
        portion.append(name)
        total += count
    if portion:
        yield portion
