"""Partitions worth a request: those with a leader that answered recently.

A request to a leader that has just died makes the client library reconnect thousands of times a second until
the request times out, which costs a core. So a silent leader is skipped for a while, or until another broker
leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

PAUSE_S = 10.0


class Led(Protocol):
    """A topic of which the leaders are known, by partition; None: there is none."""

    @property
    def leaders(self) -> tuple[int | None, ...]:
        """Return the number of each leader."""
        ...


class Leaders:
    """Silent brokers of one cluster; instants are monotonic ns."""

    def __init__(self) -> None:
        self._silent_until_ns: dict[int, int] = {}

    def answering(self, topic: Led, now_ns: int) -> list[int]:
        """Return the partitions to query."""
        return [
            number
            for number, leader in enumerate(topic.leaders)
            if leader is not None and not self.is_silent(leader, now_ns)
        ]

    def is_silent(self, leader: int, now_ns: int) -> bool:
        """Return whether a broker is skipped now."""
        return self._silent_until_ns.get(leader, now_ns) > now_ns

    def note(self, topic: Led, asked: Iterable[int], answered: Iterable[int], now_ns: int) -> None:
        """Note which of the queried partitions' leaders answered."""
        heard = {topic.leaders[number] for number in answered}
        for leader in {topic.leaders[number] for number in asked}:
            if leader is not None:
                self.note_one(leader, answered=leader in heard, now_ns=now_ns)

    def note_one(self, leader: int, *, answered: bool, now_ns: int) -> None:
        """Note whether a queried broker answered."""
        if answered:
            self._silent_until_ns.pop(leader, None)
        else:
            self._silent_until_ns[leader] = now_ns + int(PAUSE_S * 1e9)
