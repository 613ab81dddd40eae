"""How often the ids of topics are asked for, and for how long one is waited for. Pure."""

from __future__ import annotations

IDS_EVERY_S = 10.0  # between two rounds in which ids are asked for
FEW = 1_000  # topics: beyond that, a round is so much later (1,000 take the broker about 0.1 s)
IDS_WITHIN_MS = 60_000  # how long a topic's id is waited for, or for two rounds


def ids_every_s(topics: int) -> float:
    """Return how long the rounds lie apart in which the ids of so many topics are asked for."""
    return IDS_EVERY_S * max(1.0, topics / FEW)


def ids_within_ms(topics: int) -> float:
    """Return for how long the id of a topic is waited for, of so many topics of its cluster at most."""
    return max(IDS_WITHIN_MS, 2000 * ids_every_s(topics))
