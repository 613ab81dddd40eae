"""Finds problems about things that are no longer watched. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.prober import Prober
    from runtime.process.complaints import Complaint


def about_cluster(complaints: Iterable[Complaint], alias: str) -> list[str]:
    """Return the places of problems of this cluster."""
    return [one.where for one in complaints if one.where == alias or one.where.startswith(f"{alias}: ")]


def about_unused_topics(complaints: Iterable[Complaint], prober: Prober) -> list[str]:
    """Return the places of problems of topics that are no longer read or written."""
    return [one.where for one in complaints if _is_left(one.where, prober)]


def _is_left(where: str, prober: Prober) -> bool:
    alias, _, what = where.partition(": ")
    deed, _, topic = what.partition(" ")
    if deed == "reading" and topic and alias in prober.sites:
        return topic not in prober.sites[alias].wanted
    return deed == "writing" and alias not in prober.probings
