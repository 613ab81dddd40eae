"""How often topic ids are read, and for how long one is awaited. Pure."""

from __future__ import annotations

IDS_EVERY_S = 10.0  # between two rounds
FEW = 1_000  # topics: with more, rounds are further apart (1,000 take the broker about 0.1 s)
IDS_WITHIN_MS = 60_000  # how long a topic's id is awaited, or for two rounds


def ids_every_s(topics: int) -> float:
    """Return the time between two rounds that read the ids of so many topics."""
    return IDS_EVERY_S * max(1.0, topics / FEW)


def ids_within_ms(topics: int) -> float:
    """Return for how long a topic's id is awaited, with at most so many topics in its cluster."""
    return max(IDS_WITHIN_MS, 2000 * ids_every_s(topics))
