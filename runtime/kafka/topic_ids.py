"""Which topic ids are usable. Pure."""

from __future__ import annotations

_NONE = ("", "AAAAAAAAAAAAAAAAAAAAAA")  # what a broker without topic ids tells, of every topic


def known_id(topic_id: str) -> str | None:
    """Return an id, None where it is the one that brokers tell of topics which have none (KIP-516)."""
    return None if topic_id in _NONE else topic_id
