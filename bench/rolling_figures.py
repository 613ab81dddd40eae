"""What the canary said of a flow, in numbers, beside what was true."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.topic_truth import Truth
    from bench.watched_service import Change

NEVER_THERE = ("skipped", "produce_failed", "produce_unknown", "abandoned")


def flow_figures(
    books: Mapping[str, int],
    truth: Truth,
    listed: Iterable[tuple[int, int]],
    changes: list[Change],
    *,
    between: tuple[float, float],
) -> dict[str, Any]:
    """Return a flow's books beside the truth; `listed` are the places of the losses that it named.

    A false loss is one that was named and has an intact copy, or one more than records are missing.
    """
    called_lost = books["lost"] + books["confirmed"]
    return {
        "books": {name: count for name, count in books.items() if count},
        "probes_on_source_by_the_books": books["expected"] - sum(books[name] for name in NEVER_THERE),
        "records_on_source": truth.source_records,
        "repeated_on_source": truth.source_repeated,
        "records_on_target": truth.target_records,
        "repeated_on_target": truth.target_repeated,
        "altered_on_target": truth.target_altered,
        "missing_on_target": len(truth.missing),
        "called_lost": called_lost,
        "false_losses": max(
            called_lost - len(truth.missing), sum(place not in truth.missing for place in listed)
        ),
        "verdict_seconds": verdict_seconds(changes, between=between),
        "verdict_changes": [
            [round(change.at - between[0], 1), change.verdict, change.cause, change.sentence]
            for change in changes
        ],
    }


def verdict_seconds(changes: Iterable[Change], *, between: tuple[float, float]) -> dict[str, float]:
    """Return how long each verdict, with its cause where it had one, stood between two instants."""
    begin, end = between
    held: dict[str, float] = {}
    ordered = sorted(changes, key=lambda change: change.at)
    for change, following in itertools.zip_longest(ordered, ordered[1:]):
        until = min(following.at if following is not None else end, end)
        name = change.verdict if change.cause == "none" else f"{change.verdict} {change.cause}"
        held[name] = held.get(name, 0.0) + max(0.0, until - max(change.at, begin))
    return {name: round(seconds, 1) for name, seconds in held.items() if seconds > 0}
